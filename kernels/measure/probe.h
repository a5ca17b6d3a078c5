// Probing flash2: where its blocks ran, what one SM did when, and m, l and alpha of one row as the kernel had them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/kernel_table.h"
#include "sim/core/probe_result.h"

namespace tilescope {

struct ProbeRequest {
  std::int64_t block = 0, row = 0;  // the row of that block's query tile to follow
  int sm = 0;                       // the SM to look into
};

/// The element of Q, K or V that the kernel is to read; empty: seeded random numbers made on the device.
using ProbeInputs = std::function<float(Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t column)>;

/// Runs flash2 with the probe compiled in, once from a warm L2; and both kernels by events, to say what the probe costs.
/// Errors  a problem that flash2 does not take, or not fp16; a block, row or SM that is not there; out of device memory.
Result<ProbeResult> run_probe(const AttentionProblem& problem, const ProbeRequest& request, const ProbeInputs& inputs);

/// What came back from the device, laid out as kernels/attention/flash2_probe_layout.h says.
struct ProbeRecords {
  std::vector<std::uint64_t> blocks, ticks;
  std::vector<float> row;
};
/// Fills in blocks, sm_blocks, steps and the clock. `result` has problem, tile, sm, block and row already.
void decode_probe(const ProbeRecords& records, ProbeResult& result);

}  // namespace tilescope
