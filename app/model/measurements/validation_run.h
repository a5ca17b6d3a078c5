// Simulates and compares many cases at once, on several threads; and how far the window is with a bundle.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/model/measurements/measurements.h"
#include "sim/analysis/validation.h"

namespace tilescope {

/// Called once for each case when it is done, in any order but never twice at once; returning false cancels the rest.
using CaseDone = std::function<bool(std::size_t index, const CaseValidation& result)>;

/// Returns what the work of simulating a case grows with: elements of S.
double work_of(const MeasuredCase& measured);

/// largest_first is over soonest; smallest_first has something to show soonest.
enum class CaseOrder { largest_first, smallest_first };

/// Every case of `cases` for which `wanted` is true, in that order, on `threads` threads (at least one; the caller's own with 1).
/// False when it was cancelled. `cancelled` is asked now and then from every thread; may be empty.
bool validate_cases(const GpuSpec& gpu, std::span<const MeasuredCase> cases, std::span<const KnownMiss> known,
                    const std::function<bool(std::size_t)>& wanted, int threads, const CaseDone& done,
                    const std::function<bool()>& cancelled = {}, CaseOrder order = CaseOrder::largest_first);

/// A bundle that the window holds against the model, case by case.
struct ValidationState {
  std::shared_ptr<const KnownBundle> bundle;           // null: there is none
  std::vector<std::optional<CaseValidation>> results;  // of the bundle's cases; absent while not yet simulated
  std::size_t done = 0;
  std::optional<ValidationSummary> summary;  // once every case is done
  std::vector<StaleMiss> stale;              // with the summary
  bool stopped = false;                      // by the user
  Sentence problem;                          // why it cannot be done; empty if it can
  bool complete() const { return bundle != nullptr && done == results.size(); }
};

}  // namespace tilescope
