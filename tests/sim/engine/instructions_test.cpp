// What operations are made of, held against the compiled kernels.
#include "sim/engine/instructions.h"

#include <doctest/doctest.h>

#include <string_view>

#include "sim/programs/backward_tensors.h"
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
    op.executed_eighths = 8;  // the compiled loop holds all of it
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
      const Instructions one = instructions_of(as_executed(op, block), block, launch.needs, problem.dtype);
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

TEST_CASE("instructions: of each kind of operation, on 64 rows of 128 elements: 256 of each for a whole tile") {
  struct Row {
    OpKind kind;
    double issued, alu, exp;  // the others are fp32
  };
  const Row rows[] = {
      {OpKind::mask, 256 * 1.5, 256 * 1.5, 0},
      {OpKind::modify, 256 * 5.5, 256 * 3, 256 * 0.5},
      {OpKind::slope, 256 * 9, 256 * 1, 256 * 6},
      {OpKind::factor, 256 * 96, 0, 0},
      {OpKind::add_parts, 20, 0, 0},
      {OpKind::gather, 20 * 96, 0, 0},                 // 10 rows of 64
      {OpKind::row_max, 192 + 8 * 6, 192 + 8 * 3, 0},  // 64 rows of 96 elements, in eight groups of rows
      {OpKind::exp, 256 * 1.5 + 200, 256 * 0.5, 200},  // 6400 that are not masked
      {OpKind::exp_rows, 8 * 2, 0, 8},
      {OpKind::row_sum, 192 + 8, 0, 0},
      {OpKind::fill, 128, 0, 0},
      {OpKind::rescale, 256, 0, 0},
      {OpKind::divide, 256, 0, 0},
      {OpKind::add, 256, 0, 0},
      {OpKind::subtract_rows, 256, 0, 0},
      {OpKind::multiply, 256, 0, 0},
      {OpKind::merge, 8 * 3, 0, 0},
      {OpKind::log_sum_exp, 8 * 6, 0, 8},
      {OpKind::copy, 0, 0, 0},
      {OpKind::barrier, 0, 0, 0},
      {OpKind::wait, 0, 0, 0},
  };
  KernelNeeds needs;
  needs.threads = 96;
  needs.score_cost = {2, 3, 0.5, 40};
  needs.slope_cost = {2, 1, 6};
  for (const Row& row : rows) {
    CAPTURE(to_string(row.kind));
    Operation op;
    op.kind = row.kind;
    op.rows = 64, op.cols = 128, op.inner = 96;
    op.flops = 640, op.exps = 6400;
    op.tile = {tensors::s, 0, 0, 10, 0, 64};
    for (const DataType type : {DataType::fp16, DataType::bf16, DataType::fp32}) {
      const Instructions all = instructions_of(op, BlockOperations{}, needs, type);
      CHECK(all.issued == row.issued);
      CHECK(all.alu == row.alu);
      CHECK(all.exp == row.exp);
      CHECK(all.fp32 == row.issued - row.alu - row.exp);
      CHECK(all.mma + all.wgmma_flops + all.widened == 0);
      CHECK(all.in_calls == (row.kind == OpKind::modify ? 256 * 40 : 0));
    }
    // A kernel that executes three eighths of them, and eleven instructions more in each of three warps.
    op.executed_eighths = 3;
    op.instructions = 11, op.other_alu = 5, op.other_exps = 2;
    const Instructions some = instructions_of(op, BlockOperations{}, needs, DataType::fp16);
    CHECK(some.issued == row.issued * 3 / 8 + 33);
    CHECK(some.alu == row.alu * 3 / 8 + 15);
    CHECK(some.exp == row.exp * 3 / 8 + 6);
    CHECK(some.fp32 == (row.issued - row.alu - row.exp) * 3 / 8);
    CHECK(some.in_calls == (row.kind == OpKind::modify ? 96 * 40 : 0));
  }
  Operation row;  // a row kernel has no groups of eight rows
  row.kind = OpKind::row_max;
  row.cols = 1, row.inner = 96;
  for (const std::int32_t few : {1, 7, 8}) {
    row.rows = few;
    CHECK(instructions_of(row, BlockOperations{}, needs, DataType::fp16).issued == few * 96 / 32.0 + (few < 8 ? 0 : 6));
  }
}

TEST_CASE("instructions: of loads, stores and products, by type and by where the tile is") {
  KernelNeeds needs;
  needs.threads = 96;
  BlockOperations in_registers, in_shared;
  in_shared.shared_tiles = ~TileSet{0};
  const auto count = [&](const Operation& op, const BlockOperations& block, DataType type) {
    return instructions_of(op, block, needs, type);
  };
  Operation load;
  load.kind = OpKind::load;
  load.dst = tiles::k;
  load.rows = 64, load.cols = 128;
  load.bytes = 16384, load.smem_write_bytes = 16384;
  constexpr double copies = 3 * 32;  // 512 bytes each, with two instructions for the address
  CHECK(count(load, in_registers, DataType::fp16).issued == copies + 256);
  CHECK(count(load, in_registers, DataType::fp16).widened == 256);
  CHECK(count(load, in_registers, DataType::fp16).alu == 0);
  CHECK(count(load, in_registers, DataType::bf16).issued == copies + 1.5 * 256);
  CHECK(count(load, in_registers, DataType::bf16).alu == 256);
  CHECK(count(load, in_registers, DataType::bf16).widened == 0);
  CHECK(count(load, in_registers, DataType::fp32).issued == copies);
  for (const DataType type : {DataType::fp16, DataType::bf16, DataType::fp32}) {
    CHECK(count(load, in_shared, type).issued == copies);
    CHECK(count(load, in_shared, type).widened == 0);
  }

  Operation store;
  store.kind = OpKind::store;
  store.src[0] = tiles::o;
  store.tile = {tensors::o, 0, 0, 64, 0, 128};
  store.bytes = 16384;
  CHECK(count(store, in_registers, DataType::fp16).issued == copies + 2 * 128);  // 128 pairs for each lane: packed, then staged
  CHECK(count(store, in_registers, DataType::fp16).alu == 128);
  CHECK(count(store, in_registers, DataType::fp32).issued == copies);
  store.tile.cols = 1;
  CHECK(count(store, in_registers, DataType::fp16).issued == copies);
  store.tile = {tensors::d_q_acc, 0, 0, 64, 0, 128};  // fp32 in memory too
  CHECK(count(store, in_registers, DataType::fp16).issued == copies);

  Operation product;
  product.kind = OpKind::matmul;
  product.rows = 64, product.cols = 128, product.inner = 48;
  product.flops = 2 * 64 * 128 * 48;
  product.smem_read_bytes = 8192;
  CHECK(count(product, in_registers, DataType::fp16).mma == 192);  // 4096 FLOP each
  CHECK(count(product, in_registers, DataType::fp16).issued == 192 + 2 * 16);
  CHECK(count(product, in_registers, DataType::fp16).fp32 == 0);
  constexpr double multiply_adds = 64.0 * 128 * 48 / 32;
  CHECK(count(product, in_registers, DataType::fp32).issued == multiply_adds);
  CHECK(count(product, in_registers, DataType::fp32).fp32 == multiply_adds);
  CHECK(count(product, in_registers, DataType::fp32).mma == 0);
  needs.multiply_add_instructions = 1.5;
  needs.converted_factors = 2;
  CHECK(count(product, in_registers, DataType::fp16).issued == 1.5 * multiply_adds);
  CHECK(count(product, in_registers, DataType::fp16).fp32 == multiply_adds);
  CHECK(count(product, in_registers, DataType::fp16).widened == 2 * multiply_adds);
  CHECK(count(product, in_registers, DataType::bf16).widened == 0);
  needs.multiply_add_instructions = 0;
  needs.instruction = ProductInstruction::wgmma;
  const double whole = 2.0 * 64 * 128 * 48;
  CHECK(count(product, in_shared, DataType::fp16).wgmma_flops == whole);
  CHECK(count(product, in_shared, DataType::fp16).issued == 4 * 3);
  product.rows = 40, product.cols = 121, product.inner = 33;
  CHECK(count(product, in_shared, DataType::fp16).wgmma_flops == whole);
  product.swap_ab = true;  // 121 rows are two times 64, and 40 columns are five times 8
  CHECK(count(product, in_shared, DataType::fp16).wgmma_flops == 2.0 * 128 * 40 * 48);
  CHECK(count(product, in_shared, DataType::fp16).issued == 4 * 2 * 3);

  // By boxes of 256 rows; in pages by panels of 128 bytes, too.
  CHECK(boxes_of(load) == 1);
  load.rows = 257, load.smem_write_bytes = 257 * 384;
  CHECK(boxes_of(load) == 2);
  CHECK(boxes_of_pages(load, 64) == 5 * 3);
  load.rows = 256, load.smem_write_bytes = 256 * 129;
  CHECK(boxes_of(load) == 1);
  CHECK(boxes_of_pages(load, 1024) == 2);
  needs.uses_tma = true;
  CHECK(count(load, in_shared, DataType::fp16).issued == 2);
  CHECK(count(load, in_registers, DataType::fp32).issued == copies);
  Operation addition = store;
  addition.kind = OpKind::reduce_add;
  CHECK(is_bulk_addition(addition, in_shared, needs));
  CHECK_FALSE(is_bulk_addition(addition, in_registers, needs));
  CHECK_FALSE(is_bulk_addition(store, in_shared, needs));
  CHECK(count(addition, in_shared, DataType::fp16).issued == 2 * 3);  // a lane of each of three warps
  CHECK(count(addition, in_registers, DataType::fp16).issued == copies);
  needs.uses_tma = false;
  CHECK_FALSE(is_bulk_addition(addition, in_shared, needs));
}

TEST_CASE(
    "instructions: the last block of every program executes the operations of a whole one where its sequences end inside a tile") {
  const GpuSpec gpu = h200_gpu();
  int compared = 0;
  for (const ProgramInfo& info : program_table()) {
    AttentionProblem cut = {.heads = 2, .kv_heads = 1, .seq_q = 300, .seq_kv = 340, .head_dim = 64};
    cut.pass = info.pass;
    const TileShape tile = info.default_tile(cut, gpu);
    AttentionProblem whole = cut;
    whole.seq_q = ceil_div(cut.seq_q, tile.block_q) * tile.block_q;
    whole.seq_kv = ceil_div(cut.seq_kv, tile.block_kv) * tile.block_kv;
    const auto of_cut = info.make(cut, tile, gpu), of_whole = info.make(whole, tile, gpu);
    REQUIRE(of_cut);
    REQUIRE(of_whole);
    CAPTURE(info.id);
    for (std::size_t n = 0; n < (*of_cut)->launches().size(); ++n) {
      const LaunchSpec& launch = (*of_cut)->launches()[n];
      BlockOperations last, full;
      (*of_cut)->emit_block(static_cast<int>(n), launch.blocks() - 1, last);
      (*of_whole)->emit_block(static_cast<int>(n), launch.blocks() - 1, full);
      if (last.whole_rows == 0 || !launch.needs.groups.empty()) continue;  // roles have more operations in longer loops
      CAPTURE(n);
      const auto arithmetic = [&](const BlockOperations& block) {
        std::vector<Operation> kept;
        for (const Operation& op : block.operations)
          if (op.kind != OpKind::mask && op.kind != OpKind::wait) kept.push_back(as_executed(op, block));
        return kept;
      };
      const std::vector<Operation> some = arithmetic(last), all = arithmetic(full);
      REQUIRE(some.size() == all.size());
      for (std::size_t i = 0; i < some.size(); ++i) {
        const Operation &a = some[i], &b = all[i];
        CAPTURE(i);
        CAPTURE(to_string(a.kind));
        REQUIRE(a.kind == b.kind);
        ++compared;
        if (a.kind == OpKind::load) {
          // Of S, P and statistics a kernel fetches what exists.
          if (a.tile.tensor->cols != Axis::head) continue;
          CHECK(a.rows == b.rows);
          CHECK(a.bytes == b.bytes);
        } else if (writes_memory(a.kind)) {
          CHECK(a.tile.rows == b.tile.rows);
          CHECK(a.tile.cols == b.tile.cols);
        } else {
          CHECK(a.rows == b.rows);
          CHECK(a.cols == b.cols);
          CHECK(a.inner == b.inner);
          CHECK(a.exps == b.exps);
          if (a.kind != OpKind::matmul) continue;
          CHECK(a.flops == b.flops);
          CHECK(a.smem_read_bytes == b.smem_read_bytes);
        }
      }
    }
  }
  CHECK(compared > 200);
}

}  // namespace tilescope
