// Converts measurement bundles to JSON and back.
#include "kernels/measure/bundle.h"

#include "kernels/kernel_table.h"
#include "kernels/measure/json_fields.h"
#include "sim/core/page_table.h"

namespace tilescope {

namespace {

constexpr std::string_view schema = "tilescope.measurements/1";
constexpr int bundle_cases_case = 3;  // outer levels that are written with one member a line

}  // namespace

void describe(auto& fields, SameAs<MeasuredLaunch> auto& launch) {
  fields("name", launch.name), fields("blocks", launch.blocks), fields("threads", launch.threads);
  fields("registers", launch.registers), fields("smem_bytes", launch.shared_bytes), fields("blocks_per_sm", launch.blocks_per_sm);
  fields("time_ns", launch.time_ns);
}

void describe(auto& fields, SameAs<MeasuredCase> auto& c) {
  fields("kernel", c.kernel), fields("list", c.list), fields("problem", c.problem), fields("tile", c.tile);
  describe_pages(fields, c.problem);
  fields.unless_empty("presets", c.presets), fields.unless_empty("masks", c.masks), fields.unless_empty("score", c.score);
  fields("time_cold_ns", c.time_cold_ns), fields("time_warm_ns", c.time_warm_ns), fields("time_repeats", c.time_repeats);
  fields("launches", c.launches);
  fields("refused", c.refused);
  fields("counters", c.counters), fields("counters_warm", c.counters_warm);
  fields("hbm_write_after_flush_bytes", c.hbm_write_after_flush_bytes);
  fields("cycles", c.cycles), fields("sm_clock_hz", c.sm_clock_hz);
  fields("counter_passes", c.counter_passes), fields("counter_repeats", c.counter_repeats);
  fields.optional("placements", c.placements);
}

void describe(auto& fields, SameAs<MeasurementBundle> auto& b) {
  fields("gpu", b.gpu), fields("device", b.device), fields("driver", b.driver), fields("runtime", b.runtime);
  fields("commit", b.commit), fields("date", b.date), fields("command", b.command);
  fields("sm_count", b.sm_count), fields("l2_bytes", b.l2_bytes);
  fields("sm_clock_hz", b.sm_clock_hz), fields("memory_clock_hz", b.memory_clock_hz);
  fields("counter_names", b.counter_names), fields("cases", b.cases);
}

std::string to_json(const MeasurementBundle& bundle) {
  return recorded_text(bundle, schema, bundle_cases_case);
}

Result<MeasurementBundle> bundle_from_json(std::string_view text) {
  constexpr std::string_view what = "measurement bundle";
  Result<MeasurementBundle> bundle = recorded_from<MeasurementBundle>(text, schema, what);
  if (!bundle) return bundle;
  for (std::size_t i = 0; i < bundle->cases.size(); ++i) {
    const MeasuredCase& one = bundle->cases[i];
    const Result<const KernelInfo*> kernel = find_kernel(one.kernel);
    if (!kernel) continue;  // of another version: the row of the case says so
    Status pages = supports_pages(**kernel, one.problem);
    if (pages) pages = check_pages(one.problem, one.tile);
    if (!pages)
      return refuse("the {} is not sound: {}", what, fmt::format("cases[{}] was not measured so: {}", i, pages.error().sentence));
  }
  return bundle;
}

}  // namespace tilescope
