// Default tiles, what kernels need, and how many blocks an SM holds.
#include "sim/programs/kernel_needs.h"

#include <string>

#include <doctest/doctest.h>

#include "sim/programs/kernel_profile.h"
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
