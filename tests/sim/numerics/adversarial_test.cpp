// Inputs that break a careless softmax: huge scores, maxima that rise with every key, ties, one key that takes all, a user's
// matrix.
#include <doctest/doctest.h>

#include <cmath>
#include <string_view>

#include "sim/numerics/program_reference.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

constexpr std::string_view attention[] = {"standard", "flash1", "flash2"};

AttentionProblem problem_of(DataType type, bool causal = false) {
  return {.seq_q = 48, .seq_kv = 64, .head_dim = 16, .dtype = type, .causal = causal};
}

double error_of(std::string_view id, const AttentionProblem& problem, const InputSource& inputs) {
  const auto program = (*find_program(id))->make(problem, {16, 8}, toy_gpu());
  REQUIRE(program);
  const auto made = run_plane(**program, inputs, 0, tensors::o);
  REQUIRE(made);
  return relative_error(*made, reference_plane(**program, inputs, 0, tensors::o));
}

/// A matrix whose entry is a function of its place.
template <class Entry>
std::shared_ptr<const Matrix> matrix(int rows, int cols, Entry entry) {
  auto m = std::make_shared<Matrix>(rows, cols);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) m->at(r, c) = static_cast<float>(entry(r, c));
  return m;
}

}  // namespace

TEST_CASE("adversarial: scores in the hundreds do not overflow, and O keeps float32's accuracy") {
  InputSource inputs;
  inputs.spread = 8;  // scores have a standard deviation of 64 x 4
  for (std::string_view id : attention) CHECK(error_of(id, problem_of(DataType::fp32), inputs) <= 1e-4);
  // Each score carries an error of its own size times 6e-8, and e^s turns that into a relative error of P.
  inputs.spread = 30;
  for (std::string_view id : attention) CHECK(error_of(id, problem_of(DataType::fp32), inputs) <= 1e-3);
}

TEST_CASE("adversarial: a spread of 30 leaves P one-hot, and half precision right where scores do not go through HBM") {
  InputSource inputs;
  inputs.spread = 30;
  inputs.v = matrix(64, 16, [](int r, int c) { return (r % 7) - 3 + 0.25 * c; });
  CHECK(error_of("flash2", problem_of(DataType::fp16), inputs) <= 2e-3);
  CHECK(error_of("flash2", problem_of(DataType::bf16), inputs) <= 1.6e-2);
  CHECK(error_of("flash1", problem_of(DataType::fp16), inputs) <= 2e-3);
}

TEST_CASE("adversarial: a maximum that rises with every key rescales in every tile and loses nothing") {
  InputSource inputs;
  inputs.q = matrix(48, 16, [](int, int) { return 1.0; });
  inputs.k = matrix(64, 16, [](int r, int) { return r / 8.0; });  // scores rise from 0 to 31.5 in steps of 1/2
  for (std::string_view id : attention) {
    CHECK(error_of(id, problem_of(DataType::fp32), inputs) <= 1e-5);
    CHECK(error_of(id, problem_of(DataType::fp16), inputs) <= 2e-3);
    CHECK(error_of(id, problem_of(DataType::bf16), inputs) <= 1.6e-2);
    CHECK(error_of(id, problem_of(DataType::fp32, true), inputs) <= 1e-5);
  }
}

TEST_CASE("adversarial: a maximum that falls with every key never rescales") {
  InputSource inputs;
  inputs.q = matrix(48, 16, [](int, int) { return 1.0; });
  inputs.k = matrix(64, 16, [](int r, int) { return -r / 8.0; });
  const auto program = (*find_program("flash2"))->make(problem_of(DataType::fp32), {16, 8}, toy_gpu());
  const auto history = *run_block(**program, inputs, 0, 1);
  const auto& operations = history->operations().operations;
  for (int i = 0; i < static_cast<int>(operations.size()); ++i) {
    const Operation& op = operations[static_cast<std::size_t>(i)];
    if (op.kind != OpKind::exp_rows) continue;
    for (int r = 0; r < op.rows; ++r) CHECK(history->value(tiles::alpha, i)->at(r, 0) == (op.iteration == 0 ? 0.0F : 1.0F));
  }
  CHECK(error_of("flash2", problem_of(DataType::fp32), inputs) <= 1e-5);
}

TEST_CASE("adversarial: where all scores are equal, O is the mean of V and L the logarithm of the number of keys") {
  InputSource inputs;
  inputs.q = matrix(48, 16, [](int, int) { return 0.0; });
  const AttentionProblem problem = problem_of(DataType::fp32);
  for (std::string_view id : attention) {
    const auto program = (*find_program(id))->make(problem, {16, 8}, toy_gpu());
    const Matrix o = *run_plane(**program, inputs, 0, tensors::o);
    for (int c = 0; c < 16; ++c) {
      double mean = 0;
      for (int r = 0; r < 64; ++r) mean += inputs.value(problem, tensors::v, 0, r, c) / 64.0;
      for (int r = 0; r < 48; ++r) CHECK(o.at(r, c) == doctest::Approx(mean).epsilon(1e-5));
    }
  }
  const auto program = (*find_program("flash2"))->make(problem, {16, 8}, toy_gpu());
  const Matrix lse = *run_plane(**program, inputs, 0, tensors::lse);
  for (int r = 0; r < 48; ++r) CHECK(lse.at(r, 0) == doctest::Approx(std::log(64.0)));
}

TEST_CASE("adversarial: a key that takes everything makes O its row of V, in every type") {
  InputSource inputs;
  inputs.q = matrix(48, 16, [](int, int c) { return c == 0 ? 40 : 0; });
  inputs.k = matrix(64, 16, [](int r, int c) { return c == 0 && r == 37 ? 40 : 0; });  // its score is 400, all others are 0
  for (DataType type : {DataType::fp32, DataType::fp16, DataType::bf16}) {
    const AttentionProblem problem = problem_of(type);
    for (std::string_view id : attention) {
      const auto program = (*find_program(id))->make(problem, {16, 8}, toy_gpu());
      const Matrix o = *run_plane(**program, inputs, 0, tensors::o);
      for (int r = 0; r < 48; ++r)
        for (int c = 0; c < 16; ++c) CHECK(o.at(r, c) == inputs.value(problem, tensors::v, 0, 37, c));
    }
  }
}

TEST_CASE("adversarial: queries that see no key have O = 0 and L = minus infinity, and never NaN") {
  AttentionProblem problem = {.seq_q = 40, .seq_kv = 9, .head_dim = 16, .dtype = DataType::fp16, .causal = true};
  for (std::string_view id : attention) {
    const auto program = (*find_program(id))->make(problem, {16, 8}, toy_gpu());
    const Matrix o = *run_plane(**program, {}, 0, tensors::o);
    for (int r = 0; r < 40; ++r)
      for (int c = 0; c < 16; ++c) CHECK((r < 31 ? o.at(r, c) == 0.0F : std::isfinite(o.at(r, c))));
    CHECK(relative_error(o, reference_plane(**program, {}, 0, tensors::o)) <= 2e-3);
  }
  const auto program = (*find_program("flash2"))->make(problem, {16, 8}, toy_gpu());
  const Matrix lse = *run_plane(**program, {}, 0, tensors::lse);
  for (int r = 0; r < 40; ++r) CHECK((r < 31 ? lse.at(r, 0) == -HUGE_VALF : std::isfinite(lse.at(r, 0))));
}

TEST_CASE("adversarial: the three softmaxes and the three attentions agree with one another, not only with the reference") {
  const AttentionProblem problem = problem_of(DataType::fp32);
  const auto plane = [&](std::string_view id, Tensor tensor) {
    const auto program = (*find_program(id))->make(problem, {16, 8}, toy_gpu());
    return *run_plane(**program, {}, 0, tensor);
  };
  CHECK(relative_error(plane("softmax_safe", tensors::p), plane("softmax_online", tensors::p)) <= 1e-6);
  CHECK(relative_error(plane("flash1", tensors::o), plane("flash2", tensors::o)) <= 2e-6);
  CHECK(relative_error(plane("standard", tensors::o), plane("flash2", tensors::o)) <= 2e-6);
  CHECK(relative_error(plane("softmax_fused", tensors::o), plane("flash2", tensors::o)) <= 2e-6);
  CHECK(plane("matmul_naive", tensors::s) == plane("matmul_tiled", tensors::s));
}

TEST_CASE("relative error: infinities that agree are no error, and everything else that is not finite is") {
  Matrix a(1, 3), b(1, 3);
  a.values = b.values = {3, -HUGE_VALF, 4};
  CHECK(relative_error(a, b) == 0);
  a.values[0] = 3.05F;
  CHECK(relative_error(a, b) == doctest::Approx(0.01).epsilon(1e-4));
  a.values[1] = 0;
  CHECK_FALSE(relative_error(a, b) <= 1e9);
  a.values[1] = std::nanf("");
  CHECK_FALSE(relative_error(a, b) <= 1e9);
  CHECK_FALSE(relative_error(Matrix(1, 3), Matrix(3, 1)) <= 1e9);
  CHECK(relative_error(Matrix(2, 2), Matrix(2, 2)) == 0);
}
