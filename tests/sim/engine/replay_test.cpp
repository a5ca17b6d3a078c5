// Replayed stretches: a run that replays them equals one that works every operation out, to the bit.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "sim/engine/machine.h"
#include "sim/engine/run_program.h"
#include "sim/programs/tensor_layout.h"
#include "tests/rounds.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

using namespace tilescope;

namespace {

/// A program of the table that does not say which of its blocks are alike, so that nothing of them can be replayed.
class NoShapes final : public TileProgram {
 public:
  explicit NoShapes(std::unique_ptr<TileProgram> program)
      : TileProgram(program->problem(), program->tile(), program->schema()), program_(std::move(program)) {
    launches_.assign(program_->launches().begin(), program_->launches().end());
  }
  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override { program_->emit_block(launch, block, out); }
  std::optional<ClosedForm> closed_form() const override { return program_->closed_form(); }

 private:
  std::unique_ptr<TileProgram> program_;
};

AttentionProblem problem_of(std::int64_t heads, std::int64_t n, std::int64_t d, bool causal) {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = heads;
  problem.seq_q = problem.seq_kv = n;
  problem.head_dim = d;
  problem.causal = causal;
  return problem;
}

std::unique_ptr<TileProgram> make(const ProgramInfo& info, const AttentionProblem& problem, const GpuSpec& gpu) {
  auto program = info.make(problem, info.default_tile(problem, gpu), gpu);
  REQUIRE(program);
  return std::move(*program);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void check_equal(const Simulation& a, const Simulation& b) {
  CHECK(a.cycles.value == b.cycles.value);
  CHECK(a.utilisation == b.utilisation);
  const auto entries = a.ledger.entries(), others = b.ledger.entries();
  REQUIRE(entries.size() == others.size());
  for (std::size_t i = 0; i < entries.size(); ++i) CHECK(entries[i].bytes == others[i].bytes);
  REQUIRE(a.trace->runs().size() == b.trace->runs().size());
  bool same_runs = true;
  for (std::size_t i = 0; i < a.trace->runs().size(); ++i) {
    const BlockRun &x = a.trace->runs()[i], &y = b.trace->runs()[i];
    same_runs = same_runs && x.sm == y.sm && x.block == y.block && x.start == y.start && x.end == y.end;
  }
  CHECK(same_runs);
  CHECK(same_bits(a.trace->bins().traffic, b.trace->bins().traffic));
  CHECK(same_bits(a.trace->bins().busy_cycles, b.trace->bins().busy_cycles));
  CHECK(same_bits(a.trace->bins().l2, b.trace->bins().l2));
}

}  // namespace

TEST_CASE("replay: for every program a run with replayed stretches equals one without, to the bit") {
  std::mt19937 random(3);
  for (const ProgramInfo& info : tested_programs())
    for (int round = 0; round < rounds(3); ++round) {
      const bool causal = info.family == "attention" && random() % 2 == 0;
      const auto n = static_cast<std::int64_t>(512 + random() % 3 * 500);
      const AttentionProblem problem = problem_of(2 + static_cast<int>(random() % 6), n, random() % 2 == 0 ? 64 : 128, causal);
      SimulationRequest request;
      request.algorithm = std::string(info.id);
      request.problem = problem;
      request.gpu = h200_gpu();
      INFO(request.algorithm, " round ", round, " N ", n, " heads ", problem.heads, " causal ", causal);
      const auto replayed = run_program(request, info, make(info, problem, request.gpu));
      const auto worked_out = run_program(request, info, std::make_shared<NoShapes>(make(info, problem, request.gpu)));
      REQUIRE(replayed);
      REQUIRE(worked_out);
      check_equal(**replayed, **worked_out);
    }
}

TEST_CASE("replay: a run with most of its loads in periods equals one without, to the bit") {
  const auto check = [](const char* algorithm, const GpuSpec& gpu, const AttentionProblem& problem) {
    INFO(std::string(algorithm), " d ", problem.head_dim, " causal ", problem.causal, " partitions ", gpu.l2_partitions);
    const ProgramInfo& info = **find_program(algorithm);
    SimulationRequest request;
    request.algorithm = algorithm;
    request.problem = problem;
    request.gpu = gpu;
    const auto replayed = run_program(request, info, make(info, problem, gpu));
    const auto worked_out = run_program(request, info, std::make_shared<NoShapes>(make(info, problem, gpu)));
    REQUIRE(replayed);
    REQUIRE(worked_out);
    check_equal(**replayed, **worked_out);
  };
  GpuSpec gpu = h200_gpu();
  check("flash2", gpu, problem_of(8, 8192, 128, false));
  check("flash2", gpu, problem_of(8, 8192, 64, true));
  gpu.l2_partitions = 1;
  check("flash2", gpu, problem_of(4, 8192, 128, false));
  gpu = h200_gpu();
  gpu.hbm_bytes_per_second *= 0.08;  // now and then the bytes for a period come late
  check("flash2", gpu, problem_of(8, 8192, 128, false));
  check("standard", h200_gpu(), problem_of(8, 8192, 128, false));  // an SM issues several loads at once
  gpu = h200_gpu();
  gpu.hbm_bytes_per_second *= 0.5;
  gpu.hbm_latency_cycles *= 12;
  gpu.l2_capacity_bytes /= 128;
  // Bytes from HBM may come late for a period that begins meanwhile; the hits after them do not.
  check("flash2", gpu, problem_of(3, 8192, 64, false));
}

TEST_CASE("replay: whatever the speed and the latency of memory, a run with replayed stretches equals one without, to the bit") {
  std::mt19937 random(11);
  const auto times = [&](double least, double most) {
    return least * std::pow(most / least, static_cast<double>(random() % 1000) / 1000);
  };
  for (int round = 0; round < rounds(8); ++round) {
    const char* const algorithms[] = {"flash2", "flash2", "flash1", "standard"};
    const ProgramInfo& info = **find_program(algorithms[random() % 4]);
    SimulationRequest request;
    request.algorithm = std::string(info.id);
    request.gpu = h200_gpu();
    request.gpu.hbm_bytes_per_second *= times(0.02, 2);
    request.gpu.hbm_latency_cycles *= times(0.1, 10);
    request.gpu.l2_latency_cycles *= times(0.1, 10);
    request.gpu.l2_bytes_per_cycle *= times(0.1, 1);
    request.gpu.l2_capacity_bytes *= times(0.02, 1);
    request.problem = problem_of(2 + static_cast<int>(random() % 4), 2048 + 1024 * static_cast<int>(random() % 3),
                                 random() % 2 == 0 ? 64 : 128, random() % 4 == 0);
    INFO("round ", round);
    CAPTURE(request.algorithm);
    const auto replayed = run_program(request, info, make(info, request.problem, request.gpu));
    const auto worked_out = run_program(request, info, std::make_shared<NoShapes>(make(info, request.problem, request.gpu)));
    REQUIRE(replayed);
    REQUIRE(worked_out);
    check_equal(**replayed, **worked_out);
  }
}

TEST_CASE("replay: most loads of a long flash2 are replayed, most of these in periods") {
  const ProgramInfo& info = **find_program("flash2");
  const GpuSpec gpu = h200_gpu();
  const AttentionProblem problem = problem_of(16, 8192, 128, false);
  SimulationRequest request;
  request.problem = problem;
  request.gpu = gpu;
  const std::unique_ptr<TileProgram> program = make(info, problem, gpu);
  Ledger ledger(1, static_cast<int>(info.listing.size()), program->tensors());
  ScheduleBuilder builder(gpu, problem);
  Recorder recorder(static_cast<int>(gpu.sm_count), 0, program->tensors(), builder);
  const TensorLayouts layouts = tensor_layouts(problem, program->tile(), program->tensors());
  MemorySystem memory(gpu, layouts, {{program->tensors().begin(), program->tensors().end()}, false}, builder, ledger, recorder);
  Machine machine(*program, request, memory, recorder, builder);
  REQUIRE(machine.run_launch(0, 2, 0, {}, 0, 1));
  const std::int64_t pairs = 16 * (8192 / program->tile().block_q) * (8192 / program->tile().block_kv);
  const std::int64_t blocks = 16 * (8192 / program->tile().block_q);
  // Of two loads a pair of tiles all but those of the focused SM and a few at both ends of a block.
  CHECK(machine.replayed_loads() < 2 * pairs);
  CHECK(machine.replayed_loads() > 2 * pairs - 20 * blocks);
  CHECK(machine.loads_in_periods() > 2 * pairs * 7 / 10);
}
