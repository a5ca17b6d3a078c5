// Puts measured values into a spec.
#include "kernels/microbench/calibrate.h"

#include <fmt/format.h>

namespace tilescope {

Result<GpuSpec> calibrated_spec(GpuSpec base, const std::vector<CalibratedValue>& values) {
  for (const CalibratedValue& value : values) {
    if (const Status set = set_spec_value(base, fmt::format("{}={}", value.key, value.value)); !set)
      return Error{fmt::format("a measured value is out of range: {}", set.error().sentence)};
    base.provenance.insert_or_assign(std::string(value.key), Provenance{Source::measured, value.note});
  }
  return base;
}

}  // namespace tilescope
