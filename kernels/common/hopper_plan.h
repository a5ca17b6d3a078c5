// Host side of the Hopper kernels: TMA descriptors of a problem's tensors, and the launch.
#pragma once

#include "kernels/common/by_shape.cuh"
#include "kernels/planned_launch.h"

namespace tilescope {

/// Which blocks a launch has, and in which order they get their query tiles.
enum class HopperGrid {
  tiles,       // [tiles, planes]: one block a query tile, plane by plane
  grouped,     // one block a query tile, one-dimensional, in the order of device::grouped_tile()
  persistent,  // at most one block an SM
  tickets,     // the same; blocks draw their tiles
};

struct HopperLaunch {
  const void* function = nullptr;
  HopperGrid grid = HopperGrid::tiles;
  int threads = 0, shared_bytes = 0, block_q = 0, block_kv = 0;
  int cluster = 1;     // blocks that work together on as many neighbouring query tiles
  int box_panels = 0;  // of a box of K or V, block_kv rows high; 0: all
};

/// Returns the launch of a kernel that was compiled for a shape.
template <class Shape, class Kernel>
HopperLaunch hopper_kernel(Kernel* kernel, HopperGrid grid) {
  return {reinterpret_cast<const void*>(kernel), grid, Shape::threads, Shape::shared_bytes, Shape::br, Shape::bc};
}

/// Plans the launch of a kernel that takes device::HopperArguments. Without a driver or tensors the descriptors stay empty.
/// Source   CUDA driver API, cuTensorMapEncodeTiled
PlannedLaunch hopper_plan(const HopperLaunch& launch, const AttentionProblem& problem, const DeviceTensors& tensors);

/// Calls make.operator()<T, d, causal>(), which returns a HopperLaunch, and plans that.
template <class Make>
PlannedLaunch hopper_by_shape(const AttentionProblem& problem, const DeviceTensors& tensors, Make make) {
  return by_shape(problem, [&]<class T, int d>() {
    return hopper_plan(problem.causal ? make.template operator()<T, d, true>() : make.template operator()<T, d, false>(), problem,
                       tensors);
  });
}

}  // namespace tilescope
