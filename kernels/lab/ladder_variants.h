// flash3's kernels with one idea taken out, and ideas beside the ladder, for kernels/lab/ladder_library.cu.
#pragma once

#include "kernels/common/hopper_plan.h"

namespace tilescope {

// Ideas taken out of hopper_causal.
LaunchPlan without_turns(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan without_overlap(const AttentionProblem& problem, const DeviceTensors& tensors);
/// A ring of one stage: the next tile is copied only once the last one is read.
LaunchPlan without_ring(const AttentionProblem& problem, const DeviceTensors& tensors);

// Ideas put into hopper_causal.
/// Rescales O only where the maximum of a row passes the kept one by more than 2^8.
LaunchPlan with_kept_maximum(const AttentionProblem& problem, const DeviceTensors& tensors);
/// Computes a quarter, or half, of the exponentials on the FMA pipes.
LaunchPlan with_cubic_quarter(const AttentionProblem& problem, const DeviceTensors& tensors);
LaunchPlan with_cubic_half(const AttentionProblem& problem, const DeviceTensors& tensors);

// Clusters of two blocks: hopper_persistent, or under a causal mask one cluster for two query tiles, the longest first.
LaunchPlan in_clusters(const AttentionProblem& problem, const DeviceTensors& tensors);
/// The same with K and V by multicast, and a fence before each token that crosses the cluster.
LaunchPlan in_clusters_with_multicast(const AttentionProblem& problem, const DeviceTensors& tensors);
/// The same without these fences.
LaunchPlan in_clusters_without_fences(const AttentionProblem& problem, const DeviceTensors& tensors);

// hopper_wgmma, or under a causal mask hopper_wgmma_longest, with blocks of 64 query rows. d 64 only, else empty.
LaunchPlan three_small_blocks(const AttentionProblem& problem, const DeviceTensors& tensors);
/// With key tiles of 64, so that five blocks fit.
LaunchPlan five_small_blocks(const AttentionProblem& problem, const DeviceTensors& tensors);

}  // namespace tilescope
