// What a frame costs the program apart from the rasteriser, and how long it takes from nothing to the first frame.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "app/app_frame.h"
#include "app/assets.h"
#include "app/gl/headless_context.h"

using namespace tilescope;

namespace {

Session::Start start_of(const std::string& gpu, bool race) {
  Session::Start start;
  const Result<GpuSpec> spec = load_gpu(gpu);
  if (spec) start.request.gpu = *spec;
  if (gpu == "toy") {
    start.request.tile = TileShape{16, 16};
  } else {
    start.request.problem = {4, 32, 32, 4096, 4096, 128, DataType::fp16, false, Pass::forward};
  }
  start.race = race;
  start.gpu_ids = gpu_ids();
  start.load_gpu = &load_gpu;
  return start;
}

/// Frames while playing, with values worked out by the session's thread as in the window.
void frame(benchmark::State& state, const std::string& gpu, bool race) {
  const auto context = HeadlessContext::make();
  if (!context) return state.SkipWithError(context.error().sentence.c_str());
  Session session(start_of(gpu, race));
  session.finish();
  auto made = AppFrame::make(session, {});
  if (!made) return state.SkipWithError(made.error().sentence.c_str());
  AppFrame& frame = **made;
  for (int i = 0; i < 4; ++i) frame.build(1600, 900, 1.0 / 60);
  std::vector<double> milliseconds;
  for (auto _ : state) {
    session.apply(SetPlaying{true});
    const auto before = std::chrono::steady_clock::now();
    frame.build(1600, 900, 1.0 / 60);
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto quantile = [&](double q) { return milliseconds[static_cast<std::size_t>(q * static_cast<double>(milliseconds.size() - 1))]; };
  state.counters["median_ms"] = quantile(0.5);
  state.counters["p99_ms"] = quantile(0.99);
  state.counters["vertices"] = static_cast<double>(ImGui::GetDrawData()->TotalVtxCount);
}

/// The first frame that shows another large simulation: nothing of it may be laid out in the frame itself.
void frame_after_simulation(benchmark::State& state) {
  const auto context = HeadlessContext::make();
  if (!context) return state.SkipWithError(context.error().sentence.c_str());
  Session session(start_of("h200", false));
  session.finish();
  auto made = AppFrame::make(session, {});
  if (!made) return state.SkipWithError(made.error().sentence.c_str());
  AppFrame& frame = **made;
  for (int i = 0; i < 4; ++i) frame.build(1600, 900, 1.0 / 60);
  AttentionProblem problem = session.view(frame.theme()).request.problem;
  for (auto _ : state) {
    state.PauseTiming();
    problem.seq_q = problem.seq_kv = problem.seq_q == 8192 ? 16384 : 8192;
    session.apply(SetProblem{problem, "seq"});
    session.finish();
    state.ResumeTiming();
    frame.build(1600, 900, 1.0 / 60);
  }
}

/// Everything between main() and the first picture but the driver's own part: specs, simulation, fonts, the frame.
void first_frame(benchmark::State& state) {
  const auto context = HeadlessContext::make();
  if (!context) return state.SkipWithError(context.error().sentence.c_str());
  for (auto _ : state) {
    Session session(start_of("toy", false));
    session.finish();
    auto made = AppFrame::make(session, {});
    if (!made) return state.SkipWithError(made.error().sentence.c_str());
    (*made)->build(1600, 900, 0);
    benchmark::DoNotOptimize(ImGui::GetDrawData()->TotalVtxCount);
  }
}

}  // namespace

BENCHMARK_CAPTURE(frame, smoke_toy, "toy", false)->Unit(benchmark::kMillisecond)->Iterations(120);
BENCHMARK_CAPTURE(frame, toy, "toy", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(frame, toy_race, "toy", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(frame, h200, "h200", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(frame, h200_race, "h200", true)->Unit(benchmark::kMillisecond);
BENCHMARK(frame_after_simulation)->Unit(benchmark::kMillisecond)->Iterations(3);
BENCHMARK(first_frame)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
