// `tilescope validate`.
#include "app/cli/validate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/output.h"
#include "app/cli/validation_report.h"
#include "app/model/assets.h"
#include "app/model/measurements.h"
#include "app/model/parallel.h"
#include "app/model/validation_run.h"
#include "app/platform/files.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

Result<KnownBundle> find_bundle(const std::string& path) {
  if (!path.empty()) {
    Result<MeasurementBundle> bundle = load_bundle(path);
    if (!bundle) return bundle.error();
    return KnownBundle{std::move(*bundle), path, false};
  }
  const Measurements known = load_measurements();
  if (!known.bundles.empty()) return *known.bundles.front();
  if (!known.problem.empty()) return Error{known.problem};
  return Error{
      "validate compares with what real kernels measured, and there is no bundle in assets/measured: record one with "
      "tilescope measure --suite on a machine with an NVIDIA GPU, or name one with --bundle FILE",
      Error::Kind::machine_lacks};
}

/// The cases of one list, or all of them.
Result<std::vector<MeasuredCase>> chosen_cases(const MeasurementBundle& bundle, const std::string& list) {
  if (list.empty()) return bundle.cases;
  std::vector<MeasuredCase> out;
  std::vector<std::string_view> names;
  for (const MeasuredCase& c : bundle.cases) {
    if (c.list == list) out.push_back(c);
    if (!c.list.empty() && std::find(names.begin(), names.end(), c.list) == names.end()) names.push_back(c.list);
  }
  if (!out.empty()) return out;
  if (names.empty()) return Error{fmt::format("--list is '{}': the cases of this bundle belong to no list", printable(list))};
  return Error{fmt::format("--list is '{}': {}", printable(list), name_hint(list, names))};
}

/// On a terminal, a line on standard error that counts up and goes away.
class Counter {
 public:
  explicit Counter(std::size_t all) : all_(all), shown_(::isatty(STDERR_FILENO) != 0) {}
  ~Counter() {
    if (shown_ && done_ > 0) std::fputs("\r\033[K", stderr);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  void count() {
    ++done_;
    if (shown_) std::fputs(fmt::format("\rvalidate: {} of {} cases", done_, all_).c_str(), stderr);
  }

 private:
  std::size_t all_, done_ = 0;
  bool shown_;
};

}  // namespace

Result<int> run_validate(const CommandLine& line, std::FILE* out) {
  const Result<KnownBundle> known = find_bundle(line.bundle);
  if (!known) return known.error();
  const Result<std::vector<MeasuredCase>> cases = chosen_cases(known->bundle, line.list);
  if (!cases) return cases.error();
  const Result<GpuSpec> gpu = load_gpu(known->bundle.gpu);
  if (!gpu) return Error{fmt::format("the bundle was measured on '{}': {}", printable(known->bundle.gpu), gpu.error().sentence)};

  std::vector<CaseValidation> results(cases->size());
  {
    Counter counter(cases->size());
    validate_cases(*gpu, *cases, {}, core_count(), [&](std::size_t index, const CaseValidation& result) {
      results[index] = result;
      counter.count();
      return true;
    });
  }
  ValidationReport report;
  report.bundle = &known->bundle;
  report.file = known->path.substr(known->path.find_last_of('/') + 1);
  report.cases = *cases;
  report.results = results;
  report.summary = summarise(*cases, results);
  if (!line.markdown.empty())
    if (const Status written = write_file(line.markdown, validation_markdown(report)); !written) return written.error();
  if (line.json)
    if (const Status written = write_or_print(*line.json, validation_json(report), out); !written) return written.error();
  if (!json_to_output(line))
    if (const Status printed = print(out, validation_table(report)); !printed) return printed.error();
  return report.summary.held() ? exit_done : exit_did_not_hold;
}

}  // namespace tilescope
