// Which entry of docs/model-limits.md holds a figure of HBM that is beyond its bound, and to what size.
//
//   beyond its bound ──► of a kind that an entry names, and no farther off than that says?                held by that entry
//                   └──► with a little more or less L2 the simulation would be within the bound?          held by entry 2
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "sim/analysis/validation.h"

namespace tilescope {

/// An entry for some cases, and how far their HBM reads may be off.
struct NumberedLimit {
  int entry = 0;
  std::string_view where;  // in words, for the table of bounds
  double error = 0;        // of the measured
  bool (*is_about)(const Simulation& simulation);
};
std::span<const NumberedLimit> numbered_limits();

/// Entry 2: what stays in an L2 near its capacity is known to a part of that capacity. The hardware itself, counted with its
/// tensors in ten places of memory, gave what the model gives with 0.92 to more than 1.2 of it.
inline constexpr int l2_capacity_entry = 2;
inline constexpr std::array less_l2 = {0.96, 0.92};
inline constexpr std::array more_l2 = {1.04, 1.08, 1.12, 1.16, 1.20};

/// Says of each figure of `result` that is beyond its bound which entry holds it, where one does; simulates for it.
/// Errors  cancelled.
Status name_limits(const Simulation& simulation, const MeasuredCase& measured, CaseValidation& result, const Progress& progress);

}  // namespace tilescope
