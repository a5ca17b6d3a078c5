// Collects the figures of both runs and sorts them by how much they differ.
#include "sim/analysis/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/analysis/format.h"
#include "sim/analysis/launch_balance.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/score_change.h"

namespace tilescope {

namespace {

constexpr std::array<Bound, 6> resources = {Bound::tensor, Bound::exp, Bound::fp32, Bound::l2, Bound::hbm, Bound::smem};

// --- settings ---------------------------------------------------------------------------------------------------------------

std::string mask_text(const AttentionProblem& problem) {
  if (problem.mask == nullptr) return problem.causal ? "causal" : "";
  const auto* expression = dynamic_cast<const ExpressionMask*>(problem.mask.get());
  return expression != nullptr ? expression->expression().text : "matrix";
}

std::string score_text(const AttentionProblem& problem) {
  return problem.score_change != nullptr ? problem.score_change->expression().text : "";
}

std::string page_order_text(const AttentionProblem& problem) {
  return problem.page_size > 0 ? std::string(to_string(problem.page_order)) : "";
}

std::string spec_text_of(const SpecKey& key, double value) {
  return key.whole && std::abs(value) < 1e15 ? format_count(std::llround(value)) : fmt::format("{:g}", value);
}

class Settings {
 public:
  explicit Settings(RunComparison& out) : out_(out) {}

  void add(std::string_view key, std::string first, std::string second) {
    if (first == second)
      ++out_.equal_settings;
    else
      out_.settings.push_back({key, std::move(first), std::move(second)});
  }
  void add(std::string_view key, std::int64_t first, std::int64_t second) { add(key, format_count(first), format_count(second)); }

 private:
  RunComparison& out_;
};

void add_settings(RunComparison& out) {
  const SimulationRequest &a = out.first->request, &b = out.second->request;
  const AttentionProblem &p = a.problem, &q = b.problem;
  Settings settings(out);
  settings.add("algorithm", a.algorithm, b.algorithm);
  settings.add("gpu", a.gpu.id, b.gpu.id);
  // Another GPU differs in nearly every number: only those that a person changed say more than its name.
  const bool same_gpu = a.gpu.id == b.gpu.id;
  for (const SpecKey& key : spec_keys())
    if (same_gpu || a.gpu.set_by_user(key.key) || b.gpu.set_by_user(key.key))
      settings.add(key.key, spec_text_of(key, a.gpu.*key.member), spec_text_of(key, b.gpu.*key.member));
  settings.add("batch", p.batch, q.batch);
  settings.add("heads", p.heads, q.heads);
  settings.add("kv_heads", p.kv_heads, q.kv_heads);
  settings.add("seq", p.seq_q, q.seq_q);
  settings.add("seq_kv", p.seq_kv, q.seq_kv);
  settings.add("head_dim", p.head_dim, q.head_dim);
  settings.add("dtype", std::string(to_string(p.dtype)), std::string(to_string(q.dtype)));
  settings.add("pass", std::string(to_string(p.pass)), std::string(to_string(q.pass)));
  settings.add("mask", mask_text(p), mask_text(q));
  settings.add("score", score_text(p), score_text(q));
  settings.add("page_size", p.page_size, q.page_size);
  settings.add("page_order", page_order_text(p), page_order_text(q));
  const ProgramTile &s = out.first->program->tile(), &t = out.second->program->tile();
  settings.add("block_q", s.block_q, t.block_q);
  settings.add("block_kv", s.block_kv, t.block_kv);
  settings.add("stages", s.stages, t.stages);
  settings.add("block_order", std::string(to_string(a.block_order)), std::string(to_string(b.block_order)));
  settings.add("key_order", std::string(to_string(a.key_order)), std::string(to_string(b.key_order)));
}

// --- figures ----------------------------------------------------------------------------------------------------------------

/// The figures of one run.
std::vector<ComparedFigure> figures_of(const Simulation& run) {
  std::vector<ComparedFigure> out;
  const auto add = [&](ComparedFigure figure, double value) {
    figure.first = value;
    out.push_back(figure);
  };
  const auto bytes = [](Bytes count) { return static_cast<double>(count.value); };
  add({RunFigure::time}, run.time.value);
  add({RunFigure::cycles}, run.cycles.value);
  add({RunFigure::balanced_time}, balanced_ns(run));
  add({RunFigure::flops}, static_cast<double>(run.flops));
  add({RunFigure::exps}, static_cast<double>(run.exps));
  for (const Link link : all_links) {
    add({.figure = RunFigure::link_bytes, .link = link}, bytes(run.ledger.total(link)));
    for (const Tensor tensor : run.program->tensors())
      add({.figure = RunFigure::tensor_bytes, .tensor = tensor, .link = link}, bytes(run.ledger.total(tensor, link)));
  }
  add({RunFigure::flushed_bytes}, bytes(run.hbm_write_after_flush));
  for (const Bound bound : resources)
    add({.figure = RunFigure::busy, .bound = bound}, run.utilisation[static_cast<std::size_t>(bound)]);
  const auto launches = run.program->launches();
  for (std::size_t i = 0; i < run.launches.size(); ++i) {
    const LaunchResult& launch = run.launches[i];
    const KernelNeeds& needs = launches[i].needs;
    const auto of_launch = [&](RunFigure figure, double value) { add({.figure = figure, .launch = launches[i].name}, value); };
    of_launch(RunFigure::launch_cycles, launch.cycles.value);
    const LaunchWaves waves = waves_of(run, i);
    of_launch(RunFigure::launch_blocks, static_cast<double>(waves.blocks));
    of_launch(RunFigure::waves, waves.waves);
    if (waves.tiles_per_block > 0) of_launch(RunFigure::tiles_per_block, waves.tiles_per_block);
    of_launch(RunFigure::threads, launch.threads);
    of_launch(RunFigure::registers, needs.registers_per_thread);
    of_launch(RunFigure::shared_bytes, static_cast<double>(launch.shared_bytes));
    of_launch(RunFigure::stages, needs.stages);
    of_launch(RunFigure::blocks_per_sm, launch.blocks_per_sm);
  }
  add({RunFigure::peak_hbm}, bytes(run.peak_hbm));
  add({RunFigure::extra_hbm}, bytes(run.extra_hbm));

  constexpr auto causes = static_cast<std::size_t>(WaitCause::launch) + 1;
  std::array<double, causes> waits{};
  const auto focused = run.trace->focused_sms();
  const bool in_focus = std::find(focused.begin(), focused.end(), run.request.focus_sm) != focused.end();
  if (in_focus)
    for (const Interval& interval : run.trace->intervals(run.request.focus_sm))
      waits[static_cast<std::size_t>(interval.cause)] += interval.start - interval.ready;
  for (std::size_t cause = 0; in_focus && cause < causes; ++cause)
    if (static_cast<WaitCause>(cause) != WaitCause::none && static_cast<WaitCause>(cause) != WaitCause::program_order)
      add({.figure = RunFigure::wait_cycles, .cause = static_cast<WaitCause>(cause)}, waits[cause]);
  return out;
}

bool same_thing(const ComparedFigure& a, const ComparedFigure& b) {
  const bool same_tensor =
      static_cast<bool>(a.tensor) == static_cast<bool>(b.tensor) && (!a.tensor || to_string(a.tensor) == to_string(b.tensor));
  return a.figure == b.figure && a.launch == b.launch && same_tensor && a.link == b.link && a.bound == b.bound &&
         a.cause == b.cause;
}

/// What a group is sorted by: the difference itself where all its figures have one unit, else the ratio of both.
double size_of(const ComparedFigure& figure) {
  if (figure.equal()) return -1;
  const FigureGroup group = group_of(figure.figure);
  if (group == FigureGroup::bytes || group == FigureGroup::busy || group == FigureGroup::waits)
    return std::abs(figure.difference());
  return std::abs(std::log(figure.second.value_or(0) / figure.first.value_or(0)));  // infinite where one has nothing
}

}  // namespace

FigureGroup group_of(RunFigure figure) {
  switch (figure) {
    case RunFigure::time:
    case RunFigure::cycles:
    case RunFigure::balanced_time:
    case RunFigure::flops:
    case RunFigure::exps:
      return FigureGroup::time;
    case RunFigure::link_bytes:
    case RunFigure::tensor_bytes:
    case RunFigure::flushed_bytes:
      return FigureGroup::bytes;
    case RunFigure::busy:
      return FigureGroup::busy;
    case RunFigure::launch_cycles:
    case RunFigure::launch_blocks:
    case RunFigure::waves:
    case RunFigure::tiles_per_block:
      return FigureGroup::launches;
    case RunFigure::wait_cycles:
      return FigureGroup::waits;
    default:
      return FigureGroup::on_chip;
  }
}

bool less_is_better(RunFigure figure) {
  const FigureGroup group = group_of(figure);
  return group == FigureGroup::time || group == FigureGroup::bytes || group == FigureGroup::waits ||
         figure == RunFigure::launch_cycles || figure == RunFigure::peak_hbm || figure == RunFigure::extra_hbm;
}

std::span<const ComparedFigure> RunComparison::of(FigureGroup group) const {
  const auto begin =
      std::find_if(figures.begin(), figures.end(), [&](const ComparedFigure& f) { return group_of(f.figure) == group; });
  const auto end = std::find_if(begin, figures.end(), [&](const ComparedFigure& f) { return group_of(f.figure) != group; });
  return {begin, end};
}

const ComparedFigure* RunComparison::find(RunFigure figure) const {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const ComparedFigure& f) { return f.figure == figure; });
  return found == figures.end() ? nullptr : &*found;
}

RunComparison compare_runs(std::shared_ptr<const Simulation> first, std::shared_ptr<const Simulation> second) {
  RunComparison out;
  out.first = std::move(first);
  out.second = std::move(second);
  add_settings(out);
  out.figures = figures_of(*out.first);
  const std::size_t of_first = out.figures.size();
  for (ComparedFigure& figure : figures_of(*out.second)) {
    const auto end = out.figures.begin() + static_cast<std::ptrdiff_t>(of_first);
    const auto same = std::find_if(out.figures.begin(), end, [&](const ComparedFigure& f) { return same_thing(f, figure); });
    if (same != end) {
      same->second = figure.first;
    } else {
      std::swap(figure.first, figure.second);
      out.figures.push_back(figure);
    }
  }
  std::erase_if(out.figures, [](const ComparedFigure& f) { return f.first.value_or(0) == 0 && f.second.value_or(0) == 0; });
  std::stable_sort(out.figures.begin(), out.figures.end(), [](const ComparedFigure& a, const ComparedFigure& b) {
    if (group_of(a.figure) != group_of(b.figure)) return group_of(a.figure) < group_of(b.figure);
    return size_of(a) > size_of(b);
  });
  return out;
}

}  // namespace tilescope
