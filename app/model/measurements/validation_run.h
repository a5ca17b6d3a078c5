// Simulates many measured cases and compares them, on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "sim/analysis/validation.h"

namespace tilescope {

/// Called once for each case when it is done, in any order but never twice at once; returning false cancels the rest.
using CaseDone = std::function<bool(std::size_t index, const CaseValidation& result)>;

/// Returns what the work of simulating a case grows with: elements of S.
double work_of(const MeasuredCase& measured);

/// largest_first ends soonest; smallest_first shows the first results soonest.
enum class CaseOrder { largest_first, smallest_first };

/// Simulates every case of `cases` for which `wanted` is true, by size, on `threads` threads (at least one; the caller's own with
/// 1). Returns false when it was cancelled. `cancelled` is asked now and then from every thread; it and `wanted` may be empty.
bool validate_cases(const GpuSpec& gpu, std::span<const MeasuredCase> cases, std::span<const KnownMiss> known,
                    const std::function<bool(std::size_t)>& wanted, int threads, const CaseDone& done,
                    const std::function<bool()>& cancelled = {}, CaseOrder by = CaseOrder::largest_first);

}  // namespace tilescope
