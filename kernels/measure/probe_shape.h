// The dimensions of each launch's probe records: blocks, warps, iterations, the stages between ticks, and each block's rows.
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
  std::int64_t blocks = 0;             // of the whole grid; at most so many where blocks stay on their SM
  std::int64_t iterations = 1;         // maximum of a block
  std::span<const ProbeStage> stages;  // stages between the ticks of an iteration
  std::int64_t steps = 0;              // maximum statistics of a row; 0: the launch has none
  std::int64_t seq_q = 0, tile_rows = 0,
               group_rows = 0;  // a plane has tiles of rows, a tile has groups of rows, a block has one group

  std::span<const std::string_view> roles;  // of a kernel whose warps have roles: instead of `warps` and `stages`
  bool blocks_stay = false;                 // a block has many tiles
  std::int64_t planes_of_block = 1;         // more: a block has all rows of so many planes, one plane after the other
  std::int64_t keys = 0;                    // of a backward kernel: the blocks of this launch record a row's pairs with all keys

  std::int64_t blocks_a_plane() const;
  std::int64_t rows(std::int64_t block) const;  // 0 for an idle block
  /// Returns the block that owns a row of a plane, and the row's index within the block.
  std::pair<std::int64_t, std::int64_t> place_of(std::int64_t plane, std::int64_t query) const;
  /// Returns the plane of a block's row, and the row within the plane.
  std::pair<std::int64_t, std::int64_t> row_of(std::int64_t block, std::int64_t row) const;

 private:
  std::int64_t first_row(std::int64_t block) const;  // within its plane
};

// The rows of the kernel table point to these.
std::vector<ProbeShape> standard_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> flash1_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> flash2_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> flash1_backward_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> flash2_backward_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> deterministic_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> two_pass_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> hopper_wgmma_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> hopper_roles_probe_shapes(const AttentionProblem& problem, const TileShape& tile);
std::vector<ProbeShape> hopper_persistent_probe_shapes(const AttentionProblem& problem, const TileShape& tile);

/// Returns one shape a launch; none for a kernel without a probe.
std::vector<ProbeShape> probe_shapes(const KernelInfo& kernel, const AttentionProblem& problem);
/// Returns the index of the launch whose blocks own query rows.
int row_launch_of(std::span<const ProbeShape> shapes);

}  // namespace tilescope
