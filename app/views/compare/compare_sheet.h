// CompareSheet: the Compare view's sections as text — settings, time, bytes, busy units, launches, on-chip needs and waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/model/measurements/measurements.h"
#include "app/model/state/window_state.h"
#include "sim/analysis/run_comparison.h"

namespace tilescope {

struct CompareRow {
  std::string name;
  Tensor tensor;                  // whose colour stands before the name; may be none
  std::string first, second;      // of A and B; "–" where a run has no such thing
  std::string difference, ratio;  // empty for settings
  enum class Tone { plain, better, worse } tone = Tone::plain;
  std::string details;  // exact figures, for the tooltip
};

struct CompareSection {
  std::string title;
  std::vector<CompareRow> differing;  // the largest difference first
  std::vector<CompareRow> equal;
  std::size_t more_equal = 0;  // that are not worth a row: settings
  std::size_t equal_count() const { return equal.size() + more_equal; }
};

struct CompareSheet {
  std::string finding, detail;
  std::vector<CompareSection> sections;  // none is empty
};

/// Returns what the second run is against the first: "1.4× faster: 2.25 µs instead of 3.15 µs. HBM bytes with …".
/// `known`: the recordings that say how far predicted times were off. Without them no error stands in the sentence.
std::string run_difference_text(const Simulation& first, const Simulation& second, const Measurements& known = {});
CompareSheet compare_sheet(const RunComparison& comparison, const Measurements& known = {});

/// "FlashAttention-2, B1 H16 N4096 d64 fp16, 128×64 on h200".
std::string run_title(const Simulation& simulation);
/// The same of a request that may not have been simulated, with what else tells it from others: masks, numbers of the GPU, orders.
std::string run_name(const WindowState& state);
std::string run_name(const SimulationRequest& request);

}  // namespace tilescope
