// Runs random actions on a session and checks what it shows.
#include "tests/monkey/sequence.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/model/assets.h"
#include "app/model/session.h"
#include "app/platform/files.h"
#include "sim/analysis/outcome.h"
#include "tests/monkey/random_command.h"
#include "tests/monkey/screen.h"
#include "tests/monkey/work_control.h"

namespace tilescope {

namespace {

/// Measured figures that no hardware gave, so that the Validate view has cases.
Measurements invented_measurements(const GpuSpec& gpu) {
  KnownBundle known;
  known.bundle.gpu = gpu.id;
  known.bundle.device = "invented, no hardware";
  known.bundle.date = "2000-01-02T03:04:05";
  for (const char* kernel : {"flash2", "flash1"}) {
    MeasuredCase made;
    made.kernel = kernel;
    made.tile = {16, 16};
    made.counters = {{"hbm_read_bytes", {6144, 6000, 7000}}, {"l2_to_sm_bytes", {8192, 8192, 8192}}};
    made.time_cold_ns = made.cycles = {1000, 900, 1100};
    made.sm_clock_hz = gpu.sm_clock_hz;
    known.bundle.cases.push_back(std::move(made));
  }
  Measurements all;
  all.bundles.push_back(std::make_shared<const KnownBundle>(std::move(known)));
  return all;
}

std::optional<Session::Start> make_start() {
  Session::Start start;
  Result<GpuSpec> toy = load_gpu("toy");
  if (!toy) return std::nullopt;
  start.measurements = invented_measurements(*toy);
  start.request.gpu = std::move(*toy);
  start.request.tile = TileShape{16, 16};
  start.gpu_ids = gpu_ids();
  start.load_gpu = &load_gpu;
  start.load_text = [](const std::string& path) { return read_text_file(path); };
  start.threads = work_has_threads;
  return start;
}

std::string broken_lane(const Lane& lane) {
  if (lane.simulation == nullptr) return "a lane has a simulation";
  if (lane.step < 0 || lane.step > lane.step_count) return "a lane's step is one of its simulation";
  if (lane.focus_sm < 0 || lane.focus_sm >= lane.simulation->request.gpu.sm_count) return "the SM in focus is one of the GPU";
  if (!std::isfinite(lane.state.cycle)) return "the clock is finite";
  if ((lane.operation != nullptr) && lane.operations == nullptr) return "an operation stands in its block";
  if (lane.operations != nullptr && lane.operation != nullptr) {
    const auto& all = lane.operations->operations;
    if (lane.operation < all.data() || lane.operation >= all.data() + all.size()) return "an operation stands in its block";
  }
  if (lane.history != nullptr && lane.operations == nullptr) return "values belong to a block";
  return {};
}

std::string broken(const SessionView& view) {
  if (view.requested == nullptr || view.workspace == nullptr || view.studies == nullptr) return "a view has its parts";
  if (view.lanes.size() > 2) return "there are one or two lanes";
  for (const Lane& lane : view.lanes)
    if (std::string what = broken_lane(lane); !what.empty()) return what;
  if (view.playback.race && view.lanes.size() != 2) return "a race has two lanes";
  if (!std::isfinite(view.playback.cycle) || !std::isfinite(view.playback.motion)) return "the clock is finite";
  if (view.workspace->message)
    for (const char c : view.workspace->message->error.sentence.text())
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "a message is one line without control characters";
  return {};
}

/// What holds once all work is done: the window shows what its controls ask for, or says why not.
std::string broken_at_rest(const SessionView& view) {
  if (view.lanes.empty()) return view.workspace->message ? "" : "a window at rest shows a simulation or says why not";
  const Lane& lane = view.lane();
  if (lane.timeline == nullptr) return "a timeline comes in the end";
  if (view.workspace->message) return {};
  SimulationRequest asked = view.requested->request;
  // The backward pass of an algorithm is a program of its own: flash2 becomes flash2_backward, whose only pass is that one.
  if (const auto program = find_program(asked.algorithm, asked.problem.pass)) {
    asked.algorithm = (*program)->id;
    asked.problem.pass = (*program)->pass;
  }
  // A race of the baseline shows it in the first lane.
  const auto of_asked = std::find_if(view.lanes.begin(), view.lanes.end(),
                                     [&](const Lane& each) { return each.simulation->request.algorithm == asked.algorithm; });
  if (of_asked == view.lanes.end()) return "a window at rest shows the algorithm that is asked for";
  const SimulationRequest& shown = of_asked->simulation->request;
  // What the request left to the program is filled in by the simulation.
  if (!asked.tile) asked.tile = shown.tile;
  if (!asked.blocks_per_sm) asked.blocks_per_sm = shown.blocks_per_sm;
  if (asked.tile) asked.tile = TileShape(*asked.tile);
  SimulationRequest there = shown;
  if (there.tile) there.tile = TileShape(*there.tile);
  there.blocks_per_sm = asked.blocks_per_sm;
  if (!(asked.problem == there.problem)) return "a window at rest shows the problem that is asked for";
  if (asked.gpu.id != there.gpu.id) return "a window at rest shows the GPU that is asked for";
  if (asked.tile != there.tile) return "a window at rest shows the tile that is asked for";
  if (view.requested->race != (view.lanes.size() == 2)) return "a window at rest races if that is asked for";
  return {};
}

class Run {
 public:
  Run(const Sequence& sequence, const SequenceWatch& watch) : sequence_(sequence), watch_(watch) {}

  SequenceResult all() {
    // Results that arrive in an order that no queue gives may be shown in that order; then only safety is promised.
    const bool hostile = sequence_.seed % 2 == 1;
    reset_work(hostile);
    std::optional<Session::Start> start = make_start();
    if (!start) return {"the assets are found: run from the root of the source tree", 0, true};
    session_ = std::make_unique<Session>(std::move(*start));
    screen_ = open_screen(*session_);
    if (screen_ == nullptr) return {"", 0, false};
    for (std::size_t i = 0; i < sequence_.actions.size(); ++i) {
      watch_.at(i);
      act(sequence_.actions[i]);
      if (result_.broken = broken(session_->view()); !result_.broken.empty()) return result_;
    }
    watch_.at(sequence_.actions.size());
    rest();
    result_.broken = broken(session_->view());
    // With real threads a failure could not be drawn again: there safety is what is looked at.
    if (result_.broken.empty() && !hostile && !work_has_threads) result_.broken = broken_at_rest(session_->view());
    screen_.reset();
    session_.reset();
    return result_;
  }

 private:
  void say(const std::string& what) {
    if (watch_.said) watch_.said(what);
  }

  void act(std::size_t index) {
    Random random(sequence_.seed, index);
    const std::size_t kind = random.below(100);
    if (kind < 50) {
      const Command command = random_command(random, session_->view());
      say(describe(command));
      ++result_.commands;
      session_->apply(command);
    } else if (kind < 75) {
      say("work");
      advance_work(random);
    } else if (kind < 90) {
      const double seconds = random.pick({0.0, 1.0 / 60, 1.0 / 60, 0.4, 10.0});
      say(fmt::format("frame {}", seconds));
      screen_->frame(seconds);
    } else {
      say("input");
      screen_->input(random);
    }
  }

  void rest() {
    say("rest");
    session_->apply(SetCenter{CenterView::stage});
    release_work();
    session_->finish();
    for (int i = 0; i < 3; ++i) {
      screen_->frame(10);
      session_->finish();
    }
  }

  const Sequence& sequence_;
  const SequenceWatch& watch_;
  SequenceResult result_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Screen> screen_;
};

}  // namespace

SequenceResult run_sequence(const Sequence& sequence, const SequenceWatch& watch) {
  return Run(sequence, watch).all();
}

}  // namespace tilescope
