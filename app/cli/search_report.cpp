// Rows of candidates, and the sentences under them.
#include "app/cli/search_report.h"

#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_words.h"
#include "app/cli/errors_json.h"
#include "app/cli/text_table.h"
#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/ratio_errors.h"
#include "app/model/measurements/time_errors.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/format.h"
#include "sim/analysis/what_if.h"
#include "sim/programs/program_names.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

/// The order in which a candidate walks its keys: some programs have one of their own.
KeyOrder key_order_of(const SearchCandidate& candidate) {
  const auto info = find_program(candidate.request.algorithm, candidate.request.problem.pass);
  return info ? (*info)->key_order.value_or(candidate.request.key_order) : candidate.request.key_order;
}

/// Whether a kernel is compiled with the tile of a candidate, whatever its orders.
bool kernel_has_tile(const SearchCandidate& candidate) {
  const auto compiled = compiled_kernel(candidate.request);
  return compiled && compiled->has_tile;
}

/// The kernel as it stands, which the others are compared with: of several algorithms the quickest.
const SearchCandidate* own_of(const std::vector<SearchCandidate>& ranked) {
  const auto found = std::find_if(ranked.begin(), ranked.end(), [](const SearchCandidate& c) { return c.own; });
  return found == ranked.end() ? nullptr : &*found;
}

/// Whether the times of two candidates differ by no more than noise.
bool is_noise(const SearchCandidate& best, const SearchCandidate& other, double noise) {
  return std::abs(other.outcome->time_ns / best.outcome->time_ns - 1) <= noise;
}

/// "+1.2 %", and "+0.3 % ~" of what is noise.
std::string difference_text(const SearchCandidate& now, const SearchCandidate& before, double noise) {
  const double change = now.outcome->time_ns / before.outcome->time_ns - 1;
  return fmt::format("{:+.1f} %{}", 100 * change, std::abs(change) <= noise ? " ~" : "");
}

/// The same tile in the kernel's own orders; nullptr where it was not simulated to its end.
const SearchCandidate* in_own_order(const std::vector<SearchCandidate>& ranked, const SearchCandidate& of) {
  const auto is_it = [&](const SearchCandidate& c) {
    return c.request.algorithm == of.request.algorithm && c.request.tile == of.request.tile &&
           c.request.block_order == BlockOrder::launch && c.request.key_order == KeyOrder::ascending;
  };
  const auto found = std::ranges::find_if(ranked, is_it);
  return found == ranked.end() ? nullptr : &*found;
}

/// What holds of several programs for one reason, each said once.
class SaidOnce {
 public:
  void add(std::string_view program, const Sentence& reason) {
    const std::string words = command_words(reason);
    auto found = std::ranges::find(said_, words, &Said::reason);
    if (found == said_.end()) found = said_.insert(said_.end(), {words, {}});
    if (std::ranges::find(found->programs, program) == found->programs.end()) found->programs.emplace_back(program);
  }
  bool has(const Sentence& reason) const { return std::ranges::find(said_, command_words(reason), &Said::reason) != said_.end(); }
  /// Returns a line a reason: `before`, "flash1, flash2 and standard", " is unknown: " and the reason.
  std::string lines(std::string_view before) const {
    std::string text;
    for (const Said& each : said_) {
      ListedPrograms names;
      for (const std::string& program : each.programs) names.add(program);
      text += fmt::format("{}{} is unknown: {}.\n", before, names.first.empty() ? names.last : names.first + " and " + names.last,
                          each.reason);
    }
    return text;
  }

 private:
  struct Said {
    std::string reason;
    std::vector<std::string> programs;
  };
  std::vector<Said> said_;
};

/// Says how far times of the rows are off, and their ratios to the first one: a line for each program, and one for all programs of
/// which that is unknown for the same reason.
std::string errors_text(const Searched& searched, const RankedRows& rows) {
  const SearchCandidate& first = *rows.all.front();
  const std::string& gpu = first.request.gpu.id;
  if (is_imagined(gpu)) return command_words(imagined_gpu_sentence(gpu)) + '\n';
  std::set<std::string> times, ratios;
  SaidOnce unknown_times, unknown_ratios;
  for (std::size_t i = 0; i < rows.all.size(); ++i) {
    const SearchCandidate& row = *rows.all[i];
    if (i >= rows.shown && !row.own) continue;
    const auto found = time_errors_of(searched.known, predicted(row.request, *row.outcome));
    if (found)
      times.insert(command_words(time_errors_sentence(found, row.request.algorithm, gpu)) + '\n');
    else
      unknown_times.add(row.request.algorithm, found.error().sentence);
  }
  for (std::size_t i = 1; i < rows.all.size(); ++i) {
    const SearchCandidate& row = *rows.all[i];
    if (i >= rows.shown && !row.own) continue;
    const auto found =
        ratio_errors_of(searched.known, predicted(first.request, *first.outcome), predicted(row.request, *row.outcome));
    if (found)
      ratios.insert(command_words(ratio_errors_sentence(found, first.request.algorithm, row.request.algorithm)) + '\n');
    else if (!unknown_times.has(found.error().sentence))
      unknown_ratios.add(row.request.algorithm, found.error().sentence);
  }
  std::string text;
  for (const std::string& line : times) text += line;
  text += unknown_times.lines("The error of times of ");
  for (const std::string& line : ratios) text += line;
  return text + unknown_ratios.lines("The error of a ratio of the time of row 1 to one of ");
}

}  // namespace

std::string search_table(const Searched& searched, const RankedRows& rows, const MeasuredRows& rows_measured) {
  const std::vector<std::optional<double>>& measured = rows_measured.ns;
  const SearchCandidate* const own = own_of(searched.ranked);
  const SearchCandidate& first = searched.ranked.front();
  const bool any_measured = std::any_of(measured.begin(), measured.end(), [](const auto& m) { return m.has_value(); });
  const auto error_of = [&](const SearchCandidate& c) {
    const auto found = time_errors_of(searched.known, predicted(c.request, *c.outcome));
    return found ? error_mark(found) : std::string(is_imagined(c.request.gpu.id) ? "none" : "unknown");
  };
  TextTable table("rllrllrrrrrlrrrr");
  table.row({"", "program", "tile", "buffers", "blocks", "keys", "HBM", "time", "error", "against 1", "own order", "busiest",
             "against own", "rate", "recorded", "measured"});
  const auto row = [&](std::size_t place) {
    const SearchCandidate& c = *rows.all[place];
    const double recorded_ns = c.outcome->under_load.recorded_ns;
    const SearchCandidate* const usual = in_own_order(searched.ranked, c);
    table.row(
        {fmt::format("{}", place + 1), c.request.algorithm, fmt::format("{}x{}", c.outcome->tile.block_q, c.outcome->tile.block_kv),
         c.request.tile->stages > 0 ? fmt::format("{}", c.request.tile->stages) : "", std::string(to_string(c.request.block_order)),
         std::string(to_string(key_order_of(c))), format_bytes(c.outcome->hbm()), format_time(Nanoseconds(c.outcome->time_ns)),
         error_of(c), place == 0 ? "" : difference_text(c, first, searched.noise),
         usual == &c || usual == nullptr ? "" : difference_text(*usual, c, searched.noise),
         std::string(to_string(c.outcome->bound)),
         c.own            ? "own"
         : own == nullptr ? ""
                          : difference_text(c, *own, searched.noise),
         c.outcome->useful_flops > 0 ? format_short(c.outcome->flops_per_second(), "FLOP/s") : "",
         recorded_ns > 0 ? format_time(Nanoseconds(recorded_ns)) : "",
         place < measured.size() && measured[place] ? format_time(Nanoseconds(*measured[place])) : ""});
  };
  for (std::size_t i = 0; i < rows.shown; ++i) row(i);
  for (std::size_t i = rows.shown; i < rows.all.size(); ++i)
    if (rows.all[i]->own) row(i);
  const std::string how = any_measured ? ", and measured where a kernel is built for them" : "";
  constexpr auto formula =
      "No kernel is compiled for tiles other than \"own\": a formula gives their registers, their overheads are those of the own "
      "tile. "
      "Tiles whose threads would spill are left out.";
  const auto as_quick =
      std::ranges::count_if(rows.all, [&](const SearchCandidate* c) { return is_noise(first, *c, searched.noise); });
  table.drop_empty_columns();
  const bool sees_nothing = !first.request.masking.empty() && first.outcome->flops == 0;
  std::string text = table.text("") + fmt::format(
                                          "\n{} candidates in {} tiles. A row is a tile in its best order; \"own order\" is "
                                          "what the kernel's order adds. Times are predicted{}. {}\n",
                                          searched.candidates, rows.all.size(), how, formula);
  if (sees_nothing) text += "warning: with this mask no query sees a key, and every row of O is 0.\n";
  if (searched.clock.hz > 0)
    text +=
        fmt::format("All at {}, the clock under load of {} as it stands, the fastest kernel. A recorded time has its own clock.\n",
                    format_clock(searched.clock.hz), searched.clock.algorithm);
  if (!rows_measured.refusal.empty())
    text += fmt::format("Not every kernel was measured: {}.\n", command_words(rows_measured.refusal));
  text +=
      fmt::format("Up to {} (~) is no difference: settings that cannot matter, such as a cycle of latency, change row 1 that much.",
                  format_percent(searched.noise));
  if (as_quick > 1) text += fmt::format(" The first {} are equally quick.", as_quick);
  text += '\n';
  if (searched.untried > 0)
    text +=
        fmt::format("There was no time for {} more tiles between powers of two: use {} for longer.\n", searched.untried, "--finer");
  text += errors_text(searched, rows);
  for (const LaunchedRung& each : searched.launching) text += fmt::format("{} launches {} here.\n", each.program, each.words);
  if (!searched.left_out.empty())
    text += fmt::format("Not searched: {}. --algorithm names one or several: --algorithm {},{}.\n",
                        fmt::join(searched.left_out, ", "), first.request.algorithm, searched.left_out.back());
  return text;
}

std::string search_json(const Searched& searched, const RankedRows& listed, const MeasuredRows& rows_measured) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  const double noise = searched.noise;
  std::map<const SearchCandidate*, double> measured_ns;
  for (std::size_t i = 0; i < rows_measured.ns.size(); ++i)
    if (rows_measured.ns[i]) measured_ns[listed.all[i]] = *rows_measured.ns[i];
  for (std::size_t i = 0; i < searched.ranked.size(); ++i) {
    const SearchCandidate& c = searched.ranked[i];
    Json row = {{"algorithm", c.request.algorithm},
                {"tile", {{"block_q", c.outcome->tile.block_q}, {"block_kv", c.outcome->tile.block_kv}}},
                {"stages", c.request.tile->stages},
                {"block_order", to_string(c.request.block_order)},
                {"key_order", to_string(key_order_of(c))},
                {"own", c.own},
                {"blocks_per_sm", c.outcome->blocks_per_sm},
                {"hbm_bytes", c.outcome->hbm()},
                {"cycles", c.outcome->cycles},
                {"ns", c.outcome->time_ns},
                {"clock_hz", at_clock(c.request, searched.clock.hz).gpu.sm_clock_hz},
                {"bound_by", to_string(c.outcome->bound)},
                {"has_kernel", kernel_has_tile(c)},
                {"as_quick_as_first", is_noise(searched.ranked.front(), c, noise)}};
    row["errors"] = json_of_errors(time_errors_of(searched.known, predicted(c.request, *c.outcome)));
    if (c.outcome->useful_flops > 0) row["tflops"] = c.outcome->flops_per_second() / 1e12;
    if (const double recorded = c.outcome->under_load.recorded_ns; recorded > 0) row["recorded_ns"] = recorded;
    if (const auto found = measured_ns.find(&c); found != measured_ns.end()) row["measured_ns"] = found->second;
    rows.push_back(std::move(row));
  }
  Json json = {{"schema", "tilescope.search/1"}, {"whole", searched.whole}, {"noise", noise}, {"ranked", rows}};
  for (const LaunchedRung& each : searched.launching) json["launches"][each.program] = each.rung;
  if (searched.clock.hz > 0) json["clock_of"] = searched.clock.algorithm;
  if (!searched.left_out.empty()) json["left_out"] = searched.left_out;
  if (!rows_measured.refusal.empty()) json["not_measured"] = command_words(rows_measured.refusal);
  return json.dump(1) + "\n";
}

std::string search_csv(const Searched& searched, const RankedRows& listed, const MeasuredRows& rows_measured) {
  std::string out =
      "rank,algorithm,block_q,block_kv,stages,block_order,key_order,own,blocks_per_sm,hbm_bytes,cycles,ns,clock_hz,busiest,tflops,"
      "error_mean,error_worst,recorded_ns,measured_ns,as_quick_as_first\n";
  const auto field = [](bool is_there, double value) { return is_there ? fmt::format("{}", value) : std::string(); };
  for (std::size_t i = 0; i < searched.ranked.size(); ++i) {
    const SearchCandidate& c = searched.ranked[i];
    const Outcome& outcome = *c.outcome;
    const auto errors = time_errors_of(searched.known, predicted(c.request, outcome));
    const auto row = std::ranges::find(listed.all, &c);
    const auto place = static_cast<std::size_t>(row - listed.all.begin());
    const auto measured = place < rows_measured.ns.size() ? rows_measured.ns[place] : std::nullopt;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{:.0f},{:.1f},{:.3f},{:.0f},{},{},{},{},{},{},{}\n", i + 1, c.request.algorithm,
        outcome.tile.block_q, outcome.tile.block_kv, c.request.tile->stages, to_string(c.request.block_order),
        to_string(key_order_of(c)), c.own ? 1 : 0, outcome.blocks_per_sm, outcome.hbm(), outcome.cycles, outcome.time_ns,
        at_clock(c.request, searched.clock.hz).gpu.sm_clock_hz, to_string(outcome.bound),
        field(outcome.useful_flops > 0, outcome.flops_per_second() / 1e12), field(bool(errors), errors ? errors->mean : 0),
        field(bool(errors), errors ? errors->worst : 0), field(outcome.under_load.recorded_ns > 0, outcome.under_load.recorded_ns),
        field(measured.has_value(), measured.value_or(0)), is_noise(searched.ranked.front(), c, searched.noise) ? 1 : 0);
  }
  return out;
}

}  // namespace tilescope
