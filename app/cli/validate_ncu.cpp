// Simulates the problem of the flags at the clock of the counters, and prints both.
#include "app/cli/validate_ncu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_words.h"
#include "app/cli/output.h"
#include "app/cli/request.h"
#include "app/cli/text_table.h"
#include "app/model/measurements/imported_counters.h"
#include "app/model/requests/assets.h"
#include "kernels/measure/json_fields.h"
#include "kernels/measure/measure_case.h"
#include "sim/analysis/format.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr std::array compared_figures = {Figure::l2_to_sm, Figure::sm_to_l2, Figure::hbm_read, Figure::hbm_write};

std::string key_of(Figure figure) {
  return fmt::format("{}_bytes", to_string(figure));
}

/// The shipped GPU that the file names, or that of --gpu.
Result<std::string> profiled_gpu(const CommandLine& line, const std::string& text) {
  if (line.gpu_given) return line.gpu;
  const Result<NcuReport> report = read_ncu_csv(text, line.ncu);
  if (!report) return report.error();
  const std::string id = spec_id_of(report->device);
  const std::vector<std::string> ids = gpu_ids();
  if (std::ranges::find(ids, id) != ids.end()) return id;
  return Error{"--ncu does not say which GPU was profiled: add --gpu, for example --gpu h200"};
}

/// "+1.2 %"; "12×" from ten times as much on.
std::string error_text(double simulated, double measured) {
  if (measured > 0 && simulated >= 10 * measured) return fmt::format("{}×", format_times(simulated / measured));
  if (measured > 0) return format_signed_percent(simulated / measured - 1);
  return simulated == 0 ? "0 %" : "nothing measured";
}

std::string bound_text(const std::optional<ErrorBound>& bound) {
  if (!bound) return "";
  return fmt::format("{} or {}", format_percent(bound->relative), format_capacity(Bytes(std::llround(bound->absolute))));
}

std::string table_of(const Simulation& run, const ImportedCounters& imported, const CaseValidation& compared) {
  TextTable head("ll");
  head.row({"counters", fmt::format("{}, {} launch{}", imported.path, imported.report.launches.size(),
                                    imported.report.launches.size() == 1 ? "" : "es")});
  if (!imported.report.device.empty()) head.row({"device", imported.report.device});
  head.row({"simulated", fmt::format("{}, {}, tile {}x{}, {}", run.request.algorithm, short_text(run.request.problem),
                                     run.program->tile().block_q, run.program->tile().block_kv, run.request.gpu.id)});
  const char* how = imported.match.by_name ? "by name" : "by order";
  for (const std::string& line : match_lines(imported)) head.row({fmt::format("matched {}", how), line});

  TextTable table("lrrrll");
  table.row({"", "simulated", "measured", "error", "bound", "metric"});
  for (const Figure figure : compared_figures) {
    const auto& c = compared.figure(figure);
    const std::string simulated = figure_text(figure, figures_of(run, imported.measured).figures[static_cast<std::size_t>(figure)]);
    if (!c)
      table.row({std::string(to_string(figure)), simulated, "–", "", "", "missing"});
    else
      table.row({std::string(to_string(figure)), simulated, figure_text(figure, c->measured.median),
                 fmt::format("{}{}", error_text(c->simulated, c->measured.median), c->within() ? "" : " ✗"), bound_text(c->bound),
                 std::string(imported.metric(key_of(figure)))});
  }
  if (const auto lookups = imported.sum("l2_lookup_read_bytes"))
    table.row({"l2 lookups", format_bytes(run.l2.looked_up), format_bytes(Bytes(std::llround(*lookups))),
               error_text(static_cast<double>(run.l2.looked_up.value), *lookups), "",
               std::string(imported.metric("l2_lookup_read_bytes"))});
  if (const auto ns = imported.sum("profiled_ns")) {
    const Nanoseconds simulated = launch_time(run, imported);
    table.row({"time of launches", format_time(simulated), format_time(Nanoseconds(*ns)), error_text(simulated.value, *ns), "",
               std::string(imported.metric("profiled_ns"))});
  }
  if (const auto clock = imported.clock_hz()) table.row({"SM clock", "", fmt::format("{:.0f} MHz", *clock / 1e6), "", "", ""});
  if (const auto count = imported.sum("instructions"))
    table.row({"instructions", "", format_count(std::llround(*count)), "", "", std::string(imported.metric("instructions"))});

  for (const Sentence& doubt : doubts(run, imported)) head.row({"warning", command_words(doubt)});
  std::string out = fmt::format("{}\n{}", head.text(""), table.text(""));
  if (imported.launches.size() > 1) out += "\nHBM has no bound: by default ncu flushes the L2 before every launch.\n";
  if (const auto missing = missing_metrics(imported)) out += fmt::format("\n{}\n", missing->text());
  return out;
}

std::string json_of(const Simulation& run, const ImportedCounters& imported, const CaseValidation& compared) {
  nlohmann::ordered_json json;
  json["schema"] = "tilescope.ncu/1";
  json["file"] = imported.path;
  json["device"] = imported.report.device;
  json["algorithm"] = run.request.algorithm;
  json["gpu"] = run.request.gpu.id;
  json["problem"] = json_of(run.request.problem);
  json["tile"] = json_of(TileShape(run.program->tile()));
  json["matched_by"] = imported.match.by_name ? "name" : "order";
  json["launches"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < imported.launches.size(); ++i)
    json["launches"].push_back({{"name", imported.launches[i]}, {"id", imported.row(i).id}, {"kernel", imported.row(i).kernel}});
  json["missing"] = imported.report.missing;
  for (const Sentence& doubt : doubts(run, imported)) json["warnings"].push_back(command_words(doubt));
  json["figures"] = nlohmann::ordered_json::array();
  for (const Figure figure : compared_figures) {
    const auto& c = compared.figure(figure);
    if (!c) continue;
    nlohmann::ordered_json row = {{"figure", to_string(figure)},
                                  {"simulated_bytes", c->simulated},
                                  {"measured_bytes", c->measured.median},
                                  {"metric", imported.metric(key_of(figure))}};
    if (c->bound) row["within"] = c->within();
    json["figures"].push_back(std::move(row));
  }
  if (const auto ns = imported.sum("profiled_ns"))
    json["time"] = {{"simulated_ns", launch_time(run, imported).value}, {"measured_ns", *ns}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<int> run_validate_ncu(const CommandLine& line, std::FILE* out) {
  const Result<std::string> text = read_text_file(line.ncu);
  if (!text) return text.error();
  const Result<std::string> gpu = profiled_gpu(line, *text);
  if (!gpu) return gpu.error();
  CommandLine of_gpu = line;
  of_gpu.gpu = *gpu;
  Result<Request> request = make_request(of_gpu);
  if (!request) return request.error();
  request->simulation.keeps_intervals = false;
  auto run = simulate(request->simulation);
  if (!run) return run.error();
  Result<ImportedCounters> imported = import_counters(*text, line.ncu, **run);
  if (!imported) return imported.error();
  // What HBM takes is in seconds, and does not follow the clock of the SMs.
  if (const auto clock = imported->clock_hz()) {
    request->simulation.gpu.sm_clock_hz = *clock;
    auto at_clock = simulate(request->simulation);
    if (at_clock) run = std::move(at_clock);
  }
  const CaseValidation compared = compare_imported(**run, *imported);
  Outputs outputs(out);
  if (line.json)
    if (const Status added = outputs.add(*line.json, json_of(**run, *imported, compared)); !added) return added.error();
  if (!standard_output_taken(line))
    if (const Status added = outputs.add("-", table_of(**run, *imported, compared)); !added) return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  return compared.verdict() == Verdict::fails ? exit_did_not_hold : exit_done;
}

}  // namespace tilescope
