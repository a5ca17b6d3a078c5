// Default tiles, what kernels need, and how many blocks an SM holds.
#include "sim/programs/kernel_needs.h"

#include <string>

#include <map>

#include <doctest/doctest.h>

#include "sim/programs/kernel_profile.h"
#include "sim/programs/occupancy.h"
#include "tests/sim/programs/compiled_needs.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

namespace tilescope {
namespace {

const ProgramInfo& info_of(std::string_view id) {
  return **find_program(id);
}

AttentionProblem problem_sized(std::int64_t n, std::int64_t d, DataType type = DataType::fp16) {
  AttentionProblem p;
  p.seq_q = p.seq_kv = n;
  p.head_dim = d;
  p.dtype = type;
  return p;
}

TEST_CASE("default tile: fits every GPU, for every program, type and head dimension" * doctest::test_suite("every program")) {
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu(), textbook_gpu()})
    for (const ProgramInfo& info : tested_programs())
      for (DataType type : {DataType::fp16, DataType::bf16, DataType::fp32})
        for (std::int64_t d = 1; d <= 256; d = d < 8 ? d + 1 : d + 8)
          for (std::int64_t n : {1, 17, 1000, 70000, 1000000}) {
            AttentionProblem p = problem_sized(n, d, type);
            CAPTURE(gpu.id);
            CAPTURE(info.id);
            CAPTURE(d);
            CAPTURE(n);
            CAPTURE(to_string(type));
            const TileShape tile = info.default_tile(p, gpu);
            const auto program = info.make(p, tile, gpu);
            REQUIRE(program);
            for (const LaunchSpec& launch : (*program)->launches()) {
              const auto fits = occupancy(**program, launch, gpu);
              REQUIRE_MESSAGE(fits, fits.error().sentence);
              CHECK(fits->blocks_per_sm >= 1);
              CHECK(static_cast<double>(launch.needs.shared_bytes) <= gpu.sm_shared_bytes_per_block);
              CHECK(launch.needs.threads % 32 == 0);
            }
          }
}

TEST_CASE("default tile: that of the kernels on a large GPU, 16 x 16 on a small one") {
  const GpuSpec h200 = h200_gpu(), toy = toy_gpu();
  CHECK(info_of("flash2").default_tile(problem_sized(4096, 64), h200) == TileShape{128, 128});
  CHECK(info_of("flash2").default_tile(problem_sized(4096, 128), h200) == TileShape{128, 64});
  CHECK(info_of("flash2").default_tile(problem_sized(4096, 256), h200) == TileShape{64, 64});
  CHECK(info_of("standard").default_tile(problem_sized(4096, 128), h200) == TileShape{128, 128});
  CHECK(info_of("flash1").default_tile(problem_sized(4096, 64), h200) == TileShape{64, 64});
  CHECK(info_of("softmax_online").default_tile(problem_sized(4096, 64), h200) == TileShape{1, 128});
  for (std::string_view id : {"flash1", "flash2", "standard", "matmul_tiled"})
    CHECK(info_of(id).default_tile(problem_sized(64, 16), toy) == TileShape{16, 16});
  CHECK(info_of("softmax_safe").default_tile(problem_sized(64, 16), toy) == TileShape{1, 8});
}

TEST_CASE("default tile: flash1 takes the paper's on a GPU without an L2") {
  // M = 64 KiB / 2 = 32768 elements; Bc = ⌈32768 / 4d⌉, Br = min(Bc, d).
  const GpuSpec gpu = textbook_gpu();
  CHECK(flash1_tile(problem_sized(4096, 64), gpu) == TileShape{64, 128});
  CHECK(flash1_tile(problem_sized(4096, 128), gpu) == TileShape{64, 64});
  CHECK(flash1_tile(problem_sized(4096, 100), gpu) == TileShape{82, 82});
  CHECK(flash1_tile(problem_sized(4096, 64, DataType::fp32), gpu) == TileShape{64, 64});
  // Cut to the sequence.
  CHECK(flash1_tile(problem_sized(40, 64), gpu) == TileShape{40, 40});
  GpuSpec without_l2 = h200_gpu();
  without_l2.l2_capacity_bytes = 0;
  CHECK(flash1_tile(problem_sized(4096, 64), without_l2) == TileShape{64, 454});
}

TEST_CASE("needs: flash2 has a warp for 16 rows up to four, and eight at 256") {
  const GpuSpec gpu = h200_gpu();
  const auto threads = [&](std::int64_t rows) { return flash2_needs(problem_sized(4096, 64), {rows, 32}, gpu).threads; };
  CHECK(threads(1) == 32);
  CHECK(threads(16) == 32);
  CHECK(threads(17) == 64);
  CHECK(threads(64) == 128);
  CHECK(threads(128) == 128);
  CHECK(threads(256) == 256);
}

TEST_CASE("needs: in the kernel's own tile a thread has the compiled registers, and each sum that it holds more costs one") {
  for (const std::int64_t d : {64, 128}) {
    const AttentionProblem p = problem_sized(4096, d);
    const GpuSpec gpu = h200_gpu();
    const auto flash1 = [&](std::int64_t block_kv) { return flash1_needs(p, {64, block_kv}, gpu).registers_per_thread; };
    const int compiled = kernel_profile("flash1").build("attention", p).registers;
    CHECK(flash1(64) == compiled);
    CHECK(flash1(32) == compiled - 64 * 32 / 128);
    const auto fused = [&](std::int64_t rows) { return fused_softmax_needs(p, {rows, 128}, gpu).registers_per_thread; };
    CHECK(fused(1) == kernel_profile("softmax_fused").build("softmax", p).registers);
    CHECK(fused(3) == fused(1) + 2 * 8);
  }
}

TEST_CASE("needs: every forward launch has the warps, the sums in registers and the tiles in shared memory of its kernel") {
  for_each_needs_case([](const NeedsCase& at) {
    const AttentionProblem& p = at.problem;
    const std::int64_t q = at.tile.block_q, kv = at.tile.block_kv, d = p.head_dim, e = element_bytes(p.dtype);
    const std::int64_t compiled = compiled_head_dim(p);  // the head dimension of the compiled kernel

    // S of a tile pair: a warp for 32 rows and 64 keys. Q and K are in shared memory.
    KernelNeeds scores = compiled_needs("matmul_tiled", "product", p);
    set_warps(scores, warps_of(q, 32, 4), warps_of(kv, 64, 2), q * kv, 128 * 128);
    scores.shared_bytes = q * d * e + kv * d * e;
    CHECK(scores_needs(p, at.tile) == scores);

    // A row of S: a thread for each key, in whole warps. A row of Q and a tile of K are in shared memory.
    KernelNeeds untiled = compiled_needs("matmul_naive", "product", p);
    untiled.has_products = false;
    untiled.converted_factors = 2;
    set_threads(untiled, warps_of(kv, 32, 4) * 32, kv, 128);
    untiled.shared_bytes = d * e + kv * d * e;
    CHECK(untiled_needs(p, at.tile) == untiled);

    // P V: a warp for 16 rows, O in registers. Each stage has a tile of P and one of V.
    KernelNeeds output = compiled_needs("standard", "output", p);
    set_warps(output, warps_of(q, 16, 8), 1, q * d, 128 * compiled);
    set_stages(output, 0, q * kv * e + kv * d * e, at);
    CHECK(output_needs(p, at.tile, at.gpu) == output);

    // S and P V in registers; Q, O, K, V in shared memory, and l and m, which are fp32.
    KernelNeeds flash1 = compiled_needs("flash1", "attention", p);
    set_warps(flash1, warps_of(q, 16, 4), 1, q * kv + q * d, 64 * 64 + 64 * compiled);
    flash1.shared_bytes = at.gpu.has_l2() ? q * d * e + q * d * e + kv * d * e + kv * d * e + q * 4 + q * 4
                                          : q * d * e + kv * d * e + kv * d * e;  // the paper's M leaves out O
    CHECK(flash1_needs(p, at.tile, at.gpu) == flash1);

    // S and O in registers. Q and L in shared memory; each stage has K, V and two mbarriers of 8 bytes.
    const std::int64_t own_kv = d <= 64 ? 128 : 64;
    KernelNeeds flash2 = compiled_needs("flash2", "attention", p);
    set_warps(flash2, warps_of(q, 16, q >= 256 ? 8 : 4), 1, q * kv + q * d, 128 * own_kv + 128 * compiled);
    set_stages(flash2, q * d * e + q * 4, kv * d * e + kv * d * e + 8 + 8, at);
    CHECK(flash2_needs(p, at.tile, at.gpu) == flash2);

    // Its own registers in the tile that it is compiled for, and the lengths of its lists.
    KernelNeeds flex = flash2;
    if (q == 128 && kv == own_kv)
      flex.registers_per_thread = flex.registers_wanted = kernel_profile("flex").build("attention", p).registers;
    flex.shared_bytes += 16;
    CHECK(flex_needs(p, at.tile, at.gpu) == flex);

    // The rows that softmax keeps between its passes, each from one sector to the next.
    KernelNeeds softmax = compiled_needs("standard", "softmax", p);
    softmax.has_products = false;
    softmax.shared_bytes = kernel_profile("standard").build("softmax", p).static_shared_bytes;
    const std::int64_t row = (p.seq_kv * e + 31) / 32 * 32;
    for (std::int64_t rows = 0; rows < std::min<std::int64_t>(4, q); ++rows)
      if (static_cast<double>(softmax.shared_bytes + row) <= at.gpu.sm_shared_bytes_per_block && (rows + 1) * row <= 163 * 1024)
        softmax.shared_bytes += row;
    CHECK(softmax_needs(p, at.tile, at.gpu) == softmax);

    for (const std::string_view id : {"softmax_safe", "softmax_online"}) {
      KernelNeeds rows = compiled_needs(id, "softmax", p, "common");
      rows.has_products = false;
      rows.shared_bytes = kernel_profile(id).build("softmax", p).static_shared_bytes;
      CHECK(row_softmax_needs(id, p) == rows);
    }

    // Eight sums of O in each thread for each row. At the end as many partial sums as threads have, or O if it has more elements,
    // are in shared memory beside the weights; those of one row of 128 keys are in the compiled kernel's share.
    KernelNeeds fused = compiled_needs("softmax_fused", "softmax", p);
    fused.has_products = false;
    fused.converted_factors = 1;
    const std::int64_t all_threads = fused.threads;
    fused.registers_wanted = static_cast<int>(fused.registers_per_thread + 8 * (q - 1));
    fused.registers_per_thread = static_cast<int>(std::clamp<std::int64_t>(fused.registers_per_thread + 8 * (q - 1), 24, 255));
    const std::int64_t partial = std::max(8 * all_threads, q * d), compiled_partial = std::max(8 * all_threads, compiled);
    set_stages(fused,
               kernel_profile("softmax_fused").build("softmax", p).static_shared_bytes + 4 * (q * kv - 128) +
                   4 * (partial - compiled_partial),
               kv * d * e, at);
    CHECK(fused_softmax_needs(p, at.tile, at.gpu) == fused);
  });
}

TEST_CASE("default tile: the kernel's own, or one that halves its longer edge until every launch fits") {
  for_each_default_tile([](const ProgramInfo& info, const AttentionProblem& p, const GpuSpec& gpu) -> std::optional<TileShape> {
    const bool large = gpu.sm_shared_bytes_per_block >= 99 * 1024;
    const TileShape small = large ? TileShape{128, 128} : TileShape{16, 16};
    const bool is_wide = p.dtype == DataType::fp32 || p.head_dim > 128;
    const std::map<std::string_view, TileShape> own = {
        {"standard", small},
        {"matmul_naive", small},
        {"matmul_tiled", small},
        {"flash1", large ? TileShape{64, 64} : small},
        {"flash2", !large    ? small
                   : is_wide ? TileShape{64, 64}
                             : TileShape{128, p.head_dim <= 64 ? 128 : 64}},
        {"softmax_safe", large ? TileShape{1, 128} : TileShape{1, 8}},
    };
    // Rows whose kernels have the tile of another row's.
    const std::string_view like = info.id == "flex" ? "flash2" : info.id.starts_with("softmax_") ? "softmax_safe" : info.id;
    const auto found = own.find(like);
    return found == own.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST_CASE("needs: flash2 has two buffers of K and V where they fit, else one") {
  const KernelNeeds two = flash2_needs(problem_sized(4096, 128), {128, 64}, h200_gpu());
  CHECK(two.stages == 2);
  CHECK(two.shared_bytes == (128 + 2 * 2 * 64) * 128 * 2 + 128 * 4 + 2 * 16);
  GpuSpec small = h200_gpu();
  small.sm_shared_bytes_per_block = 80 * 1024;
  const KernelNeeds one = flash2_needs(problem_sized(4096, 128), {128, 64}, small);
  CHECK(one.stages == 1);
  CHECK(one.shared_bytes == (128 + 2 * 64) * 128 * 2 + 128 * 4 + 16);
  for (const int missing : {0, 1}) {
    small.sm_shared_bytes_per_block = static_cast<double>(two.shared_bytes - missing);
    CHECK(flash2_needs(problem_sized(4096, 128), {128, 64}, small).stages == 2 - missing);
  }
}

TEST_CASE("needs: as many buffers as are asked for, each as large as the next") {
  const AttentionProblem problem = {.seq_q = 256, .seq_kv = 256, .head_dim = 64};
  const auto shared = [&](std::int64_t stages) {
    const KernelNeeds needs = flash2_needs(problem, {64, 64, stages}, toy_gpu());
    CHECK(needs.stages == stages);
    return needs.shared_bytes;
  };
  CHECK(shared(2) - shared(1) == 2 * 64 * 64 * 2 + 16);  // a tile of K, one of V, and their barriers
  CHECK(shared(8) - shared(7) == shared(2) - shared(1));
}

TEST_CASE("needs: rows of the softmax launch stay in shared memory as long as one fits") {
  const GpuSpec gpu = toy_gpu();  // 64 KiB
  const TileShape tile{16, 16};
  const auto rows = [&](std::int64_t n, DataType type = DataType::fp16) {
    return softmax_rows(problem_sized(n, 16, type), tile, gpu);
  };
  CHECK(rows(1024).rows == 4);
  CHECK(rows(8176).rows == 4);
  CHECK(rows(8177).rows == 3);
  CHECK(rows(10000).rows == 3);
  CHECK(rows(32704).rows == 1);  // 128 bytes of the 64 KiB are for the statistics
  CHECK(rows(32704).kept);
  CHECK_FALSE(rows(32705).kept);
  CHECK(rows(32704, DataType::fp32).kept == false);
  CHECK(softmax_rows(problem_sized(64, 16), {2, 16}, gpu).rows == 2);
}

TEST_CASE("occupancy: the scarcest of blocks, threads, registers and shared memory decides") {
  const GpuSpec gpu = h200_gpu();
  const auto program = info_of("flash2").make(problem_sized(4096, 64), {128, 128}, gpu);
  REQUIRE(program);
  LaunchSpec launch = (*program)->launches().front();
  const auto with = [&](int threads, int registers, std::int64_t shared) {
    launch.needs.threads = threads;
    launch.needs.registers_per_thread = registers;
    launch.needs.shared_bytes = shared;
    const auto result = occupancy(**program, launch, gpu);
    REQUIRE(result);
    return std::pair{result->blocks_per_sm, result->limit};
  };
  using Limit = Occupancy::Limit;
  CHECK(with(32, 32, 0) == std::pair{32, Limit::blocks});
  CHECK(with(256, 32, 0) == std::pair{8, Limit::threads});
  CHECK(with(128, 232, 0) == std::pair{2, Limit::registers});  // 4 warps of 29 x 256
  CHECK(with(128, 128, 0) == std::pair{4, Limit::registers});
  CHECK(with(128, 64, 75 * 1024) == std::pair{3, Limit::shared});  // 228 KiB hold 76 KiB three times: 1 KiB of each is reserved
  CHECK(with(128, 64, 75 * 1024 + 1) == std::pair{2, Limit::shared});
  CHECK(with(128, 64, 227 * 1024) == std::pair{1, Limit::shared});
}

TEST_CASE("occupancy: a block that fits no SM is refused with both numbers and the way out") {
  const GpuSpec toy = toy_gpu();
  const auto program = info_of("flash2").make(problem_sized(1024, 128), {256, 128}, toy);
  REQUIRE(program);
  const auto result = occupancy(**program, (*program)->launches().front(), toy);
  REQUIRE_FALSE(result);
  CHECK(result.error().sentence ==
        "tile 256x128 at head_dim 128 needs 129 KiB of shared memory; toy has 64 KiB: use a smaller block_q or block_kv");
  CHECK(result.error().kind == Error::Kind::wrong_request);

  // wgmma cannot spill its sums. What does not fit is said with registers and shared memory, whichever is too much.
  const GpuSpec h200 = h200_gpu();
  const auto sentence_of = [&](const TileShape& tile) {
    const auto wide = info_of("hopper_ping_pong").make(problem_sized(1024, 128), tile, h200);
    REQUIRE(wide);
    const auto refused = occupancy(**wide, (*wide)->launches().front(), h200);
    REQUIRE_FALSE(refused);
    return refused.error().sentence.text();
  };
  CHECK(sentence_of({256, 128}) ==
        "tile 256x128 at head_dim 128 needs 351 registers a thread and 193.1 KiB of shared memory; the limits on h200 are 232 "
        "registers and 227 KiB: use a smaller block_q or block_kv");
  CHECK(sentence_of({64, 512}) ==
        "tile 64x512 at head_dim 128 needs 255 registers a thread and 272.3 KiB of shared memory; the limits on h200 are 232 "
        "registers and 227 KiB: use a smaller block_q or block_kv");

  GpuSpec few_threads = h200_gpu();
  few_threads.sm_max_threads = 64;
  const auto large = info_of("flash2").make(problem_sized(1024, 64), {64, 64}, few_threads);
  const auto threads = occupancy(**large, (*large)->launches().front(), few_threads);
  REQUIRE_FALSE(threads);
  CHECK(threads.error().sentence.text().find("needs 128 threads a block; h200 has 64") != std::string::npos);

  GpuSpec few_registers = h200_gpu();
  few_registers.sm_registers = 1024;
  const auto registers = occupancy(**large, (*large)->launches().front(), few_registers);
  REQUIRE_FALSE(registers);
  CHECK(registers.error().sentence.text().find("registers; an SM of h200 has 1024") != std::string::npos);
}

}  // namespace
}  // namespace tilescope
