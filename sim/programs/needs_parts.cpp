// Needs of compiled launches, and how a tile changes them.
#include "sim/programs/needs_parts.h"

namespace tilescope {

KernelNeeds compiled_needs(const KernelBuild& build, const LaunchReading& reading) {
  KernelNeeds needs;
  needs.threads = build.threads;
  needs.registers_per_thread = build.registers;
  needs.dependent_share = reading.dependent_share;
  constexpr int division_round_trips = 2;  // to a float, its reciprocal and back wait as long as two round trips to shared memory
  const bool is_counted = build.setup_instructions > 0;
  needs.setup_instructions = is_counted ? build.setup_instructions : reading.setup_instructions;
  needs.setup_round_trips = is_counted ? division_round_trips * build.setup_divisions : reading.setup_round_trips;
  needs.multiply_add_instructions = reading.multiply_add_instructions;
  return needs;
}

void set_threads(KernelNeeds& needs, std::int64_t threads, const BlockSums& sums) {
  const std::int64_t more = ceil_div(sums.asked, threads) - ceil_div(sums.compiled, std::int64_t{needs.threads});
  needs.registers_wanted = static_cast<int>(needs.registers_per_thread + more);
  needs.registers_per_thread = static_cast<int>(std::clamp(needs.registers_per_thread + more, least_registers, most_registers));
  needs.threads = static_cast<int>(threads);
}

void set_warps(KernelNeeds& needs, std::int64_t row_warps, std::int64_t key_warps, const BlockSums& sums) {
  set_threads(needs, row_warps * key_warps * warp_lanes, sums);
  needs.warps_sharing_rows = static_cast<int>(row_warps);
  needs.warps_sharing_keys = static_cast<int>(key_warps);
}

KeptRows kept_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu, const KernelBuild& build,
                   std::int64_t matrices, std::int64_t most_bytes) {
  const std::int64_t most = std::min<std::int64_t>(4, tile.block_q);
  const std::int64_t row_bytes = matrices * row_pitch(problem.seq_kv, problem.dtype) * element_bytes(problem.dtype);
  const double room =
      std::min(static_cast<double>(most_bytes), gpu.sm_shared_bytes_per_block - static_cast<double>(build.static_shared_bytes));
  const std::int64_t fit = static_cast<std::int64_t>(room) / std::max<std::int64_t>(1, row_bytes);
  if (fit < 1) return {most, false, 0};
  return {std::min(most, fit), true, std::min(most, fit) * row_bytes};
}

}  // namespace tilescope
