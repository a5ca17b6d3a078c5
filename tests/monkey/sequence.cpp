// Runs random actions on a session and checks what it shows.
#include "tests/monkey/sequence.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>

#include "app/model/requests/assets.h"
#include "app/model/session/session.h"
#include "app/model/state/window_state.h"
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

std::optional<Session::Start> make_start(const std::string& gpu) {
  Session::Start start;
  Result<GpuSpec> spec = load_gpu(gpu);
  if (!spec) return std::nullopt;
  start.measurements = invented_measurements(*spec);
  start.request.gpu = std::move(*spec);
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
  // A simulation makes them of the choice.
  if (!(asked.masking == there.masking)) return "a window at rest shows the masks that are asked for";
  there.problem.mask = asked.problem.mask;
  there.problem.score_change = asked.problem.score_change;
  if (!(asked.problem == there.problem)) return "a window at rest shows the problem that is asked for";
  if (asked.gpu.id != there.gpu.id) return "a window at rest shows the GPU that is asked for";
  if (asked.tile != there.tile) return "a window at rest shows the tile that is asked for";
  if (view.requested->race != (view.lanes.size() == 2)) return "a window at rest races if that is asked for";
  return {};
}

/// Pages of this process in memory.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

class Run {
 public:
  Run(std::uint64_t seed, std::string gpu, const SequenceWatch& watch) : seed_(seed), gpu_(std::move(gpu)), watch_(watch) {}

  SequenceResult all(const std::vector<std::size_t>& actions) {
    // Results that arrive in an order that no queue gives may be shown in that order; then only safety is promised.
    const bool hostile = seed_ % 2 == 1;
    if (!open(hostile)) return result_;
    for (std::size_t i = 0; i < actions.size(); ++i)
      if (!act_at(i, actions[i])) return result_;
    watch_.at(actions.size());
    rest();
    result_.broken = broken(session_->view());
    // With real threads a failure could not be drawn again: there safety is what is looked at.
    if (result_.broken.empty() && !hostile && !work_has_threads) result_.broken = broken_at_rest(session_->view());
    close();
    return result_;
  }

  SequenceResult soak(const Soak& soak, const std::function<void(const SoakSample&)>& take) {
    if (!open(false)) return result_;
    rest();
    const auto opening = std::make_shared<const WindowState>(window_state_of(session_->view()));
    const Clock::time_point start = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    for (std::size_t i = 0, samples = 1; seconds() < soak.seconds; ++i) {
      if (!act_at(i, i)) return result_;
      if (seconds() < static_cast<double>(samples) * soak.seconds_between_samples) continue;
      ++samples;
      if (watch_.rests) watch_.rests();
      rest();
      session_->apply(OpenState{opening});
      rest();
      ::malloc_trim(0);
      take({seconds(), i + 1, ::mallinfo2().uordblks + ::mallinfo2().hblkhd, resident_bytes()});
      hold_work();
    }
    close();
    return result_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// False where there is nothing to act on; result_ says why.
  bool open(bool hostile) {
    reset_work(hostile);
    std::optional<Session::Start> start = make_start(gpu_);
    if (!start) {
      result_.broken = "the assets are found: run from the root of the source tree";
      return false;
    }
    session_ = std::make_unique<Session>(std::move(*start));
    screen_ = open_screen(*session_);
    result_.has_screen = screen_ != nullptr;
    return result_.has_screen;
  }
  void close() {
    screen_.reset();
    session_.reset();
  }

  /// False where something does not hold afterwards.
  bool act_at(std::size_t position, std::size_t action) {
    watch_.at(position);
    act(action);
    result_.broken = broken(session_->view());
    return result_.broken.empty();
  }

  void say(const std::string& what) {
    if (watch_.said) watch_.said(what);
  }

  void act(std::size_t index) {
    Random random(seed_, index);
    const std::size_t kind = random.below(100);
    if (kind < 50) {
      const Command command = random_command(random, session_->view(), gpu_);
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

  std::uint64_t seed_;
  std::string gpu_;
  const SequenceWatch& watch_;
  SequenceResult result_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Screen> screen_;
};

}  // namespace

SequenceResult run_sequence(const Sequence& sequence, const SequenceWatch& watch) {
  return Run(sequence.seed, "toy", watch).all(sequence.actions);
}

SequenceResult run_soak(const Soak& soak, const SequenceWatch& watch, const std::function<void(const SoakSample&)>& take) {
  return Run(soak.seed, soak.gpu, watch).soak(soak, take);
}

}  // namespace tilescope
