// Stands in for the kernels where none is compiled: every plan is that of plan_without_kernel().
#include "kernels/no_kernels.h"

#include "kernels/common/probe_layout.h"
#include "kernels/flex/flex.h"

namespace tilescope {

LaunchPlan plan_flash2(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash2");
}
LaunchPlan plan_flash2_descending(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash2_descending");
}
LaunchPlan plan_flash2_longest(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash2_longest");
}
LaunchPlan plan_hopper_wgmma(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_wgmma");
}
LaunchPlan plan_hopper_producer(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_producer");
}
LaunchPlan plan_hopper_three_groups(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_three_groups");
}
LaunchPlan plan_hopper_overlap(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_overlap");
}
LaunchPlan plan_hopper_ping_pong(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_ping_pong");
}
LaunchPlan plan_hopper_persistent(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_persistent");
}
LaunchPlan plan_hopper_causal(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_causal");
}
LaunchPlan plan_hopper_wgmma_longest(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("hopper_wgmma_longest");
}
LaunchPlan plan_flash2_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("flash2");
}
LaunchPlan plan_flash1_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("flash1");
}
LaunchPlan plan_standard_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("standard");
}
LaunchPlan plan_hopper_wgmma_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_wgmma");
}
LaunchPlan plan_hopper_wgmma_longest_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_wgmma_longest");
}
LaunchPlan plan_hopper_producer_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_producer");
}
LaunchPlan plan_hopper_three_groups_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_three_groups");
}
LaunchPlan plan_hopper_overlap_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_overlap");
}
LaunchPlan plan_hopper_ping_pong_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_ping_pong");
}
LaunchPlan plan_hopper_persistent_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_persistent");
}
LaunchPlan plan_hopper_causal_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("hopper_causal");
}
LaunchPlan plan_flash1_backward_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("flash1_backward");
}
LaunchPlan plan_flash2_backward_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("flash2_backward");
}
LaunchPlan plan_flash2_backward_deterministic_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("flash2_backward_deterministic");
}
LaunchPlan plan_flash2_backward_two_pass_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("flash2_backward_two_pass");
}
LaunchPlan plan_flash1(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash1");
}
LaunchPlan plan_standard(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("standard");
}
LaunchPlan plan_standard_backward(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("standard_backward");
}
LaunchPlan plan_flash1_backward(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash1_backward");
}
LaunchPlan plan_softmax_safe(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("softmax_safe");
}
LaunchPlan plan_softmax_online(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("softmax_online");
}
LaunchPlan plan_softmax_fused(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("softmax_fused");
}
LaunchPlan plan_matmul_naive(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("matmul_naive");
}
LaunchPlan plan_matmul_tiled(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("matmul_tiled");
}
LaunchPlan plan_flash2_backward(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash2_backward");
}
LaunchPlan plan_flash3_backward(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash3_backward");
}
LaunchPlan plan_flash2_backward_deterministic(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash2_backward_deterministic");
}
LaunchPlan plan_flash2_backward_two_pass(const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel("flash2_backward_two_pass");
}
LaunchPlan plan_flex(FlexBase base, const AttentionProblem&, const DeviceTensors&) {
  return plan_without_kernel(flex_kernel_id(base));
}
LaunchPlan plan_flex_backward_probed(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) {
  return plan_without_kernel("flex_backward");
}

}  // namespace tilescope
