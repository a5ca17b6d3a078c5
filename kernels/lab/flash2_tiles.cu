// Compiles flash2 for eleven other tiles from its own templates.
//
// Warps are those that the program flash2 assumes for a tile: one for every 16 rows, at most four, or eight from 256 rows on.
// Blocks per SM, which bound the registers, are as many as fit with the registers that it assumes.
#include "kernels/flash2/flash2_plan.cuh"
#include "kernels/lab/flash2_tiles.h"

namespace tilescope {

namespace {

template <int d, int rows, int keys, int warps, int blocks_per_sm>
struct Build {
  template <bool causal>
  static Flash2Variant variant() {
    constexpr int stages = 2;
    using Shape = device::Flash2Shape<device::half_type, d, rows, keys, warps, stages, blocks_per_sm, causal,
                                      device::KeyTileOrder::ascending>;
    return {reinterpret_cast<const void*>(&device::flash2_kernel<Shape, device::NoProbe>), Shape::br, Shape::bc, Shape::threads,
            Shape::shared_bytes};
  }
  static LaunchPlan plan(const AttentionProblem& problem, const DeviceTensors& tensors) {
    return {flash2_launch<device::NoProbe>(problem.causal ? variant<true>() : variant<false>(), problem, tensors, {})};
  }
  static TileShape tile(const AttentionProblem&) { return {rows, keys}; }
  static constexpr Flash2Tile row = {d, plan, tile};
};

constexpr Flash2Tile tiles[] = {
    Build<64, 64, 64, 4, 4>::row,   Build<64, 64, 128, 4, 3>::row,  Build<64, 128, 32, 4, 3>::row,  Build<64, 128, 64, 4, 2>::row,
    Build<64, 256, 64, 8, 1>::row,  Build<64, 256, 128, 8, 1>::row, Build<128, 64, 32, 4, 3>::row,  Build<128, 64, 64, 4, 2>::row,
    Build<128, 64, 128, 4, 1>::row, Build<128, 128, 32, 4, 2>::row, Build<128, 256, 64, 8, 1>::row,
};

}  // namespace

std::span<const Flash2Tile> flash2_tiles() {
  return tiles;
}

}  // namespace tilescope
