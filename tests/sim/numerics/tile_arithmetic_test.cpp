// Each kind of operation on small tiles, worked out by hand, and the product against plain loops in every shape.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "sim/core/element.h"
#include "sim/masks/mask_choice.h"
#include "sim/numerics/tile_arithmetic.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/attention_tensors.h"

using namespace tilescope;

namespace {

constexpr float none = -HUGE_VALF;

Matrix matrix(int rows, int cols, std::vector<float> values) {
  Matrix m(rows, cols);
  m.values = std::move(values);
  return m;
}

Operation operation(OpKind kind, int rows, int cols) {
  Operation op;
  op.kind = kind;
  op.rows = rows;
  op.cols = cols;
  return op;
}

Matrix applied(const Operation& op, const Operands& src, Matrix dst) {
  TileArithmetic(AttentionProblem{.dtype = DataType::fp32}).apply(op, src, dst);
  return dst;
}

/// What a product must give, in the order of the inner dimension.
Matrix plain_product(const Operation& op, DataType type, const Matrix& a, const Matrix& b, Matrix dst) {
  for (int r = 0; r < op.rows; ++r)
    for (int c = 0; c < op.cols; ++c) {
      volatile float sum = 0;  // one rounding a step, whatever the compiler would like to contract
      for (int k = 0; k < op.inner; ++k) {
        volatile float term =
            round_to(type, op.transpose_left ? a.at(k, r) : a.at(r, k)) * round_to(type, op.transpose ? b.at(c, k) : b.at(k, c));
        sum = sum + term;
      }
      volatile float product = op.value * sum;
      dst.at(r, c) = op.accumulate ? dst.at(r, c) + product : product;
    }
  return dst;
}

}  // namespace

TEST_CASE("arithmetic: a product has the bits of plain loops, for every shape, transposed or not, accumulated or not") {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const auto filled = [&](int rows, int cols) {
    Matrix m(rows, cols);
    for (float& value : m.values) value = normal(random);
    return m;
  };
  for (int i = 0; i < 120; ++i) {
    Operation op = operation(OpKind::matmul, 1 + static_cast<int>(random() % 19), 1 + static_cast<int>(random() % 21));
    op.inner = 1 + static_cast<int>(random() % 40);
    op.transpose = random() % 2 == 0;
    op.transpose_left = random() % 2 == 0;
    op.accumulate = random() % 2 == 0;
    op.value = i % 3 == 0 ? 1.0F : 0.125F;
    op.src = {tiles::p, tiles::s};
    const DataType type = static_cast<DataType>(i % 3);
    const Matrix a = op.transpose_left ? filled(op.inner, op.rows) : filled(op.rows, op.inner);
    const Matrix b = op.transpose ? filled(op.cols, op.inner) : filled(op.inner, op.cols);
    Matrix made = filled(op.rows, op.cols);
    const Matrix expected = plain_product(op, type, a, b, made);
    TileArithmetic(AttentionProblem{.dtype = type}).apply(op, {&a, &b}, made);
    CHECK(made == expected);
  }
}

TEST_CASE("arithmetic: row maximum and row sum, with and without what came before") {
  const Matrix s = matrix(3, 4, {1, 5, -2, 3, none, none, none, none, -7, -8, -9, -10}), old = matrix(3, 1, {9, -3, none});
  CHECK(applied(operation(OpKind::row_max, 3, 1), {nullptr, &s}, Matrix(3, 1)) == matrix(3, 1, {5, none, -7}));
  CHECK(applied(operation(OpKind::row_max, 3, 1), {&old, &s}, Matrix(3, 1)) == matrix(3, 1, {9, -3, -7}));
  const Matrix p = matrix(3, 3, {1, 2, 3, 0, 0, 0, 4, 5, 6}), l = matrix(3, 1, {10, 20, 30}), alpha = matrix(3, 1, {0.5F, 0, 1});
  CHECK(applied(operation(OpKind::row_sum, 3, 1), {nullptr, &p}, Matrix(3, 1)) == matrix(3, 1, {6, 0, 15}));
  CHECK(applied(operation(OpKind::row_sum, 3, 1), {&l, &p}, Matrix(3, 1)) == matrix(3, 1, {16, 20, 45}));
  CHECK(applied(operation(OpKind::row_sum, 3, 1), {&l, &p, &alpha}, Matrix(3, 1)) == matrix(3, 1, {11, 0, 45}));
}

TEST_CASE("arithmetic: the exponential of what is masked is 0, in a row where everything is masked too") {
  const Matrix s = matrix(2, 3, {0, none, -1, none, none, none}), m = matrix(2, 1, {0, none});
  CHECK(applied(operation(OpKind::exp, 2, 3), {&s, &m}, Matrix(2, 3)) == matrix(2, 3, {1, 0, std::exp(-1.0F), 0, 0, 0}));
  const Matrix old = matrix(3, 1, {none, none, 1}), now = matrix(3, 1, {none, 2, 1});
  CHECK(applied(operation(OpKind::exp_rows, 3, 1), {&old, &now}, Matrix(3, 1)) == matrix(3, 1, {0, 0, 1}));
}

TEST_CASE("arithmetic: rescaling, dividing and merging rows; dividing by an empty sum gives 0") {
  const Matrix o = matrix(2, 2, {2, 4, 6, 8}), a = matrix(2, 1, {0.5F, 3}), b = matrix(2, 1, {4, 1}), zero = matrix(2, 1, {2, 0});
  CHECK(applied(operation(OpKind::rescale, 2, 2), {&a}, o) == matrix(2, 2, {1, 2, 18, 24}));
  CHECK(applied(operation(OpKind::rescale, 2, 2), {&a, &b}, o) == matrix(2, 2, {4, 8, 18, 24}));
  CHECK(applied(operation(OpKind::divide, 2, 2), {&zero}, o) == matrix(2, 2, {1, 2, 0, 0}));
  CHECK(applied(operation(OpKind::merge, 2, 1), {&a, &b, &zero, &b}, Matrix(2, 1)) == matrix(2, 1, {10, 3}));
  CHECK(applied(operation(OpKind::add, 2, 2), {&o}, o) == matrix(2, 2, {4, 8, 12, 16}));
  CHECK(applied(operation(OpKind::copy, 2, 2), {&o}, Matrix(2, 2)) == o);
}

TEST_CASE("arithmetic: log-sum-exp of an empty row is minus infinity") {
  const Matrix m = matrix(3, 1, {2, none, -5}), l = matrix(3, 1, {1, 0, std::exp(1.0F)});
  const Matrix lse = applied(operation(OpKind::log_sum_exp, 3, 1), {&m, &l}, Matrix(3, 1));
  CHECK(lse.at(0, 0) == 2);
  CHECK(lse.at(1, 0) == none);
  CHECK(lse.at(2, 0) == doctest::Approx(-4));
}

TEST_CASE("arithmetic: the mask hides exactly the keys that a query may not see") {
  const AttentionProblem problem = {.seq_q = 6, .seq_kv = 10, .causal = true};
  Operation op = operation(OpKind::mask, 3, 4);
  op.tile = {tensors::s, 0, 2, 3, 5, 4};  // queries 2..4, keys 5..8; query i sees keys up to i + 4
  Matrix s(3, 4, 1);
  TileArithmetic(problem).apply(op, {}, s);
  CHECK(s == matrix(3, 4, {1, 1, none, none, 1, 1, 1, none, 1, 1, 1, 1}));
}

TEST_CASE("arithmetic: operands that are missing or do not match are named") {
  Operation op = operation(OpKind::matmul, 2, 3);
  op.inner = 4;
  op.dst = tiles::s;
  op.src = {tiles::q, tiles::k};
  const Matrix q(2, 4), k(4, 3), wrong(3, 3);
  CHECK(operand_fault(op, {&q, &k}, nullptr).empty());
  CHECK(operand_fault(op, {&q, nullptr}, nullptr).find("(K) holds nothing") != std::string::npos);
  CHECK(operand_fault(op, {&q, &wrong}, nullptr).find("3x3") != std::string::npos);
  op.accumulate = true;
  CHECK(operand_fault(op, {&q, &k}, nullptr).find("S is updated but holds nothing") != std::string::npos);
  CHECK_FALSE(operand_fault(op, {&q, &k}, &wrong).empty());
}

TEST_CASE("arithmetic: each operand of another size than the operation needs is a fault, and so is each that is missing") {
  struct Size {
    int rows, cols;
    bool any_cols = false;  // of a matrix whose rows are summed up, or looked through
  };
  struct Row {
    OpKind kind;
    std::vector<Size> src;
    std::size_t needed;  // those behind are optional
    bool updates, transpose = false, transpose_left = false, accumulate = false;
  };
  constexpr int rows = 5, cols = 7, inner = 3;
  constexpr Size tile{rows, cols}, column{rows, 1}, wide{rows, 9, true};
  const Row of_kind[] = {
      {OpKind::matmul, {{rows, inner}, {inner, cols}}, 2, false},
      {OpKind::matmul, {{rows, inner}, {cols, inner}}, 2, false, true},
      {OpKind::matmul, {{inner, rows}, {inner, cols}}, 2, false, false, true},
      {OpKind::matmul, {{inner, rows}, {cols, inner}}, 2, true, true, true, true},
      {OpKind::exp, {tile, column}, 2, false},
      {OpKind::exp_rows, {column, column}, 2, false},
      {OpKind::log_sum_exp, {column, column}, 2, false},
      {OpKind::row_max, {column, wide}, 2, false},
      {OpKind::row_sum, {column, wide, column}, 2, false},
      {OpKind::rescale, {column, column}, 1, true},
      {OpKind::divide, {column}, 1, true},
      {OpKind::subtract_rows, {column}, 1, true},
      {OpKind::add, {tile}, 1, true},
      {OpKind::multiply, {tile}, 1, true},
      {OpKind::slope, {tile}, 1, false},
      {OpKind::factor, {tile}, 1, false},
      {OpKind::copy, {tile}, 1, false},
      {OpKind::merge, {column, column, column, column}, 4, false},
      {OpKind::store, {tile}, 1, false},
      {OpKind::reduce_add, {tile}, 1, false},
      {OpKind::mask, {}, 0, true},
      {OpKind::modify, {}, 0, true},
      {OpKind::gather, {tile}, 1, false},
      {OpKind::gather, {tile}, 1, true, false, false, true},
  };
  for (const Row& row : of_kind) {
    CAPTURE(to_string(row.kind));
    CAPTURE(row.transpose);
    CAPTURE(row.transpose_left);
    Operation op = operation(row.kind, rows, cols);
    op.inner = inner;
    op.transpose = row.transpose, op.transpose_left = row.transpose_left, op.accumulate = row.accumulate;
    op.dst = tiles::o;
    op.tile = {tensors::o, 0, 0, rows, 0, cols};
    std::vector<Matrix> sources;
    for (const Size& size : row.src) sources.emplace_back(size.rows, size.cols);
    const ChipTile names[] = {tiles::q, tiles::k, tiles::v, tiles::p};
    for (std::size_t i = 0; i < row.src.size(); ++i) op.src[i] = names[i];
    const auto fault = [&](const Matrix* dst) {
      Operands src{};
      for (std::size_t i = 0; i < sources.size(); ++i) src[i] = op.src[i] == ChipTile::none ? nullptr : &sources[i];
      return operand_fault(op, src, dst);
    };
    const Matrix fits(rows, cols), fewer(rows - 1, cols), wider(rows, cols + 1);
    CHECK(updates_destination(op) == row.updates);
    CHECK(fault(&fits).empty());
    CHECK(fault(nullptr).empty() == !row.updates);
    CHECK(fault(&fewer).empty() == !row.updates);
    CHECK(fault(&wider).empty() == !row.updates);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      CAPTURE(i);
      for (const int by : {-1, 1}) {
        sources[i] = Matrix(row.src[i].rows + by, row.src[i].cols);
        CHECK_FALSE(fault(&fits).empty());
        if (row.src[i].cols + by == 0) continue;
        sources[i] = Matrix(row.src[i].rows, row.src[i].cols + by);
        CHECK(fault(&fits).empty() == row.src[i].any_cols);
      }
      sources[i] = Matrix(row.src[i].rows, row.src[i].cols);
      const ChipTile name = std::exchange(op.src[i], ChipTile::none);
      const bool may_miss = i >= row.needed || (i == 0 && (row.kind == OpKind::row_max || row.kind == OpKind::row_sum));
      CHECK(fault(&fits).empty() == may_miss);
      op.src[i] = name;
    }
  }
}

TEST_CASE("arithmetic: parts that would be added outside their row are a fault, at either end and by either step") {
  Operation op = operation(OpKind::add_parts, 1, 9);
  op.dst = tiles::o;
  op.src = {tiles::q};
  const Matrix row(1, 9), three(1, 3), two_rows(2, 3);
  const auto fault = [&](int first, float step, const Matrix& parts) {
    op.inner = first;
    op.value = step;
    return operand_fault(op, {&parts}, &row);
  };
  CHECK(fault(0, 4, three).empty());
  CHECK(fault(1, 4, three) == "Q is added to elements 1 to 9 of O, which has 9");
  CHECK(fault(8, -4, three).empty());
  CHECK(fault(7, -4, three) == "Q is added to elements 7 to -1 of O, which has 9");
  CHECK_FALSE(fault(-1, 1, three).empty());
  CHECK_FALSE(fault(9, -1, three).empty());
  CHECK_FALSE(fault(0, 1, two_rows).empty());
  op.rows = 2;
  const Matrix rows(2, 9);
  CHECK_FALSE(operand_fault(op, {&three}, &rows).empty());
}

TEST_CASE("arithmetic: what is no number passes the maximum by, and stays none in its own place") {
  const float nan = std::nanf("");
  const Matrix s = matrix(3, 3, {1, nan, 3, nan, none, none, 4, 5, nan}), old = matrix(3, 1, {2, none, 9});
  const Matrix largest = applied(operation(OpKind::row_max, 3, 1), {&old, &s}, Matrix(3, 1));
  CHECK(largest == matrix(3, 1, {3, none, 9}));  // as fmaxf() of the GPU
  const Matrix p = applied(operation(OpKind::exp, 3, 3), {&s, &largest}, Matrix(3, 3));
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      const float score = s.at(r, c);
      if (std::isnan(score))
        CHECK(std::isnan(p.at(r, c)));
      else
        CHECK(p.at(r, c) == (score == none ? 0 : doctest::Approx(std::exp(score - largest.at(r, 0)))));
    }
}

TEST_CASE("arithmetic: filling, subtracting rows, products of elements and sums of parts") {
  const Matrix s = matrix(2, 3, {1, 2, 3, 4, 5, 6}), d = matrix(2, 1, {1, -2});
  Operation fill = operation(OpKind::fill, 2, 3);
  fill.value = 1.5F;
  CHECK(applied(fill, {}, s) == Matrix(2, 3, 1.5F));
  CHECK(applied(operation(OpKind::subtract_rows, 2, 3), {&d}, s) == matrix(2, 3, {0, 1, 2, 6, 7, 8}));
  CHECK(applied(operation(OpKind::multiply, 2, 3), {&s}, s) == matrix(2, 3, {1, 4, 9, 16, 25, 36}));
  Operation parts = operation(OpKind::add_parts, 1, 9);
  const Matrix three = matrix(1, 3, {1, 2, 3});
  parts.inner = 1, parts.value = 2;  // from element 1 on, every second
  CHECK(applied(parts, {&three}, Matrix(1, 9, 10)) == matrix(1, 9, {10, 11, 10, 12, 10, 13, 10, 10, 10}));
  parts.inner = 8, parts.value = -4;
  CHECK(applied(parts, {&three}, Matrix(1, 9, 10)) == matrix(1, 9, {13, 10, 10, 10, 12, 10, 10, 10, 11}));
}

TEST_CASE("arithmetic: a score change and its derivative see the element's own query and key, and hidden elements do not count") {
  AttentionProblem problem = {.batch = 2, .heads = 2, .kv_heads = 2, .seq_q = 20, .seq_kv = 30, .dtype = DataType::fp32};
  REQUIRE(settle_masks({.masks = {"kv <= q + 7"}, .score = "(100 * b + 50 * h + q) * score + kv"}, problem));
  for (const int plane : {0, 1, 2, 3})
    for (const auto& [first_query, first_key] : {std::pair{0, 0}, std::pair{4, 9}, std::pair{15, 24}}) {
      Operation op = operation(OpKind::modify, 4, 5);
      op.tile = {tensors::s, plane, first_query, 4, first_key, 5};
      Matrix scores(4, 5);
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 5; ++c) scores.at(r, c) = 0.25F * static_cast<float>(1 + r + 2 * c);
      const Matrix before = scores;
      TileArithmetic arithmetic(problem);
      arithmetic.apply(op, {}, scores);
      Matrix slopes(4, 5);
      op.kind = OpKind::slope;
      arithmetic.apply(op, {&before}, slopes);
      CHECK(arithmetic.fault().empty());
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 5; ++c) {
          const int q = first_query + r, kv = first_key + c, factor = 100 * (plane / 2) + 50 * (plane % 2) + q;
          const bool visible = kv <= q + 7;
          if (visible) CHECK(scores.at(r, c) == static_cast<float>(factor) * before.at(r, c) + static_cast<float>(kv));
          CHECK(slopes.at(r, c) == (visible ? static_cast<float>(factor) : 0));
        }
    }
}

TEST_CASE("arithmetic: a score or a derivative that is no number is a fault where the element is visible, with its place") {
  const AttentionProblem sizes = {.batch = 2, .heads = 2, .kv_heads = 2, .seq_q = 20, .seq_kv = 30, .dtype = DataType::fp32};
  for (int query = 4; query < 8; ++query)
    for (int key = 9; key < 14; ++key) {
      AttentionProblem problem = sizes;
      // One element becomes infinite, and the derivative of another change is infinite there.
      const std::string at = "q == " + std::to_string(query) + " && kv == " + std::to_string(key);
      REQUIRE(settle_masks({.masks = {"kv <= q + 5"}, .score = at + " ? inf : score"}, problem));
      Operation op = operation(OpKind::modify, 4, 5);
      op.tile = {tensors::s, 3, 4, 4, 9, 5};  // queries 4 to 7, keys 9 to 13, of the last head of the last batch
      Matrix scores(4, 5, 0.5F);
      TileArithmetic arithmetic(problem);
      arithmetic.apply(op, {}, scores);
      const std::string place = "of 0.5 at b 1, h 1, q " + std::to_string(query) + ", kv " + std::to_string(key) + ":";
      const bool visible = key <= query + 5;
      CHECK(arithmetic.fault().empty() == !visible);
      if (visible) CHECK(arithmetic.fault().text().find("the score expression makes infinity " + place) == 0);

      problem = sizes;
      REQUIRE(settle_masks({.masks = {"kv <= q + 5"}, .score = at + " ? inf * score : score"}, problem));
      op.kind = OpKind::slope;
      const Matrix before(4, 5, 0.5F);
      Matrix slopes(4, 5);
      TileArithmetic derivative(problem);
      derivative.apply(op, {&before}, slopes);
      CHECK(derivative.fault().empty() == !visible);
      if (visible) CHECK(derivative.fault().text().find("the derivative of the score expression makes infinity " + place) == 0);
    }
  // What was infinite before is not the expression's fault, and a row that is hidden as a whole never is.
  AttentionProblem problem = sizes;
  REQUIRE(settle_masks({.score = "score * 2"}, problem));
  Operation op = operation(OpKind::modify, 1, 3);
  op.tile = {tensors::s, 0, 0, 1, 0, 3};
  Matrix scores = matrix(1, 3, {HUGE_VALF, none, 1});
  TileArithmetic arithmetic(problem);
  arithmetic.apply(op, {}, scores);
  CHECK(arithmetic.fault().empty());
  CHECK(scores.at(0, 2) == 2);
}
