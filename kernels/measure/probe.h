// Probing a kernel: where its blocks ran, what one SM did when, and m, l and alpha of one row as the kernel had them.
//
//   run_probe() ── ProbeRun (device) ──► ProbeRecords, one a launch ── decode_probe() ──► ProbeResult
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/measure/probe_run.h"
#include "sim/core/probe_result.h"

namespace tilescope {

struct ProbeRequest {
  std::optional<std::int64_t> block;  // of the launch that has the softmax; absent: of the first plane, the one that sees most keys
  std::optional<std::int64_t> row;    // of the block's, the row to follow; absent: the first of the block's last tile
  std::optional<int> sm;              // to look into; absent: the first, or where that had no work the one that had the block
  int repeats = 10;                   // of timing the kernel without and with the probe
};

/// Fills `values` with a row of Q, K or V that the kernel is to read; empty: random numbers made on the device.
using ProbeInputs = std::function<void(Tensor tensor, std::int64_t plane, std::int64_t row, std::span<float> values)>;

/// Runs the kernel with the probe compiled in, once from a warm L2; and both kernels by events, to say what the probe costs.
/// `inputs` are asked for the plane of the row; what other planes hold changes nothing of it, and is random.
/// Errors  a kernel without a probe; a problem that it does not take; a block, row or SM that is not there; out of device memory.
Result<ProbeResult> run_probe(const KernelInfo& kernel, const AttentionProblem& problem, const ProbeRequest& request,
                              const ProbeInputs& inputs);

/// Fills in blocks, sm_blocks, steps and the clock. `result` has problem, sm, block and row already.
void decode_probe(std::span<const ProbeRecords> records, std::span<const ProbeShape> shapes, ProbeResult& result);

}  // namespace tilescope
