// Finds the measured case of a run and names it.
#include "app/views/measured_case.h"

#include "app/model/measurements/find_recorded.h"
#include "app/ui/say.h"
#include "sim/analysis/format.h"

namespace tilescope {

const MeasuredCase* measured_case(const View& view, std::string_view algorithm, const AttentionProblem& problem) {
  if (view.measured.known == nullptr || view.requested == nullptr) return nullptr;
  const GpuSpec& gpu = view.lane().simulation->request.gpu;
  return same_numbers(gpu, view.requested->gpu_base) ? find_case_in_any_tile(*view.measured.known, gpu, algorithm, problem)
                                                     : nullptr;
}

std::string measured_label(const View& view, const MeasuredCase& measured) {
  if (view.measured.known != nullptr)
    for (const auto& known : view.measured.known->bundles)
      for (const MeasuredCase& each : known->bundle.cases)
        if (&each == &measured)
          return known->live
                     ? say(tr("measured at {}"), format_clock(measured.sm_clock_hz))
                     : say(tr("measured at {}, recorded {}"), format_clock(measured.sm_clock_hz), day_of(known->bundle.date));
  return say(tr("measured at {}"), format_clock(measured.sm_clock_hz));
}

std::optional<double> counter(const MeasuredCase& measured, std::string_view key) {
  const auto found = measured.counters.find(std::string(key));
  return found == measured.counters.end() ? std::nullopt : std::optional(found->second.median);
}

}  // namespace tilescope
