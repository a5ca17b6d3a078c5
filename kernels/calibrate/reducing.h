// Rates of fp32 additions into memory, which the L2 performs.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/device.h"

namespace tilescope::microbench {

/// How a thread adds: one, two or four numbers an instruction, or a block of shared memory at once. All but `scalar` need compute
/// capability 9.0.
enum class AddForm { scalar, pair, quad, bulk };
std::string_view to_string(AddForm form);

/// Where the blocks add: each to bytes of its own, or all to the same bytes.
enum class AddTarget { own, same };

/// Returns the bytes a cycle that one SM adds while `blocks` SMs add to `bytes_a_block` bytes over and over.
/// Limits   bytes_a_block is a multiple of 64 KiB
Result<double> add_rate(AddForm form, AddTarget target, int blocks, std::int64_t bytes_a_block, int rounds);

/// Plans the kernel of add_rate() for the counters: one round of `blocks` blocks over `memory`.
PlannedLaunch plan_additions(AddForm form, const DeviceMemory& memory, int blocks);

}  // namespace tilescope::microbench
