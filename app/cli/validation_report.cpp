// What `validate` prints and writes.
#include "app/cli/validation_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/text_table.h"
#include "kernels/measure/json_fields.h"
#include "sim/analysis/format.h"
#include "sim/analysis/numbered_limits.h"

namespace tilescope {

namespace {

/// The figures that tables have a column for, and their headings.
struct Column {
  Figure figure;
  const char* heading;
};
constexpr std::array columns = {Column{Figure::l2_to_sm, "l2_to_sm"},
                                Column{Figure::sm_to_l2, "sm_to_l2"},
                                Column{Figure::hbm_read, "hbm_read"},
                                Column{Figure::hbm_write, "hbm_write"},
                                Column{Figure::hbm_write_after_flush, "…flushed"},
                                Column{Figure::cycles, "cycles"},
                                Column{Figure::time, "time"}};

std::string error_text(const Comparison& c) {
  const double error = c.error();
  return std::isfinite(error) ? format_signed_percent(error) : "nothing measured";
}

/// " !" where it is beyond its bound, with the entry of docs/model-limits.md that holds it: " !2".
std::string mark_of(const Comparison& c) {
  if (c.within()) return "";
  return c.limit != 0 ? fmt::format(" !{}", c.limit) : " !";
}

/// "+1.2 %", with a mark where it is beyond its bound; a dash where there is nothing to compare.
std::string error_cell(const CaseValidation& result, Figure figure) {
  const auto& comparison = result.figure(figure);
  if (!comparison) return "–";
  return error_text(*comparison) + mark_of(*comparison);
}

std::string bound_text(const ErrorBound& bound, Figure figure) {
  if (bound.absolute <= 0) return format_percent(bound.relative);
  const std::string floor = figure == Figure::cycles || figure == Figure::time
                                ? figure_text(figure, bound.absolute)
                                : format_capacity(Bytes(std::llround(bound.absolute)));
  return fmt::format("{} or {}", format_percent(bound.relative), floor);
}

std::string summary_cell(const ErrorSummary& errors) {
  if (errors.cases == 0) return "–";
  return fmt::format("{} / {}{}", format_percent(errors.mean()), format_percent(errors.worst),
                     errors.beyond > 0 ? fmt::format(" ({}!)", errors.beyond) : "");
}

std::vector<std::string> summary_row(const GroupSummary& group) {
  std::vector<std::string> cells = {group.name, format_count(group.cases)};
  for (const Column& column : columns) cells.push_back(summary_cell(group.figure(column.figure)));
  cells.push_back(group.time_rank_correlation ? fmt::format("{:.3f}", *group.time_rank_correlation) : "–");
  return cells;
}

std::vector<std::string> summary_heading(const char* first) {
  std::vector<std::string> cells = {first, "cases"};
  for (const Column& column : columns) cells.emplace_back(column.heading);
  cells.emplace_back("rank of time");
  return cells;
}

/// A figure beyond its bound: "flash1, B5 H16 …: hbm_read simulated 34 MB, measured 25 MB (…): +38 % (allowed …)".
std::string miss(const ValidationReport& report, std::size_t i, Figure figure) {
  const MeasuredCase& measured = report.cases[i];
  const Comparison& c = *report.results[i].figure(figure);
  const std::string range = !c.in_many_places ? ""
                                              : fmt::format(" ({} to {} in {} places)", figure_text(figure, c.measured.least),
                                                            figure_text(figure, c.measured.most), measured.placements);
  std::string held;
  if (c.limit == l2_capacity_entry)
    held = fmt::format("; within it with {} of the L2", format_percent(c.l2_part));
  else if (c.limit != 0)
    held = fmt::format("; entry {}", c.limit);
  return fmt::format("{}, {}: {} simulated {}, measured {}{}: {} (allowed {}{})", measured.kernel, short_text(measured.problem),
                     to_string(figure), figure_text(figure, c.simulated), figure_text(figure, c.measured.median), range,
                     error_text(c), bound_text(*c.bound, figure), held);
}

/// One line for each figure that is beyond its bound and held by a numbered limit.
std::vector<std::string> limited(const ValidationReport& report) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < report.cases.size(); ++i)
    for (const Figure figure : all_figures)
      if (const auto& c = report.results[i].figure(figure); c && !c->within() && c->held()) out.push_back(miss(report, i, figure));
  return out;
}

/// One line for each figure that is beyond its bound and held by nothing, and for each case that was not simulated.
std::vector<std::string> complaints(const ValidationReport& report) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const std::string name = fmt::format("{}, {}", report.cases[i].kernel, short_text(report.cases[i].problem));
    const CaseValidation& result = report.results[i];
    if (!result.not_simulated.empty()) out.push_back(fmt::format("{}: not simulated: {}", name, result.not_simulated));
    for (const Figure figure : all_figures) {
      const auto& c = result.figure(figure);
      if (c && !c->held()) out.push_back(miss(report, i, figure));
    }
  }
  if (!report.summary.mean_time_held)
    out.push_back(fmt::format("the mean error of time is {} (allowed {})",
                              format_percent(report.summary.all.figure(Figure::time).mean()),
                              format_percent(mean_time_error_bound)));
  return out;
}

std::string verdict(const ValidationReport& report) {
  const ValidationSummary& s = report.summary;
  const std::size_t cases = report.cases.size();
  if (s.held() && s.limited == 0) return fmt::format("all {} cases are within their bounds", cases);
  if (s.held())
    return fmt::format("all {} cases are held: {} within their bounds, {} by a numbered limit of docs/model-limits.md", cases,
                       cases - static_cast<std::size_t>(s.limited), s.limited);
  std::string text = fmt::format("{} of {} cases are beyond their bounds", s.beyond_bounds, cases);
  if (s.limited > 0) text += fmt::format(", {} more are held by a numbered limit of docs/model-limits.md", s.limited);
  if (s.not_simulated > 0) text += fmt::format(", {} could not be simulated", s.not_simulated);
  if (!s.mean_time_held) text += ", the mean error of time is beyond its bound";
  return text;
}

std::string origin(const ValidationReport& report) {
  const MeasurementBundle& b = *report.bundle;
  return fmt::format("recorded on {}, {} (driver for CUDA {}, kernels of commit {})", b.device, b.date, b.driver,
                     b.commit.empty() ? "unknown" : b.commit);
}

/// The bounds in words, the same in every output.
std::vector<std::pair<std::string, std::string>> bounds_in_words() {
  const auto both = [](const ErrorBound& b) { return bound_text(b, Figure::hbm_read); };
  return {{"l2_to_sm, sm_to_l2", both(sm_link_bound)},
          {"hbm_read, where K and V in flight fit the effective L2", both(hbm_read_bound_in_l2)},
          {"hbm_read, elsewhere", both(hbm_read_bound_beyond_l2)},
          {"hbm_write_after_flush (hbm_write where no flush was measured)", both(hbm_write_bound)},
          {"time, every case", bound_text(time_bound, Figure::time)},
          {"time, the mean over all our kernels", format_percent(mean_time_error_bound)}};
}

}  // namespace

std::string validation_table(const ValidationReport& report) {
  std::string text = fmt::format(
      "{}: {}\n{} cases; errors are simulated against measured, ! is beyond the bound, a number\nthe entry of docs/model-limits.md "
      "that holds it to a size\n\n",
      report.file, origin(report), report.cases.size());
  TextTable cases("lllrrrrrrr");
  std::vector<std::string> heading = {"kernel", "problem", "list"};
  for (const Column& column : columns) heading.emplace_back(column.heading);
  cases.row(heading);
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const MeasuredCase& measured = report.cases[i];
    std::vector<std::string> row = {measured.kernel, short_text(measured.problem), measured.list};
    for (const Column& column : columns) row.push_back(error_cell(report.results[i], column.figure));
    cases.row(std::move(row));
  }
  text += cases.text("") + "\nmean / worst size of the error (cases beyond the bound)\n\n";
  TextTable summary("lrrrrrrrrr");
  summary.row(summary_heading("kernel"));
  for (const GroupSummary& group : report.summary.kernels) summary.row(summary_row(group));
  for (const GroupSummary& group : report.summary.lists) {
    std::vector<std::string> row = summary_row(group);
    row[0] = "list " + row[0];
    summary.row(std::move(row));
  }
  summary.row(summary_row(report.summary.all));
  text += summary.text("") + '\n';
  for (const std::string& line : limited(report)) text += fmt::format("held by a numbered limit: {}\n", line);
  for (const std::string& complaint : complaints(report)) text += "! " + complaint + '\n';
  return text + verdict(report) + '\n';
}

// --- JSON -------------------------------------------------------------------------------------------------------------------

namespace {

using Json = nlohmann::ordered_json;

Json figure_json(const Comparison& c) {
  Json json = {{"simulated", c.simulated}, {"measured", c.measured.median}, {"least", c.measured.least}, {"most", c.measured.most}};
  json["error"] = std::isfinite(c.error()) ? Json(c.error()) : Json(nullptr);
  json["allowed"] = c.bound ? Json(c.allowed()) : Json(nullptr);
  json["within"] = c.within();
  json["limit"] = c.limit != 0 ? Json(c.limit) : Json(nullptr);
  if (c.limit == l2_capacity_entry) json["l2_part"] = c.l2_part;
  return json;
}

Json case_json(const MeasuredCase& measured, const CaseValidation& result) {
  Json json = {{"kernel", measured.kernel}, {"list", measured.list}, {"algorithm", result.algorithm}};
  json["problem"] = json_of(measured.problem);
  json["tile"] = json_of(measured.tile);
  json["not_simulated"] = result.not_simulated;
  json["refused"] = measured.refused;
  json["kv_in_flight_bytes"] = result.kv_in_flight_bytes;
  json["effective_l2_bytes"] = result.effective_l2_bytes;
  json["host_seconds"] = result.host_seconds;
  json["held"] = result.held();
  json["figures"] = Json::object();
  for (const Figure f : all_figures)
    if (const auto& c = result.figure(f)) json["figures"][std::string(to_string(f))] = figure_json(*c);
  return json;
}

Json group_json(const GroupSummary& group) {
  Json json = {{"name", group.name}, {"cases", group.cases}, {"not_simulated", group.not_simulated}};
  json["time_rank_correlation"] = group.time_rank_correlation ? Json(*group.time_rank_correlation) : Json(nullptr);
  json["figures"] = Json::object();
  for (const Figure f : all_figures) {
    const ErrorSummary& e = group.figure(f);
    if (e.cases == 0) continue;
    json["figures"][std::string(to_string(f))] = {{"cases", e.cases}, {"beyond", e.beyond}, {"limited", e.limited},
                                                  {"mean", e.mean()}, {"worst", e.worst},   {"worst_case", e.worst_case}};
  }
  return json;
}

}  // namespace

std::string validation_json(const ValidationReport& report) {
  const MeasurementBundle& b = *report.bundle;
  Json json;
  json["schema"] = "tilescope.validation/1";
  json["bundle"] = {{"file", report.file}, {"gpu", b.gpu},       {"device", b.device},
                    {"driver", b.driver},  {"commit", b.commit}, {"date", b.date}};
  json["held"] = report.summary.held();
  json["cases"] = Json::array();
  for (std::size_t i = 0; i < report.cases.size(); ++i) json["cases"].push_back(case_json(report.cases[i], report.results[i]));
  for (const auto& [key, groups] : {std::pair{"kernels", &report.summary.kernels}, {"lists", &report.summary.lists}}) {
    json[key] = Json::array();
    for (const GroupSummary& group : *groups) json[key].push_back(group_json(group));
  }
  json["all"] = group_json(report.summary.all);
  return json.dump(1) + '\n';
}

// --- Markdown ---------------------------------------------------------------------------------------------------------------

namespace {

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += fmt::format(" {} |", cell);
  return line + '\n';
}

std::string markdown_heading(const std::vector<std::string>& cells, std::size_t text_columns) {
  std::string line = markdown_row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) line += i < text_columns ? "---|" : "--:|";
  return line + '\n';
}

std::string both_and_error(const CaseValidation& result, Figure figure) {
  const auto& c = result.figure(figure);
  if (!c) return "–";
  return fmt::format("{} · {} · {}{}", figure_text(figure, c->simulated), figure_text(figure, c->measured.median),
                     c->within() ? "" : "**", error_text(*c) + (c->within() ? "" : "**") + mark_of(*c));
}

std::string markdown_kernel(const ValidationReport& report, const std::string& kernel) {
  constexpr std::array shown = {
      Figure::l2_to_sm, Figure::sm_to_l2, Figure::hbm_read, Figure::hbm_write, Figure::hbm_write_after_flush, Figure::time};
  std::string text = fmt::format("\n### {}\n\n", kernel);
  if (counterpart_of(kernel).library)
    text += fmt::format(
        "Its products are a library's, with tiles that are not ours to know: HBM bytes beside those of `{}`, and no bound "
        "stands.\n\n",
        counterpart_of(kernel).algorithm);
  std::vector<std::string> heading = {"problem", "list"};
  for (const Figure figure : shown) heading.emplace_back(to_string(figure));
  text += markdown_heading(heading, 2);
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    if (report.cases[i].kernel != kernel) continue;
    std::vector<std::string> row = {short_text(report.cases[i].problem), report.cases[i].list};
    for (const Figure figure : shown) row.push_back(both_and_error(report.results[i], figure));
    if (!report.results[i].not_simulated.empty()) row[2] = "not simulated: " + report.results[i].not_simulated;
    text += markdown_row(row);
  }
  return text;
}

}  // namespace

std::string validation_markdown(const ValidationReport& report) {
  const MeasurementBundle& b = *report.bundle;
  std::string text = fmt::format(
      "# Simulated against measured\n\n"
      "Made by `tilescope validate --bundle assets/measured/{} --markdown docs/validation.md`; do not edit. The measurements were "
      "{},\n"
      "by `{}`. The simulations are those of this version of the model. What the model leaves out, with its size, is in\n"
      "[model-limits.md](model-limits.md).\n\n"
      "**{}.**\n\n"
      "An error is (simulated − measured) / measured. Bytes are of the whole kernel from a cold L2; time is simulated at the clock "
      "that\n"
      "the SMs ran at, beside events around the kernel without a profiler. A kernel's *list* says whether its shape was seen while "
      "the time model was\n"
      "made (build) or kept for judging it (judge).\n\n",
      report.file, origin(report), b.command, verdict(report));
  text += "## Bounds\n\n" + markdown_heading({"figure", "at most"}, 2);
  for (const auto& [what, bound] : bounds_in_words()) text += markdown_row({what, bound});
  text += fmt::format(
      "\nThe floor of {} under HBM reads is for what a cold kernel fetches besides its tensors: instructions, constants, "
      "parameters and page tables.\n"
      "K and V in flight are those of the heads that the resident blocks work on at once; the effective L2 is half of it where it "
      "is two partitions,\n"
      "because what every SM reads lies in both. Tensors of about the L2's size were put in several places of memory, because what "
      "stays in the L2 depends on\n"
      "where they lie: errors are those of the median of the places, bounds stand around all that was measured.\n",
      format_capacity(Bytes(std::llround(hbm_read_floor_bytes))));

  text += "\n## By kernel\n\nMean / worst size of the error; in brackets the cases beyond their bound.\n\n" +
          markdown_heading(summary_heading("kernel"), 1);
  for (const GroupSummary& group : report.summary.kernels) text += markdown_row(summary_row(group));
  std::vector<std::string> all = summary_row(report.summary.all);
  all[0] = "all of ours";
  text += markdown_row(all);
  if (!report.summary.lists.empty()) {
    text += "\n## By list\n\n" + markdown_heading(summary_heading("list"), 1);
    for (const GroupSummary& group : report.summary.lists) text += markdown_row(summary_row(group));
  }
  text += "\n## Beyond the bounds\n\n";
  const std::vector<std::string> wrong = complaints(report);
  if (wrong.empty()) text += "Nothing.\n";
  for (const std::string& complaint : wrong) text += "- " + complaint + '\n';
  if (const std::vector<std::string> lines = limited(report); !lines.empty()) {
    text +=
        "\n## Beyond the bounds, and held by a numbered limit\n\n"
        "What the hardware does and the model leaves out has a number in [model-limits.md](model-limits.md). A figure of HBM "
        "beyond its bound is\n"
        "held to the size of an entry, where one is about it:\n\n" +
        markdown_heading({"entry", "where", "at most"}, 3);
    for (const NumberedLimit& limit : numbered_limits())
      text += markdown_row({format_count(limit.entry), std::string(limit.where), format_percent(limit.error)});
    text +=
        markdown_row({format_count(l2_capacity_entry), "elsewhere",
                      fmt::format("its bound, simulated with {} to {} of the L2's capacity", format_percent(less_l2.back()),
                                  format_percent(more_l2.back()))}) +
        "\nThe part of the L2 that is named is the first in steps of 4 % at which the figure is within its bound, or has passed "
        "it.\n\n";
    for (const std::string& line : lines) text += "- " + line + '\n';
  }
  text += "\n## Every case\n\nSimulated · measured (median of the repeats) · error.\n";
  for (const GroupSummary& group : report.summary.kernels) text += markdown_kernel(report, group.name);
  return text;
}

}  // namespace tilescope
