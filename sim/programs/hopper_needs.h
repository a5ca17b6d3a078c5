// The rungs of the ladder to Hopper as data, and what their kernels need.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/programs/hopper_rung_id.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// One rung. A group has four warps and 64 query rows.
struct HopperRung {
  HopperRungId number;
  std::string_view title;
  std::string_view summary;        // the one new thing
  HopperRungId loop = number;      // the rung whose compiled loop its kernel has
  bool producer = true;            // a warp that loads; otherwise the groups run in step and one thread loads
  int groups = 2, groups_d64 = 2;  // that compute, for a head dimension of 128 and of 64
  bool overlap = false;            // the next scores and the last output under the softmax
  bool ping_pong = false;          // groups take turns to issue products
  bool persistent = false;         // blocks stay for all tiles
  bool grouped = false;            // takes its blocks as BlockOrder::grouped does: with a mask, the longest first
  bool lists = false;              // block lists of any mask, in their order, and a score change

  constexpr std::string_view id() const { return to_string(number); }
  /// Returns whether blocks draw their tiles.
  constexpr bool draws() const { return persistent && grouped; }
};
/// Returns the rungs by their number. hopper_wgmma_longest is a program only as what flash3 launches.
std::span<const HopperRung> hopper_rungs();
const HopperRung& hopper_rung(HopperRungId id);
inline constexpr int hopper_most_groups = 3;

/// Returns the compiled properties of the rung's loop.
const KernelProfile& hopper_profile(const HopperRung& rung);
/// Returns the profile with what the rung's loop executes beside its arithmetic. NVRTC compiles hopper_flex for each request, so
/// its loop is not counted: it has that of ping_pong.
const KernelProfile& hopper_overheads(const HopperRung& rung);

/// Returns the groups that compute.
int hopper_groups(const HopperRung& rung, const AttentionProblem& problem);
/// Returns the rows of one group.
std::int64_t hopper_strip_rows(const HopperRung& rung, const AttentionProblem& problem, const TileShape& tile);
KernelNeeds hopper_needs(HopperRungId id, const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// Returns the tile of the rung's kernel, halved until it fits the GPU.
TileShape hopper_default_tile(HopperRungId id, const AttentionProblem& problem, const GpuSpec& gpu);
template <HopperRungId id>
TileShape hopper_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return hopper_default_tile(id, problem, gpu);
}

}  // namespace tilescope
