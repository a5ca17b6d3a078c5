// Playback: where one stands in the simulations on screen, and how one moves through them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "app/model/state/playhead.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// One simulation on screen and where one stands in it.
struct Runner {
  std::shared_ptr<const Simulation> simulation;
  int focus_sm = 0;
  std::int64_t step = 0;
};

/// What the panels read of it.
struct PlaybackView {
  bool race = false;  // two lanes are shown, on one clock
  bool playing = false;
  double speed = 1;   // 0.25 to 8 (0.05 is the crawl); 1 is steps_per_second(grain)
  double motion = 1;  // 0..1 within the step being animated; 1 at rest
  Grain grain = Grain::operation;
  double cycle = 0;       // the shown clock
  double goal = 0;        // where it is on its way to
  bool at_step = false;   // the goal is exactly the chosen runner's step
  std::int64_t step = 0;  // of the chosen runner
};

/// One runner, or two in a race, on one clock. The last one is the chosen algorithm.
class Playback {
 public:
  bool empty() const { return runners_.empty(); }
  bool race() const { return runners_.size() == 2; }
  std::span<const Runner> runners() const { return runners_; }
  const Runner& chosen() const { return runners_.back(); }

  bool playing() const { return playing_; }
  double cycle() const { return playhead_.cycle(); }  // the shown clock
  double goal() const { return playhead_.goal(); }    // where it is on its way to
  bool moving() const { return playhead_.moving(); }
  /// Returns whether the clock stands exactly at the chosen runner's step.
  bool at_rest() const { return !playhead_.moving() && exactly_at_step_; }
  double end_cycle() const;
  /// Steps of the SM in focus of the chosen runner.
  std::int64_t last_step() const;
  PlaybackView view() const;

  /// Puts other runners on screen; their steps are set by what follows. Returns those that left.
  std::vector<Runner> show(std::vector<Runner> runners);
  /// Brings `sm` into focus in every runner whose simulation kept it.
  void focus(int sm);

  void set_step(std::int64_t step, double glide_seconds);
  void set_cycle(double cycle);
  /// One `by` forward (1) or back (-1); in a race to the nearest of either runner.
  void step_by(int direction, Grain by, double glide_seconds);
  /// The last step is the end of every runner.
  void seek_step(std::int64_t step);
  void set_playing(bool on);
  void stop() { playing_ = false; }
  void set_speed(double speed);
  void set_grain(Grain grain) { grain_ = grain; }
  /// Lets `seconds` of wall time pass.
  void tick(double seconds);

 private:
  void place_runners(double cycle);
  void glide_to(double cycle, double seconds);
  void step_alone(int direction, Grain by, double glide_seconds);
  void step_race(int direction, Grain by, double glide_seconds);

  std::vector<Runner> runners_;
  Playhead playhead_;
  bool playing_ = false, exactly_at_step_ = true;
  double speed_ = 1;
  Grain grain_ = Grain::operation;
};

}  // namespace tilescope
