// The softmax microscope: its identities on every program, its row against float64, and formulas with their numbers to the letter.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>

#include "sim/analysis/softmax_row.h"
#include "sim/numerics/block_values.h"
#include "tests/sim/program_of.h"
#include "tests/sim/tested_programs.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Matrix> column(std::vector<float> values) {
  auto m = std::make_shared<Matrix>(static_cast<int>(values.size()), 1);
  m->values = std::move(values);
  return m;
}

/// Two queries, four keys, one dimension: the scores of query 0 are 2, 6, 10, 0.
InputSource by_hand() {
  InputSource inputs;
  inputs.q = column({2, -1});
  inputs.k = column({1, 3, 5, 0});
  inputs.v = column({1, 2, 3, 4});
  return inputs;
}
const AttentionProblem tiny = {.seq_q = 2, .seq_kv = 4, .head_dim = 1, .dtype = DataType::fp32};

std::vector<std::string> formulas(std::string_view id, const AttentionProblem& problem, int launch, int col) {
  const auto program = program_of(id, problem, {2, 2});
  const auto history = *run_block(*program, by_hand(), launch, 0);
  std::vector<std::string> lines;
  for (int op = 0; op < static_cast<int>(history->operations().operations.size()); ++op)
    lines.push_back(formula_with_numbers(*history, op, 0, col));
  return lines;
}

void identities_hold(const SoftmaxRow& r, double tolerance) {
  if (r.m_old && r.m_new && r.alpha) {
    const double expected = std::isinf(*r.m_old) ? 0 : std::exp(static_cast<double>(*r.m_old) - *r.m_new);
    CHECK(*r.alpha == doctest::Approx(expected).epsilon(1e-6));
  }
  if (r.m_old && r.m_new) CHECK(*r.m_new >= *r.m_old);
  if (r.alpha && !r.beta && r.l_old && r.l_new && r.tile_sum)
    CHECK(*r.l_new == doctest::Approx(*r.l_old * static_cast<double>(*r.alpha) + *r.tile_sum).epsilon(1e-5));
  if (r.output_error) CHECK(*r.output_error <= tolerance);
}

}  // namespace

TEST_CASE("softmax row: flash2's second tile, worked by hand") {
  const auto program = program_of("flash2", tiny, {2, 2});
  const InputSource inputs = by_hand();
  const auto history = *run_block(*program, inputs, 0, 0);
  const ReferencePlane exact(*program, inputs, 0);
  int op = -1;  // the last operation of iteration 1
  for (int i = 0; i < static_cast<int>(history->operations().operations.size()); ++i)
    if (history->operations().operations[static_cast<std::size_t>(i)].iteration == 1) op = i;
  const SoftmaxRow r = softmax_row(*program, *history, op, 0, &exact);
  CHECK(r.iteration == 1);
  CHECK(r.kv_tile == 1);
  CHECK(r.query == 0);
  CHECK(r.keys_seen == 4);
  CHECK(r.m_old == 6.0F);
  CHECK(r.m_new == 10.0F);
  CHECK(*r.alpha == doctest::Approx(std::exp(-4.0)));
  CHECK(*r.l_old == doctest::Approx(1 + std::exp(-4.0)));
  CHECK(*r.tile_sum == doctest::Approx(1 + std::exp(-10.0)));
  CHECK(*r.l_new == doctest::Approx(std::exp(-4.0) * (1 + std::exp(-4.0)) + 1 + std::exp(-10.0)));
  REQUIRE(r.o_before.size() == 1);
  CHECK(r.o_before[0] == doctest::Approx(2 + std::exp(-4.0)));
  CHECK(r.o_after[0] == doctest::Approx(std::exp(-4.0) * (2 + std::exp(-4.0)) + 3 + 4 * std::exp(-10.0)));
  REQUIRE(r.scores.size() == 4);
  const float values[] = {2, 6, 10, 0};
  for (std::size_t c = 0; c < 4; ++c) {
    CHECK(r.scores[c].key == static_cast<std::int64_t>(c));
    CHECK(r.scores[c].value == values[c]);
    CHECK(r.scores[c].current == (c >= 2));
    CHECK(r.scores[c].weight.has_value() == (c >= 2));
    CHECK_FALSE(r.scores[c].masked);
  }
  CHECK(*r.scores[3].weight == doctest::Approx(std::exp(-10.0)));
  const ReferenceRow row = exact.row(0);
  CHECK(row.maximum == 10);
  CHECK(row.log_sum_exp == doctest::Approx(10 + std::log(1 + std::exp(-4.0) + std::exp(-8.0) + std::exp(-10.0))));
  CHECK(*r.output_error < 1e-6);
}

TEST_CASE("softmax row: nothing is known before it was computed") {
  const auto program = program_of("flash2", tiny, {2, 2});
  const auto history = *run_block(*program, by_hand(), 0, 0);
  const ReferencePlane exact(*program, by_hand(), 0);
  const SoftmaxRow nothing = softmax_row(*program, *history, -1, 0, &exact);
  CHECK_FALSE(nothing.m_old);
  CHECK(nothing.scores.empty());
  const auto& operations = history->operations().operations;
  for (int op = 0; op < static_cast<int>(operations.size()); ++op) {
    const SoftmaxRow r = softmax_row(*program, *history, op, 1, &exact);
    const auto done = [&](OpKind kind) {
      for (int i = op;
           i >= 0 && operations[static_cast<std::size_t>(i)].iteration == operations[static_cast<std::size_t>(op)].iteration; --i)
        if (operations[static_cast<std::size_t>(i)].kind == kind) return true;
      return false;
    };
    if (r.kv_tile < 0) continue;
    CHECK(r.m_new.has_value() == done(OpKind::row_max));
    CHECK(r.alpha.has_value() == done(OpKind::exp_rows));
    CHECK(r.l_new.has_value() == done(OpKind::row_sum));
    CHECK(r.o_after.empty() == !done(OpKind::rescale));
    CHECK(r.m_old.has_value());
  }
}

TEST_CASE("softmax row: on every program and every row, the identities hold and O is exact over the keys seen so far" *
          doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs())
    for (DataType type : {DataType::fp32, DataType::fp16}) {
      AttentionProblem problem = {.heads = 2, .kv_heads = 1, .seq_q = 21, .seq_kv = 27, .head_dim = 8, .dtype = type};
      problem.causal = info.family == "attention" || info.family == "backward";
      const auto program = program_of(info.id, problem, {8, 4});
      const InputSource inputs;
      const std::array<ReferencePlane, 2> planes = {ReferencePlane(*program, inputs, 0), ReferencePlane(*program, inputs, 1)};
      bool compared = false;
      for (int launch = 0; launch < static_cast<int>(program->launches().size()); ++launch) {
        const std::int64_t block = program->launches()[static_cast<std::size_t>(launch)].blocks() - 1;  // the last of plane 1
        const auto history = *run_block(*program, inputs, launch, block);
        // A block of keys works on both query heads, one after the other.
        const auto plane_at = [&](int op) -> std::size_t {
          const auto& operations = history->operations().operations;
          const std::int32_t iteration = operations[static_cast<std::size_t>(op)].iteration;
          for (const Operation& o : operations)
            if (o.iteration == iteration && o.tile.tensor && o.tile.tensor->planes == Planes::query)
              return static_cast<std::size_t>(o.tile.plane);
          return 1;
        };
        std::set<std::int64_t> queries;
        for (int op = 0; op < static_cast<int>(history->operations().operations.size()); ++op) {
          const ReferencePlane& exact = planes[plane_at(op)];
          for (int row = 0; row < 9; ++row) {
            CAPTURE(info.id);
            CAPTURE(launch);
            CAPTURE(op);
            CAPTURE(row);
            const SoftmaxRow r = softmax_row(*program, *history, op, row, &exact);
            queries.insert(r.query);
            REQUIRE(r.query < 21);
            REQUIRE(r.query >= 0);
            identities_hold(r, type == DataType::fp32 ? 1e-5 : 6e-3);
            const Operation& now = history->operations().operations[static_cast<std::size_t>(op)];
            if (info.family == "attention" && now.kind == OpKind::rescale && now.dst.is(Meaning::output) && r.alpha && !r.beta)
              CHECK(r.o_after.at(0) == doctest::Approx(*r.alpha * r.o_before.at(0)).epsilon(1e-5));
            compared = compared || r.output_error.has_value();
            const ReferenceRow truth = exact.row(r.query);
            for (const RowScore& score : r.scores) {
              REQUIRE(score.key < 27);
              const double expected = truth.scores[static_cast<std::size_t>(score.key)];
              // Before the mask is applied, the tile holds scores of keys that it will hide.
              if (!score.masked && std::isinf(expected)) continue;
              CHECK(score.masked == std::isinf(expected));
              if (!score.masked) CHECK(std::abs(score.value - expected) <= (type == DataType::fp32 ? 1e-5 : 4e-3));
            }
          }
        }
        CHECK(queries.size() >= (info.id == "matmul_naive" ? 5 : 1));
      }
      if (info.family != "backward") CHECK(compared == (info.family == "attention" || info.id == "softmax_fused"));
    }
}

TEST_CASE("softmax row: a checkpointed history shows the same row") {
  const AttentionProblem problem = {.seq_q = 24, .seq_kv = 40, .head_dim = 16, .dtype = DataType::fp32, .causal = true};
  const auto program = program_of("flash1", problem, {8, 8});
  const InputSource inputs;
  const ReferencePlane exact(*program, inputs, 0);
  const auto kept = *run_block(*program, inputs, 0, 0);
  HbmImage image;
  const auto checkpointed = *record_block(std::make_unique<BlockMachine>(*program, inputs), kept->operations(), image, 1000);
  REQUIRE_FALSE(checkpointed->keeps_everything());
  for (int op = 0; op < static_cast<int>(kept->operations().operations.size()); op += 3) {
    const SoftmaxRow a = softmax_row(*program, *kept, op, 5, &exact), b = softmax_row(*program, *checkpointed, op, 5, &exact);
    CHECK(a.m_new == b.m_new);
    CHECK(a.l_new == b.l_new);
    CHECK(a.o_after == b.o_after);
    REQUIRE(a.scores.size() == b.scores.size());
    for (std::size_t i = 0; i < a.scores.size(); ++i) {
      CHECK(a.scores[i].masked == b.scores[i].masked);
      if (!a.scores[i].masked) CHECK(a.scores[i].value == doctest::Approx(b.scores[i].value).epsilon(1e-5));
    }
  }
}

TEST_CASE("formula: flash2 by hand, line by line") {
  AttentionProblem problem = tiny;
  problem.causal = true;  // query 0 sees keys 0, 1, 2
  const std::vector<std::string> expected = {
      "Q ← Q[0…1]: 32 B", "O = 0", "m = −∞", "l = 0",
      // first key tile
      "K ← K[0…1]: 32 B", "S[0,1] = Σ Q·K = 6", "m′ = max(−∞, 6) = 6", "P[0,1] = e^(6 − 6) = 1", "α = e^(−∞ − 6) = 0",
      "l = 0 · 0 + 1.018 = 1.018", "O[0,0] = 0 · 0 = 0", "V ← V[0…1]: 32 B", "O[0,0] = 0 + 2.018 = 2.018", "m = m′ = 6",
      // second key tile
      "K ← K[2…3]: 32 B", "S[0,1] = Σ Q·K = 0", "S[0,1] = −∞", "m′ = max(6, 10) = 10", "P[0,1] = e^(−∞ − 10) = 0",
      "α = e^(6 − 10) = 0.0183", "l = 0.0183 · 1.018 + 1 = 1.019", "O[0,0] = 0.0183 · 2.018 = 0.037", "V ← V[2…3]: 32 B",
      "O[0,0] = 0.037 + 3 = 3.037", "m = m′ = 10",
      // the end
      "O[0,0] = 3.037 / 1.019 = 2.981", "L = 10 + ln 1.019 = 10.02", "O[0…1] ← O: 32 B", "L[0…1] ← L: 32 B"};
  CHECK(formulas("flash2", problem, 0, 1) == expected);
}

TEST_CASE("row: every program that computes dS shows P, dP, D and dS, each once it is there, and the numbers agree") {
  for (const ProgramInfo& info : tested_programs()) {
    if (info.pass != Pass::backward) continue;
    CAPTURE(info.id);
    AttentionProblem problem = {.seq_q = 64, .seq_kv = 64, .head_dim = 64, .causal = true};
    problem.pass = Pass::backward;
    SimulationRequest request;
    request.algorithm = std::string(info.id);
    request.problem = problem;
    request.gpu = h200_gpu();
    const auto plan = plan_run(request);
    REQUIRE(plan);
    const TileProgram& program = *plan->program;
    int complete = 0, partly = 0;
    for (int launch = 0; launch < static_cast<int>(program.launches().size()); ++launch) {
      const auto history = *run_block(program, InputSource{}, launch, 0);
      const auto& operations = history->operations().operations;
      for (int op = 0; op < static_cast<int>(operations.size()); ++op) {
        if (is_past_the_end(operations[static_cast<std::size_t>(op)])) continue;
        const SoftmaxRow row = softmax_row(program, *history, op, 5);
        if (!row.gradient) continue;
        const RowGradient& gradient = *row.gradient;
        if (gradient.d_s_row.empty()) {
          ++partly;
          continue;
        }
        ++complete;
        REQUIRE(gradient.d.has_value());
        REQUIRE(gradient.p_row.size() == gradient.d_s_row.size());
        REQUIRE(gradient.d_p_row.size() == gradient.d_s_row.size());
        for (std::size_t key = 0; key < gradient.d_s_row.size(); ++key)
          CHECK(gradient.d_s_row[key] == gradient.p_row[key] * (gradient.d_p_row[key] - *gradient.d));
      }
    }
    CHECK(complete > 0);
    CHECK(partly > 0);
  }
}

TEST_CASE("formula: the statistics of flash1, and the division in standard and fused softmax") {
  const auto contains = [](const std::vector<std::string>& lines, std::string_view line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  const auto flash1 = formulas("flash1", tiny, 0, 0);
  CHECK(contains(flash1, "m̃ = max S = 10"));
  CHECK(contains(flash1, "l̃ = Σ P = 1.018"));
  CHECK(contains(flash1, "β = e^(10 − 10) = 1"));
  CHECK(contains(flash1, "l′ = 0.0183 · 1.018 + 1 · 1 = 1.019"));
  CHECK(contains(flash1, "PV[0,0] = Σ P·V = 2.018"));
  CHECK(contains(flash1, "O[0,0] = 1.018 · 0.0183 · 1.982 = 0.037"));
  CHECK(contains(flash1, "l[0…1] ← l′: 32 B"));
  CHECK(contains(formulas("standard", tiny, 1, 1), "P[0,1] = 0.0183 / 1.019 = 0.018"));
  CHECK(contains(formulas("softmax_fused", tiny, 0, 0), "l = l′ = 1.019"));
  CHECK(contains(formulas("softmax_safe", tiny, 0, 0), "l = 0.0187 + 1 = 1.019"));
}

TEST_CASE("formula: negative numbers never meet another sign, and the scale is shown") {
  InputSource inputs;
  inputs.q = std::make_shared<Matrix>(1, 4, -1.0F);
  inputs.k = std::make_shared<Matrix>(2, 4, 2.0F);
  inputs.v = std::make_shared<Matrix>(2, 4, -3.0F);
  const AttentionProblem problem = {.seq_q = 1, .seq_kv = 2, .head_dim = 4, .dtype = DataType::fp32};
  const auto program = program_of("flash2", problem, {1, 1});
  const auto history = *run_block(*program, inputs, 0, 0);
  std::set<std::string> lines;
  for (int op = 0; op < static_cast<int>(history->operations().operations.size()); ++op)
    lines.insert(formula_with_numbers(*history, op, 7, 9));
  CHECK(lines.count("S[0,0] = τ Σ Q·K = 0.5 · (−8) = −4") == 1);
  CHECK(lines.count("P[0,0] = e^(−4 + 4) = 1") == 1);
  CHECK(lines.count("O[0,3] = −3 − 3 = −6") == 1);
  CHECK(lines.count("K ← K[1]: 32 B") == 1);
  CHECK(formula_with_numbers(*history, -1, 0).empty());
  CHECK(formula_with_numbers(*history, 10000, 0).empty());
}
