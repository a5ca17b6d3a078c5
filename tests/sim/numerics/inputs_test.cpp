// Inputs: any element on its own, in any order, the same on every machine; and what they are distributed like.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/core/element.h"
#include "sim/numerics/inputs.h"
#include "sim/programs/attention_tensors.h"

using namespace tilescope;

namespace {

AttentionProblem problem_in(DataType type) {
  return {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 50, .seq_kv = 70, .head_dim = 33, .dtype = type};
}

}  // namespace

TEST_CASE("inputs: a tile has the bits of its elements asked for one by one") {
  for (DataType type : {DataType::fp16, DataType::bf16, DataType::fp32}) {
    const AttentionProblem problem = problem_in(type);
    InputSource inputs;
    inputs.seed = 99;
    for (const TileRef& tile : {TileRef{tensors::q, 5, 3, 7, 1, 20}, TileRef{tensors::k, 3, 60, 10, 0, 33},
                                TileRef{tensors::v, 0, 0, 4, 5, 3}, TileRef{tensors::s, 6, 11, 5, 30, 17}}) {
      const Matrix values = input_tile(inputs, problem, tile);
      for (int r = 0; r < tile.rows; ++r)
        for (int c = 0; c < tile.cols; ++c)
          CHECK(values.at(r, c) == inputs.value(problem, tile.tensor, tile.plane, tile.row + r, tile.col + c));
    }
  }
}

TEST_CASE("inputs: seeds, tensors, planes, rows and columns all give other values, and the same ones twice") {
  const AttentionProblem problem = problem_in(DataType::fp32);
  InputSource a, b;
  b.seed = 2;
  const float value = a.value(problem, tensors::q, 1, 2, 3);
  CHECK(value == a.value(problem, tensors::q, 1, 2, 3));
  CHECK(value != b.value(problem, tensors::q, 1, 2, 3));
  CHECK(value != a.value(problem, tensors::k, 1, 2, 3));
  CHECK(value != a.value(problem, tensors::q, 2, 2, 3));
  CHECK(value != a.value(problem, tensors::q, 1, 3, 3));
  CHECK(value != a.value(problem, tensors::q, 1, 2, 4));
}

TEST_CASE("inputs: the generator's first values are the same on every machine") {
  const AttentionProblem problem = problem_in(DataType::fp32);
  const InputSource inputs;
  CHECK(inputs.value(problem, tensors::q, 0, 0, 0) == -0.848124981F);
  CHECK(inputs.value(problem, tensors::k, 1, 2, 3) == 0.0265463404F);
  CHECK(inputs.value(problem, tensors::v, 0, 69, 32) == -0.708383024F);
}

TEST_CASE("inputs: seeded values have mean 0, the spread asked for, and the tails of a normal distribution") {
  AttentionProblem problem = problem_in(DataType::fp32);
  problem.seq_q = 2000;
  problem.head_dim = 100;
  InputSource inputs;
  inputs.spread = 3;
  const Matrix values = input_tile(inputs, problem, {tensors::q, 0, 0, 2000, 0, 100});
  double sum = 0, squares = 0, fourth = 0, beyond_two = 0;
  for (float value : values.values) {
    const double z = value / 3.0;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    beyond_two += std::abs(z) > 2 ? 1 : 0;
  }
  const double n = 200000;
  CHECK(std::abs(sum / n) < 0.01);
  CHECK(squares / n == doctest::Approx(1).epsilon(0.015));
  CHECK(fourth / n == doctest::Approx(3).epsilon(0.04));
  CHECK(beyond_two / n == doctest::Approx(0.0455).epsilon(0.05));
}

TEST_CASE("inputs: neighbouring values are not correlated") {
  AttentionProblem problem = problem_in(DataType::fp32);
  problem.seq_q = 1000;
  problem.head_dim = 101;
  const Matrix values = input_tile({}, problem, {tensors::q, 0, 0, 1000, 0, 101});
  double along = 0, down = 0;
  for (int r = 0; r + 1 < 1000; ++r)
    for (int c = 0; c + 1 < 101; ++c) {
      along += values.at(r, c) * values.at(r, c + 1);
      down += values.at(r, c) * values.at(r + 1, c);
    }
  CHECK(std::abs(along / 99900) < 0.015);
  CHECK(std::abs(down / 99900) < 0.015);
}

TEST_CASE("inputs: S is the product of the rounded Q and K of the plane's own heads, rounded once") {
  const AttentionProblem problem = problem_in(DataType::fp16);
  const InputSource inputs;
  double sum = 0;
  for (int t = 0; t < 33; ++t)  // query plane 7 is batch 1, head 3: it reads key head 1 of batch 1, which is plane 3
    sum += static_cast<double>(inputs.value(problem, tensors::q, 7, 9, t)) * inputs.value(problem, tensors::k, 3, 12, t);
  CHECK(inputs.value(problem, tensors::s, 7, 9, 12) == round_to(DataType::fp16, static_cast<float>(sum * problem.scale())));
}

TEST_CASE("inputs: a user's matrix stands in for every plane, rounded to the type") {
  AttentionProblem problem = problem_in(DataType::bf16);
  auto matrix = std::make_shared<Matrix>(50, 33, 1.0F);
  matrix->at(4, 5) = 3.14159F;
  InputSource inputs;
  inputs.q = matrix;
  CHECK(check(inputs, problem));
  for (int plane = 0; plane < 8; ++plane) CHECK(inputs.value(problem, tensors::q, plane, 4, 5) == 3.140625F);
  CHECK(inputs.value(problem, tensors::q, 0, 50, 0) == 0.0F);  // outside of it
  problem.seq_q = 51;
  const Status status = check(inputs, problem);
  REQUIRE_FALSE(status);
  CHECK(status.error().sentence.text().find("50 x 33") != std::string::npos);
  CHECK(status.error().sentence.text().find("51 x 33") != std::string::npos);
}

TEST_CASE("inputs: any tile of a user's matrix has its elements, plane by plane or the same in all, and 0 outside of it") {
  const AttentionProblem problem = problem_in(DataType::fp32);
  for (const Tensor tensor : {tensors::q, tensors::k, tensors::v}) {
    const bool has_queries = tensor->rows == Axis::query;
    const int rows = has_queries ? 50 : 70, planes = has_queries ? 8 : 4;
    for (const bool is_alike : {true, false}) {
      auto matrix = std::make_shared<Matrix>(is_alike ? rows : rows * planes, 33, 0.0F);
      for (int r = 0; r < matrix->rows; ++r)
        for (int c = 0; c < 33; ++c) matrix->at(r, c) = static_cast<float>(1 + r * 33 + c);
      InputSource inputs;
      (tensor == tensors::q ? inputs.q : tensor == tensors::k ? inputs.k : inputs.v) = matrix;
      for (int plane = 0; plane < planes; ++plane)
        for (const TileRef& tile : {TileRef{tensor, plane, 0, rows, 0, 33}, TileRef{tensor, plane, rows - 3, 6, 30, 6}}) {
          const Matrix values = input_tile(inputs, problem, tile);
          int wrong = 0;
          for (int r = 0; r < tile.rows; ++r)
            for (int c = 0; c < tile.cols; ++c) {
              const bool inside = tile.row + r < rows && tile.col + c < 33;
              const int row = tile.row + r + (is_alike ? 0 : plane * rows);
              wrong += values.at(r, c) != (inside ? static_cast<float>(1 + row * 33 + tile.col + c) : 0.0F);
            }
          // Behind the last row of a plane come the rows of the next one, but never as elements of this one.
          CHECK(wrong == 0);
        }
    }
  }
}
