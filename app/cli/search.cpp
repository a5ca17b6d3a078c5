// `tilescope search`: candidates, progress, measurements beside them, table.
#include "app/cli/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_words.h"
#include "app/cli/errors_json.h"
#include "app/cli/interrupt.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/request.h"
#include "app/cli/text_table.h"
#include "app/model/background/parallel.h"
#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/runs_at_clock.h"
#include "app/model/measurements/time_errors.h"
#include "app/model/requests/assets.h"
#include "kernels/measure/measure_case.h"
#include "sim/analysis/format.h"
#include "sim/analysis/search.h"
#include "sim/analysis/what_if.h"
#include "sim/core/refuse.h"
#include "sim/programs/program_names.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

using Candidates = std::vector<SearchCandidate>;

/// Tiles of which the orders are tried too.
constexpr std::size_t tiles_in_every_order = 6;
/// Tiles of which the neighbours between powers of two are tried too, and for how long.
constexpr std::size_t tiles_with_finer_ones = 3;
constexpr double usual_finer_seconds = 30;
constexpr std::int64_t usual_rows = 10;

/// The best times so far, one of each tile: its orders are one row of the table. A candidate that cannot be among them need not be
/// simulated to its end.
class BestTimes {
 public:
  explicit BestTimes(std::size_t count) : count_(count) {}
  void add(const SimulationRequest& request, double ns) {
    const auto tile = std::make_tuple(request.algorithm, request.tile->block_q, request.tile->block_kv, request.tile->stages);
    const auto [of_tile, is_new] = ns_.try_emplace(tile, ns);
    if (!is_new) of_tile->second = std::min(of_tile->second, ns);
  }
  /// 0 while there are fewer than `count`.
  double worst() const {
    if (ns_.size() < count_) return 0;
    std::vector<double> sorted;
    for (const auto& [tile, ns] : ns_) sorted.push_back(ns);
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(count_ - 1));
    return sorted[count_ - 1];
  }

 private:
  std::size_t count_;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, int>, double> ns_;
};

/// When to begin nothing more; never without a limit.
struct Deadline {
  std::optional<std::chrono::steady_clock::time_point> at = {};
  bool is_over() const { return at && std::chrono::steady_clock::now() >= *at; }
};
Deadline after_seconds(double seconds) {
  const auto left = std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  return {std::chrono::steady_clock::now() + left};
}

/// A program without a kernel of its own, and the rung that it launches for a problem: its id, and the words for it.
struct Launches {
  std::string program, rung, words;
};

/// Programs that a search without --algorithm takes, and those of the same family that it leaves out.
struct SearchedPrograms {
  std::vector<std::string> taken, left_out;
  std::vector<Launches> launching;  // left out because the rung is taken
};
/// Adds the programs for Hopper where the GPU has wgmma: those with lists for a mask, else the rungs of the ladder too.
SearchedPrograms with_hopper(std::vector<std::string> usual, const SimulationRequest& request, bool has_lists) {
  SearchedPrograms out{std::move(usual), {}, {}};
  const Pass pass = request.problem.pass == Pass::both ? Pass::backward : request.problem.pass;
  const auto family = [&](std::string_view id) {
    const auto row = find_program(id, pass);
    return row ? (*row)->family : std::string_view();
  };
  const std::string_view searched = family(out.taken.front());
  const bool has_wgmma = request.gpu.sm_wgmma_flops_per_cycle > 0;
  for (const ProgramInfo& row : program_table()) {
    if (row.pass != pass || row.family != searched) continue;
    const auto is_it = [&](const std::string& id) {
      const auto taken = find_program(id, pass);
      return taken && (*taken)->id == row.id;
    };
    if (std::ranges::any_of(out.taken, is_it)) continue;
    if (row.instruction == ProductInstruction::wgmma && !has_wgmma) continue;
    if (is_taken_for_wgmma(row, has_lists))
      out.taken.emplace_back(row.id);
    else if (!has_lists || row.has_lists)
      out.left_out.emplace_back(row.id);
  }
  // FlashAttention-3 would be the same rows again.
  const std::vector<std::string> all = out.taken;
  std::erase_if(out.taken, [&](const std::string& id) {
    const auto row = find_program(id, pass);
    const std::string rung(row ? chosen_by(**row, request.problem) : std::string_view());
    if (rung == id || std::ranges::find(all, rung) == all.end()) return false;
    out.launching.push_back({id, rung, launched_rung(**row, request.problem)});
    return true;
  });
  return out;
}

/// What every candidate is simulated with.
struct Common {
  const Recordings& recordings;
  double clock_hz;  // 0: that of the GPU
};

/// Simulates candidates, and gives up on those that are slower than the best. False once it was interrupted.
bool simulate_all(Candidates& candidates, const Common& common, BestTimes& best, const CatchInterrupt& interrupt,
                  ProgressPrinter& progress, const char* what, const Deadline& deadline = {}) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mutex sharing;
  std::size_t done = 0;
  return on_cores(order, core_count(), [&](std::size_t i) {
    if (deadline.is_over()) return true;
    SimulationRequest request = candidates[i].request;
    if (const std::lock_guard lock(sharing); !candidates[i].own)
      request.give_up_after_cycles = best.worst() * 1e-9 * at_clock(request, common.clock_hz).gpu.sm_clock_hz;
    Result<Outcome> outcome = simulate_outcome_at(common.clock_hz, request, common.recordings,
                                                  [&](double) { return !interrupt.asked() && !deadline.is_over(); });
    if (interrupt.asked()) return false;
    const std::lock_guard lock(sharing);
    if (outcome || !deadline.is_over()) candidates[i].tried = true;
    if (outcome && outcome->done()) best.add(request, outcome->time_ns);
    if (outcome) candidates[i].outcome = std::move(*outcome);
    progress.show(fmt::format("search: {} of {} {} simulated", ++done, candidates.size(), what));
    return true;
  });
}

/// Removes the tiles that wgmma cannot compute.
void remove_odd_groups(Candidates& candidates) {
  std::erase_if(candidates, [](const SearchCandidate& candidate) {
    const auto kernel = compiled_kernel(candidate.request);
    return kernel && !kernel->wgmma_faults.empty();
  });
}

struct Searched {
  Candidates ranked;                  // those that were simulated
  std::size_t candidates = 0;         // with those that were given up
  std::size_t untried = 0;            // tiles between powers of two for which there was no time
  RankingClock clock;                 // of all candidates
  double noise = 0;                   // relative change of the quickest time that the order of events alone makes
  Measurements known;                 // of the GPU
  bool whole = true;                  // false after Ctrl-C
  Sentence refusal;                   // why the first of those that could not be simulated was refused; empty if none was
  std::vector<std::string> left_out;  // programs that --algorithm would add
  std::vector<Launches> launching;    // programs that are rows under the name of the rung that they launch
};

/// All candidates run at one clock: that which the GPU holds under the fastest kernel as it stands.
Searched search(Candidates candidates, std::size_t rows, double finer_seconds, const CatchInterrupt& interrupt,
                ProgressPrinter& progress) {
  Searched out;
  const Recordings recordings = load_recordings(candidates.front().request.gpu);
  out.known = recordings.known;
  progress.show("search: its clock under load");
  std::vector<SimulationRequest> kernels;  // the first of each program, which is the kernel as it stands where its tile fits
  for (const SearchCandidate& first : candidates)
    if (std::ranges::find(kernels, first.request.algorithm, &SimulationRequest::algorithm) == kernels.end())
      kernels.push_back(first.request);
  auto clock = clock_of_ranking(kernels, recordings, core_count(), [&](double) { return !interrupt.asked(); });
  if (!clock) {
    out.whole = false;
    return out;
  }
  out.clock = std::move(*clock);
  const Common common{recordings, out.clock.hz};
  BestTimes best(std::max(rows, tiles_in_every_order));
  const auto try_more = [&](Candidates more, const char* what, const Deadline& deadline = {}) {
    out.whole = simulate_all(more, common, best, interrupt, progress, what, deadline);
    out.untried += static_cast<std::size_t>(std::ranges::count_if(more, [](const SearchCandidate& c) { return !c.tried; }));
    out.candidates += static_cast<std::size_t>(std::ranges::count_if(more, [](const SearchCandidate& c) { return c.tried; }));
    std::move(more.begin(), more.end(), std::back_inserter(out.ranked));
    rank(out.ranked);
  };
  try_more(std::move(candidates), "tiles");
  if (out.whole && finer_seconds > 0) {
    Candidates finer = finer_candidates(out.ranked, tiles_with_finer_ones);
    remove_odd_groups(finer);
    try_more(std::move(finer), "tiles between powers of two", after_seconds(finer_seconds));
  }
  if (out.whole) try_more(order_candidates(out.ranked, tiles_in_every_order), "orders");
  if (out.whole) try_more(candidates_in_best_order(out.ranked), "tiles in the best order");
  if (out.whole && out.ranked.front().done()) {
    const SearchCandidate& quickest = out.ranked.front();
    const auto noise = find_noise(quickest.request, quickest.outcome->time_ns, [&](const SimulationRequest& request) {
      return simulate_outcome_at(common.clock_hz, request, common.recordings, [&](double) { return !interrupt.asked(); });
    });
    out.whole = static_cast<bool>(noise);
    if (noise) out.noise = *noise;
  }
  const auto refused =
      std::find_if(out.ranked.begin(), out.ranked.end(), [](const SearchCandidate& c) { return c.outcome && !c.outcome->done(); });
  if (refused != out.ranked.end()) out.refusal = refused->outcome->refusal;
  out.ranked.erase(std::find_if(out.ranked.begin(), out.ranked.end(), [](const SearchCandidate& c) { return !c.done(); }),
                   out.ranked.end());
  return out;
}

/// The order in which a candidate walks its keys: some programs have one of their own.
KeyOrder key_order_of(const SearchCandidate& candidate) {
  const auto info = find_program(candidate.request.algorithm, candidate.request.problem.pass);
  return info ? (*info)->key_order.value_or(candidate.request.key_order) : candidate.request.key_order;
}

/// The kernel that runs a candidate as it stands; null where none does.
const KernelInfo* kernel_of(const SearchCandidate& candidate) {
  const SimulationRequest& request = candidate.request;
  if (!candidate.own || request.block_order != BlockOrder::launch) return nullptr;
  const auto kernel = find_kernel(request.algorithm, request.key_order);
  if (!kernel) return nullptr;
  return supports(**kernel, request.problem, *request.tile) ? *kernel : nullptr;
}

/// Whether a kernel is compiled with the tile of a candidate, whatever its orders.
bool kernel_has_tile(const SearchCandidate& candidate) {
  const auto compiled = compiled_kernel(candidate.request);
  return compiled && compiled->has_tile;
}

/// Times on this machine's GPU, by row, and why a row with a kernel has none.
struct MeasuredRows {
  std::vector<std::optional<double>> ns;
  Sentence refusal;  // of the last row that was refused; empty if none was
};

/// Times those of the rows that have a kernel, where this machine has the GPU that was searched for.
MeasuredRows measure_rows(std::span<const SearchCandidate* const> rows, const CatchInterrupt& interrupt) {
  MeasuredRows out;
  out.ns.resize(rows.size());
  if (std::ranges::none_of(rows, [](const SearchCandidate* c) { return kernel_of(*c) != nullptr; })) return out;
  const auto device = find_device();
  if (!device || spec_id_of(device->name) != rows.front()->request.gpu.id) return out;
  auto session = MeasuringSession::open();
  if (!session) {
    out.refusal = session.error().sentence;
    return out;
  }
  constexpr MeasureOptions options = {.time_repeats = 20, .counter_repeats = 0, .warm_repeats = 0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelInfo* const kernel = kernel_of(*rows[i]);
    if (kernel == nullptr) continue;
    const auto go_on = [&](double, std::string_view) { return !interrupt.asked(); };
    const auto measured = session->measure(*kernel, rows[i]->request.problem, options, go_on);
    if (interrupt.asked()) return out;
    if (measured)
      out.ns[i] = measured->time_cold_ns.median;
    else
      out.refusal = measured.error().sentence;
  }
  return out;
}

/// The kernel as it stands, which the others are compared with: of several algorithms the quickest.
const SearchCandidate* own_of(const Candidates& ranked) {
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
const SearchCandidate* in_own_order(const Candidates& ranked, const SearchCandidate& of) {
  const auto is_it = [&](const SearchCandidate& c) {
    return c.request.algorithm == of.request.algorithm && c.request.tile == of.request.tile &&
           c.request.block_order == BlockOrder::launch && c.request.key_order == KeyOrder::ascending;
  };
  const auto found = std::ranges::find_if(ranked, is_it);
  return found == ranked.end() ? nullptr : &*found;
}

/// The rows of the table: the quickest, each tile in its best order, and the kernel as it stands, wherever it is.
struct RankedRows {
  std::vector<const SearchCandidate*> all;
  std::size_t shown = 0;

  RankedRows(const Candidates& ranked, std::size_t wanted) : all(best_of_each_tile(ranked)), shown(std::min(all.size(), wanted)) {}
  std::span<const SearchCandidate* const> quickest() const { return std::span(all).first(shown); }
};

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

std::string table_of(const Searched& searched, const RankedRows& rows, const MeasuredRows& rows_measured) {
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
  for (const Launches& each : searched.launching) text += fmt::format("{} launches {} here.\n", each.program, each.words);
  if (!searched.left_out.empty())
    text += fmt::format("Not searched: {}. --algorithm names one or several: --algorithm {},{}.\n",
                        fmt::join(searched.left_out, ", "), first.request.algorithm, searched.left_out.back());
  return text;
}

std::string json_of(const Searched& searched, const RankedRows& listed, const MeasuredRows& rows_measured) {
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
  for (const Launches& each : searched.launching) json["launches"][each.program] = each.rung;
  if (searched.clock.hz > 0) json["clock_of"] = searched.clock.algorithm;
  if (!searched.left_out.empty()) json["left_out"] = searched.left_out;
  if (!rows_measured.refusal.empty()) json["not_measured"] = command_words(rows_measured.refusal);
  return json.dump(1) + "\n";
}

/// Every candidate, the quickest first.
std::string csv_of(const Searched& searched, const RankedRows& listed, const MeasuredRows& rows_measured) {
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

}  // namespace

bool is_taken_for_wgmma(const ProgramInfo& row, bool has_lists) {
  const bool is_variant = row.compared_apart && std::ranges::find(ladder(), row.id, &LadderStep::id) == ladder().end();
  return row.instruction == ProductInstruction::wgmma && row.has_lists == has_lists && !is_variant;
}

Result<int> run_search(const CommandLine& line, std::FILE* out, std::FILE* err) {
  auto algorithms = algorithms_of(line);
  if (!algorithms) return algorithms.error();
  // Both take every mask, change of scores and pages.
  const bool for_flex = !line.algorithm_given && needs_flex(line);
  if (for_flex) *algorithms = {std::string(program_with_lists())};
  CommandLine one = line;
  one.algorithm = algorithms->front();
  one.algorithm_given = true;
  const auto request = make_request(one);
  if (!request) return request.error();
  SearchedPrograms programs;
  if (!line.algorithm_given) {
    programs = with_hopper(std::move(*algorithms), request->simulation, for_flex);
    *algorithms = programs.taken;
    // A program with an order of its own does not take the one that is asked for.
    std::erase_if(*algorithms, [&](const std::string& id) { return !check_key_order(line, id, request->simulation.problem.pass); });
  }
  for (const std::string& id : *algorithms)
    if (const Status possible = check_key_order(line, id, request->simulation.problem.pass); !possible) return possible.error();
  auto candidates = tile_candidates(request->simulation, *algorithms);
  if (!candidates) return candidates.error();
  remove_odd_groups(*candidates);
  if (candidates->empty())
    return refuse(
        "no tile that fits {} gives each warp group a multiple of 64 rows, which wgmma takes: use another head dimension or type",
        request->simulation.gpu.id);

  ProgressPrinter progress(err, line.quiet);
  const CatchInterrupt interrupt;
  const auto wanted = static_cast<std::size_t>(line.top.value_or(usual_rows));
  Searched searched = search(std::move(*candidates), wanted, line.finer.value_or(usual_finer_seconds), interrupt, progress);
  searched.left_out = std::move(programs.left_out);
  searched.launching = std::move(programs.launching);
  progress.end();
  say_unread(searched.known, err);
  if (!searched.whole)
    fmt::print(err, "search: stopped; the ranking is of {} candidates{}\n", searched.ranked.size(),
               line.csv.empty() ? std::string() : fmt::format("; {} was not written", line.csv));
  if (searched.ranked.empty() && searched.whole && !searched.refusal.empty()) return Error{searched.refusal};
  if (searched.ranked.empty()) return exit_interrupted;
  const RankedRows rows(searched.ranked, wanted);
  const MeasuredRows measured = measure_rows(rows.quickest(), interrupt);
  Outputs outputs(out);
  if (line.json)
    if (const Status added = outputs.add(*line.json, json_of(searched, rows, measured)); !added) return added.error();
  if (!line.csv.empty() && searched.whole)  // its rows cannot say that others are missing
    if (const Status added = outputs.add(line.csv, csv_of(searched, rows, measured)); !added) return added.error();
  if (!standard_output_taken(line))
    if (const Status added = outputs.add("-", table_of(searched, rows, measured)); !added) return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  return searched.whole ? exit_done : exit_interrupted;
}

}  // namespace tilescope
