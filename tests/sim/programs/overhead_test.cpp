// What the operations of a program execute beside their arithmetic, from the profiles of the kernels.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include <doctest/doctest.h>

#include "sim/core/tensor.h"
#include "sim/engine/instructions.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/tile_program.h"
#include "tests/sim/program_of.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

using Numbers = std::array<int, 8>;
Numbers numbers(const Overhead& o) {
  return {o.instructions, o.shared_round_trips, o.barriers, o.l2_round_trips, o.alu, o.exps, o.wavefronts, o.stall_cycles};
}
Numbers numbers(const Operation& op) {
  return {op.instructions, op.shared_round_trips, op.barriers,   op.l2_round_trips,
          op.other_alu,    op.other_exps,         op.wavefronts, op.stall_cycles};
}

/// Where an operation stands in its block.
struct At {
  std::int64_t first_key = 0, tile = 0, tiles = 0;  // of the keys that its iteration is about; all tiles of a row
  std::int64_t pass = 0;
  bool is_first = false;  // of the block
  bool is_last() const { return tile + 1 == tiles; }
};
using Expected = std::function<Overhead(const Operation&, const At&)>;

/// Compares every operation of a launch with what it should execute beside the arithmetic.
int check_launch(const TileProgram& program, std::string_view name, const Expected& expected) {
  int with_overhead = 0;
  const std::int64_t tiles = ceil_div(program.problem().seq_kv, program.tile().block_kv);
  for (std::size_t n = 0; n < program.launches().size(); ++n) {
    const LaunchSpec& launch = program.launches()[n];
    if (launch.name != name) continue;
    for (std::int64_t number = 0; number < launch.blocks(); ++number) {
      BlockOperations block;
      program.emit_block(static_cast<int>(n), number, block);
      for (std::size_t i = 0; i < block.operations.size(); ++i) {
        const Operation& op = block.operations[i];
        CAPTURE(i);
        CAPTURE(to_string(op.kind));
        const std::int64_t iteration = std::max(0, op.iteration);
        const Overhead should =
            expected(op, {op.kv_tile * program.tile().block_kv, iteration % tiles, tiles, iteration / tiles, i == 0});
        CHECK(numbers(op) == numbers(should));
        with_overhead += numbers(should) != Numbers{} ? 1 : 0;
      }
    }
  }
  return with_overhead;
}

AttentionProblem problem_with(std::int64_t queries, std::int64_t keys, DataType type = DataType::fp16) {
  return {.heads = 2, .kv_heads = 2, .seq_q = queries, .seq_kv = keys, .head_dim = 64, .dtype = type};
}

/// The columns of S and P in a row of HBM, which is whole sectors.
std::int64_t pitch(std::int64_t keys, DataType type) {
  const std::int64_t of_sector = 32 / element_bytes(type);
  return (keys + of_sector - 1) / of_sector * of_sector;
}

/// The product of matmul_tiled, in tiles of 32 keys.
Expected tiled_product(const AttentionProblem& p) {
  return [p](const Operation& op, const At& at) -> Overhead {
    const auto of = [&](std::string_view part) { return kernel_profile("matmul_tiled").overhead("product", part, p); };
    if (op.kind == OpKind::store) return of("store");
    if (op.kind != OpKind::matmul) return {};
    return at.first_key + 32 > p.seq_kv ? of("scores") + of("pad") : of("scores");
  };
}

}  // namespace

TEST_CASE("overhead: the tiled product has its loop, its store, and the pad where the keys end inside a tile") {
  int found = 0;
  for (const std::int64_t keys : {64, 100, 128})
    for (const std::string_view id : {"matmul_tiled", "standard"}) {
      CAPTURE(id);
      CAPTURE(keys);
      const AttentionProblem p = problem_with(48, keys);
      found += check_launch(*program_of(id, p, {16, 32}, h200_gpu()), id == "standard" ? "scores" : "product", tiled_product(p));
    }
  for (const std::int64_t head_dim : {16, 40, 64, 128}) {
    AttentionProblem p = problem_with(20, 70);
    p.head_dim = head_dim;
    const auto of = [&](std::string_view at) { return kernel_profile("matmul_naive").overhead("product", at, p); };
    // Pieces of 16 bytes of a row of K, of which four come at a time, and two wavefronts for the piece of q that goes with each.
    const int pieces = static_cast<int>(head_dim) * 2 / 16;
    const Overhead more = {.shared_round_trips = pieces / 4 + (pieces % 4 > 0 ? 1 : 0), .wavefronts = 2 * pieces};
    found += check_launch(
        *program_of("matmul_naive", p, {16, 32}, h200_gpu()), "product", [&](const Operation& op, const At&) -> Overhead {
          return op.kind == OpKind::store ? of("store") : op.kind == OpKind::matmul ? of("scores") + more : Overhead{};
        });
  }
  CHECK(found > 100);
}

TEST_CASE("overhead: standard's softmax has guards for each row, merges once, and more where a row ends inside a turn or a fetch") {
  int found = 0, parted = 0, half_empty = 0;
  for (const double room : {64.0, 5.0, 3.0})  // KiB of shared memory: four rows, some rows
    for (const std::int64_t keys : {100, 256, 500, 512, 768})
      for (const std::int64_t block_kv : {32, 128}) {
        const AttentionProblem p = problem_with(6, keys);
        GpuSpec gpu = toy_gpu();
        gpu.sm_shared_bytes_per_block = room * 1024;
        gpu.sm_shared_bytes = 4 * gpu.sm_shared_bytes_per_block;
        const ProgramTile tile(4, block_kv);
        CAPTURE(room);
        CAPTURE(keys);
        CAPTURE(block_kv);
        const auto program = program_of("standard", p, tile, gpu);
        const KernelProfile& kernel = kernel_profile("standard");
        const auto of = [&](std::string_view at) { return kernel.overhead("softmax", at, p); };
        const auto rows = static_cast<int>(softmax_rows(p, tile, gpu).rows);
        const int threads = program->launches()[1].needs.threads;
        // A thread fetches eight elements at a time, so many tiles of these rows at once.
        const std::int64_t at_once = std::clamp<std::int64_t>(std::int64_t{threads} * 8 / (rows * block_kv), 1, 8);
        const std::int64_t in_tiles = ceil_div(keys, block_kv) * block_kv;
        const bool ends_inside = std::min(in_tiles, pitch(keys, p.dtype)) % 256 != 0;
        parted += ends_inside ? 1 : 0;
        found += check_launch(*program, "softmax", [&](const Operation& op, const At& at) -> Overhead {
          if (at.is_first)
            return ends_inside
                       ? of("merges") + of("parted_merge") + kernel_profile("common").overhead("softmax", "parted_shuffles", p)
                       : of("merges");
          const bool guarded = at.pass == 0 ? op.kind == OpKind::row_max : op.kind == OpKind::exp;
          if (!guarded) return {};
          Overhead guards = of("guards_of_row") * rows + Overhead{.shared_round_trips = rows / 2};
          if (at.is_last() && at.tiles % at_once != 0) guards += of("half_empty_fetch"), ++half_empty;
          return guards;
        });
        found += check_launch(*program, "output", [&](const Operation& op, const At&) -> Overhead {
          if (op.kind == OpKind::store) return kernel.overhead("output", "store", p);
          return op.kind == OpKind::matmul ? kernel.overhead("output", "product", p) : Overhead{};
        });
      }
  CHECK(found > 1000);
  CHECK(parted > 5);
  CHECK(half_empty > 20);
}

TEST_CASE("overhead: the row kernels merge a row once, or in each tile where they are fused, and warps without elements do not") {
  int found = 0;
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()})
    for (const std::int64_t keys : {100, 256, 700, 1024, 3000})
      for (const std::string_view id : {"softmax_safe", "softmax_online", "softmax_fused"}) {
        CAPTURE(gpu.id);
        CAPTURE(keys);
        CAPTURE(id);
        const AttentionProblem p = problem_with(3, keys);
        const ProgramTile tile(1, 128);
        const auto program = program_of(id, p, tile, gpu);
        const KernelProfile &kernel = kernel_profile(id), &common = kernel_profile("common");
        const int threads = program->launches().front().needs.threads;
        const bool is_fused = id == "softmax_fused", waits = gpu.sm_dependent_cycles > 0;
        Overhead merge = kernel.overhead("softmax", "merge", p) + common.overhead("softmax", "shuffles", p);
        if (!is_fused) {
          merge += common.overhead("softmax", "merge", p);
          // Only warps that have elements of the row, 256 each, have something to merge.
          const auto with_elements = waits ? static_cast<int>(std::min<std::int64_t>((keys + 255) / 256, threads / 32)) : 4;
          merge.exps += kernel.overhead("softmax", "merge_of_four_warps", p).exps * with_elements / 4;
          if (pitch(keys, p.dtype) % 256 != 0)
            merge += common.overhead("softmax", "parted_merge", p) + common.overhead("softmax", "parted_shuffles", p);
        }
        // A loop that is unrolled four times serves rows of four fetches or more.
        const std::int64_t fetched = std::clamp<std::int64_t>(std::int64_t{threads} * 8 / 128, 1, 8);
        const Overhead each =
            is_fused
                ? Overhead{}
                : common.overhead("softmax", ceil_div(keys, std::int64_t{128}) < 4 * fetched ? "tile_of_short_row" : "tile", p);
        Overhead weights = is_fused ? kernel.overhead("softmax", "weights", p) : Overhead{};
        weights.wavefronts += 128 * 64 / 8 / threads;
        const std::int64_t passes = id == "softmax_safe" ? 3 : id == "softmax_online" ? 2 : 1;
        found += check_launch(*program, "softmax", [&](const Operation& op, const At& at) -> Overhead {
          if (at.is_first) return common.overhead("softmax", "init", p);
          if (is_fused) return op.kind == OpKind::row_sum ? merge : op.kind == OpKind::matmul ? weights : Overhead{};
          if (at.pass + 1 == passes) return op.kind == OpKind::exp ? each : Overhead{};
          const OpKind merged = passes == 3 && at.pass == 0 ? OpKind::row_max : OpKind::row_sum;
          if (op.kind != merged) return {};
          return at.is_last() ? merge : each;
        });
      }
  CHECK(found > 500);
}

TEST_CASE("overhead: idle lanes of a row's last warp execute what the others do, and the online kernel some of it twice") {
  for (const std::int64_t keys : {100, 256, 300, 511, 700, 1024})
    for (const std::string_view id : {"softmax_safe", "softmax_online"}) {
      CAPTURE(keys);
      CAPTURE(id);
      const AttentionProblem p = problem_with(1, keys);
      const auto program = program_of(id, p, {1, 64}, h200_gpu());
      const std::int64_t tiles = (keys + 63) / 64, in_last = keys - (tiles - 1) * 64;
      // Of the last tile's elements and idle lanes, per element, in eighths.
      const std::int64_t executed = (keys + 255) / 256 * 256 - (tiles - 1) * 64;
      BlockOperations block;
      program->emit_block(0, 0, block);
      int last = 0;
      for (const Operation& op : block.operations) {
        if (op.iteration < 0 || op.iteration >= tiles * (id == "softmax_safe" ? 3 : 2)) continue;
        const bool is_last = op.iteration % tiles + 1 == tiles;
        const bool is_online = id == "softmax_online" && op.iteration < tiles;
        const auto& reading = [&](std::string_view at) { return kernel_profile(id).overhead_reading("softmax", at, p).times; };
        const std::int64_t times = !is_online                   ? 1
                                   : op.kind == OpKind::row_max ? reading("row_max")
                                   : op.kind == OpKind::exp     ? reading("exp")
                                                                : 1;
        const std::int64_t share = is_last ? std::min<std::int64_t>(8 * executed / in_last, 4096) : 8;
        CAPTURE(op.iteration);
        CHECK(op.executed_eighths == times * share);
        last += is_last ? 1 : 0;
      }
      CHECK(last > 5);
    }
}

TEST_CASE("overhead: the launches of standard_backward and flash1 have that of their loops, each where it is counted") {
  int found = 0;
  for (const std::int64_t keys : {64, 100}) {
    AttentionProblem p = problem_with(48, keys);
    CAPTURE(keys);
    const auto forward = program_of("flash1", p, {16, 32}, h200_gpu());
    const auto of_flash1 = [&](std::string_view at) { return kernel_profile("flash1").overhead("attention", at, p); };
    found += check_launch(*forward, "attention", [&](const Operation& op, const At&) -> Overhead {
      if (op.kind == OpKind::matmul && op.dst == tiles::s) return of_flash1("arrival");
      if (op.kind == OpKind::row_sum) return of_flash1("statistics");
      if (op.kind == OpKind::add) return of_flash1("rescale");  // two elements of 16 rows a round trip
      if (op.kind == OpKind::store && op.src[0] == tiles::m_new) return of_flash1("store") + of_flash1("requests");
      return {};
    });
    p.pass = Pass::backward;
    const auto backward = program_of("standard_backward", p, {16, 32}, h200_gpu());
    const KernelProfile& kernel = kernel_profile("standard_backward");
    for (const std::string_view launch : {"dV", "dK", "dQ"})
      found += check_launch(*backward, launch, [&](const Operation& op, const At&) -> Overhead {
        return op.kind == OpKind::matmul ? kernel.overhead(launch == "dQ" ? "dQ" : "dV", "product", p) : Overhead{};
      });
    found += check_launch(*backward, "dP", tiled_product(p));
  }
  CHECK(found > 100);
}

TEST_CASE("overhead: kernels/lab/step_counts.py takes off what the model counts for a step of flash1, part by part") {
  for (const std::int64_t head_dim : {64, 128}) {
    CAPTURE(head_dim);
    AttentionProblem p = problem_with(64, 64);
    p.head_dim = head_dim;
    const auto program = program_of("flash1", p, {64, 64}, h200_gpu());
    const KernelNeeds& needs = program->launches().front().needs;
    BlockOperations block;
    program->emit_block(0, 0, block);
    double statistics = 0, rescale = 0, store = 0;
    bool after_scores = false, after_product = false;
    for (Operation op : block.operations) {
      op.instructions = 0;
      const double issued = instructions_of(op, block, needs, p.dtype).issued / (needs.threads / 32.0);
      if (op.kind == OpKind::matmul) {
        after_product = after_scores;
        after_scores = true;
      } else if (after_product) {
        (op.kind == OpKind::store ? store : rescale) += issued;
      } else if (after_scores) {
        statistics += issued;
      }
    }
    // arithmetic() there, without the products: 32 elements and two groups of rows a lane, head_dim / 2 elements of O.
    const double of_rows = static_cast<double>(head_dim) / 2;
    CHECK(statistics == doctest::Approx(4.5 * 32 + 20 * 2).epsilon(0.01));
    CHECK(rescale == doctest::Approx(4 * of_rows));
    CHECK(store == doctest::Approx(3 * (2 * of_rows / 16 + 0.25)));
  }
}

TEST_CASE("overhead: a block of a row launch asks for its rows step after step, with shuffles in each") {
  int found = 0;
  for (const std::int64_t head_dim : {64, 128}) {
    AttentionProblem p = problem_with(64 + 47, 128);
    p.head_dim = head_dim;
    p.pass = Pass::backward;
    // A step has 128 threads with 16 bytes each: 16 or 8 rows in 16 bits, 8 or 4 in fp32.
    const auto steps = [&](const Operation& op, int bytes) {
      const int rows = op.rows, rows_a_step = 128 * 16 / (static_cast<int>(head_dim) * bytes);
      return (rows + rows_a_step - 1) / rows_a_step;
    };
    const int shuffles = head_dim == 64 ? 3 : 4;
    for (const std::string_view id :
         {"flash2_backward", "flash2_backward_deterministic", "flash2_backward_two_pass", "flash3_backward", "flex_backward"}) {
      CAPTURE(id);
      const auto program = program_of(id, p, {64, 128}, h200_gpu());
      found += check_launch(*program, "row dots", [&](const Operation& op, const At&) -> Overhead {
        if (op.kind == OpKind::load) CHECK(op.rounds == steps(op, 2));
        if (op.kind != OpKind::row_sum) return {};
        return {.shared_round_trips = shuffles * steps(op, 2)};
      });
      if (id == "flash3_backward") {  // a warp for 16 rows, 32 columns at a time; 15 of the last 47 rows go 64 columns at a time
        const int groups = head_dim == 64 ? 2 : 4, of_last = head_dim == 64 ? 15 : 30;
        found += check_launch(*program, "convert dQ", [&](const Operation& op, const At&) -> Overhead {
          if (op.kind == OpKind::load) CHECK(op.rounds == (op.rows == 64 ? groups : of_last));
          if (op.kind != OpKind::copy || op.dst != tiles::d_q) return {};
          return {.shared_round_trips = 2 * groups};
        });
        continue;
      }
      found += check_launch(*program, "convert dQ", [&](const Operation& op, const At&) -> Overhead {
        if (op.kind == OpKind::load) CHECK(op.rounds == steps(op, 4));
        if (op.kind != OpKind::copy || op.dst != tiles::d_q) return {};
        return {.shared_round_trips = steps(op, 4)};
      });
    }
  }
  CHECK(found > 50);
}

TEST_CASE("overhead: the groups of flash3_backward share whole tiles so that no wgmma multiplies a padded row or column") {
  for (const std::int64_t head_dim : {64, 128}) {
    AttentionProblem p = problem_with(256, 256);
    p.head_dim = head_dim;
    p.pass = Pass::backward;
    const auto program = program_of("flash3_backward", p, ProgramTile(flash3_backward_tile(p, h200_gpu())), h200_gpu());
    int products = 0;
    for (std::size_t n = 0; n < program->launches().size(); ++n) {
      const LaunchSpec& launch = program->launches()[n];
      if (launch.needs.instruction != ProductInstruction::wgmma) continue;
      BlockOperations block;
      program->emit_block(static_cast<int>(n), 0, block);
      for (const Operation& op : block.operations) {
        if (op.kind != OpKind::matmul) continue;
        CAPTURE(to_string(op.dst));
        CHECK(instructions_of(op, block, launch.needs, p.dtype).wgmma_flops == static_cast<double>(op.flops));
        ++products;
      }
    }
    CHECK(products > 10);
  }
}

}  // namespace tilescope
