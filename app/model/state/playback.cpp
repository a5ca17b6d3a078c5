// Stepping, seeking and playing, alone and in a race.
#include "app/model/state/playback.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tilescope {

namespace {

/// A whole race takes this long at speed 1.
constexpr double race_seconds = 24;

double cycle_of(const Runner& runner, std::int64_t step) {
  return runner.simulation->trace->state_at(runner.focus_sm, step).cycle;
}

/// The nearest beginning of a `by` after (direction 1) or before (-1) `cycle` of one runner; nullopt when there is none.
std::optional<double> next_cycle(const Runner& runner, double cycle, Grain by, int direction) {
  const Trace& trace = *runner.simulation->trace;
  std::int64_t step = trace.step_at_cycle(runner.focus_sm, cycle);
  // Operations overlap, so that the next step can end at this same moment: look a few further.
  constexpr int most_tries = 32;
  for (int tries = 0; tries < most_tries; ++tries) {
    const std::int64_t next = trace.seek(runner.focus_sm, step, by, direction);
    if (next == step) return std::nullopt;
    step = next;
    const double found = cycle_of(runner, step);
    if (direction > 0 ? found > cycle : found < cycle) return found;
  }
  return std::nullopt;
}

}  // namespace

double Playback::end_cycle() const {
  double end = 0;
  for (const Runner& runner : runners_) end = std::max(end, runner.simulation->trace->end_cycle());
  return end;
}

std::int64_t Playback::last_step() const {
  return chosen().simulation->trace->step_count(chosen().focus_sm);
}

PlaybackView Playback::view() const {
  PlaybackView view;
  view.race = race();
  view.playing = playing_;
  view.speed = speed_;
  view.motion = playhead_.motion();
  view.grain = grain_;
  view.cycle = playhead_.cycle();
  view.goal = playhead_.goal();
  view.at_step = !runners_.empty() && exactly_at_step_;
  view.step = runners_.empty() ? 0 : chosen().step;
  return view;
}

std::vector<Runner> Playback::show(std::vector<Runner> runners) {
  return std::exchange(runners_, std::move(runners));
}

void Playback::focus(int sm) {
  for (Runner& runner : runners_) {
    const auto sms = runner.simulation->trace->focused_sms();
    if (std::find(sms.begin(), sms.end(), sm) != sms.end()) runner.focus_sm = sm;
  }
  set_cycle(playhead_.goal());
}

void Playback::place_runners(double cycle) {
  for (Runner& runner : runners_) runner.step = runner.simulation->trace->step_at_cycle(runner.focus_sm, cycle);
}

void Playback::set_step(std::int64_t step, double glide_seconds) {
  Runner& chosen = runners_.back();
  if (playhead_.moving()) playhead_.jump(playhead_.goal());
  const double cycle = cycle_of(chosen, step);
  glide_seconds > 0 ? playhead_.glide(cycle, glide_seconds) : playhead_.jump(cycle);
  place_runners(cycle);
  chosen.step = step;
  exactly_at_step_ = !race();
}

void Playback::set_cycle(double cycle) {
  playhead_.jump(cycle);
  place_runners(cycle);
  exactly_at_step_ = false;
}

void Playback::glide_to(double cycle, double seconds) {
  playhead_.glide(cycle, seconds);
  place_runners(cycle);
  exactly_at_step_ = false;
}

void Playback::step_by(int direction, Grain by, double glide_seconds) {
  race() ? step_race(direction, by, glide_seconds) : step_alone(direction, by, glide_seconds);
}

void Playback::step_alone(int direction, Grain by, double glide_seconds) {
  const Runner& chosen = runners_.back();
  const Trace& trace = *chosen.simulation->trace;
  // Other SMs can go on after the last step of the one in focus: one step more shows how they end, and the way back begins there.
  if (const std::int64_t last = trace.step_count(chosen.focus_sm); chosen.step == last && last > 0) {
    if (direction > 0 && playhead_.goal() < end_cycle()) glide_to(end_cycle(), glide_seconds);
    if (direction > 0) return;
    if (!exactly_at_step_) return set_step(last, glide_seconds);
  }
  const std::int64_t step = trace.seek(chosen.focus_sm, chosen.step, by, direction);
  if (step != chosen.step || !exactly_at_step_) set_step(step, glide_seconds);
}

void Playback::step_race(int direction, Grain by, double glide_seconds) {
  if (playhead_.moving()) playhead_.jump(playhead_.goal());
  const double now = playhead_.cycle();
  std::optional<double> best;
  for (const Runner& runner : runners_) {
    const std::optional<double> found = next_cycle(runner, now, by, direction);
    if (found && (!best || (direction > 0 ? *found < *best : *found > *best))) best = found;
  }
  glide_to(best.value_or(direction > 0 ? end_cycle() : 0), glide_seconds);
}

void Playback::seek_step(std::int64_t step) {
  const std::int64_t last = last_step();
  // In a race the other runner may end later: the last step is the end of both.
  if (race() && step >= last) return set_cycle(end_cycle());
  set_step(std::clamp<std::int64_t>(step, 0, last), 0);
}

void Playback::set_playing(bool on) {
  playing_ = on && !runners_.empty();
  const bool at_end = !runners_.empty() && playhead_.goal() >= end_cycle();
  if (playing_ && at_end && !playhead_.moving()) set_step(0, 0);  // play again from the beginning
}

void Playback::set_speed(double speed) {
  speed_ = std::clamp(speed, playing_speeds.front(), playing_speeds.back());
}

void Playback::tick(double seconds) {
  if (runners_.empty()) return;
  if (playing_ && race()) {
    if (playhead_.moving()) playhead_.jump(playhead_.goal());
    const double goal = std::min(end_cycle(), playhead_.cycle() + seconds * speed_ * end_cycle() / race_seconds);
    set_cycle(goal);
    playing_ = goal < end_cycle();
    return;
  }
  double left = playhead_.tick(seconds);
  // At high speed several steps fit a frame; a frame after a long pause must not run away.
  constexpr int most_steps = 16;
  for (int i = 0; playing_ && !playhead_.moving() && i < most_steps; ++i) {
    const std::int64_t before = chosen().step;
    step_alone(1, grain_, 1 / (speed_ * steps_per_second(grain_)));
    if (chosen().step == before && !playhead_.moving()) {
      playing_ = false;
      break;
    }
    left = playhead_.tick(std::max(left, 1e-9));
  }
}

}  // namespace tilescope
