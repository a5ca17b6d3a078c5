// `tilescope validate`.
#include "app/cli/validate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/validation_report.h"
#include "app/model/assets.h"
#include "app/model/measurements.h"
#include "app/model/parallel.h"
#include "app/model/validation_run.h"
#include "sim/core/refuse.h"
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

}  // namespace

Result<int> run_validate(const CommandLine& line, std::FILE* out, std::FILE* err) {
  const Result<KnownBundle> known = find_bundle(line.bundle);
  if (!known) return known.error();
  if (const Status apart = check_outputs_spare(line, known->path); !apart) return apart.error();
  const Result<std::vector<MeasuredCase>> cases = chosen_cases(known->bundle, line.list);
  if (!cases) return cases.error();
  const Result<GpuSpec> gpu = load_gpu(line.gpu_given ? line.gpu : known->bundle.gpu);
  if (!gpu && line.gpu_given) return gpu.error();
  if (!gpu) return Error{fmt::format("the bundle was measured on '{}': {}", printable(known->bundle.gpu), gpu.error().sentence)};

  std::vector<CaseValidation> results(cases->size());
  {
    ProgressPrinter progress(err, line.quiet);
    std::size_t done = 0;
    validate_cases(*gpu, *cases, {}, core_count(), [&](std::size_t index, const CaseValidation& result) {
      results[index] = result;
      progress.show(fmt::format("validate: {} of {} cases", ++done, cases->size()));
      return true;
    });
  }
  ValidationReport report;
  report.bundle = &known->bundle;
  report.file = known->path.substr(known->path.find_last_of('/') + 1);
  report.cases = *cases;
  report.results = results;
  report.summary = summarise(*cases, results);
  Outputs outputs(out);
  if (!line.markdown.empty())
    if (const Status added = outputs.add(line.markdown, validation_markdown(report)); !added) return added.error();
  if (line.json)
    if (const Status added = outputs.add(*line.json, validation_json(report)); !added) return added.error();
  if (!standard_output_taken(line))
    if (const Status added = outputs.add("-", validation_table(report)); !added) return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  return report.summary.held() ? exit_done : exit_did_not_hold;
}

}  // namespace tilescope
