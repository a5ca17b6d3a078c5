// What a launch needs, put together from its kernel's profile and from sizes that a test writes out; and the cases that tests of
// needs and of default tiles walk over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/occupancy.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {

/// What the compiler and the machine code say of a launch; shared memory and warps that share operands are left to the test.
inline KernelNeeds compiled_needs(std::string_view id, std::string_view launch, const AttentionProblem& problem,
                                  std::string_view reading_of = {}) {
  const KernelBuild& build = kernel_profile(id).build(launch, problem);
  const LaunchReading& reading = kernel_profile(reading_of.empty() ? id : reading_of).reading(launch, problem);
  KernelNeeds needs;
  needs.threads = build.threads;
  needs.registers_per_thread = build.registers;
  needs.dependent_share = reading.dependent_share;
  const bool is_counted = build.setup_instructions > 0;
  needs.setup_instructions = is_counted ? build.setup_instructions : reading.setup_instructions;
  needs.setup_round_trips = is_counted ? 2 * build.setup_divisions : reading.setup_round_trips;
  needs.multiply_add_instructions = reading.multiply_add_instructions;
  return needs;
}

/// The warps for `rows`, at least one and at most `most`.
inline std::int64_t warps_of(std::int64_t rows, std::int64_t rows_a_warp, std::int64_t most) {
  std::int64_t warps = 1;
  while (warps < most && warps * rows_a_warp < rows) ++warps;
  return warps;
}

/// Sets the threads. Each has one register more or less for each sum that it holds more or fewer than in the compiled kernel.
inline void set_threads(KernelNeeds& needs, std::int64_t threads, std::int64_t sums, std::int64_t compiled_sums) {
  const auto of_thread = [](std::int64_t all, std::int64_t count) { return all / count + (all % count != 0 ? 1 : 0); };
  const std::int64_t registers =
      needs.registers_per_thread + of_thread(sums, threads) - of_thread(compiled_sums, std::int64_t{needs.threads});
  needs.registers_wanted = static_cast<int>(registers);
  needs.registers_per_thread = static_cast<int>(registers < 24 ? 24 : registers > 255 ? 255 : registers);
  needs.threads = static_cast<int>(threads);
}

inline void set_warps(KernelNeeds& needs, std::int64_t along_rows, std::int64_t along_keys, std::int64_t sums,
                      std::int64_t compiled_sums) {
  set_threads(needs, along_rows * along_keys * 32, sums, compiled_sums);
  needs.warps_sharing_rows = static_cast<int>(along_rows);
  needs.warps_sharing_keys = static_cast<int>(along_keys);
}

struct NeedsCase {
  AttentionProblem problem;
  ProgramTile tile;
  GpuSpec gpu;
};

/// Sets the buffers: as many as are asked for, otherwise two where they fit beside what is fixed.
inline void set_stages(KernelNeeds& needs, std::int64_t fixed, std::int64_t stage, const NeedsCase& at) {
  needs.has_ring = true;
  needs.stages = static_cast<int>(at.tile.stages);
  if (needs.stages == 0) needs.stages = static_cast<double>(fixed + stage + stage) <= at.gpu.sm_shared_bytes_per_block ? 2 : 1;
  needs.shared_bytes = fixed;
  for (int i = 0; i < needs.stages; ++i) needs.shared_bytes += stage;
}

/// Calls `check` with tiles below, at and above those of the kernels, for heads below, at and above those that are compiled.
template <class Check>
void for_each_needs_case(Check check) {
  NeedsCase at;
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu(), textbook_gpu()})
    for (const DataType type : {DataType::fp16, DataType::bf16, DataType::fp32})
      for (const std::int64_t d : {24, 64, 65, 128, 200})
        for (const ProgramTile& tile : {ProgramTile{1, 128}, ProgramTile{16, 16}, ProgramTile{40, 72}, ProgramTile{64, 64},
                                        ProgramTile{64, 128}, ProgramTile{128, 64}, ProgramTile{128, 128}, ProgramTile{255, 33},
                                        ProgramTile{256, 32, 3}, ProgramTile{16, 256, 1}, ProgramTile{4, 512}}) {
          at.gpu = gpu;
          at.tile = tile;
          at.problem.dtype = type;
          at.problem.head_dim = d;
          at.problem.seq_q = 1000;
          at.problem.seq_kv = d == 64 ? 30000 : d == 128 ? 5003 : 1000;
          CAPTURE(gpu.id);
          CAPTURE(to_string(type));
          CAPTURE(d);
          CAPTURE(tile.block_q);
          CAPTURE(tile.block_kv);
          check(at);
        }
}

/// Holds the default tile of every program for which `wished` names a tile against the first that fits: its longer edge is halved,
/// rounded up, and that of the keys if both are equal. Every launch must fit, and those of programs that spill must have registers
/// to spare.
template <class Wished>
void for_each_default_tile(Wished wished) {
  int smaller = 0;
  for (const double kib : {2, 9, 20, 40, 64, 98, 99, 160, 227})
    for (const double registers : {65536, 8192})
      for (const DataType type : {DataType::fp16, DataType::fp32})
        for (const std::int64_t d : {16, 64, 120, 128, 256}) {
          GpuSpec gpu = h200_gpu();
          gpu.sm_shared_bytes = gpu.sm_shared_bytes_per_block = kib * 1024;
          gpu.sm_registers = registers;
          AttentionProblem p = {.seq_q = 4096, .seq_kv = 4096, .head_dim = d, .dtype = type};
          CAPTURE(kib);
          CAPTURE(registers);
          CAPTURE(to_string(type));
          CAPTURE(d);
          for (const ProgramInfo& info : program_table()) {
            std::optional<TileShape> tile = wished(info, p, gpu);
            if (!tile) continue;
            CAPTURE(info.id);
            p.pass = info.pass;
            const auto fits = [&] {
              const auto program = info.make(p, *tile, gpu);
              REQUIRE(program);
              bool all = true;
              for (const LaunchSpec& launch : (*program)->launches())
                all = all && why_block_does_not_fit(launch.needs, gpu).empty() &&
                      (info.may_spill || launch.needs.registers_per_thread < 255);
              return all;
            };
            while (!fits() && (tile->block_q != 1 || tile->block_kv != 1)) {
              if (tile->block_q > tile->block_kv)
                tile->block_q -= tile->block_q / 2;
              else
                tile->block_kv -= tile->block_kv / 2;
              ++smaller;
            }
            CHECK(info.default_tile(p, gpu) == *tile);
          }
        }
  CHECK(smaller > 100);
}

}  // namespace tilescope
