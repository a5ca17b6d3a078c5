// Sums the matched launches into one measured case.
#include "app/model/measurements/imported_counters.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/model/requests/assets.h"
#include "kernels/measure/measure_case.h"
#include "sim/analysis/launch_balance.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

std::optional<double> ImportedCounters::sum(std::string_view key) const {
  double all = 0;
  for (const std::size_t i : match.rows) {
    const NcuValue* value = report.launches[i].find(key);
    if (value == nullptr) return std::nullopt;
    all += value->value;
  }
  return all;
}

std::string_view ImportedCounters::metric(std::string_view key) const {
  const NcuValue* value = match.rows.empty() ? nullptr : row(0).find(key);
  return value != nullptr ? value->metric : std::string_view();
}

std::optional<double> ImportedCounters::clock_hz() const {
  const auto cycles = sum("cycles"), ns = sum("profiled_ns");
  if (!cycles || !ns || *cycles <= 0 || *ns <= 0) return std::nullopt;
  return *cycles * 1e9 / *ns;
}

Result<ImportedCounters> import_counters(std::string_view text, std::string_view path, const Simulation& simulation) {
  ImportedCounters out;
  out.path = path;
  out.gpu = simulation.request.gpu.id;
  Result<NcuReport> report = read_ncu_csv(text, path);
  if (!report) return report.error();
  out.report = std::move(*report);
  for (const LaunchSpec& launch : simulation.program->launches()) out.launches.emplace_back(launch.name);
  Result<NcuMatch> match = match_ncu_launches(out.report, out.launches, simulation.request.algorithm, path);
  if (!match) return match.error();
  out.match = std::move(*match);
  MeasuredCase& measured = out.measured;
  measured.kernel = simulation.request.algorithm;
  measured.problem = simulation.request.problem;
  measured.tile = simulation.program->tile();
  measured.counter_repeats = 1;
  for (const NcuMetric& metric : ncu_metrics())
    if (const auto sum = out.sum(metric.key)) measured.counters[std::string(metric.key)] = {*sum, *sum, *sum};
  return out;
}

bool is_of(const ImportedCounters& imported, const Simulation& simulation) {
  const MeasuredCase& measured = imported.measured;
  return measured.kernel == simulation.request.algorithm && measured.problem == simulation.request.problem &&
         measured.tile == TileShape(simulation.program->tile()) && imported.gpu == simulation.request.gpu.id;
}

std::optional<Sentence> missing_metrics(const ImportedCounters& imported) {
  if (imported.report.missing.empty()) return std::nullopt;
  return refuse("{} lacks {}: profile with --metrics {}", printable(imported.path, 200),
                fmt::format("{}", fmt::join(imported.report.missing, ", ")), ncu_metric_list())
      .sentence;
}

namespace {

/// Returns whether a compute capability has wgmma. Only 9.x has: later GPUs have other instructions in its place.
bool has_wgmma(std::string_view capability) {
  return capability.starts_with("9.");
}

/// Whether the file says that another GPU was profiled than the simulated one. Specs do not name a compute capability: wgmma tells
/// it.
bool is_of_another_gpu(const NcuReport& report, const GpuSpec& gpu) {
  const bool another_kind = !report.capability.empty() && has_wgmma(report.capability) != (gpu.sm_wgmma_flops_per_cycle > 0);
  const std::string profiled = spec_id_of(report.device);
  const std::vector<std::string> ids = gpu_ids();
  return another_kind || (profiled != gpu.id && std::ranges::find(ids, profiled) != ids.end());
}

}  // namespace

std::vector<Sentence> doubts(const Simulation& simulation, const ImportedCounters& imported) {
  std::vector<Sentence> out;
  if (const NcuReport& report = imported.report; is_of_another_gpu(report, simulation.request.gpu))
    out.push_back(phrase("the file was profiled on {}, and {} is simulated",
                         report.device.empty() ? phrase("a GPU of compute capability {}", printable(report.capability))
                                               : Sentence(printable(report.device)),
                         simulation.request.gpu.id));
  if (imported.match.more_runs > 0)
    out.push_back(phrase("{} more runs of these kernels are in the file and left out: choose one with ncu --launch-skip",
                         static_cast<std::int64_t>(imported.match.more_runs)));
  if (!imported.match.by_name)
    out.push_back(phrase("no kernel is named after {}: its launches were matched by their order", simulation.request.algorithm));
  for (std::size_t i = 0; i < imported.launches.size(); ++i) {
    const NcuLaunch& row = imported.row(i);
    const std::int64_t blocks = waves_of(simulation, i).blocks, threads = simulation.launches[i].threads;
    if ((row.blocks == 0 || row.blocks == blocks) && (row.threads == 0 || row.threads == threads)) continue;
    out.push_back(phrase(
        "{} was profiled with {} blocks of {} threads, and this problem and tile has {} of {}: another problem, "
        "tile or kernel",
        imported.launches[i], row.blocks > 0 ? row.blocks : blocks, row.threads > 0 ? row.threads : threads, blocks, threads));
  }
  return out;
}

std::vector<std::string> match_lines(const ImportedCounters& imported) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < imported.launches.size(); ++i)
    out.push_back(fmt::format("{} = ID {} {}", imported.launches[i], printable(imported.row(i).id),
                              printable(plain_kernel_name(imported.row(i).kernel), 80)));
  return out;
}

CaseValidation compare_imported(const Simulation& simulation, const ImportedCounters& imported) {
  CaseValidation out = compare(simulation, imported.measured);
  if (imported.launches.size() > 1)
    for (const Figure figure : {Figure::hbm_read, Figure::hbm_write})
      if (auto& compared = out.figures[static_cast<std::size_t>(figure)]) compared->bound.reset();
  return out;
}

Nanoseconds launch_time(const Simulation& simulation, const ImportedCounters& imported) {
  Cycles all;
  for (const LaunchResult& launch : simulation.launches) all += launch.cycles;
  return to_nanoseconds(all, Hertz(imported.clock_hz().value_or(simulation.request.gpu.sm_clock_hz)));
}

}  // namespace tilescope
