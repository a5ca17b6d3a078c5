// hopper_causal with another softmax.
#include "kernels/hopper_causal/hopper_causal_kernel.cuh"
#include "kernels/lab/ladder_variants.h"

namespace tilescope {

using namespace device;

namespace {

template <class Base>
struct KeepsMaximum : Base {
  static constexpr bool keeps_maximum = true;
};
template <class Base, int every>
struct WithCubic : Base {
  static constexpr int cubic_every = every;
};

/// Plans hopper_causal with a shape made from its own.
template <template <class> class Change>
LaunchPlan changed(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return {hopper_by_shape(problem, tensors, [&]<class T, int d, bool causal>() {
    using Shape = TicketShape<Change<HopperShape<T, d, (d == 64 ? 3 : 2), 128, 2, causal>>>;
    return hopper_kernel<Shape>(&hopper_causal_kernel<Shape>, HopperGrid::tickets);
  })};
}

template <class Base>
using WithCubicQuarter = WithCubic<Base, 4>;
template <class Base>
using WithCubicHalf = WithCubic<Base, 2>;

}  // namespace

LaunchPlan with_kept_maximum(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return changed<KeepsMaximum>(problem, tensors);
}
LaunchPlan with_cubic_quarter(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return changed<WithCubicQuarter>(problem, tensors);
}
LaunchPlan with_cubic_half(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return changed<WithCubicHalf>(problem, tensors);
}

}  // namespace tilescope
