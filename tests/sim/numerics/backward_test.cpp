// The backward pass: the reference against finite differences, what makes it cheap, what it loses, and in which order it adds.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "sim/core/element.h"
#include "sim/core/mask.h"
#include "sim/masks/score_change.h"
#include "sim/numerics/block_values.h"
#include "sim/numerics/inputs.h"
#include "sim/numerics/program_reference.h"
#include "sim/numerics/program_reference_gradients.h"
#include "sim/programs/backward_tensors.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

constexpr std::string_view backward[] = {
    "standard_backward", "flash1_backward", "flash2_backward", "flash2_backward_two_pass", "flash2_backward_deterministic",
    "flash3_backward",   "flex_backward"};

std::unique_ptr<TileProgram> program_for(std::string_view id, const AttentionProblem& problem, const TileShape& tile,
                                         Pass pass = Pass::backward) {
  AttentionProblem asked = problem;
  asked.pass = pass;
  auto program = (*find_program(id, pass))->make(asked, tile, toy_gpu());
  REQUIRE_MESSAGE(program, (program ? "" : program.error().sentence));
  return std::move(*program);
}

/// Q, K, V and dO of one plane in float64, to be changed one element at a time.
struct Exact {
  AttentionProblem problem;
  std::vector<double> q, k, v, d_o;

  static std::vector<double> plane_of(const AttentionProblem& p, Tensor tensor, std::int64_t rows) {
    const Matrix m = input_tile({}, p, {tensor, 0, 0, static_cast<std::int32_t>(rows), 0, static_cast<std::int32_t>(p.head_dim)});
    return {m.values.begin(), m.values.end()};
  }
  explicit Exact(const AttentionProblem& p)
      : problem(p),
        q(plane_of(p, tensors::q, p.seq_q)),
        k(plane_of(p, tensors::k, p.seq_kv)),
        v(plane_of(p, tensors::v, p.seq_kv)),
        d_o(plane_of(p, tensors::d_o, p.seq_q)) {}

  /// Σ dO·O, whose gradients are those of O weighted with dO.
  double loss() const {
    const auto d = static_cast<std::size_t>(problem.head_dim);
    double sum = 0;
    for (std::int64_t r = 0; r < problem.seq_q; ++r) {
      double total = 0, weighted = 0;
      for (std::int64_t c = 0; c < problem.seq_kv; ++c) {
        const bool sees =
            problem.mask ? problem.mask->visible(0, r, c) : !problem.causal || c <= r + problem.seq_kv - problem.seq_q;
        if (!sees) continue;
        double score = 0, value = 0;
        for (std::size_t t = 0; t < d; ++t) {
          score += q[static_cast<std::size_t>(r) * d + t] * k[static_cast<std::size_t>(c) * d + t];
          value += d_o[static_cast<std::size_t>(r) * d + t] * v[static_cast<std::size_t>(c) * d + t];
        }
        double changed[] = {score / std::sqrt(static_cast<double>(d))};
        if (problem.score_change) problem.score_change->apply(0, r, c, changed);
        const double weight = std::exp(changed[0]);
        total += weight;
        weighted += weight * value;
      }
      if (total > 0) sum += weighted / total;
    }
    return sum;
  }
};

void agrees_with_differences(const AttentionProblem& problem) {
  Exact exact(problem);
  const ReferenceGradients made = reference_gradients(problem, {}, 0);
  constexpr double step = 1e-4;  // its square times a third derivative, and rounding over it, are both below 1e-7
  const auto check = [&](std::vector<double>& values, const std::vector<double>& gradient) {
    REQUIRE(values.size() == gradient.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double at = values[i];
      values[i] = at + step;
      const double above = exact.loss();
      values[i] = at - step;
      const double below = exact.loss();
      values[i] = at;
      CHECK(gradient[i] == doctest::Approx((above - below) / (2 * step)).epsilon(1e-6));
    }
  };
  check(exact.q, made.d_q);
  check(exact.k, made.d_k);
  check(exact.v, made.d_v);
}

Matrix plane_of(const TileProgram& program, std::int64_t plane, Tensor tensor) {
  const auto made = run_plane(program, {}, plane, tensor);
  REQUIRE_MESSAGE(made, (made ? "" : made.error().sentence));
  return *made;
}

}  // namespace

TEST_CASE("reference gradients: equal finite differences of the loss, masked and not") {
  AttentionProblem problem = {.seq_q = 9, .seq_kv = 7, .head_dim = 5, .dtype = DataType::fp32};
  agrees_with_differences(problem);
  problem.causal = true;  // the first two queries see no key
  agrees_with_differences(problem);
  problem.causal = false;
  std::mt19937 random(5);
  std::vector<bool> visible(9 * 7);
  for (std::size_t i = 0; i < visible.size(); ++i) visible[i] = random() % 3 != 0;
  problem.mask = std::make_shared<MatrixMask>(9, 7, visible);
  agrees_with_differences(problem);
}

TEST_CASE("reference gradients: equal finite differences with changed scores") {
  AttentionProblem problem = {.seq_q = 7, .seq_kv = 9, .head_dim = 5, .dtype = DataType::fp32};
  for (const char* text : {"2 * tanh(score / 2)", "score + 0.125 * (q - kv)", "score * sigmoid(score)",
                           "where(q >= kv, 3 * score, -score)", "log(exp(score) + 1) / (kv + 1)"}) {
    CAPTURE(text);
    auto expression = parse_score_expression(text, sizes_of(problem), {});
    REQUIRE(expression);
    problem.score_change = *ScoreChange::make(std::move(*expression), nullptr);
    agrees_with_differences(problem);
  }
}

TEST_CASE("reference gradients: D is the row sum of dO times O, so a backward pass needs no row of dP") {
  const AttentionProblem problem = {.seq_q = 30, .seq_kv = 44, .head_dim = 16, .dtype = DataType::fp32, .causal = true};
  const ReferenceGradients made = reference_gradients(problem, {}, 0);
  const ReferencePlane forward(problem, {}, 0);
  for (int r = 0; r < 30; ++r) {
    const ReferenceRow row = forward.row(r);
    double dot = 0, of_d_s = 0;
    for (int t = 0; t < 16; ++t)
      dot += row.output[static_cast<std::size_t>(t)] * InputSource{}.value(problem, tensors::d_o, 0, r, t);
    for (int c = 0; c < 44; ++c) of_d_s += made.d_s[static_cast<std::size_t>(r * 44 + c)];
    CHECK(made.row_dot[static_cast<std::size_t>(r)] == doctest::Approx(dot).epsilon(1e-12));
    CHECK(std::abs(of_d_s) < 1e-12);  // adding one number to all scores of a row changes nothing
  }
}

TEST_CASE("backward: what the forward pass left is that of the reference, rounded once") {
  const AttentionProblem problem = {.heads = 2, .kv_heads = 1, .seq_q = 20, .seq_kv = 28, .head_dim = 16, .dtype = DataType::fp16};
  const auto program = program_for("flash1_backward", problem, {8, 8});
  const ReferencePlane forward(problem, {}, 1);
  for (int r = 0; r < 20; ++r) {
    const ReferenceRow row = forward.row(r);
    CHECK(InputSource{}.value(problem, tensors::lse, 1, r, 0) == static_cast<float>(row.log_sum_exp));
    CHECK(InputSource{}.value(problem, tensors::m, 1, r, 0) == static_cast<float>(row.maximum));
    CHECK(InputSource{}.value(problem, tensors::l, 1, r, 0) == static_cast<float>(row.sum));
    CHECK(InputSource{}.value(problem, tensors::o, 1, r, 3) == round_to(DataType::fp16, static_cast<float>(row.output[3])));
    CHECK(InputSource{}.value(problem, tensors::p, 1, r, 9) == round_to(DataType::fp16, static_cast<float>(row.probabilities[9])));
  }
}

TEST_CASE("backward: with a mask of its own, every program agrees with the reference, for every head of a group") {
  std::mt19937 random(11);
  std::vector<bool> visible(37 * 45);
  for (int r = 0; r < 37; ++r)
    for (int c = 0; c < 45; ++c) visible[static_cast<std::size_t>(r * 45 + c)] = c / 9 <= r / 7 && random() % 4 != 0;
  for (const DataType type : {DataType::fp32, DataType::fp16, DataType::bf16}) {
    AttentionProblem problem = {.heads = 3, .kv_heads = 1, .seq_q = 37, .seq_kv = 45, .head_dim = 24, .dtype = type};
    problem.mask = std::make_shared<MatrixMask>(37, 45, visible);
    const double bound = type == DataType::fp32 ? 1e-5 : type == DataType::fp16 ? 2e-3 : 1.6e-2;
    for (const std::string_view id : backward) {
      CAPTURE(id);
      const auto program = program_for(id, problem, {8, 8});
      for (int plane = 0; plane < 3; ++plane)
        CHECK(relative_error(plane_of(*program, plane, tensors::d_q), reference_plane(*program, {}, plane, tensors::d_q)) <= bound);
      for (const Tensor tensor : {tensors::d_k, tensors::d_v})
        CHECK(relative_error(plane_of(*program, 0, tensor), reference_plane(*program, {}, 0, tensor)) <= bound);
    }
  }
}

TEST_CASE("backward: head dimensions up to 256 agree with the reference") {
  for (const std::int64_t d : {128, 192, 256}) {
    const AttentionProblem problem = {.seq_q = 40, .seq_kv = 56, .head_dim = d, .dtype = DataType::bf16, .causal = true};
    for (const std::string_view id : backward) {
      CAPTURE(id);
      CAPTURE(d);
      const auto program = program_for(id, problem, {16, 16});
      for (const Tensor tensor : {tensors::d_q, tensors::d_k, tensors::d_v})
        CHECK(relative_error(plane_of(*program, 0, tensor), reference_plane(*program, {}, 0, tensor)) <= 1.6e-2);
    }
  }
}

TEST_CASE("backward: with one key the weight is 1 whatever the score, so dQ and dK are what rounding leaves of 0") {
  for (const DataType type : {DataType::fp32, DataType::fp16, DataType::bf16}) {
    const AttentionProblem problem = {.seq_q = 33, .seq_kv = 1, .head_dim = 16, .dtype = type};
    const ReferenceGradients exact = reference_gradients(problem, {}, 0);
    double size = 0;  // of what dS is a difference of
    for (const double d_p : exact.d_p) size = std::max(size, std::abs(d_p));
    const double rounding = type == DataType::fp32 ? 0x1p-20 : type == DataType::fp16 ? 0x1p-10 : 0x1p-7;
    for (const double d_q : exact.d_q) CHECK(std::abs(d_q) < 1e-14);
    for (const std::string_view id : backward) {
      CAPTURE(id);
      const auto program = program_for(id, problem, {16, 8});
      const Matrix d_q = plane_of(*program, 0, tensors::d_q);
      for (const float value : d_q.values) CHECK(std::abs(value) <= rounding * size);
      CHECK(relative_error(plane_of(*program, 0, tensors::d_v), reference_plane(*program, {}, 0, tensors::d_v)) <=
            (type == DataType::fp32   ? 1e-5
             : type == DataType::fp16 ? 2e-3
                                      : 1.6e-2));
    }
  }
}

TEST_CASE("backward: queries that see no key leave dQ at 0, and no gradient is ever NaN") {
  const AttentionProblem problem = {.seq_q = 40, .seq_kv = 9, .head_dim = 16, .dtype = DataType::fp16, .causal = true};
  for (const std::string_view id : backward) {
    CAPTURE(id);
    const auto program = program_for(id, problem, {16, 8});
    const Matrix d_q = plane_of(*program, 0, tensors::d_q);
    for (int r = 0; r < 31; ++r)
      for (int t = 0; t < 16; ++t) CHECK(d_q.at(r, t) == 0.0F);
    for (const Tensor tensor : {tensors::d_q, tensors::d_k, tensors::d_v})
      for (const float value : plane_of(*program, 0, tensor).values) CHECK(std::isfinite(value));
  }
}

TEST_CASE("backward: P is made again with the bits that a second look at the same tile makes, in both kinds of block") {
  const AttentionProblem problem = {.seq_q = 48, .seq_kv = 32, .head_dim = 16, .dtype = DataType::fp16};
  const auto program = program_for("flash2_backward_two_pass", problem, {16, 16});
  const auto tile_of = [&](std::int64_t block, std::int32_t q_tile, std::int32_t kv_tile) {
    const auto history = *run_block(*program, {}, 1, block);
    const auto& operations = history->operations().operations;
    for (std::size_t i = 0; i < operations.size(); ++i)
      if (operations[i].kind == OpKind::exp && operations[i].q_tile == q_tile && operations[i].kv_tile == kv_tile)
        return *history->value(tiles::p, static_cast<int>(i));
    return Matrix();
  };
  const Matrix by_keys = tile_of(1, 2, 1), by_queries = tile_of(2 + 2, 2, 1);
  REQUIRE(by_keys.rows == 16);
  CHECK(by_keys == by_queries);
}

TEST_CASE(
    "backward: additions in another order change the last bits of dQ, and two passes or copies of the sums do not depend on it") {
  const AttentionProblem problem = {.seq_q = 32, .seq_kv = 256, .head_dim = 32, .dtype = DataType::fp32};
  const auto with_order = [&](std::string_view id, bool turned) {
    const auto program = program_for(id, problem, {16, 16});
    BlockMachine machine(*program, {});
    HbmImage image;
    BlockOperations block;
    for (int launch = 0; launch < static_cast<int>(program->launches().size()); ++launch) {
      const std::int64_t blocks = program->launches()[static_cast<std::size_t>(launch)].blocks();
      for (std::int64_t n = 0; n < blocks; ++n) {
        program->emit_block(launch, turned ? blocks - 1 - n : n, block);
        REQUIRE(run_operations(machine, block, image));
      }
    }
    return *image.load({tensors::d_q, 0, 0, 32, 0, 32}).values;
  };
  const Matrix one = with_order("flash2_backward", false), other = with_order("flash2_backward", true);
  CHECK_FALSE(one == other);
  CHECK(relative_error(one, other) < 1e-6);
  for (const std::string_view id : {"flash2_backward_two_pass", "flash2_backward_deterministic"})
    CHECK(with_order(id, false) == with_order(id, true));
}

TEST_CASE("both passes: gradients agree with the reference when O and L are those that the forward launches left") {
  for (const DataType type : {DataType::fp32, DataType::fp16}) {
    const AttentionProblem problem = {
        .heads = 2, .kv_heads = 1, .seq_q = 40, .seq_kv = 52, .head_dim = 16, .dtype = type, .causal = true};
    for (const std::string_view id :
         {"standard", "flash1", "flash2", "flash2_backward_two_pass", "flash2_backward_deterministic", "flash3_backward", "flex"}) {
      CAPTURE(id);
      const auto program = program_for(id, problem, {16, 8}, Pass::both);
      CHECK(program->schema().fault() == "");
      const double bound = type == DataType::fp32 ? 1e-5 : 2e-3;
      for (const Tensor tensor : {tensors::o, tensors::d_q, tensors::d_k, tensors::d_v}) {
        CAPTURE(to_string(tensor));
        CHECK(relative_error(plane_of(*program, 0, tensor), reference_plane(*program, {}, 0, tensor)) <= bound);
      }
    }
  }
}
