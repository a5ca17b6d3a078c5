// hopper_causal without its ideas. Some stand on others: without overlap no group takes turns, and without a ring nothing overlaps.
// `false` leaves the order of softmax and waits to the compiler, as in the kernel.
#include "kernels/hopper_causal/hopper_causal_kernel.cuh"
#include "kernels/lab/ladder_variants.h"

namespace tilescope {

using namespace device;

namespace {

template <class T, int d, bool causal, int stages = 2>
using Shape = TicketShape<HopperShape<T, d, (d == 64 ? 3 : 2), 128, stages, causal>>;

template <class Shape, class Worker>
HopperLaunch with_worker() {
  return hopper_kernel<Shape>(&hopper_causal_kernel<Shape, NoRoleProbe, Worker>, HopperGrid::tickets);
}

}  // namespace

LaunchPlan without_turns(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using Own = Shape<T, d, causal>;
    return with_worker<Own, OverlappedConsumer<Own, NoTurns, NoRoleProbe, false>>();
  })};
}

LaunchPlan without_overlap(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using Own = Shape<T, d, causal>;
    return with_worker<Own, Consumer<Own>>();
  })};
}

LaunchPlan without_ring(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using Own = Shape<T, d, causal, 1>;
    return with_worker<Own, Consumer<Own>>();
  })};
}

}  // namespace tilescope
