// `tilescope validate`.
#include "app/cli/validate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/validate_ncu.h"
#include "app/cli/validation_report.h"
#include "app/model/background/parallel.h"
#include "app/model/measurements/measurements.h"
#include "app/model/measurements/validation_run.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/validation_csv.h"
#include "sim/analysis/validation_sample.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

/// Takes control characters out of what is printed: a terminal would obey them, and a table would break.
void make_printable(MeasurementBundle& bundle) {
  const auto make = [](std::string& text) { text = printable(text, text.size()); };
  for (std::string* text : {&bundle.gpu, &bundle.device, &bundle.driver, &bundle.commit, &bundle.date, &bundle.command})
    make(*text);
  // In an expression they are blanks, or mean nothing.
  const auto make_blank = [](std::string& text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  };
  for (MeasuredCase& c : bundle.cases) {
    make(c.kernel);
    make(c.list);
    for (auto* texts : {&c.presets, &c.masks})
      for (std::string& text : *texts) make_blank(text);
    make_blank(c.score);
  }
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
  if (!line.ncu.empty()) return run_validate_ncu(line, out);
  const Result<GpuSpec> asked = load_gpu(line.gpu);
  if (!asked && line.gpu_given) return asked.error();
  Result<KnownBundle> known = !line.bundle.empty() ? load_bundle(line.bundle)
                              : line.gpu_given     ? load_bundle_of(asked->id)
                                                   : load_default_bundle();
  if (!known) return known.error();
  if (const Status apart = check_outputs_spare(line, known->path); !apart) return apart.error();
  make_printable(known->bundle);
  const Result<GpuSpec> gpu = load_gpu(line.gpu_given ? line.gpu : known->bundle.gpu);
  if (!gpu && line.gpu_given) return gpu.error();
  if (!gpu) return Error{fmt::format("the bundle was measured on '{}': {}", printable(known->bundle.gpu), gpu.error().sentence)};
  // Known misses were reviewed against the shipped spec, whatever the name of the file that has its numbers.
  const Result<GpuSpec> shipped = line.gpu_given ? load_gpu(known->bundle.gpu) : *gpu;
  const bool is_shipped = shipped && same_numbers(*shipped, *gpu);
  const KnownMisses misses = is_shipped ? known->misses : KnownMisses{};
  MeasurementBundle bundle = known->bundle;
  if (line.sample) {
    bundle.cases.clear();
    for (const std::size_t i : sample_cases(known->bundle, misses.of(known->bundle)))
      bundle.cases.push_back(known->bundle.cases[i]);
  }
  const Result<std::vector<MeasuredCase>> cases = chosen_cases(bundle, line.list);
  if (!cases) return cases.error();

  std::vector<CaseValidation> results(cases->size());
  {
    ProgressPrinter progress(err, line.quiet);
    std::size_t done = 0;
    double work = 0, all_work = 0;  // the largest cases come first, so that their number says little of the time
    for (const MeasuredCase& measured : *cases) all_work += work_of(measured);
    validate_cases(*gpu, *cases, misses.of(known->bundle), {}, core_count(), [&](std::size_t index, const CaseValidation& result) {
      results[index] = result;
      work += work_of((*cases)[index]);
      progress.show(fmt::format("validate: {} of {} cases, {:.0f} % of the work", ++done, cases->size(), 100 * work / all_work));
      return true;
    });
  }
  ValidationReport report = make_report(*known, misses, *cases, results);
  if (is_shipped && !known->results.empty()) report.whole = summarise(known->bundle.cases, known->results).cases;
  Outputs outputs(out);
  if (!line.csv.empty())
    if (const Status added = outputs.add(line.csv, validation_csv(*cases, results)); !added) return added.error();
  if (!line.markdown.empty())
    if (const Status added = outputs.add(line.markdown, validation_markdown(report)); !added) return added.error();
  if (line.json)
    if (const Status added = outputs.add(*line.json, validation_json(report)); !added) return added.error();
  if (!standard_output_taken(line))
    if (const Status added = outputs.add("-", validation_table(report)); !added) return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  return report.summary.fails() ? exit_did_not_hold : exit_done;
}

}  // namespace tilescope
