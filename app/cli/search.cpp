// Simulates the candidates, with progress, and measures the rows that have a kernel.
#include "app/cli/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/request.h"
#include "app/cli/search_report.h"
#include "app/model/background/parallel.h"
#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/runs_at_clock.h"
#include "kernels/measure/measure_case.h"
#include "sim/analysis/search.h"
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

/// Programs that a search without --algorithm takes, and those of the same family that it leaves out.
struct SearchedPrograms {
  std::vector<std::string> taken, left_out;
  std::vector<LaunchedRung> launching;  // left out because the rung is taken
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

/// The kernel that runs a candidate as it stands; null where none does.
const KernelInfo* kernel_of(const SearchCandidate& candidate) {
  const SimulationRequest& request = candidate.request;
  if (!candidate.own || request.block_order != BlockOrder::launch) return nullptr;
  const auto kernel = find_kernel(request.algorithm, request.key_order);
  if (!kernel) return nullptr;
  return supports(**kernel, request.problem, *request.tile) ? *kernel : nullptr;
}

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
    if (const Status added = outputs.add(*line.json, search_json(searched, rows, measured)); !added) return added.error();
  if (!line.csv.empty() && searched.whole)  // its rows cannot say that others are missing
    if (const Status added = outputs.add(line.csv, search_csv(searched, rows, measured)); !added) return added.error();
  if (!standard_output_taken(line))
    if (const Status added = outputs.add("-", search_table(searched, rows, measured)); !added) return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  return searched.whole ? exit_done : exit_interrupted;
}

}  // namespace tilescope
