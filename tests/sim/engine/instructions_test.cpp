// What operations are made of, held against the compiled kernels.
#include "sim/engine/instructions.h"

#include <doctest/doctest.h>

#include <string_view>

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

/// Warp instructions of one block of a launch, of those that have something to do the first.
double of_block(std::string_view id, const AttentionProblem& problem, int launch) {
  const GpuSpec gpu = h200_gpu();
  const ProgramInfo& info = **find_program(id);
  const auto program = info.make(problem, info.default_tile(problem, gpu), gpu);
  REQUIRE(program);
  const KernelNeeds& needs = (*program)->launches()[static_cast<std::size_t>(launch)].needs;
  BlockOperations block;
  (*program)->emit_block(launch, 0, block);
  double issued = needs.setup_instructions * (needs.threads / 32.0);
  for (const Operation& op : block.operations) issued += instructions_of(op, block, needs, problem.dtype).issued;
  return issued;
}

}  // namespace

TEST_CASE("instructions: a block of each kernel has as many as the hardware counted, within 8 percent") {
  // smsp__inst_executed.sum on an H200, over the blocks of the launch.
  const struct {
    std::string_view id;
    std::int64_t n, head_dim;
    DataType type;
    int launch;
    double counted;
  } kernels[] = {
      {"flash2", 4096, 64, DataType::bf16, 0, 144556},        {"flash1", 512, 64, DataType::fp16, 0, 198196},
      {"flash1", 640, 128, DataType::fp16, 0, 490056},        {"standard", 1024, 64, DataType::fp16, 0, 5040},
      {"standard", 1024, 64, DataType::fp16, 1, 5424},        {"standard", 1024, 64, DataType::fp16, 2, 20088},
      {"standard", 1000, 64, DataType::fp16, 1, 5588},        {"standard", 2048, 128, DataType::fp16, 0, 6104},
      {"standard", 2048, 128, DataType::fp16, 1, 9040},       {"standard", 2048, 128, DataType::fp16, 2, 52192},
      {"matmul_tiled", 1024, 128, DataType::fp16, 0, 6104},   {"matmul_naive", 512, 64, DataType::fp16, 0, 166464},
      {"matmul_naive", 512, 64, DataType::bf16, 0, 199232},   {"matmul_naive", 512, 128, DataType::fp16, 0, 302240},
      {"matmul_naive", 512, 128, DataType::bf16, 0, 367263},  {"softmax_safe", 1000, 64, DataType::fp16, 0, 1980},
      {"softmax_safe", 1024, 64, DataType::fp16, 0, 1852},    {"softmax_safe", 4096, 64, DataType::fp16, 0, 3176},
      {"softmax_online", 1000, 64, DataType::fp16, 0, 1428},  {"softmax_online", 4096, 64, DataType::fp16, 0, 2892},
      {"softmax_fused", 1024, 64, DataType::fp16, 0, 14758},  {"softmax_fused", 1000, 64, DataType::bf16, 0, 15709},
      {"softmax_fused", 1024, 128, DataType::fp16, 0, 20688}, {"softmax_fused", 1000, 128, DataType::bf16, 0, 22489},
  };
  for (const auto& kernel : kernels) {
    CAPTURE(kernel.id);
    CAPTURE(kernel.n);
    CAPTURE(kernel.head_dim);
    CAPTURE(kernel.launch);
    AttentionProblem problem;
    problem.seq_q = problem.seq_kv = kernel.n;
    problem.head_dim = kernel.head_dim;
    problem.dtype = kernel.type;
    CHECK(of_block(kernel.id, problem, kernel.launch) == doctest::Approx(kernel.counted).epsilon(0.08));
  }
}

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

TEST_CASE("instructions: a wgmma has up to 64 rows, 256 columns and a depth of 16, and each of four warps issues it") {
  KernelNeeds needs;
  needs.has_products = true;
  needs.instruction = ProductInstruction::wgmma;
  needs.threads = 128;
  const auto issued = [&](std::int32_t rows, std::int32_t cols, std::int32_t inner) {
    Operation op;
    op.kind = OpKind::matmul;
    op.rows = rows, op.cols = cols, op.inner = inner;
    return instructions_of(op, BlockOperations{}, needs, DataType::fp16).issued;
  };
  CHECK(issued(64, 256, 16) == 4);
  CHECK(issued(64, 8, 16) == 4);
  CHECK(issued(128, 256, 16) == 2 * 4);
  CHECK(issued(64, 512, 16) == 2 * 4);
  CHECK(issued(64, 256, 64) == 4 * 4);
  CHECK(issued(65, 257, 17) == 2 * 2 * 2 * 4);
}

TEST_CASE("instructions: a tensor-core kernel does as much on a tile that the sequence cuts as on a whole one") {
  const GpuSpec gpu = h200_gpu();
  const auto last_block = [&](std::string_view id, std::int64_t length) {
    AttentionProblem problem;
    problem.seq_q = problem.seq_kv = length;
    const ProgramInfo& info = **find_program(id);
    const auto program = info.make(problem, ProgramTile(128, 128), gpu);
    REQUIRE(program);
    const LaunchSpec& launch = (*program)->launches().back();
    BlockOperations block;
    (*program)->emit_block(static_cast<int>((*program)->launches().size()) - 1, launch.blocks() - 1, block);
    Instructions sum;
    for (const Operation& op : block.operations) {
      if (op.kind == OpKind::load || op.kind == OpKind::store || op.kind == OpKind::mask) continue;
      const Instructions one = instructions_of(as_executed(op, block, launch.needs), block, launch.needs, problem.dtype);
      // What stands beside the arithmetic depends on the path that a length takes.
      sum.issued += one.issued - op.instructions * (launch.needs.threads / 32.0);
      sum.mma += one.mma;
      sum.exp += one.exp;
    }
    return sum;
  };
  for (const std::string_view id : {"flash2", "standard"}) {
    CAPTURE(id);
    const Instructions cut = last_block(id, 320), whole = last_block(id, 384);
    CHECK(cut.mma == whole.mma);
    CHECK(cut.exp == whole.exp);
    CHECK(cut.issued == doctest::Approx(whole.issued).epsilon(0.01));
  }
}

}  // namespace tilescope
