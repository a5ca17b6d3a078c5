// Converts measurement bundles to JSON and back.
#include "kernels/measure/bundle.h"

#include <utility>

#include "kernels/kernel_table.h"
#include "kernels/measure/json_fields.h"
#include "sim/core/page_table.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::string_view schema = "tilescope.measurements/1";
constexpr int bundle_cases_case = 3;  // outer levels that are written with one member a line

/// What a measured number can be at all: a larger or smaller one turns errors into infinities.
constexpr double longest_ns = 1e15, most_cycles = 1e18, most_counted = 1e18, fastest_hz = 1e11;

/// Names the first number that nothing measures; empty: there is none.
class Soundness {
 public:
  explicit Soundness(std::string path) : path_(std::move(path)) {}

  void measured(std::string_view key, const Spread& value, double below) {
    if (value.least < 1 || value.most >= below) fail(key, fmt::format("must be at least 1 and below {:g}", below));
  }
  void measured(std::string_view key, double value, double below) { measured(key, Spread{value, value, value}, below); }
  /// The same, where zero means that it was not measured, or that nothing was counted.
  void counted(std::string_view key, const Spread& value, double below) {
    if (value.most >= below) fail(key, fmt::format("must be below {:g}", below));
  }
  void counted(std::string_view key, double value, double below) {
    if (!(value >= 0 && value < below)) fail(key, fmt::format("must be at least 0 and below {:g}", below));
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void fail(std::string_view key, std::string_view what) {
    if (wrong_.empty()) wrong_ = fmt::format("{}{} {}", path_, printable(key), what);
  }

  std::string path_, wrong_;
};

/// A case that could not be measured has its reason and no time.
bool was_measured(const MeasuredCase& c) {
  return c.refused.empty() || c.time_cold_ns != Spread{} || c.cycles != Spread{} || c.sm_clock_hz != 0;
}

std::string unsound_number(const MeasuredCase& c, std::size_t index) {
  Soundness sound(fmt::format("cases[{}].", index));
  if (was_measured(c)) {
    sound.measured("time_cold_ns", c.time_cold_ns, longest_ns);
    sound.measured("cycles", c.cycles, most_cycles);
    sound.measured("sm_clock_hz", c.sm_clock_hz, fastest_hz);
  }
  sound.counted("time_warm_ns", c.time_warm_ns, longest_ns);
  sound.counted("hbm_write_after_flush_bytes", c.hbm_write_after_flush_bytes, most_counted);
  for (const auto* counters : {&c.counters, &c.counters_warm})
    for (const auto& [key, value] : *counters)
      sound.counted(fmt::format("{}.{}", counters == &c.counters ? "counters" : "counters_warm", key), value, most_counted);
  for (const MeasuredLaunch& launch : c.launches) sound.counted("launches time_ns", launch.time_ns, longest_ns);
  return sound.wrong();
}

std::string unsound_number(const MeasurementBundle& bundle) {
  Soundness sound("");
  sound.counted("sm_clock_hz", bundle.sm_clock_hz, fastest_hz);
  sound.counted("memory_clock_hz", bundle.memory_clock_hz, fastest_hz);
  return sound.wrong();
}

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
  if (const std::string wrong = unsound_number(*bundle); !wrong.empty()) return refuse("the {} is not sound: {}", what, wrong);
  for (std::size_t i = 0; i < bundle->cases.size(); ++i) {
    const MeasuredCase& one = bundle->cases[i];
    if (const std::string wrong = unsound_number(one, i); !wrong.empty()) return refuse("the {} is not sound: {}", what, wrong);
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
