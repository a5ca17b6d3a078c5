// Histories: the same bits in any order, checkpoints or not; what earlier launches wrote; cancelling; wrong requests.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "sim/numerics/block_values.h"
#include "sim/numerics/producers.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/attention_schema.h"
#include "tests/sim/program_of.h"

using namespace tilescope;

namespace {

/// One block with a budget of its own, after every block of the earlier launches.
std::shared_ptr<const BlockValues> recorded(const TileProgram& program, int launch, std::int64_t block, std::size_t budget) {
  const InputSource inputs;
  BlockOperations operations;
  program.emit_block(launch, block, operations);
  auto machine = std::make_unique<BlockMachine>(program, inputs);
  HbmImage image;
  BlockOperations earlier;
  for (int l = 0; l < launch; ++l)
    for (std::int64_t b = 0; b < program.launches()[static_cast<std::size_t>(l)].blocks(); ++b) {
      program.emit_block(l, b, earlier);
      REQUIRE(run_operations(*machine, earlier, image));
    }
  auto history = record_block(std::move(machine), operations, image, budget);
  REQUIRE_MESSAGE(history, (history ? "" : history.error().sentence));
  return *history;
}

bool same_bits(const std::shared_ptr<const Matrix>& a, const std::shared_ptr<const Matrix>& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->rows == b->rows && a->cols == b->cols &&
         std::memcmp(a->values.data(), b->values.data(), a->values.size() * sizeof(float)) == 0;
}

void all_values_agree(const TileProgram& program, const BlockValues& a, const BlockValues& b, bool backward) {
  const int count = static_cast<int>(a.operations().operations.size());
  for (int i = -1; i <= count; ++i) {
    const int op = backward ? count - 1 - i : i;
    for (ChipTile chip_tile : program.schema().tiles) {
      CAPTURE(op);
      CAPTURE(to_string(chip_tile));
      REQUIRE(same_bits(a.value(chip_tile, op), b.value(chip_tile, op)));
    }
  }
}

const AttentionProblem small = {.batch = 1, .heads = 2, .kv_heads = 1, .seq_q = 40, .seq_kv = 52, .head_dim = 16, .causal = true};

}  // namespace

TEST_CASE("run: progress rises and stays between 0 and 1, while earlier launches run and after them") {
  const AttentionProblem problem = {.heads = 2, .kv_heads = 2, .seq_q = 40, .seq_kv = 40, .head_dim = 16};
  const auto program = program_of("standard", problem, {16, 16});
  std::vector<double> fractions;
  const Progress note = [&](double fraction) {
    fractions.push_back(fraction);
    return true;
  };
  const auto check_rising = [&] {
    REQUIRE(fractions.size() > 2);
    CHECK(std::is_sorted(fractions.begin(), fractions.end()));
    CHECK(fractions.front() >= 0);
    CHECK(fractions.back() > 0.5);
    CHECK(fractions.back() <= 1);
    fractions.clear();
  };
  REQUIRE(run_block(*program, {}, 2, 1, note));
  check_rising();
  REQUIRE(run_plane(*program, {}, 1, tensors::o, note));
  check_rising();
}

TEST_CASE("history: checkpoints give the same bits as keeping everything, read forward, backward and at random") {
  for (const ProgramInfo& info : program_table()) {
    AttentionProblem problem = small;
    problem.causal = info.family == "attention" || info.family == "backward";
    const auto program = program_of(info.id, problem, {12, 8});
    for (int launch = 0; launch < static_cast<int>(program->launches().size()); ++launch) {
      CAPTURE(info.id);
      CAPTURE(launch);
      const std::int64_t block = program->launches()[static_cast<std::size_t>(launch)].blocks() - 1;
      const auto kept = recorded(*program, launch, block, values_budget_bytes);
      const auto checkpointed = recorded(*program, launch, block, 1000);
      const auto thinned = recorded(*program, launch, block, 1);  // no checkpoint fits: one segment is left
      CHECK(kept->keeps_everything());
      all_values_agree(*program, *kept, *checkpointed, false);
      all_values_agree(*program, *kept, *checkpointed, true);
      all_values_agree(*program, *kept, *thinned, true);
      std::mt19937 random(3);
      const auto count = static_cast<unsigned>(kept->operations().operations.size());
      for (int i = 0; i < 300 && count > 0; ++i) {
        const auto chip_tile = program->schema().tiles[random() % program->schema().tiles.size()];
        const int op = static_cast<int>(random() % count);
        REQUIRE(same_bits(kept->value(chip_tile, op), checkpointed->value(chip_tile, op)));
      }
    }
  }
}

TEST_CASE("history: checkpoints that are thinned out to keep within a budget still give the same bits") {
  AttentionProblem problem = small;
  problem.seq_q = problem.seq_kv = 256;
  const auto program = program_of("flash1", problem, {16, 16});
  for (std::size_t budget : {std::size_t{20000}, std::size_t{100000}, std::size_t{400000}}) {
    const auto history = recorded(*program, 0, 1, budget);
    CHECK_FALSE(history->keeps_everything());
    const auto kept = recorded(*program, 0, 1, values_budget_bytes);
    std::mt19937 random(8);
    for (int i = 0; i < 200; ++i) {
      const auto chip_tile = attention_tiles()[random() % attention_tiles().size()];
      const int op = static_cast<int>(random() % kept->operations().operations.size());
      REQUIRE(same_bits(kept->value(chip_tile, op), history->value(chip_tile, op)));
    }
  }
}

TEST_CASE("history: a value of checkpoints is at hand once it was asked for, and one far away is not") {
  AttentionProblem problem = small;
  problem.seq_kv = 1040;
  problem.causal = false;
  const auto program = program_of("flash2", problem, {16, 16});
  const auto history = recorded(*program, 0, 0, 60'000);  // less than every value, more than a checkpoint of every iteration
  REQUIRE_FALSE(history->keeps_everything());
  const auto& operations = history->operations().operations;
  const int last = static_cast<int>(operations.size()) - 1;
  const auto computed = [&](int from, int step) {  // an operation whose result no load brings
    int op = from;
    while (operations[static_cast<std::size_t>(op)].kind != OpKind::matmul) op += step;
    return op;
  };
  const int near = computed(0, 1), far = computed(last, -1);
  const ChipTile of_near = operations[static_cast<std::size_t>(near)].dst, of_far = operations[static_cast<std::size_t>(far)].dst;
  CHECK_FALSE(history->at_hand(of_near, near));
  CHECK(history->value(of_near, near) != nullptr);
  CHECK(history->at_hand(of_near, near));
  CHECK_FALSE(history->at_hand(of_far, far));
  CHECK(history->value(of_far, far) != nullptr);
  CHECK(history->at_hand(of_far, far));
  CHECK(history->at_hand(of_near, near));  // a few are kept
  CHECK(history->at_hand(of_near, -1));    // nothing is held, which needs no work
}

TEST_CASE("history: nothing is held before the first operation, and chip_tiles hold what the operation just left") {
  const auto program = program_of("flash2", small, {8, 8});
  const auto history = run_block(*program, {}, 0, 4);
  REQUIRE(history);
  for (ChipTile chip_tile : attention_tiles()) CHECK((*history)->value(chip_tile, -1) == nullptr);
  const auto& operations = (*history)->operations().operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].dst == ChipTile::none) continue;
    const auto value = (*history)->value(operations[i].dst, static_cast<int>(i));
    REQUIRE(value != nullptr);
    CHECK(value->rows == operations[i].rows);
    CHECK(value->cols == operations[i].cols);
  }
}

TEST_CASE("history: the online softmax keeps its identities at every iteration") {
  AttentionProblem problem = small;
  problem.dtype = DataType::fp32;
  const auto program = program_of("flash2", problem, {8, 8});
  const auto history = *run_block(*program, {}, 0, 3);
  const auto& operations = history->operations().operations;
  int maxima = 0, sums = 0;
  for (int i = 0; i < static_cast<int>(operations.size()); ++i) {
    const Operation& op = operations[static_cast<std::size_t>(i)];
    for (int r = 0; r < op.rows; ++r) {
      if (op.kind == OpKind::row_max) {  // m' is the maximum of m and of the row, and never goes down
        const float before = history->value(op.src[0], i - 1)->at(r, 0), after = history->value(op.dst, i)->at(r, 0);
        float largest = before;
        for (int c = 0; c < op.inner; ++c) largest = std::max(largest, history->value(tiles::s, i)->at(r, c));
        CHECK(after == largest);
        CHECK(after >= before);
        ++maxima;
      }
      if (op.kind ==
          OpKind::row_sum) {  // l counts the keys seen so far from the new maximum, so it is at least 1 once one was seen
        const float l = history->value(tiles::l, i)->at(r, 0), m = history->value(tiles::m_new, i)->at(r, 0);
        CHECK((std::isinf(m) ? l == 0.0F : l >= 1.0F));
        ++sums;
      }
    }
  }
  CHECK(maxima > 20);
  CHECK(sums == maxima);
}

TEST_CASE("run_block: a block of a later launch sees what the whole program would have written before it") {
  for (bool causal : {false, true}) {
    AttentionProblem problem = small;
    problem.causal = causal;
    for (const ProgramInfo& info : program_table()) {
      if (info.family != "attention" && info.family != "backward") continue;
      CAPTURE(info.id);
      const auto program = program_of(info.id, problem, {12, 8});
      for (int launch = 1; launch < static_cast<int>(program->launches().size()); ++launch) {
        CAPTURE(launch);
        const std::int64_t blocks = program->launches()[static_cast<std::size_t>(launch)].blocks();
        for (std::int64_t block = 0; block < blocks; block += 3) {
          const auto alone = run_block(*program, {}, launch, block);
          REQUIRE_MESSAGE(alone, (alone ? "" : alone.error().sentence));
          all_values_agree(*program, **alone, *recorded(*program, launch, block, values_budget_bytes), false);
        }
      }
    }
  }
}

TEST_CASE("run_block: only the blocks that wrote what is read are run first") {
  AttentionProblem problem = small;
  problem.causal = false;
  problem.seq_q = problem.seq_kv = 1 << 14;
  const auto program = program_of("standard", problem, {64, 64});
  BlockOperations block;
  program->emit_block(2, 300, block);
  const auto producers = producers_of(*program, block);
  REQUIRE(producers.size() == 2);
  CHECK(producers[0].size() == 256);  // the scores of one query tile
  std::int64_t rows = 0;
  for (std::int64_t number : producers[1]) {
    program->emit_block(1, number, block);
    rows += block.domain.count;
  }
  CHECK(rows == 64);  // the softmax of exactly the rows of that tile
}

TEST_CASE("run_block: cancelling stops it, and requests outside the program are refused") {
  const auto program = program_of("standard", small, {12, 8});
  int calls = 0;
  const auto result = run_block(*program, {}, 2, 0, [&](double fraction) {
    CHECK(fraction >= 0);
    CHECK(fraction <= 1);
    return ++calls < 3;
  });
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == Error::Kind::cancelled);
  CHECK(calls == 3);
  CHECK_FALSE(run_block(*program, {}, 3, 0));
  CHECK_FALSE(run_block(*program, {}, 0, -1));
  CHECK_FALSE(run_plane(*program, {}, 2, tensors::o));
  InputSource inputs;
  inputs.v = std::make_shared<Matrix>(3, 3);
  const auto misfit = run_block(*program, inputs, 0, 0);
  REQUIRE_FALSE(misfit);
  CHECK(misfit.error().sentence.text().find("3 x 3") != std::string::npos);
}

namespace {

/// A program made by hand that reads what nobody wrote.
class Broken final : public TileProgram {
 public:
  explicit Broken(OpKind fault)
      : TileProgram(AttentionProblem{}, TileShape{}, {attention_tensors(), {}, {}, attention_tiles()}), fault_(fault) {
    LaunchSpec launch;
    launch.name = "broken";
    launches_.push_back(launch);
  }
  void emit_block(int, std::int64_t block, BlockOperations& out) const override {
    out.clear();
    out.block = block;
    out.domain.count = 64;
    Operation op;
    op.kind = fault_;
    op.dst = fault_ == OpKind::load ? tiles::o : tiles::p;
    op.src = {fault_ == OpKind::load ? ChipTile::none : tiles::s};
    op.rows = op.cols = 4;
    op.tile = {tensors::o, 0, 0, 4, 0, 4};
    out.operations.push_back(op);
  }
  std::optional<ClosedForm> closed_form() const override { return std::nullopt; }

 private:
  OpKind fault_;
};

}  // namespace

TEST_CASE("run_block: a program that reads what nothing wrote is an error and not a wrong number") {
  for (OpKind kind : {OpKind::load, OpKind::exp, OpKind::rescale, OpKind::store}) {
    const Broken program(kind);
    const auto result = run_block(program, {}, 0, 0);
    REQUIRE_FALSE(result);
    CHECK(result.error().sentence.text().find("operation 0") != std::string::npos);
    CHECK_FALSE(run_plane(program, {}, 0, tensors::o));
  }
}
