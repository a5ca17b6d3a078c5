// ValidationState: how far the window is with comparing a bundle with the model, case by case.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "app/model/measurements/measurements.h"
#include "sim/analysis/validation.h"

namespace tilescope {

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
