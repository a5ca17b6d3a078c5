// ViewChoices: what each view shows of its subject, such as a zoom or a column. Part of the window's state, so that a link has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/model/run_data/time_range.h"
#include "sim/core/attention_problem.h"

namespace tilescope {

/// One of the maps of Fit: that of a type and a number of buffers.
struct FitMapChoice {
  DataType type{};
  int stages = 0;
  bool operator==(const FitMapChoice&) const = default;
};

enum class MaskShows : std::uint8_t { state, decided, cuda, difference };

/// The map of the Mask view.
struct MaskMapChoice {
  MaskShows shows{};
  std::int64_t plane = 0;
  double zoom = 1;            // 1 is the whole plane
  double query = 0, key = 0;  // the element at the top left, while it is zoomed
  bool operator==(const MaskMapChoice&) const = default;
};

struct ViewChoices {
  std::optional<TimeRange> time_window;                 // the cycles that the timeline shows; absent: all
  bool wall_time = false;                               // its ticks are times, not cycles
  int column = 0;                                       // of O, in the row's panel and in the formula
  std::optional<FitMapChoice> fit_map;                  // the large one; absent: that of the current settings
  std::string what_if_number = "hbm.bytes_per_second";  // of the slider in What if
  MaskMapChoice mask;
  bool operator==(const ViewChoices&) const = default;
};

}  // namespace tilescope
