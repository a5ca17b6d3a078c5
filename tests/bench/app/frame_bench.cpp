// What a frame costs the program apart from the rasteriser: frames while playing, the first frame after something changed, and
// everything from nothing to the first frame. Times are CPU time of the thread that draws; the workers' is not in them.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "app/model/measurements/measurements.h"
#include "app/model/requests/assets.h"
#include "app/platform/headless_context.h"
#include "app/views/app_frame.h"
#include "sim/programs/attention_tensors.h"

using namespace tilescope;

namespace {

AttentionProblem problem_of(const std::string& gpu, std::int64_t n) {
  if (gpu == "toy") return AttentionProblem{.seq_q = n, .seq_kv = n};
  return {4, 32, 32, n, n, 128, DataType::fp16, false, Pass::forward};
}

Session::Start start_of(const std::string& gpu, bool race, const std::string& algorithm = "flash2", std::int64_t n = 0) {
  Session::Start start;
  const Result<GpuSpec> spec = load_gpu(gpu);
  if (spec) start.request.gpu = *spec;
  if (gpu == "toy") start.request.tile = TileShape{16, 16};
  if (gpu != "toy" || n > 0) start.request.problem = problem_of(gpu, n > 0 ? n : 4096);
  start.request.algorithm = algorithm;
  start.race = race;
  start.gpu_ids = gpu_ids();
  start.load_gpu = &load_gpu;
  start.measurements = load_measurements();
  return start;
}

double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// The window without a display, with the session's threads.
struct OpenWindow {
  std::unique_ptr<HeadlessContext> context;
  std::unique_ptr<Session> session;
  std::unique_ptr<AppFrame> frame;

  /// One frame; returns what it cost.
  double build() {
    const double before = thread_milliseconds();
    frame->build(1600, 900, 1.0 / 60);
    return thread_milliseconds() - before;
  }
  /// Frames until nothing is under way any more, or for so long; results of the workers are taken in as they come. Returns the
  /// dearest one.
  double settle(std::chrono::seconds most = std::chrono::hours(1)) {
    double dearest = 0;
    const auto end = std::chrono::steady_clock::now() + most;
    for (int quiet = 0; quiet < 4 && std::chrono::steady_clock::now() < end;) {
      dearest = std::max(dearest, build());
      quiet = session->animating() ? 0 : quiet + 1;
      if (quiet == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return dearest;
  }
};

std::unique_ptr<OpenWindow> open_window(benchmark::State& state, Session::Start start) {
  auto window = std::make_unique<OpenWindow>();
  auto context = HeadlessContext::make();
  if (!context) return state.SkipWithError(context.error().sentence.text().c_str()), nullptr;
  window->context = std::move(*context);
  window->session = std::make_unique<Session>(std::move(start));
  auto made = AppFrame::make(*window->session, {});
  if (!made) return state.SkipWithError(made.error().sentence.text().c_str()), nullptr;
  window->frame = std::move(*made);
  window->settle();
  const View view{window->session->view(), &window->frame->theme()};
  if (view.lanes.empty())
    return state.SkipWithError(view.workspace->message ? view.workspace->message->error.sentence.text().c_str()
                                                       : "nothing was simulated"),
           nullptr;
  return window;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

void report(benchmark::State& state, const std::vector<double>& milliseconds) {
  state.counters["min_ms"] = quantile(milliseconds, 0);
  state.counters["median_ms"] = quantile(milliseconds, 0.5);
  state.counters["max_ms"] = quantile(milliseconds, 1);
}

/// Frames while playing, with values worked out by the session's thread as in the window.
void frame(benchmark::State& state, const std::string& gpu, bool race) {
  const auto window = open_window(state, start_of(gpu, race));
  if (!window) return;
  std::vector<double> milliseconds;
  while (state.KeepRunning()) {
    window->session->apply(SetPlaying{true});
    milliseconds.push_back(window->build());
  }
  report(state, milliseconds);
  state.counters["p99_ms"] = quantile(milliseconds, 0.99);
  state.counters["vertices"] = static_cast<double>(ImGui::GetDrawData()->TotalVtxCount);
}

/// Called with -1 before the first turn, whose cost does not count.
using Change = std::function<void(OpenWindow&, int turn)>;

/// The dearest of all frames from a change until nothing is under way any more, or for so long.
void first_after(benchmark::State& state, const Session::Start& start, const Change& change,
                 std::chrono::seconds most = std::chrono::hours(1)) {
  const auto window = open_window(state, start);
  if (!window) return;
  std::vector<double> milliseconds;
  int turn = 0;
  change(*window, -1);
  window->settle(most);
  while (state.KeepRunning()) {
    const double before = thread_milliseconds();
    change(*window, turn++);
    const double spent = thread_milliseconds() - before;
    const double first = spent + window->build();
    milliseconds.push_back(std::max(first, window->settle(most)));
    state.SetIterationTime(milliseconds.back() * 1e-3);
  }
  report(state, milliseconds);
}

/// Another simulation of the same program, and back.
void other_problem(OpenWindow& window, int turn) {
  if (turn < 0) return;
  AttentionProblem problem = window.session->view().requested->request.problem;
  problem.batch = turn % 2 == 0 ? problem.batch + 1 : problem.batch - 1;
  window.session->apply(SetProblem{problem, "batch"});
}
void far_seek(OpenWindow& window, int turn) {
  if (turn < 0) return;
  constexpr double places[] = {0.93, 0.11, 0.72, 0.34, 0.55};
  const auto count = static_cast<double>(window.session->view().lane().step_count);
  window.session->apply(SeekStep{static_cast<std::int64_t>(count * places[turn % 5])});
}
void scroll_timeline(OpenWindow& window, int turn) {
  if (turn < 0) return;
  const ImVec2 middle = window.frame->layout().timeline.center();
  window.frame->io().AddMousePosEvent(middle.x, middle.y);
  window.frame->io().AddMouseWheelEvent(0, turn % 6 < 3 ? 4.0F : -4.0F);
}
/// Over all lanes in turn, bars and waits alike.
void hover_timeline(OpenWindow& window, int turn) {
  if (turn < 0) return;
  const Rect& timeline = window.frame->layout().timeline;
  const auto part = [&](float from, float to, int step, int steps) {
    return from + (to - from) * static_cast<float>(step) / static_cast<float>(steps);
  };
  window.frame->io().AddMousePosEvent(part(timeline.center().x, timeline.max.x, turn % 12, 14),
                                      part(timeline.min.y, timeline.max.y, turn % 7, 7));
}
/// Lanes by SM, zoomed in and out again in time and in rows.
void scroll_sms(OpenWindow& window, int turn) {
  if (turn < 0) return window.session->apply(SetLanes{true});
  const ImVec2 middle = window.frame->layout().timeline.center();
  window.frame->io().AddMousePosEvent(turn % 4 < 2 ? middle.x : window.frame->layout().timeline.min.x + 30, middle.y);
  window.frame->io().AddMouseWheelEvent(0, turn % 6 < 3 ? 4.0F : -4.0F);
}
void other_theme(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(SetThemeKind{turn % 2 == 0 ? ThemeKind::light : ThemeKind::dark});
}
void other_grain(OpenWindow& window, int turn) {
  if (turn < 0) return;
  const Grain grain = turn % 2 == 0 ? Grain::tile : Grain::phase;
  window.session->apply(SetGrain{grain});
  window.session->apply(Step{turn % 4 < 2 ? 1 : -1, grain});
}
void other_sm(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(SetFocusSm{1 + turn % 3});
}
/// One that was never in focus: simulated with it; above, those that were are only shown again.
void unseen_sm(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(SetFocusSm{10 + turn});
}
void other_row(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(SelectRow{turn % 2 == 0 ? 7 : 3});
}
void light_tensor(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(HoverTensor{turn % 2 == 0 ? std::optional(tensors::k) : std::nullopt});
}
void switch_race(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(SetRace{turn % 2 == 0});
}
void step_by_tile(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(Step{turn % 5 == 4 ? -1 : 1, Grain::tile});
}
/// Steps of one operation each, in a place of its own, so that iterations are entered that were not prepared.
void step_by_operation(OpenWindow& window, int turn) {
  if (turn < 0) return far_seek(window, 2);
  window.session->apply(Step{1, Grain::operation});
}
void switch_lanes(OpenWindow& window, int turn) {
  if (turn < 0) return;
  window.session->apply(SetLanes{turn % 2 == 0});
}
/// Over the rows of SMs; the mouse rests on each for long enough to ask what it did.
void hover_sms(OpenWindow& window, int turn) {
  if (turn < 0) return window.session->apply(SetLanes{true});
  hover_timeline(window, turn);
}
/// As a click on a block in the rows of SMs does: its SM into focus, and the clock to it.
void go_to_block(OpenWindow& window, int turn) {
  if (turn < 0) return window.session->apply(SetLanes{true});
  const View view{window.session->view(), &window.frame->theme()};
  const auto runs = view.lane().simulation->trace->runs();
  const BlockRun& run = runs[runs.size() * static_cast<std::size_t>(1 + turn % 5) / 7];
  window.session->apply(FocusBlock{run.sm, run.launch, run.block, run.start});
}
/// Another view in the middle, and back to the stage.
Change open_center(CenterView center) {
  return [center](OpenWindow& window, int turn) {
    if (turn >= 0) window.session->apply(SetCenter{turn % 2 == 0 ? center : CenterView::stage});
  };
}

/// Everything between main() and the first picture but the driver's own part: specs, simulation, fonts, the frame.
void first_frame(benchmark::State& state) {
  const auto context = HeadlessContext::make();
  if (!context) return state.SkipWithError(context.error().sentence.text().c_str());
  while (state.KeepRunning()) {
    Session session(start_of("toy", false));
    session.finish();
    auto made = AppFrame::make(session, {});
    if (!made) return state.SkipWithError(made.error().sentence.text().c_str());
    (*made)->build(1600, 900, 0);
    benchmark::DoNotOptimize(ImGui::GetDrawData()->TotalVtxCount);
  }
}

struct NamedChange {
  const char* name;
  Change change;
  int turns;
};

void register_firsts() {
  const std::vector<NamedChange> changes = {
      {"far_seek", far_seek, 10},
      {"timeline_zoom", scroll_timeline, 12},
      {"theme", other_theme, 10},
      {"grain_and_step", other_grain, 8},
      {"other_sm", other_sm, 6},
      {"other_row", other_row, 10},
      {"light_tensor", light_tensor, 10},
      {"simulation", other_problem, 6},
      {"race_switched", switch_race, 6},
      {"timeline_hover", hover_timeline, 36},
      {"sms_zoom", scroll_sms, 24},
      {"step_by_tile", step_by_tile, 20},
      {"step_by_operation", step_by_operation, 20},
      {"lanes_switched", switch_lanes, 8},
      {"sms_hover", hover_sms, 12},
      {"go_to_block", go_to_block, 10},
  };
  struct Where {
    const char *gpu, *algorithm;
    std::int64_t n;
    bool race;
  };
  constexpr Where places[] = {
      {"toy", "standard", 0, false},           {"toy", "flash2", 0, true},        {"h200", "flash2", 4096, false},
      {"h200", "flash2", 16384, false},        {"h200", "flash1", 4096, false},   {"h200", "flash1", 2048, false},
      {"h200", "standard", 4096, false},       {"h200", "standard", 8192, false}, {"h200", "flash2", 4096, true},
      {"h200", "softmax_online", 2048, false},
  };
  for (const Where& where : places)
    for (const NamedChange& named : changes) {
      const std::string name = fmt::format("first_after/{}/{}_{}{}{}", named.name, where.gpu, where.algorithm,
                                           where.n > 0 ? fmt::format("_N{}", where.n) : "", where.race ? "_race" : "");
      const auto run = [where, change = named.change](benchmark::State& state) {
        first_after(state, start_of(where.gpu, where.race, where.algorithm, where.n), change);
      };
      benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond)->Iterations(named.turns)->UseManualTime();
    }
  // The longest sequences, of a size that every program can take.
  for (const char* algorithm : {"flash2", "flash1", "standard", "softmax_safe"})
    for (const NamedChange& named :
         {NamedChange{"other_sm", other_sm, 6}, {"unseen_sm", unseen_sm, 3}, {"simulation", other_problem, 2}}) {
      const std::string name = fmt::format("first_after/{}/h200_{}_N16384_H1", named.name, algorithm);
      const auto run = [algorithm, change = named.change](benchmark::State& state) {
        Session::Start start = start_of("h200", false, algorithm, 16384);
        start.request.problem.batch = 1;
        start.request.problem.heads = start.request.problem.kv_heads = 1;
        first_after(state, start, change);
      };
      benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond)->Iterations(named.turns)->UseManualTime();
    }
  for (const CenterViewInfo& info : center_views()) {
    if (info.view == CenterView::stage) continue;
    const auto run = [view = info.view](benchmark::State& state) {
      constexpr std::chrono::seconds watched(3);  // some of their studies go on for minutes
      first_after(state, start_of("h200", false, "flash2", 4096), open_center(view), watched);
    };
    const std::string name = fmt::format("first_after/open_{}/h200_flash2_N4096", info.id);
    benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond)->Iterations(6)->UseManualTime();
  }
}

}  // namespace

BENCHMARK_CAPTURE(frame, smoke_toy, "toy", false)->Unit(benchmark::kMillisecond)->Iterations(120);
BENCHMARK_CAPTURE(frame, toy, "toy", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(frame, toy_race, "toy", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(frame, h200, "h200", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(frame, h200_race, "h200", true)->Unit(benchmark::kMillisecond);
BENCHMARK(first_frame)->Unit(benchmark::kMillisecond);

int main(int argc, char** argv) {
  setenv("TILESCOPE_ASSETS", TILESCOPE_SOURCE_DIR "/assets", 0);
  register_firsts();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
