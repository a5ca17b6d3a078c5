// Memory over time: which tensors are in HBM when, the most of them as a formula, and what a forward pass leaves for the backward.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sim/analysis/memory_over_time.h"
#include "sim/programs/backward_tensors.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> run_of(std::string_view id, std::int64_t n, Pass pass, const GpuSpec& gpu = toy_gpu()) {
  SimulationRequest request;
  request.algorithm = std::string(id);
  request.problem.seq_q = request.problem.seq_kv = n;
  request.problem.head_dim = 64;
  request.problem.pass = pass;
  request.gpu = gpu;
  request.keeps_intervals = false;
  const auto made = simulate(request);
  REQUIRE_MESSAGE(made, (made ? std::string() : made.error().sentence.text()));
  return *made;
}

const TensorLife& life_of(const MemoryOverTime& memory, Tensor tensor) {
  const auto found =
      std::find_if(memory.lives.begin(), memory.lives.end(), [&](const TensorLife& l) { return l.tensor == tensor; });
  REQUIRE(found != memory.lives.end());
  return *found;
}

}  // namespace

TEST_CASE("memory over time: standard attention keeps P for its backward pass, FlashAttention only L") {
  for (const std::int64_t n : {256, 512}) {
    CAPTURE(n);
    const std::int64_t rows = n * 64 * 2, matrix = n * n * 2;
    const auto standard = run_of("standard", n, Pass::both);
    const MemoryOverTime hill = memory_over_time(*standard);
    REQUIRE(hill.live.size() == 8);
    CHECK(hill.live[0].value == 8 * rows + matrix);      // S
    CHECK(hill.live[1].value == 8 * rows + 2 * matrix);  // S and P
    CHECK(hill.live[2].value == 8 * rows + matrix);      // P
    CHECK(hill.peak().value == 8 * rows + 3 * matrix);   // P, dP and dS
    CHECK(hill.peak().value < standard->peak_hbm.value);
    CHECK(hill.peak_formula == "3·B·H·N²·e + 8·B·H·N·d·e");
    CHECK(hill.quadratic);
    CHECK(life_of(hill, tensors::s).last == 1);
    CHECK(life_of(hill, tensors::q).last == 7);
    REQUIRE(hill.checkpointing);
    CHECK(hill.checkpointing->kept.value == matrix);
    CHECK(hill.checkpointing->tensors == std::vector<Tensor>{tensors::p});
    const auto forward = run_of("standard", n, Pass::forward);
    CHECK(hill.checkpointing->hbm.value > 0);
    CHECK(hill.checkpointing->time.value >= to_nanoseconds(Cycles(forward->trace->end_cycle()), toy_gpu().clock()).value);

    const MemoryOverTime plain = memory_over_time(*run_of("flash2", n, Pass::both));
    CHECK(plain.live[0].value == 8 * rows + n * 4);                  // L
    CHECK(plain.peak().value == 8 * rows + 2 * n * 4 + n * 64 * 4);  // L, D and the sums of dQ
    CHECK_FALSE(plain.quadratic);
    CHECK(plain.peak_formula == "8·B·H·N·d·e + B·H·N·d·4 + 2·B·H·N·4");
    CHECK(plain.checkpointing->kept.value == n * 4);
  }
}

TEST_CASE("memory over time: what a backward pass finds is there from its beginning until its last use") {
  const MemoryOverTime memory = memory_over_time(*run_of("standard_backward", 256, Pass::backward));
  CHECK(life_of(memory, tensors::p).first == 0);
  CHECK(life_of(memory, tensors::p).last < static_cast<int>(memory.live.size()) - 1);
  CHECK_FALSE(memory.checkpointing);
}

TEST_CASE("memory over time: of every program, never more than all its tensors, and those of a launch are there while it runs") {
  for (const ProgramInfo& info : tested_programs())
    for (const GpuSpec& gpu : {h200_gpu(), textbook_gpu()}) {
      if (gpu.id == "textbook" && info.instruction != ProductInstruction::mma_sync) continue;
      CAPTURE(info.id);
      const auto run = run_of(info.id, 256, info.pass, gpu);
      const MemoryOverTime memory = memory_over_time(*run);
      REQUIRE(memory.live.size() == run->launches.size());
      CHECK(memory.peak() <= run->peak_hbm);
      CHECK(memory.peak().value >= run->peak_hbm.value - run->extra_hbm.value);
      CHECK_FALSE(memory.peak_formula.empty());
      if (run->launches.size() == 1) CHECK(memory.peak() == run->peak_hbm);
      for (const LedgerEntry& entry : run->ledger.entries()) {
        if (entry.link != Link::l2_to_sm && entry.link != Link::sm_to_l2) continue;
        if (!run->program->schema().reads(entry.tensor) && !run->program->schema().writes(entry.tensor)) continue;  // a counter
        const TensorLife& life = life_of(memory, entry.tensor);
        CHECK(life.first <= entry.launch);
        CHECK(entry.launch <= life.last);
      }
    }
}
