// Layout of a probe's records, one set a launch; host and device share it.
//
//   blocks  [block][5]                         SM + 1; start and end by the global timer; start and end by the SM's cycle counter
//   ticks   [slot][warp][iterations + 1][8]    cycle counter; a slot is one block on the observed SM. Row `iterations` holds entry,
//                                              loop begins, loop ends, output stored, and the block's index + 1
//   row     [step][6]                          m, alpha, and l as the four lanes of the row hold it
//
// Of a backward kernel, the row is written by the blocks of all key tiles:
//
//   row     [key][5]                           fp32, before rounding: Q K^T without the scale, P, dP - D, dS, -D
//
// Of a kernel whose warps have roles, the ticks are a list for each role:
//
//   words   [slot][role][2 + 2048]             the block's index + 1, the cycle counter as the role ends, then stamps: the low 27
//   bits
//                                              of the cycle counter and, in 5 bits, the stage that ends there; the first is the
//                                              prologue
#pragma once

#include <span>

#include "kernels/common/probe_numbers.h"
#include "kernels/planned_launch.h"

namespace tilescope {

inline constexpr int role_stamps = 2048, role_stamp_bytes = 4 * role_stamps, role_words = 2 + role_stamps, stage_bits = 5;

/// Zeroed device memory for one launch, and the SM, block and row to observe.
struct ProbeBuffers {
  void* blocks = nullptr;
  void* ticks = nullptr;
  void* row = nullptr;
  void* slots_taken = nullptr;  // one unsigned
  int sm = 0, iterations = 0, slots = 0;
  int block = 0, row_of_block = 0;
  int roles = 0;  // of a kernel with roles, and the followed row in the problem
  int plane = 0, query = 0;
  std::int64_t followed_row = -1;  // of a backward kernel: the followed row, of all rows
};

namespace device {

inline ProbeArguments probe_arguments(const ProbeBuffers& buffers) {
  return {static_cast<BlockRecord*>(buffers.blocks),
          static_cast<unsigned long long*>(buffers.ticks),
          static_cast<float*>(buffers.row),
          static_cast<unsigned*>(buffers.slots_taken),
          buffers.sm,
          buffers.iterations,
          buffers.slots,
          buffers.block,
          buffers.row_of_block,
          buffers.followed_row};
}

}  // namespace device

// The kernels with the probe compiled in. `buffers` has one entry a launch.
LaunchPlan plan_flash2_probed(const AttentionProblem& problem, const DeviceTensors& tensors, std::span<const ProbeBuffers> buffers);
LaunchPlan plan_flash1_probed(const AttentionProblem& problem, const DeviceTensors& tensors, std::span<const ProbeBuffers> buffers);
LaunchPlan plan_standard_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_wgmma_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                    std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_wgmma_longest_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                            std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_producer_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                       std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_three_groups_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                           std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_overlap_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                      std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_ping_pong_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                        std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_persistent_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                         std::span<const ProbeBuffers> buffers);
LaunchPlan plan_hopper_causal_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                     std::span<const ProbeBuffers> buffers);
LaunchPlan plan_flash1_backward_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                       std::span<const ProbeBuffers> buffers);
LaunchPlan plan_flash2_backward_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                       std::span<const ProbeBuffers> buffers);
LaunchPlan plan_flash2_backward_deterministic_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                                     std::span<const ProbeBuffers> buffers);
LaunchPlan plan_flash2_backward_two_pass_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                                std::span<const ProbeBuffers> buffers);

}  // namespace tilescope
