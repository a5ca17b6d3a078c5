// What the recorders of the lab share: the head of a bundle, and a counter of a case.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "kernels/measure/date_now.h"
#include "kernels/measure/measure_case.h"

namespace tilescope {

/// Returns a bundle without cases that says who records it: `program` on `suite`, built from `commit`.
inline MeasurementBundle begin_bundle(const MeasuringSession& session, std::string_view program, std::string_view suite,
                                      std::string_view commit) {
  MeasurementBundle bundle = session.empty_bundle();
  bundle.commit = commit;
  bundle.date = date_now();
  bundle.command = fmt::format("{} {}", program, suite);
  return bundle;
}

/// Returns a counter of a case; 0 if it was not measured.
inline double median_of(const MeasuredCase& measured, const char* key) {
  const auto found = measured.counters.find(key);
  return found == measured.counters.end() ? 0 : found->second.median;
}

}  // namespace tilescope
