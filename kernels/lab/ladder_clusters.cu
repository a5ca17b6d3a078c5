// hopper_persistent in clusters of two, with and without multicast.
#include "kernels/lab/cluster_kernel.cuh"
#include "kernels/lab/ladder_variants.h"

namespace tilescope {

namespace {

template <device::ClusterKeys keys>
LaunchPlan clusters_of_two(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using namespace device;
    using Shape = ClusterShape<RolesShape<HopperShape<T, d, (d == 64 ? 3 : 2), 128, 2, causal>, true>, 2, keys>;
    HopperLaunch launch =
        hopper_kernel<Shape>(&hopper_cluster_kernel<Shape>, causal ? HopperGrid::grouped : HopperGrid::persistent);
    launch.cluster = Shape::cluster;
    if (keys != ClusterKeys::own) launch.block_kv = Shape::box_rows, launch.box_panels = 1;
    return launch;
  })};
}

}  // namespace

LaunchPlan in_clusters(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return clusters_of_two<device::ClusterKeys::own>(problem, tensors);
}
LaunchPlan in_clusters_with_multicast(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return clusters_of_two<device::ClusterKeys::shared_with_fences>(problem, tensors);
}
LaunchPlan in_clusters_without_fences(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return clusters_of_two<device::ClusterKeys::shared>(problem, tensors);
}

}  // namespace tilescope
