// What operations are made of, held against the compiled kernels.
#include "sim/engine/instructions.h"

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

/// Instructions of one warp in an iteration of flash2 that is neither the first nor the last, loads included.
Instructions of_iteration(std::int64_t head_dim) {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 1024;
  problem.head_dim = head_dim;
  const GpuSpec gpu = h200_gpu();
  const ProgramInfo& info = **find_program("flash2");
  const auto program = info.make(problem, info.default_tile(problem, gpu), gpu);
  REQUIRE(program);
  const KernelNeeds& needs = (*program)->launches().front().needs;
  BlockOperations block;
  (*program)->emit_block(0, 0, block);
  Instructions sum;
  for (Operation op : block.operations) {
    if (op.iteration != 2) continue;
    op.share = 8;  // the compiled loop holds all of it
    const Instructions one = instructions_of(op, block, needs, problem.dtype);
    sum.issued += one.issued;
    sum.mma += one.mma;
    sum.alu += one.alu;
    sum.exp += one.exp;
  }
  const double warps = needs.threads / 32.0;
  return {sum.issued / warps, sum.mma / warps, sum.alu / warps, sum.exp / warps};
}

}  // namespace

TEST_CASE("instructions: an iteration of flash2 is made of what the compiler made of it for sm_90, within 5 percent") {
  // The steady loop of the compiled kernels: instructions, HMMA, FMNMX and F2FP, MUFU.
  const struct {
    std::int64_t head_dim;
    double issued, mma, alu, exp;
  } compiled[] = {{64, 1130, 256, 136 + 64, 132}, {128, 934, 256, 72 + 32, 68}};
  for (const auto& kernel : compiled) {
    CAPTURE(kernel.head_dim);
    const Instructions counted = of_iteration(kernel.head_dim);
    CHECK(counted.mma == kernel.mma);
    CHECK(counted.exp == doctest::Approx(kernel.exp).epsilon(0.05));
    CHECK(counted.alu == doctest::Approx(kernel.alu).epsilon(0.05));
    CHECK(counted.issued == doctest::Approx(kernel.issued).epsilon(0.05));
  }
}

}  // namespace tilescope
