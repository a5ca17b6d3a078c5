// Reads the errors of all bundles.
#include "app/model/measurements/judged_runs.h"

#include <cmath>
#include <cstddef>

namespace tilescope {

std::vector<JudgedRun> judged_runs(const Measurements& known, std::string_view gpu, std::string_view kernel) {
  std::vector<JudgedRun> runs;
  for (const auto& bundle : known.bundles) {
    if (bundle->bundle.gpu != gpu) continue;
    for (std::size_t i = 0; i < bundle->time_errors.size(); ++i) {
      const MeasuredCase& measured = bundle->bundle.cases[i];
      const double error = bundle->time_errors[i];
      if (measured.kernel != kernel || !std::isfinite(error)) continue;
      runs.push_back({&measured, measured.time_cold_ns.median * (1 + error), error, measured.list == "judge",
                      i < bundle->results.size() ? &bundle->results[i] : nullptr});
    }
  }
  return runs;
}

}  // namespace tilescope
