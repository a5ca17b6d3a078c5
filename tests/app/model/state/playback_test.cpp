// Playback: steps, clocks and speed, alone and in a race, without a session.
#include <doctest/doctest.h>

#include "app/model/state/playback.h"
#include "tests/app/run_simulation.h"

using namespace tilescope;

namespace {

Playback playing(std::vector<std::shared_ptr<const Simulation>> simulations) {
  Playback playback;
  std::vector<Runner> runners;
  for (auto& simulation : simulations) runners.push_back({std::move(simulation), 0, 0});
  CHECK(playback.show(std::move(runners)).empty());
  playback.set_step(0, 0);
  return playback;
}

}  // namespace

TEST_CASE("playback: without a simulation time passes and nothing plays") {
  Playback playback;
  playback.set_playing(true);
  playback.tick(1);
  CHECK_FALSE(playback.playing());
  CHECK(playback.view().step == 0);
  CHECK_FALSE(playback.view().at_step);
}

TEST_CASE("playback: a step forward and one back end where they began") {
  Playback playback = playing({run("flash2")});
  for (std::int64_t step = 0; step < 10; ++step) {
    playback.step_by(1, Grain::operation, 0);
    CHECK(playback.chosen().step == step + 1);
    CHECK(playback.at_rest());
  }
  const double cycle = playback.cycle();
  playback.step_by(1, Grain::operation, 0);
  playback.step_by(-1, Grain::operation, 0);
  CHECK(playback.cycle() == cycle);
}

TEST_CASE("playback: a glide arrives after its time and not before") {
  Playback playback = playing({run("flash2")});
  playback.set_step(9, 0.5);
  CHECK(playback.moving());
  CHECK(playback.chosen().step == 9);
  playback.tick(0.25);
  CHECK(playback.moving());
  CHECK(playback.view().motion == doctest::Approx(0.5));
  playback.tick(0.3);
  CHECK_FALSE(playback.moving());
  CHECK(playback.cycle() == playback.goal());
}

TEST_CASE("playback: played to the end it stops there, and plays again from the beginning") {
  Playback playback = playing({run("flash2")});
  playback.set_speed(1000);
  CHECK(playback.view().speed == playing_speeds.back());
  playback.set_grain(Grain::phase);
  playback.set_playing(true);
  for (int frame = 0; frame < 100000 && playback.playing(); ++frame) playback.tick(1.0 / 60);
  CHECK_FALSE(playback.playing());
  CHECK(playback.goal() == playback.end_cycle());
  playback.set_playing(true);
  CHECK(playback.chosen().step == 0);
}

TEST_CASE("playback: in a race both stand at one clock, and the last step is the end of both") {
  Playback playback = playing({run("standard"), run("flash2")});
  CHECK(playback.race());
  playback.set_cycle(0.4 * playback.end_cycle());
  for (const Runner& runner : playback.runners())
    CHECK(runner.step == runner.simulation->trace->step_at_cycle(0, playback.cycle()));
  CHECK_FALSE(playback.at_rest());
  const double before = playback.cycle();
  playback.step_by(1, Grain::operation, 0);
  CHECK(playback.cycle() > before);
  playback.seek_step(playback.last_step());
  CHECK(playback.cycle() == playback.end_cycle());
}

TEST_CASE("playback: an SM that a simulation did not keep does not come into focus") {
  Playback playback = playing({run("flash2")});
  const int sm = playback.chosen().simulation->trace->focused_sms().back();
  playback.focus(sm);
  CHECK(playback.chosen().focus_sm == sm);
  playback.focus(10000);
  CHECK(playback.chosen().focus_sm == sm);
}
