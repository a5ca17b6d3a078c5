// RunComparison: two simulations side by side — the settings that differ, and every figure of both.
//
//   Simulation (pinned) ──┐
//                         ├─ compare_runs() ──► settings · time · bytes · busy units · launches · on-chip needs · waits
//   Simulation (present) ─┘
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// A setting that has another value in each run.
struct SettingDifference {
  std::string_view key;  // as in a link: "block_q", "gpu", "l2.capacity_bytes"
  std::string first, second;
};

enum class FigureGroup : std::uint8_t { time, bytes, busy, launches, on_chip, waits };
inline constexpr std::array<FigureGroup, 6> all_figure_groups = {FigureGroup::time,     FigureGroup::bytes,   FigureGroup::busy,
                                                                 FigureGroup::launches, FigureGroup::on_chip, FigureGroup::waits};

/// What a figure counts, and so its unit.
enum class RunFigure : std::uint8_t {
  time,           // nanoseconds
  cycles,         // of the SM clock
  balanced_time,  // a lower bound of the time with perfect balance, nanoseconds
  flops,
  exps,
  link_bytes,     // of all tensors
  tensor_bytes,   // of one tensor on one link
  flushed_bytes,  // HBM writes after a flush
  busy,           // fraction of the run in which a resource was busy
  launch_cycles,
  launch_blocks,
  waves,
  tiles_per_block,  // of a persistent launch
  threads,          // of a block, as all that follow
  registers,        // of a thread
  shared_bytes,
  stages,
  blocks_per_sm,
  peak_hbm,    // bytes of all tensors
  extra_hbm,   // of those beyond the inputs and outputs of attention
  wait_cycles  // summed over the blocks of the SM in focus
};
FigureGroup group_of(RunFigure figure);
/// Whether less of it is better.
bool less_is_better(RunFigure figure);

struct ComparedFigure {
  RunFigure figure{};
  std::string_view launch = {};  // where the figure is one of a launch
  Tensor tensor = {};
  Link link{};
  Bound bound{};
  WaitCause cause{};
  std::optional<double> first = {}, second = {};  // absent: that run has no such launch or tensor

  bool equal() const { return first == second; }
  /// What came on top; an absent figure counts as none.
  double difference() const { return second.value_or(0) - first.value_or(0); }
};

struct RunComparison {
  std::shared_ptr<const Simulation> first, second;  // hold the names of launches and tensors
  std::vector<SettingDifference> settings;
  std::size_t equal_settings = 0;
  /// Group by group: the largest difference first, equal ones last. What neither run has is left out.
  std::vector<ComparedFigure> figures;

  std::span<const ComparedFigure> of(FigureGroup group) const;
  const ComparedFigure* find(RunFigure figure) const;
};

/// Launches meet by name, tensors by name; waits are those of the SM in focus of each run.
RunComparison compare_runs(std::shared_ptr<const Simulation> first, std::shared_ptr<const Simulation> second);

}  // namespace tilescope
