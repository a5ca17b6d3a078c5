// Compares simulated with measured figures, and summarises the errors.
#include "sim/analysis/validation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "sim/analysis/format.h"
#include "sim/masks/mask_choice.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

constexpr std::array<std::string_view, figure_count> figure_names = {
    "l2_to_sm", "sm_to_l2", "hbm_read", "hbm_write", "hbm_write_after_flush", "cycles", "time", "sm_to_l2_reduce"};

constexpr std::array<std::string_view, verdict_count> verdict_names = {"within", "within_spread", "known_miss", "fails"};

/// The kernels whose id is not that of a program.
struct OtherKernel {
  std::string_view kernel, algorithm;
  bool library = false;
  BlockOrder block_order = BlockOrder::launch;
  KeyOrder key_order = KeyOrder::ascending;
};
constexpr std::array other_kernels = {
    OtherKernel{.kernel = "standard_cublas", .algorithm = "standard", .library = true},
    OtherKernel{.kernel = "flash2_longest", .algorithm = "flash2", .block_order = BlockOrder::grouped},
    OtherKernel{.kernel = "hopper_wgmma_longest", .algorithm = "hopper_wgmma", .block_order = BlockOrder::grouped},
    OtherKernel{.kernel = "flash2_descending", .algorithm = "flash2", .key_order = KeyOrder::descending},
};

const Spread* counter(const MeasuredCase& measured, std::string_view key) {
  const auto found = measured.counters.find(std::string(key));
  return found == measured.counters.end() ? nullptr : &found->second;
}

double total(const Simulation& simulation, Link link) {
  return static_cast<double>(simulation.ledger.total(link).value);
}

/// Returns the ranks of the values, from 1; ties share their mean rank.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from;
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) out[order[i]] = (static_cast<double>(from + to) + 1) / 2;
    from = to;
  }
  return out;
}

GroupSummary summarise_group(std::string name, std::span<const CaseValidation> results, const std::vector<std::size_t>& members) {
  GroupSummary group;
  group.name = std::move(name);
  std::vector<double> simulated, measured;
  for (const std::size_t i : members) {
    ++group.cases;
    if (!results[i].not_simulated.empty()) ++group.not_simulated;
    for (const Figure f : all_figures) group.figures[static_cast<std::size_t>(f)].add(results[i].figure(f), i);
    group.l2_lookups.add(results[i].l2_lookups, i);
    if (const auto& time = results[i].figure(Figure::time)) {
      simulated.push_back(time->simulated);
      measured.push_back(time->measured.median);
    }
  }
  group.time_rank_correlation = rank_correlation(simulated, measured);
  return group;
}

/// Groups the cases by name, in the order in which the names first appear.
template <class NameOf>
std::vector<std::pair<std::string, std::vector<std::size_t>>> grouped(std::span<const MeasuredCase> cases, NameOf name_of) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = name_of(cases[i]);
    if (name.empty()) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->second.push_back(i);
  }
  return groups;
}

}  // namespace

std::string_view to_string(Figure figure) {
  return figure_names[static_cast<std::size_t>(figure)];
}

std::string figure_text(Figure figure, double value) {
  if (figure == Figure::cycles) return format_cycles(Cycles(value));
  if (figure == Figure::time) return format_time(Nanoseconds(value));
  return format_bytes(Bytes(std::llround(value)));
}

std::string short_text(const AttentionProblem& p) {
  std::string heads = fmt::format("{}", p.heads), rows = fmt::format("{}", p.seq_q);
  if (p.kv_heads != p.heads) heads += fmt::format("/{}", p.kv_heads);
  if (p.seq_kv != p.seq_q) rows += fmt::format("x{}", p.seq_kv);
  std::string pages;
  if (p.page_size > 0) pages = fmt::format(" pages={}{}", p.page_size, p.page_order == PageOrder::contiguous ? ",contiguous" : "");
  return fmt::format("B{} H{} N{} d{} {}{}{}", p.batch, heads, rows, p.head_dim, to_string(p.dtype), p.causal ? " causal" : "",
                     pages);
}

std::string short_text(const MeasuredCase& measured) {
  std::string text = short_text(measured.problem);
  for (const auto* texts : {&measured.presets, &measured.masks})
    for (const std::string& one : *texts) text += ' ' + one;
  if (!measured.score.empty()) text += " score=" + measured.score;
  return text;
}

Result<AttentionProblem> settled_problem(const MeasuredCase& measured) {
  AttentionProblem problem = measured.problem;
  MaskChoice choice;
  choice.presets = measured.presets;
  choice.masks = measured.masks;
  choice.score = measured.score;
  if (const Status settled = settle_masks(choice, problem); !settled) return settled.error();
  return problem;
}

std::string_view to_string(Verdict verdict) {
  return verdict_names[static_cast<std::size_t>(verdict)];
}

std::optional<Verdict> verdict_from(std::string_view name) {
  for (const Verdict verdict : all_verdicts)
    if (to_string(verdict) == name) return verdict;
  return std::nullopt;
}

std::optional<Figure> figure_from(std::string_view name) {
  for (const Figure figure : all_figures)
    if (to_string(figure) == name) return figure;
  return std::nullopt;
}

double Comparison::error() const {
  if (measured.median > 0) return difference() / measured.median;
  return simulated == 0 ? 0 : std::numeric_limits<double>::infinity();
}

bool Comparison::within_of_median() const {
  return !bound || std::abs(difference()) <= std::max(bound->relative * measured.median, bound->absolute);
}

std::optional<Verdict> Comparison::verdict() const {
  if (!bound) return std::nullopt;
  if (within_of_median()) return Verdict::within;
  if (within()) return Verdict::within_spread;
  return known && std::abs(error()) <= known->cap ? Verdict::known_miss : Verdict::fails;
}

std::optional<Verdict> CaseValidation::verdict() const {
  if (!not_simulated.empty()) return Verdict::fails;
  std::optional<Verdict> worst;
  for (const auto& comparison : figures)
    if (comparison && comparison->bound) worst = std::max(worst.value_or(Verdict::within), *comparison->verdict());
  return worst;
}

void VerdictCounts::add(const std::optional<Verdict>& verdict) {
  if (verdict)
    ++of[static_cast<std::size_t>(*verdict)];
  else
    ++unbounded;
}

void ErrorSummary::add(const std::optional<Comparison>& comparison, std::size_t index) {
  if (!comparison) return;
  verdicts.add(comparison->verdict());
  if (!std::isfinite(comparison->error())) return;
  const double size = std::abs(comparison->error());
  if (cases == 0 || size > worst) worst = size, worst_case = index;
  sum += size;
  ++cases;
}

Counterpart counterpart_of(std::string_view kernel) {
  for (const OtherKernel& row : other_kernels)
    if (row.kernel == kernel) return {std::string(row.algorithm), row.block_order, row.key_order, row.library};
  return {.algorithm = std::string(kernel)};
}

Bytes kv_in_flight(const Simulation& simulation) {
  const AttentionProblem& problem = simulation.program->problem();
  const std::int64_t planes = problem.query_planes(), group = problem.heads_of_kv_head();
  std::int64_t most = 0;
  for (std::size_t i = 0; i < simulation.launches.size(); ++i) {
    const LaunchResult& launch = simulation.launches[i];
    const std::int64_t resident = static_cast<std::int64_t>(simulation.request.gpu.sm_count) * launch.blocks_per_sm;
    const std::int64_t per_plane = std::max<std::int64_t>(1, launch.blocks / planes);
    // In the worst case the resident blocks begin with the last block of one plane and end with the first block of another.
    const std::int64_t in_flight = std::min(planes, ceil_div(std::min(resident, launch.blocks) - 1, per_plane) + 1);
    std::int64_t bytes = 0;
    for (const Tensor tensor : simulation.program->inputs()) {
      if (tensor->planes != Planes::key) continue;
      if (simulation.ledger.total(static_cast<int>(i), tensor, Link::l2_to_sm).value == 0) continue;
      bytes += ceil_div(in_flight, group) * tensor_layout(problem, simulation.program->tile(), tensor).plane_bytes().value;
    }
    most = std::max(most, bytes);
  }
  return Bytes(most);
}

Bytes effective_l2(const GpuSpec& gpu) {
  return Bytes(static_cast<std::int64_t>(gpu.usable_l2_bytes() / (gpu.l2_partitions >= 2 ? 2 : 1)));
}

SimulatedFigures figures_of(const Simulation& simulation, const MeasuredCase& measured) {
  SimulatedFigures out;
  out.algorithm = simulation.request.algorithm;
  out.kv_in_flight_bytes = static_cast<double>(kv_in_flight(simulation).value);
  out.effective_l2_bytes = static_cast<double>(effective_l2(simulation.request.gpu).value);
  const auto set = [&](Figure figure, double value) { out.figures[static_cast<std::size_t>(figure)] = value; };
  set(Figure::l2_to_sm, total(simulation, Link::l2_to_sm));
  set(Figure::sm_to_l2, total(simulation, Link::sm_to_l2));
  set(Figure::hbm_read, total(simulation, Link::hbm_read));
  set(Figure::hbm_write, total(simulation, Link::hbm_write));
  set(Figure::hbm_write_after_flush, static_cast<double>(simulation.hbm_write_after_flush.value));
  out.l2_lookup_read_bytes = static_cast<double>(simulation.l2.looked_up.value);
  set(Figure::cycles, simulation.cycles.value);
  set(Figure::reduced, static_cast<double>(simulation.reduced.value));
  const double clock = measured.sm_clock_hz > 0 ? measured.sm_clock_hz : simulation.request.gpu.sm_clock_hz;
  set(Figure::time, to_nanoseconds(simulation.cycles, Hertz(clock)).value);
  return out;
}

CaseValidation compare(const SimulatedFigures& simulated, const MeasuredCase& measured, std::span<const KnownMiss> known) {
  CaseValidation out;
  out.algorithm = simulated.algorithm;
  out.kv_in_flight_bytes = simulated.kv_in_flight_bytes;
  out.effective_l2_bytes = simulated.effective_l2_bytes;
  const bool library = counterpart_of(measured.kernel).library;
  const std::string problem = short_text(measured);
  const auto add = [&](Figure figure, const Spread* spread, std::optional<ErrorBound> bound, int placements = 1) {
    if (spread == nullptr) return;
    const auto i = static_cast<std::size_t>(figure);
    Comparison& c = out.figures[i].emplace(Comparison{simulated.figures[i], *spread, bound, placements > 1, std::nullopt});
    const auto listed = std::find_if(known.begin(), known.end(), [&](const KnownMiss& miss) {
      return miss.figure == figure && miss.kernel == measured.kernel && miss.problem == problem;
    });
    if (listed != known.end()) c.known = *listed;
  };
  const auto unless_library = [library](const ErrorBound& b) { return library ? std::nullopt : std::optional(b); };

  if (!library) {
    add(Figure::l2_to_sm, counter(measured, "l2_to_sm_bytes"), sm_link_bound);
    add(Figure::sm_to_l2, counter(measured, "sm_to_l2_bytes"), sm_link_bound);
    const Spread* const lookups = counter(measured, "l2_lookup_read_bytes");
    if (lookups != nullptr && simulated.l2_lookup_read_bytes)
      out.l2_lookups = Comparison{*simulated.l2_lookup_read_bytes, *lookups, std::nullopt, false, std::nullopt};
    if (measured.problem.pass == Pass::backward) add(Figure::reduced, counter(measured, "sm_to_l2_reduce_bytes"), sm_link_bound);
  }
  add(Figure::hbm_read, counter(measured, "hbm_read_bytes"),
      unless_library(out.kv_fits() ? hbm_read_bound_in_l2 : hbm_read_bound_beyond_l2), measured.placements);
  // L2 write-back timing is undefined, so HBM writes at the kernel's end are too. After a flush the program alone decides them. So
  // the bound applies to the flushed figure if it was measured.
  const bool flushed = measured.hbm_write_after_flush_bytes.median > 0;
  add(Figure::hbm_write, counter(measured, "hbm_write_bytes"), flushed ? std::nullopt : unless_library(hbm_write_bound),
      measured.placements);
  if (flushed)
    add(Figure::hbm_write_after_flush, &measured.hbm_write_after_flush_bytes, unless_library(hbm_write_bound), measured.placements);
  if (library) return out;
  if (measured.cycles.median > 0) add(Figure::cycles, &measured.cycles, std::nullopt);
  if (measured.time_cold_ns.median > 0) add(Figure::time, &measured.time_cold_ns, time_bound);
  return out;
}

CaseValidation compare(const Simulation& simulation, const MeasuredCase& measured) {
  return compare(figures_of(simulation, measured), measured);
}

Result<CaseValidation> simulate_case(const GpuSpec& gpu, const MeasuredCase& measured, std::span<const KnownMiss> known,
                                     const Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  SimulationRequest request;
  const Counterpart counterpart = counterpart_of(measured.kernel);
  request.algorithm = counterpart.algorithm;
  request.block_order = counterpart.block_order;
  request.key_order = counterpart.key_order;
  const auto problem = settled_problem(measured);
  if (problem) request.problem = *problem;
  request.tile = measured.tile;
  request.gpu = gpu;
  // HBM and launch times are in seconds, so they do not scale with the SM clock.
  if (measured.sm_clock_hz > 0) request.gpu.sm_clock_hz = measured.sm_clock_hz;
  request.keeps_intervals = false;
  const auto simulated = problem ? simulate(request, progress) : problem.error();
  CaseValidation out;
  if (simulated) {
    out = compare(figures_of(**simulated, measured), measured, known);
  } else {
    if (simulated.error().kind == Error::Kind::cancelled) return simulated.error();
    out.algorithm = request.algorithm;
    out.not_simulated = simulated.error().sentence;
  }
  out.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

ValidationSummary summarise(std::span<const MeasuredCase> cases, std::span<const CaseValidation> results) {
  ValidationSummary out;
  const auto ours = [&](std::vector<std::size_t> members) {
    std::erase_if(members, [&](std::size_t i) { return counterpart_of(cases[i].kernel).library; });
    return members;
  };
  for (const auto& [name, members] : grouped(cases, [](const MeasuredCase& c) { return c.kernel; }))
    out.kernels.push_back(summarise_group(name, results, members));
  for (const auto& [name, members] : grouped(cases, [](const MeasuredCase& c) { return c.list; }))
    out.lists.push_back(summarise_group(name, results, ours(members)));
  std::vector<std::size_t> every(cases.size());
  std::iota(every.begin(), every.end(), 0);
  out.all = summarise_group("all", results, ours(every));
  for (const CaseValidation& result : results) {
    out.not_simulated += !result.not_simulated.empty();
    out.cases.add(result.verdict());
    for (const auto& comparison : result.figures)
      if (comparison) out.figures.add(comparison->verdict());
  }
  out.mean_time_held = out.all.figure(Figure::time).mean() <= mean_time_error_bound;
  return out;
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 3) return std::nullopt;
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

}  // namespace tilescope
