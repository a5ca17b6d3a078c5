// Probes a kernel: where and when its blocks ran, the stages of one SM, and one row as the kernel computed it: m, l and alpha, or
// S, P, dP and dS.
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
  std::optional<std::int64_t>
      block;  // block of the launch that owns query rows; absent: of the first plane, the one that sees most keys
  std::optional<std::int64_t> row;  // row of the block to follow; absent: the first of the block's last query tile
  std::optional<int> sm;            // SM to observe; absent: SM 0, or the block's SM if SM 0 had no work
  int repeats = 10;                 // timed runs without and with the probe
};

/// Fills `values` with one row of Q, K, V or dO, or of what the forward pass leaves. An empty function means random numbers
/// generated on the device.
using ProbeInputs = std::function<void(Tensor tensor, std::int64_t plane, std::int64_t row, std::span<float> values)>;

/// Runs the probed kernel once from a warm L2, and times both kernels with events to show what the probe costs. `inputs` supplies
/// the plane of the followed row; other planes do not influence it and are random. A backward kernel reads the followed row of the
/// forward pass's results from `inputs` too; its forward kernel makes the other rows.
/// Errors   a kernel without a probe; a problem that it does not take; an unknown block, row or SM; out of device memory
Result<ProbeResult> run_probe(const KernelInfo& kernel, const AttentionProblem& problem, const ProbeRequest& request,
                              const ProbeInputs& inputs);

/// Fills in blocks, sm_blocks, steps, pairs and the clock. `result` must have problem, sm, block, row, plane and query.
void decode_probe(std::span<const ProbeRecords> records, std::span<const ProbeShape> shapes, ProbeResult& result);

}  // namespace tilescope
