// Puts measured values into a GPU spec.
#include "kernels/calibrate/calibrate.h"
#include "sim/core/refuse.h"

#include <fmt/format.h>

namespace tilescope {

Result<GpuSpec> calibrated_spec(GpuSpec base, const std::vector<CalibratedValue>& values) {
  for (const CalibratedValue& value : values) {
    if (const Status set = set_spec_value(base, fmt::format("{}={}", value.key, value.value)); !set)
      return refuse("a measured value is out of range: {}", set.error().sentence);
    base.provenance.insert_or_assign(std::string(value.key), Provenance{Source::measured, value.note});
  }
  // If the SM count differs from the spec's groups, the SMs' partitions are unknown. Assume half of the SMs on each.
  int grouped = 0;
  for (const SmGroup& group : base.sm_groups) grouped += group.sms;
  if (const int sms = static_cast<int>(base.sm_count); grouped != sms) {
    base.sm_groups = base.l2_partitions >= 2 && sms >= 2 ? std::vector<SmGroup>{{sms / 2, 0}, {sms - sms / 2, 1}}
                                                         : std::vector<SmGroup>{{sms, 0}};
    base.provenance.insert_or_assign(std::string(sm_groups_key),
                                     Provenance{Source::estimated, "not measured: one half of the SMs a partition"});
  }
  return base;
}

}  // namespace tilescope
