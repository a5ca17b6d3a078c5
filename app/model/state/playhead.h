// Playhead: the clock that is shown, and its eased way from one step to the next.
#pragma once

#include <array>

#include "sim/engine/trace.h"

namespace tilescope {

/// The speeds that keys and the menu go through; the first is the crawl.
inline constexpr std::array<double, 7> playing_speeds = {0.05, 0.25, 0.5, 1, 2, 4, 8};

/// Steps that pass in a second of playing at speed 1.
constexpr double steps_per_second(Grain grain) {
  return grain == Grain::operation ? 2.0 : grain == Grain::tile ? 1.0 : 0.5;
}

class Playhead {
 public:
  /// Shows `cycle` at once.
  void jump(double cycle);
  /// Moves from what is shown to `cycle` in `seconds`.
  void glide(double cycle, double seconds);
  /// Lets `seconds` pass; returns what of them is left over once the goal is reached.
  double tick(double seconds);

  bool moving() const { return elapsed_ < duration_; }
  double cycle() const { return cycle_; }
  double goal() const { return to_; }
  /// 0..1 of the way, by time; 1 at rest.
  double motion() const { return moving() ? elapsed_ / duration_ : 1; }

 private:
  double cycle_ = 0, from_ = 0, to_ = 0;
  double elapsed_ = 0, duration_ = 0;  // seconds
};

}  // namespace tilescope
