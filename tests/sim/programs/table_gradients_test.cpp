// Gradients of captured tables in flex_backward: the reference against finite differences, operations and bytes, and values.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/engine/simulation.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/score_change.h"
#include "sim/numerics/program_reference.h"
#include "sim/numerics/program_reference_gradients.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "tests/rounds.h"
#include "tests/sim/programs/block_checker.h"
#include "tests/sim/programs/gradient_tables.h"
#include "tests/sim/test_gpus.h"

namespace tilescope::table_gradients_tests {
namespace {

struct Case {
  const char* score;
  std::vector<std::string> gradients;
  bool exact;     // every read's bytes follow from the shapes
  bool has_pair;  // a read of two axes, which cannot be added in order
};
const Case cases[] = {
    {"score + slope[h] * (kv - q)", {"slope"}, true, false},
    {"score * slope[h]", {"slope"}, true, false},
    {"score + 0.25 * (kv % 3) * (row[q] + row[N - 1 - q])",
     {"row"},
     true,
     false},  // the softmax does not see a bias of the row alone
    {"score + column[h, kv]", {"column"}, true, false},
    {"score + relative[q - kv + NK - 1]", {"relative"}, true, false},
    {"score + far[h, kv - q + N - 1]", {"far"}, true, false},
    {"score + pair[h, q, kv]", {"pair"}, true, true},
    {"score + flipped[kv, q]", {"flipped"}, true, true},
    {"score + small[clamp(q - kv, -4, 4) + 4]", {"small"}, false, true},
    {"score + by_head[q - kv + NK - 1, h]", {"by_head"}, false, true},
    {"2 * tanh((score + relative[q - kv + NK - 1]) / 2)", {"relative"}, true, false},
    {"score * sigmoid(score * row[q]) + slope[h] * relative[q - kv + NK - 1]", {"row", "slope", "relative"}, true, false},
    {"where(q >= kv, score + small[(q - kv) % 9], 2 * score)", {"small"}, false, true},
};

AttentionProblem with_tables(AttentionProblem problem, const Case& one, const std::string& mask, const TableList& tables,
                             bool in_order = false) {
  problem.pass = Pass::backward;
  MaskChoice choice{.score = one.score, .tables = tables, .table_gradients = one.gradients};
  if (in_order)
    for (std::string& name : choice.table_gradients) name += ":in_order";
  if (!mask.empty()) choice.masks = {mask};
  const Status settled = settle_masks(choice, problem);
  REQUIRE_MESSAGE(settled, (settled ? std::string() : settled.error().sentence.text()));
  return problem;
}

std::unique_ptr<TileProgram> program_for(const AttentionProblem& problem, const ProgramTile& tile) {
  auto program = (*find_program("flex_backward"))->make(problem, tile, toy_gpu());
  REQUIRE_MESSAGE(program, (program ? std::string() : program.error().sentence.text()));
  return std::move(*program);
}

std::vector<Tensor> table_tensors(const TileProgram& program) {
  std::vector<Tensor> found;
  for (const Tensor tensor : program.outputs())
    if (tensor->table >= 0 && tensor->read < 0) found.push_back(tensor);
  return found;
}

/// Σ dO·O over all heads, from the definition.
double loss(const AttentionProblem& p) {
  double sum = 0;
  for (std::int64_t plane = 0; plane < p.query_planes(); ++plane) {
    const ReferencePlane forward(p, {}, plane);
    for (std::int64_t r = 0; r < p.seq_q; ++r) {
      const ReferenceRow row = forward.row(r);
      for (std::int64_t t = 0; t < p.head_dim; ++t)
        sum += row.output[static_cast<std::size_t>(t)] * static_cast<double>(InputSource{}.value(p, tensors::d_o, plane, r, t));
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("table gradients: the reference equals finite differences of the loss") {
  const AttentionProblem base = {
      .batch = 2, .heads = 2, .kv_heads = 1, .seq_q = 6, .seq_kv = 8, .head_dim = 4, .dtype = DataType::fp32};
  const TableList tables = gradient_tables(base);
  for (const Case& one : cases)
    for (const char* mask : {"", "q >= kv - 2 && (kv + h) % 5 != 3"}) {
      CAPTURE(std::string(one.score));
      CAPTURE(std::string(mask));
      const AttentionProblem p = with_tables(base, one, mask, tables);
      for (std::size_t n = 0; n < one.gradients.size(); ++n) {
        std::vector<double> gradient;
        for (std::int64_t plane = 0; plane < p.query_planes(); ++plane) {
          const ReferenceGradients made = reference_gradients(p, {}, plane);
          REQUIRE(made.d_tables.size() == one.gradients.size());
          gradient.resize(made.d_tables[n].size());
          for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += made.d_tables[n][i];
        }
        for (std::size_t i = 0; i < gradient.size(); i += 1 + gradient.size() / 12) {
          constexpr float step = 0x1p-10F;
          const auto moved = [&](float by) {
            TableList changed = tables;
            for (auto& table : changed)
              if (table->name == one.gradients[n]) {
                auto copy = std::make_shared<CapturedTable>(*table);
                copy->reals[i] += by;
                table = copy;
              }
            return loss(with_tables(base, one, mask, changed));
          };
          CHECK(std::abs(gradient[i] - (moved(step) - moved(-step)) / (2.0 * static_cast<double>(step))) < 2e-5);
        }
      }
    }
}

TEST_CASE("table gradients: operations keep the contract, and bytes equal the closed form") {
  std::mt19937_64 random(20);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const char* masks[] = {"",     "q >= kv", "(q + kv) % 3 != 0", "q // 12 == kv // 12 && (b == 0 || q >= kv)", "q < 16 && kv < 16",
                         "false"};
  for (int round = 0; round < rounds(390); ++round) {
    AttentionProblem p;
    p.batch = pick(1, 2);
    p.kv_heads = pick(1, 2);
    p.heads = p.kv_heads * pick(1, 2);
    p.seq_q = pick(1, 60);
    p.seq_kv = pick(1, 60);
    p.head_dim = 16;
    p.dtype = static_cast<DataType>(pick(0, 2));
    ProgramTile tile(8 * pick(1, 2), 8 * pick(1, 2));
    tile.key_order = pick(0, 1) == 0 ? KeyOrder::ascending : KeyOrder::descending;
    p.mask_block = 16 * pick(0, 3);
    const Case& one = cases[static_cast<std::size_t>(round) % std::size(cases)];
    const char* mask = masks[pick(0, static_cast<std::int64_t>(std::size(masks)) - 1)];
    const bool in_order = !one.has_pair && pick(0, 1) == 0;
    CAPTURE(fmt::format("B {} H {}/{} N {}x{} tile {}x{} mask block {} mask '{}' score '{}'{}", p.batch, p.heads, p.kv_heads,
                        p.seq_q, p.seq_kv, tile.block_q, tile.block_kv, p.mask_block, mask, one.score,
                        in_order ? " in order" : ""));
    p = with_tables(p, one, mask, gradient_tables(p), in_order);
    const auto program = program_for(p, tile);
    CHECK(program->schema().fault().empty());
    BlockChecker checker(*program);
    BlockOperations block;
    for (std::size_t launch = 0; launch < program->launches().size(); ++launch)
      for (std::int64_t n = 0; n < program->launches()[launch].blocks(); ++n) {
        program->emit_block(static_cast<int>(launch), n, block);
        const std::string wrong = checker.check_block(block);
        if (!wrong.empty()) FAIL(wrong);
      }
    const std::vector<Tensor> tensors = table_tensors(*program);
    REQUIRE(tensors.size() == one.gradients.size());
    for (const Tensor tensor : tensors) {
      const TensorLayout layout = tensor_layout(p, tile, tensor);
      int wrong = 0;
      for (std::int64_t row = 0; row < layout.rows; ++row)
        for (std::int64_t col = 0; col < layout.cols; ++col) wrong += checker.stored(tensor, 0, row, col) != 1;
      CHECK_MESSAGE(wrong == 0, "elements of ", to_string(tensor), " that are not stored once: ", wrong);
    }
    const auto form = program->closed_form();
    bool exact = true;
    for (const TableRead* read : p.score_change->table_reads()) exact = exact && read->is_exact();
    CHECK((exact || !one.exact));  // an index that is cut can be linear where the sizes are small
    REQUIRE(form.has_value() == exact);
    if (!form) continue;
    CHECK(form->exps == checker.exps);
    CHECK(form->reduced.value == checker.reduced_bytes);
    CHECK((form->reduced.value == 0) == (in_order || checker.reduced_bytes == 0));
    for (const ClosedFormTerm& term : form->terms)
      CHECK_MESSAGE(term.bytes.value == checker.bytes(term.tensor, term.link), to_string(term.tensor), " ", to_string(term.link));
  }
}

TEST_CASE("table gradients: additions move a sector for each score where elements meet anywhere, and at most that elsewhere") {
  std::mt19937_64 random(328);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::int64_t scattered = 0, exact = 0;
  for (int round = 0; round < rounds(130); ++round) {
    const Case& one = cases[static_cast<std::size_t>(round) % std::size(cases)];
    AttentionProblem p = {.heads = 2, .kv_heads = 1, .seq_q = pick(1, 60), .seq_kv = pick(1, 60), .head_dim = 16};
    p = with_tables(p, one, round % 2 == 0 ? "" : "q >= kv", gradient_tables(p));
    CAPTURE(std::string(one.score));
    const auto reads = p.score_change->table_reads();
    const auto program = program_for(p, ProgramTile(8 * pick(1, 3), 8 * pick(1, 3)));
    BlockOperations block;
    for (std::size_t launch = 0; launch < program->launches().size(); ++launch)
      for (std::int64_t n = 0; n < program->launches()[launch].blocks(); ++n) {
        program->emit_block(static_cast<int>(launch), n, block);
        std::int64_t scores = 0, read = -1;  // of the latest pair of tiles, and the latest read that was gathered
        for (const Operation& op : block.operations) {
          if (op.kind == OpKind::matmul && op.dst == tiles::s) scores = std::int64_t{op.rows} * op.cols;
          if (op.kind == OpKind::gather) read = op.read;
          if (op.kind != OpKind::reduce_add) continue;
          REQUIRE(read >= 0);
          if (reads[static_cast<std::size_t>(read)]->is_exact()) {
            CHECK(op.bytes > 0);
            CHECK(op.bytes <= 32 * scores);
            CHECK(op.bytes % 32 == 0);
            ++exact;
          } else {
            CHECK(op.bytes == 32 * scores);
            ++scattered;
          }
        }
      }
  }
  CHECK(scattered > rounds(100));
  CHECK(exact > rounds(100));
}

TEST_CASE("table gradients: the tile machine agrees with float64, in every type, and dQ, dK and dV do not change") {
  for (const DataType type : {DataType::fp32, DataType::fp16, DataType::bf16})
    for (const Case& one : cases)
      for (const char* mask : {"", "q + 3 >= kv && (kv + h) % 7 != 3"}) {
        CAPTURE(to_string(type));
        CAPTURE(std::string(one.score));
        CAPTURE(std::string(mask));
        const AttentionProblem base = {
            .batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 37, .seq_kv = 45, .head_dim = 16, .dtype = type};
        const TableList tables = gradient_tables(base);
        // P, dP and the products' operands are rounded, and a table's sums run over many of them.
        const double bound = type == DataType::fp32 ? 2e-5 : type == DataType::fp16 ? 4e-3 : 3e-2;
        const auto program = program_for(with_tables(base, one, mask, tables), {16, 8});
        const auto run = run_whole(*program, {});
        REQUIRE_MESSAGE(run, (run ? std::string() : run.error().sentence.text()));
        ReferenceGradientPlanes reference(program->problem(), {});
        for (const Tensor tensor : table_tensors(*program))
          CHECK(relative_error(run->plane(0, tensor), reference.plane(0, tensor)) <= bound);
        if (!one.has_pair) {
          const auto ordered = program_for(with_tables(base, one, mask, tables, true), {16, 8});
          const auto ordered_run = run_whole(*ordered, {});
          REQUIRE_MESSAGE(ordered_run, (ordered_run ? std::string() : ordered_run.error().sentence.text()));
          for (const Tensor tensor : table_tensors(*ordered))
            CHECK(relative_error(ordered_run->plane(0, tensor), reference.plane(0, tensor)) <= bound);
        }
        Case plain = one;
        plain.gradients.clear();
        const AttentionProblem without = with_tables(base, plain, mask, tables);
        const auto other = program_for(without, {16, 8});
        for (const Tensor tensor : {tensors::d_q, tensors::d_k, tensors::d_v}) {
          const auto alone = run_plane(*other, {}, 1, tensor);
          REQUIRE(alone);
          CHECK(run->plane(1, tensor) == *alone);
        }
      }
}

TEST_CASE("table gradients: a simulation has their bytes in the ledger, and memory for the tables") {
  AttentionProblem p = {.heads = 2, .kv_heads = 2, .seq_q = 64, .seq_kv = 64, .head_dim = 16, .dtype = DataType::fp16};
  const TableList tables = gradient_tables(p);
  SimulationRequest request;
  request.algorithm = "flex_backward";
  request.gpu = toy_gpu();
  request.problem = with_tables(p, cases[4], "q >= kv", tables);
  request.tile = ProgramTile(16, 16);
  const auto made = simulate(request);
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  const auto program = program_for(request.problem, *request.tile);
  const auto form = program->closed_form();
  REQUIRE(form);
  CHECK((*made)->reduced.value == form->reduced.value);
  CHECK(form->reduced.value > 0);
}

}  // namespace tilescope::table_gradients_tests
