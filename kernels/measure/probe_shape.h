// What each launch of a probed kernel records: how many blocks, warps and iterations, what lies between the ticks, whose row is
// where.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel_table.h"
#include "sim/core/probe_result.h"

namespace tilescope {

struct ProbeShape {
  std::string_view launch;
  int warps = 4;
  std::int64_t blocks = 0;                                // of the whole grid
  std::int64_t iterations = 1;                            // of a block, at most
  std::span<const ProbeStage> stages;                     // between the ticks of an iteration
  std::int64_t steps = 0;                                 // statistics of a row, at most; 0 where the launch has none
  std::int64_t seq_q = 0, tile_rows = 0, group_rows = 0;  // a plane's rows in tiles, a tile's in groups, one group a block

  std::int64_t blocks_a_plane() const;
  std::int64_t first_row(std::int64_t block) const;  // of its plane
  std::int64_t rows(std::int64_t block) const;       // 0 for a block that has nothing to do
  /// The block that has a row of a plane, and which of the block's rows it is.
  std::pair<std::int64_t, std::int64_t> place_of(std::int64_t plane, std::int64_t query) const;
};

// Of the rows of the kernel table.
std::vector<ProbeShape> standard_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> flash1_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> flash2_probe_shapes(const AttentionProblem& problem, const TileShape& tile);

/// One a launch; empty for a kernel without a probe.
std::vector<ProbeShape> probe_shapes(const KernelInfo& kernel, const AttentionProblem& problem);
/// Index of the launch that has the statistics.
int row_launch_of(std::span<const ProbeShape> shapes);

}  // namespace tilescope
