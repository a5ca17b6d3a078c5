// What `validate` prints and writes.
#include "app/cli/validation_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/text_table.h"
#include "kernels/measure/json_fields.h"
#include "sim/analysis/format.h"
#include "sim/core/text.h"

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

/// Marks a verdict that is not within: "~" the hardware's spread, "!" a known miss, "✗" fails.
std::string mark_of(const Comparison& c) {
  const auto verdict = c.verdict();
  if (!verdict || *verdict == Verdict::within) return "";
  return *verdict == Verdict::within_spread ? " ~" : *verdict == Verdict::known_miss ? " !" : " ✗";
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
  std::string marks;
  const auto mark = [&](int count, const char* sign) {
    if (count > 0) marks += fmt::format("{}{}{}", marks.empty() ? "" : " ", count, sign);
  };
  mark(errors.verdicts[Verdict::within_spread], "~");
  mark(errors.verdicts[Verdict::known_miss], "!");
  mark(errors.verdicts[Verdict::fails], "✗");
  return fmt::format("{} / {}{}", format_percent(errors.mean()), format_percent(errors.worst),
                     marks.empty() ? "" : fmt::format(" ({})", marks));
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

/// "flash1, B5 H16 …: hbm_read simulated 34 MB, measured 25 MB (24 MB to 27 MB in 4 places): +38 % (allowed 2 % or 128 KiB)".
std::string line_of(const ValidationReport& report, std::size_t i, Figure figure) {
  const MeasuredCase& measured = report.cases[i];
  const Comparison& c = *report.results[i].figure(figure);
  const std::string range = !c.in_many_places ? ""
                                              : fmt::format(" ({} to {} in {} places)", figure_text(figure, c.measured.least),
                                                            figure_text(figure, c.measured.most), measured.placements);
  const std::string cap = c.known ? fmt::format("; known to {}", format_percent(c.known->cap)) : "";
  return fmt::format("{}, {}: {} simulated {}, measured {}{}: {} (allowed {}{})", measured.kernel, short_text(measured),
                     to_string(figure), figure_text(figure, c.simulated), figure_text(figure, c.measured.median), range,
                     error_text(c), bound_text(*c.bound, figure), cap);
}

/// A figure of one of the report's cases.
struct FigureOfCase {
  std::size_t index = 0;
  Figure figure{};
};
std::vector<FigureOfCase> figures_with(const ValidationReport& report, Verdict verdict) {
  std::vector<FigureOfCase> out;
  for (std::size_t i = 0; i < report.cases.size(); ++i)
    for (const Figure figure : all_figures)
      if (const auto& c = report.results[i].figure(figure); c && c->verdict() == verdict) out.push_back({i, figure});
  return out;
}

/// One line for each figure that fails, for each case that was not simulated, and for a mean that is too large.
std::vector<std::string> complaints(const ValidationReport& report) {
  std::vector<std::string> out;
  for (const auto& [i, figure] : figures_with(report, Verdict::fails)) out.push_back(line_of(report, i, figure));
  for (std::size_t i = 0; i < report.cases.size(); ++i)
    if (const std::string& why = report.results[i].not_simulated; !why.empty())
      out.push_back(fmt::format("{}, {}: not simulated: {}", report.cases[i].kernel, short_text(report.cases[i]), why));
  if (!report.summary.mean_time_held)
    out.push_back(fmt::format("the mean error of time is {} (allowed {})",
                              format_percent(report.summary.all.figure(Figure::time).mean()),
                              format_percent(mean_time_error_bound)));
  return out;
}

std::vector<std::string> stale_lines(const ValidationReport& report) {
  std::vector<std::string> out;
  for (const StaleMiss& stale : report.stale)
    out.push_back(fmt::format("{}, {}: {}: {}", printable(stale.miss.kernel), printable(stale.miss.problem, 200),
                              to_string(stale.miss.figure), stale.why));
  return out;
}

/// "375 within their bounds, 7 within the hardware's spread, 25 known misses, 0 fail; 28 without bounds, not counted".
std::string counts_text(const VerdictCounts& counts) {
  std::string text = fmt::format("{} within their bounds, {} within the hardware's spread, {} known {}, {} fail",
                                 counts[Verdict::within], counts[Verdict::within_spread], counts[Verdict::known_miss],
                                 counts[Verdict::known_miss] == 1 ? "miss" : "misses", counts[Verdict::fails]);
  if (counts.unbounded > 0) text += fmt::format("; {} without bounds, not counted", counts.unbounded);
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

ValidationReport make_report(const KnownBundle& known, const KnownMisses& misses, std::span<const MeasuredCase> cases,
                             std::span<const CaseValidation> results) {
  ValidationReport report;
  report.bundle = &known.bundle;
  report.file = known.path.substr(known.path.find_last_of('/') + 1);
  report.misses_file = misses.file;
  report.cases = cases;
  report.results = results;
  report.summary = summarise(cases, results);
  report.stale = stale_misses(misses, known.bundle, cases, results);
  return report;
}

std::string verdict_lines(const ValidationSummary& summary) {
  std::string text = fmt::format("figures: {}\n", counts_text(summary.figures));
  text += fmt::format("cases: {}\n", counts_text(summary.cases));
  return text;
}

std::string part_line(const ValidationReport& report) {
  const std::size_t all = report.bundle->cases.size();
  if (report.cases.size() == all) return {};
  std::string text = fmt::format("part: {} of {} cases were judged", report.cases.size(), all);
  if (report.whole) text += fmt::format("; of all cases {} fail, as docs/ lists them", (*report.whole)[Verdict::fails]);
  return text + '\n';
}

std::string validation_table(const ValidationReport& report) {
  std::string text = fmt::format(
      "{}: {}\n{} cases; errors are simulated against measured. Marks: ~ within the hardware's spread, ! known miss, ✗ fails\n\n",
      report.file, origin(report), report.cases.size());
  TextTable cases("lllrrrrrrr");
  std::vector<std::string> heading = {"kernel", "problem", "list"};
  for (const Column& column : columns) heading.emplace_back(column.heading);
  cases.row(heading);
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const MeasuredCase& measured = report.cases[i];
    std::vector<std::string> row = {measured.kernel, short_text(measured), measured.list};
    for (const Column& column : columns) row.push_back(error_cell(report.results[i], column.figure));
    cases.row(std::move(row));
  }
  text += cases.text("") + "\nmean / worst size of the error (figures with a mark)\n\n";
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
  if (const ErrorSummary& lookups = report.summary.all.l2_lookups; lookups.cases > 0)
    text += fmt::format("L2 lookups of reads: {} / {} over {} cases; they have no bound (docs/model-limits.md, row 46)\n\n",
                        format_percent(lookups.mean()), format_percent(lookups.worst), lookups.cases);
  const auto judge = std::ranges::find(report.summary.lists, "judge", &GroupSummary::name);
  if (const ErrorSummary& all = report.summary.all.figure(Figure::time);
      judge != report.summary.lists.end() && judge->figure(Figure::time).cases > 0 && judge->figure(Figure::time).cases < all.cases)
    text += fmt::format(
        "time: {} over all {} cases, {} over the {} of the list judge, which the model had not seen. Beside predicted times stands "
        "the second\n\n",
        format_percent(all.mean()), all.cases, format_percent(judge->figure(Figure::time).mean()),
        judge->figure(Figure::time).cases);
  for (const auto& [i, figure] : figures_with(report, Verdict::within_spread)) text += "~ " + line_of(report, i, figure) + '\n';
  for (const auto& [i, figure] : figures_with(report, Verdict::known_miss)) text += "! " + line_of(report, i, figure) + '\n';
  for (const std::string& line : complaints(report)) text += "✗ " + line + '\n';
  for (const std::string& line : stale_lines(report)) text += "stale known miss: " + line + '\n';
  return text + verdict_lines(report.summary) + part_line(report);
}

// --- JSON -------------------------------------------------------------------------------------------------------------------

namespace {

using Json = nlohmann::ordered_json;

Json verdict_json(const std::optional<Verdict>& verdict) {
  return verdict ? Json(std::string(to_string(*verdict))) : Json(nullptr);
}

Json counts_json(const VerdictCounts& counts) {
  Json json = Json::object();
  for (const Verdict verdict : all_verdicts) json[std::string(to_string(verdict))] = counts[verdict];
  json["unbounded"] = counts.unbounded;
  return json;
}

/// Whether it is within its bound or the hardware's spread; null without a bound.
Json held_json(const std::optional<Verdict>& verdict) {
  return verdict ? Json(*verdict <= Verdict::within_spread) : Json(nullptr);
}

Json figure_json(const Comparison& c) {
  Json json = {{"simulated", c.simulated}, {"measured", c.measured.median}, {"least", c.measured.least}, {"most", c.measured.most}};
  json["error"] = std::isfinite(c.error()) ? Json(c.error()) : Json(nullptr);
  json["allowed"] = c.bound ? Json(c.allowed()) : Json(nullptr);
  json["within"] = c.within();
  json["verdict"] = verdict_json(c.verdict());
  if (c.known) json["known_miss"] = {{"cap", c.known->cap}, {"cause", c.known->cause}};
  return json;
}

Json case_json(const MeasuredCase& measured, const CaseValidation& result) {
  Json json = {{"kernel", measured.kernel}, {"list", measured.list}, {"algorithm", result.algorithm}};
  json["problem"] = json_of(measured.problem);
  if (const AttentionProblem& p = measured.problem; p.page_size > 0)
    json["pages"] = {{"page_size", p.page_size}, {"page_order", to_string(p.page_order)}};
  json["tile"] = json_of(measured.tile);
  json["not_simulated"] = result.not_simulated;
  json["refused"] = measured.refused;
  json["kv_in_flight_bytes"] = result.kv_in_flight_bytes;
  json["effective_l2_bytes"] = result.effective_l2_bytes;
  json["host_seconds"] = result.host_seconds;
  json["held"] = held_json(result.verdict());
  json["verdict"] = verdict_json(result.verdict());
  json["figures"] = Json::object();
  for (const Figure f : all_figures)
    if (const auto& c = result.figure(f)) json["figures"][std::string(to_string(f))] = figure_json(*c);
  if (result.l2_lookups) json["l2_lookup_read"] = figure_json(*result.l2_lookups);
  return json;
}

Json group_json(const GroupSummary& group) {
  Json json = {{"name", group.name}, {"cases", group.cases}, {"not_simulated", group.not_simulated}};
  json["time_rank_correlation"] = group.time_rank_correlation ? Json(*group.time_rank_correlation) : Json(nullptr);
  json["figures"] = Json::object();
  for (const Figure f : all_figures) {
    const ErrorSummary& e = group.figure(f);
    if (e.cases == 0) continue;
    json["figures"][std::string(to_string(f))] = {
        {"cases", e.cases}, {"beyond", e.verdicts.beyond()}, {"verdicts", counts_json(e.verdicts)}, {"mean", e.mean()},
        {"worst", e.worst}, {"worst_case", e.worst_case}};
  }
  if (const ErrorSummary& e = group.l2_lookups; e.cases > 0)
    json["l2_lookup_read"] = {{"cases", e.cases}, {"mean", e.mean()}, {"worst", e.worst}, {"worst_case", e.worst_case}};
  return json;
}

}  // namespace

std::string validation_json(const ValidationReport& report) {
  const MeasurementBundle& b = *report.bundle;
  Json json;
  json["schema"] = "tilescope.validation/1";
  json["bundle"] = {{"file", report.file}, {"gpu", b.gpu},       {"device", b.device},
                    {"driver", b.driver},  {"commit", b.commit}, {"date", b.date}};
  json["held"] = !report.summary.fails() && report.summary.cases.beyond() == 0;
  json["verdicts"] = {{"cases", counts_json(report.summary.cases)}, {"figures", counts_json(report.summary.figures)}};
  if (report.cases.size() < report.bundle->cases.size()) {
    json["cases_of_bundle"] = report.bundle->cases.size();
    json["verdicts_of_bundle"] = report.whole ? counts_json(*report.whole) : Json(nullptr);
  }
  json["mean_time_held"] = report.summary.mean_time_held;
  json["stale_known_misses"] = stale_lines(report);
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

std::vector<std::string> figure_row(const ValidationReport& report, std::size_t i, Figure figure) {
  const Comparison& c = *report.results[i].figure(figure);
  std::string measured = figure_text(figure, c.measured.median);
  if (c.in_many_places)
    measured += fmt::format(" ({} to {})", figure_text(figure, c.measured.least), figure_text(figure, c.measured.most));
  return {report.cases[i].kernel,           short_text(report.cases[i]), std::string(to_string(figure)),
          figure_text(figure, c.simulated), std::move(measured),         error_text(c)};
}

std::string markdown_known(const ValidationReport& report) {
  const auto known = figures_with(report, Verdict::known_miss);
  if (known.empty() && report.stale.empty()) return {};
  std::string text =
      fmt::format("\n## Known misses\n\nListed in [{}](../assets/measured/{}). A larger error than the cap fails.\n\n",
                  report.misses_file, report.misses_file);
  text += markdown_heading({"kernel", "problem", "figure", "simulated", "measured", "error", "cap", "cause"}, 3);
  for (const auto& [i, figure] : known) {
    std::vector<std::string> row = figure_row(report, i, figure);
    const KnownMiss& miss = *report.results[i].figure(figure)->known;
    row.push_back(format_percent(miss.cap));
    row.push_back(miss.cause);
    text += markdown_row(row);
  }
  for (const std::string& line : stale_lines(report)) text += "\n- stale: " + line + '\n';
  return text;
}

std::string markdown_spread(const ValidationReport& report) {
  const auto spread = figures_with(report, Verdict::within_spread);
  if (spread.empty()) return {};
  std::string text = fmt::format(
                         "\n## Within the hardware's own spread\n\nIn brackets: least and most over the places in memory, as `{}` "
                         "records them (`placements`).\n\n",
                         report.file) +
                     markdown_heading({"kernel", "problem", "figure", "simulated", "measured", "error"}, 3);
  for (const auto& [i, figure] : spread) text += markdown_row(figure_row(report, i, figure));
  return text;
}

std::string markdown_kernel(const ValidationReport& report, const std::string& kernel) {
  std::string text = fmt::format("\n### {}\n\n", kernel);
  if (counterpart_of(kernel).library)
    text += fmt::format(
        "Its products are a library's, with unknown tiles. HBM bytes are shown against those of `{}`. No bound stands, and no case "
        "is counted.\n\n",
        counterpart_of(kernel).algorithm);
  std::vector<Figure> shown = {
      Figure::l2_to_sm, Figure::sm_to_l2, Figure::hbm_read, Figure::hbm_write, Figure::hbm_write_after_flush, Figure::time};
  for (std::size_t i = 0; i < report.cases.size(); ++i)
    if (report.cases[i].kernel == kernel && report.results[i].figure(Figure::reduced)) {
      shown.insert(shown.begin() + 2, Figure::reduced);  // beside what it is part of
      break;
    }
  std::vector<std::string> heading = {"problem", "list"};
  for (const Figure figure : shown) heading.emplace_back(to_string(figure));
  text += markdown_heading(heading, 2);
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    if (report.cases[i].kernel != kernel) continue;
    std::vector<std::string> row = {short_text(report.cases[i]), report.cases[i].list};
    for (const Figure figure : shown) row.push_back(both_and_error(report.results[i], figure));
    if (!report.results[i].not_simulated.empty()) row[2] = "not simulated: " + report.results[i].not_simulated;
    text += markdown_row(row);
  }
  return text;
}

}  // namespace

std::string validation_markdown(const ValidationReport& report) {
  const MeasurementBundle& b = *report.bundle;
  const std::string name = report.file.substr(0, report.file.rfind('.'));
  std::string text = fmt::format(
      "# Simulated against measured\n\n"
      "Written by a command; do not edit:\n\n"
      "```\ntilescope validate --bundle assets/measured/{} --csv tests/validation/{}.csv --markdown docs/{}\n```\n\n"
      "The measurements were {},\nby `{}`.\n[model-limits.md](model-limits.md) lists what the model leaves out.\n\n",
      report.file, name, name == reference_gpu ? "validation.md" : "validation-" + name + ".md", origin(report), b.command);
  text += markdown_heading({"", "within", "within the spread", "known misses", "fail", "no bound"}, 1);
  for (const auto& [what, counts] : {std::pair{"figures", &report.summary.figures}, {"cases", &report.summary.cases}}) {
    std::vector<std::string> row = {what};
    for (const Verdict verdict : all_verdicts) row.push_back(format_count((*counts)[verdict]));
    row.push_back(format_count(counts->unbounded));
    text += markdown_row(row);
  }
  text +=
      "\nA case has the worst verdict of its figures. A case without a bound is listed and not counted.\n\n"
      "- *Within*: the simulated value is within the bound around the measured median.\n"
      "- *Within the spread* (~): the hardware's own values differ between places in memory, and the bound around them is met.\n"
      "- *Known miss* (!): beyond the bound, and listed with its measured cause. Its error is at most a cap.\n"
      "- *Fails* (✗): everything else.\n\n"
      "An error is (simulated − measured) / measured. Bytes are those of the whole kernel from a cold L2. Time is simulated at the "
      "measured SM clock.\n"
      "It is compared with events around the kernel, without a profiler. Shapes of the list *build* were seen while the time model "
      "was made; shapes of *judge* were not.\n\n";
  text += "## Bounds\n\n" + markdown_heading({"figure", "at most"}, 2);
  for (const auto& [what, bound] : bounds_in_words()) text += markdown_row({what, bound});
  text += fmt::format(
      "\nThe floor of {} under HBM reads covers what a cold kernel fetches besides its tensors: instructions, constants, "
      "parameters "
      "and page tables.\n"
      "K and V in flight are those of the heads that the resident blocks work on at once. The effective L2 is half of an L2 with "
      "two "
      "partitions,\nbecause data that every SM reads lies in both. Tensors of about the L2's size were measured in several places "
      "of "
      "memory. Errors are those of the median.\n",
      format_capacity(Bytes(std::llround(hbm_read_floor_bytes))));

  text += "\n## By kernel\n\nMean and worst size of the error. In brackets: figures with a mark.\n\n" +
          markdown_heading(summary_heading("kernel"), 1);
  for (const GroupSummary& group : report.summary.kernels) text += markdown_row(summary_row(group));
  std::vector<std::string> all = summary_row(report.summary.all);
  all[0] = "all of ours";
  text += markdown_row(all);
  if (!report.summary.lists.empty()) {
    text += "\n## By list\n\n" + markdown_heading(summary_heading("list"), 1);
    for (const GroupSummary& group : report.summary.lists) text += markdown_row(summary_row(group));
  }
  text += "\n## Fails\n\n";
  const std::vector<std::string> wrong = complaints(report);
  if (wrong.empty()) text += "Nothing.\n";
  for (const std::string& complaint : wrong) text += "- " + complaint + '\n';
  text += markdown_known(report) + markdown_spread(report);
  text += "\n## Every case\n\nSimulated · measured (median of the repeats) · error.\n";
  for (const GroupSummary& group : report.summary.kernels) text += markdown_kernel(report, group.name);
  return text;
}

}  // namespace tilescope
