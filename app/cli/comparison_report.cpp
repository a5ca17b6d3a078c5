// Names and prints the figures of a comparison.
#include "app/cli/comparison_report.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_words.h"
#include "app/cli/csv_field.h"
#include "app/cli/errors_json.h"
#include "app/cli/text_table.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/ratio_errors.h"
#include "app/model/measurements/time_errors.h"
#include "app/model/run_data/comparison_text.h"
#include "kernels/measure/json_fields.h"
#include "sim/analysis/format.h"
#include "sim/analysis/validation.h"
#include "sim/programs/program_names.h"

namespace tilescope {

namespace {

std::string_view group_name(FigureGroup group) {
  constexpr std::array<std::string_view, all_figure_groups.size()> names = {"time",     "bytes",   "busy",
                                                                            "launches", "on chip", "waits"};
  return names[static_cast<std::size_t>(group)];
}

std::string_view figure_name(RunFigure figure) {
  constexpr std::array<std::string_view, 21> names = {
      "time_ns",       "cycles",       "balanced_time_ns", "flops",    "exps",
      "link_bytes",    "tensor_bytes", "flushed_bytes",    "busy",     "launch_cycles",
      "launch_blocks", "waves",        "tiles_per_block",  "threads",  "registers_per_thread",
      "shared_bytes",  "buffers",      "blocks_per_sm",    "peak_hbm", "extra_hbm",
      "wait_cycles"};
  return names[static_cast<std::size_t>(figure)];
}

/// What a figure is one of: a launch, a tensor on a link, a resource or a cause; empty for one of the run.
std::string subject_of(const ComparedFigure& figure) {
  switch (figure.figure) {
    case RunFigure::link_bytes:
      return std::string(to_string(figure.link));
    case RunFigure::tensor_bytes:
      return fmt::format("{} {}", to_string(figure.tensor), to_string(figure.link));
    case RunFigure::busy:
      return std::string(to_string(figure.bound));
    case RunFigure::wait_cycles:
      return std::string(to_string(figure.cause));
    default:
      return std::string(figure.launch);
  }
}

std::string number_field(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

/// "K l2_to_sm", "attention: waves", "balanced time": the name of a figure in the table, below that of its group.
std::string label_of(const ComparedFigure& f) {
  std::string name(figure_name(f.figure));
  if (name.ends_with("_ns")) name.resize(name.size() - 3);
  std::replace(name.begin(), name.end(), '_', ' ');
  const std::string subject = subject_of(f);
  if (subject.empty()) return name;
  if (f.figure == RunFigure::link_bytes) return "all " + subject;
  return f.launch.empty() ? subject : fmt::format("{}: {}", subject, name);
}

std::string run_text(const Simulation& run) {
  const ProgramTile& tile = run.program->tile();
  const std::string rung = launched_rung(*run.info, run.request.problem);
  return fmt::format("{}, {}, tile {}x{}, {}{}", run.request.algorithm, short_text(run.request.problem), tile.block_q,
                     tile.block_kv, run.request.gpu.id, rung.empty() ? "" : ", launches " + rung);
}

/// "time: −7.2 %, 40.1 µs ±5.7 % instead of 43.2 µs ±4.1 %".
std::string time_text(const Simulation& first, const Simulation& second, const Measurements& known) {
  const std::string a = predicted_time_text(first, known), b = predicted_time_text(second, known);
  if (first.time.value == second.time.value) return fmt::format("time: {} both", a);
  return fmt::format("time: {}, {} instead of {}", format_signed_percent(second.time.value / first.time.value - 1), b, a);
}

std::string clock_text(const Simulation& first, const Simulation& second) {
  const double a = first.request.gpu.sm_clock_hz, b = second.request.gpu.sm_clock_hz;
  return a == b ? fmt::format("clock: both at {}", format_clock(a))
                : fmt::format("clock: A at {}, B at {}", format_clock(a), format_clock(b));
}

/// How far off each predicted time is, and their ratio; nothing twice.
std::string errors_text(const Simulation& first, const Simulation& second, const Measurements& known) {
  std::vector<std::string> lines;
  const auto add = [&](const Sentence& sentence) {
    const std::string line = command_words(sentence);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  };
  for (const Simulation* run : {&first, &second})
    add(time_errors_sentence(time_errors_of(known, predicted(*run)), run->request.algorithm, run->request.gpu.id));
  if (const Sentence ratio =
          ratio_errors_sentence(known, predicted(first), predicted(second), first.request.algorithm, second.request.algorithm);
      !ratio.empty())
    add(ratio);
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

void add_group(TextTable& table, const RunComparison& comparison, FigureGroup group, std::size_t& left_out) {
  const bool whole = group == FigureGroup::time || group == FigureGroup::bytes;
  std::string heading(group_name(group));
  for (const ComparedFigure& f : comparison.of(group)) {
    if (f.equal() && !whole) {
      ++left_out;
      continue;
    }
    FigureTexts texts = texts_of(f, comparison);
    if (texts.is_points && !texts.difference.empty()) texts.difference += " pp";
    if (f.equal()) texts.difference = "equal";
    table.row({heading, label_of(f), texts.first, texts.second, texts.difference, texts.ratio});
    heading.clear();
  }
}

using Json = nlohmann::ordered_json;

Json json_of_run(const Simulation& run, const Measurements& known) {
  Json json = {{"algorithm", run.request.algorithm},
               {"gpu", run.request.gpu.id},
               {"problem", json_of(run.request.problem)},
               {"tile", json_of(TileShape(run.program->tile()))},
               {"clock_hz", run.request.gpu.sm_clock_hz},
               {"bound_by", to_string(run.bound)},
               {"errors", json_of_errors(time_errors_of(known, predicted(run)))}};
  return json;
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string comparison_rows(const RunComparison& comparison) {
  const SimulationRequest &a = comparison.first->request, &b = comparison.second->request;
  std::string out = fmt::format("setting,algorithm,,{},{},,\n", a.algorithm, b.algorithm);
  out += fmt::format("setting,sm_clock_hz,,{:.0f},{:.0f},,\n", a.gpu.sm_clock_hz, b.gpu.sm_clock_hz);
  for (const SettingDifference& setting : comparison.settings)
    if (setting.key != "algorithm")
      out += fmt::format("setting,{},,{},{},,\n", setting.key, csv_field(setting.first), csv_field(setting.second));
  for (const ComparedFigure& figure : comparison.figures)
    out += fmt::format("{},{},{},{},{},{},\n", group_name(group_of(figure.figure)), figure_name(figure.figure),
                       csv_field(subject_of(figure)), number_field(figure.first), number_field(figure.second), figure.difference());
  return out;
}

std::string comparison_table(const RunComparison& comparison, const Measurements& known) {
  const Simulation &first = *comparison.first, &second = *comparison.second;
  std::string text = fmt::format("A: {}\nB: {}\n{}\n{}\n{}\n", run_text(first), run_text(second), time_text(first, second, known),
                                 clock_text(first, second), errors_text(first, second, known));
  TextTable table("llrrrr");
  table.row({"", "", "A", "B", "difference", "ratio"});
  std::string heading = "settings";
  for (const SettingDifference& setting : comparison.settings) {
    const auto shown = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
    table.row({heading, std::string(setting.key), shown(setting.first), shown(setting.second)});
    heading.clear();
  }
  std::size_t left_out = 0;
  for (const FigureGroup group : all_figure_groups) add_group(table, comparison, group, left_out);
  text += table.text("");
  if (left_out > 0) text += fmt::format("{} equal figures of the other groups are left out; --csv has them.\n", left_out);
  return text;
}

std::string comparison_json(const RunComparison& comparison, const Measurements& known) {
  const Simulation &first = *comparison.first, &second = *comparison.second;
  Json json = {{"schema", "tilescope.comparison/1"},
               {"first", json_of_run(first, known)},
               {"second", json_of_run(second, known)},
               {"ratio_errors", json_of_errors(ratio_errors_of(known, predicted(first), predicted(second)))},
               {"settings", Json::array()},
               {"figures", Json::array()}};
  for (const SettingDifference& setting : comparison.settings)
    json["settings"].push_back({{"key", setting.key}, {"first", setting.first}, {"second", setting.second}});
  for (const ComparedFigure& f : comparison.figures)
    json["figures"].push_back({{"group", group_name(group_of(f.figure))},
                               {"figure", figure_name(f.figure)},
                               {"of", subject_of(f)},
                               {"first", number_or_null(f.first)},
                               {"second", number_or_null(f.second)},
                               {"difference", f.difference()}});
  return json.dump(1) + '\n';
}

}  // namespace tilescope
