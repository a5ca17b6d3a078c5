// How fast the model is: whole simulations, seeks, and single accesses of the L2. Run all with `bench_sim`.
#include <benchmark/benchmark.h>

#include <random>

#include "sim/engine/simulation.h"
#include "sim/memory/tile_cache.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "tests/sim/attention_schema.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

AttentionProblem problem_of(std::int64_t batch, std::int64_t heads, std::int64_t n, std::int64_t d) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.heads = problem.kv_heads = heads;
  problem.seq_q = problem.seq_kv = n;
  problem.head_dim = d;
  return problem;
}

SimulationRequest request_of(const char* algorithm, const GpuSpec& gpu, const AttentionProblem& problem) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = gpu;
  request.problem = problem;
  return request;
}

void simulate_it(benchmark::State& state, const char* algorithm, const GpuSpec& gpu, const AttentionProblem& problem) {
  const SimulationRequest request = request_of(algorithm, gpu, problem);
  std::int64_t blocks = 0;
  while (state.KeepRunning()) {
    const auto result = simulate(request);
    if (!result) return state.SkipWithError(result.error().sentence.text().c_str());
    blocks = static_cast<std::int64_t>((*result)->trace->runs().size());
  }
  state.counters["blocks"] = static_cast<double>(blocks);
}

void seek(benchmark::State& state, const char* algorithm, const GpuSpec& gpu, const AttentionProblem& problem) {
  const auto result = simulate(request_of(algorithm, gpu, problem));
  if (!result) return state.SkipWithError(result.error().sentence.text().c_str());
  const Trace& trace = *(*result)->trace;
  const int sm = trace.focused_sms()[0];
  std::mt19937_64 random(1);
  const auto steps = static_cast<std::uint64_t>(trace.step_count(sm)) + 1;
  while (state.KeepRunning()) benchmark::DoNotOptimize(trace.state_at(sm, static_cast<std::int64_t>(random() % steps)));
  state.counters["steps"] = static_cast<double>(steps);
}

/// 264 blocks in step over the key tiles of two heads, as flash2 does on an H200.
void l2_access(benchmark::State& state) {
  const AttentionProblem problem = problem_of(1, 2, 16384, 128);
  const TileMap map(tensor_layouts(problem, {128, 128}, attention_tensors()));
  TileCache cache(map, Bytes(60 << 20), 2);
  std::int64_t read = 0;
  std::int32_t tile = 0, lane = 0;
  while (state.KeepRunning()) {
    read += cache.read({tensors::k, lane & 1, tile * 128, 128, 0, 128}, lane >> 1 & 1).hbm_read_bytes;
    if (++lane == 264) lane = 0, tile = (tile + 1) % 128;
  }
  benchmark::DoNotOptimize(read);
}

BENCHMARK_CAPTURE(simulate_it, smoke_flash2_toy_N64_d16, "flash2", toy_gpu(), problem_of(1, 1, 64, 16))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_it, standard_toy_N64_d16, "standard", toy_gpu(), problem_of(1, 1, 64, 16))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_it, smoke_flash2_h200_B1_H16_N4096_d64, "flash2", h200_gpu(), problem_of(1, 16, 4096, 64))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_it, standard_h200_B1_H16_N4096_d64, "standard", h200_gpu(), problem_of(1, 16, 4096, 64))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_it, flash1_h200_B1_H16_N4096_d64, "flash1", h200_gpu(), problem_of(1, 16, 4096, 64))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_it, flash2_h200_B4_H32_N16384_d128, "flash2", h200_gpu(), problem_of(4, 32, 16384, 128))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(seek, flash2_toy_N64_d16, "flash2", toy_gpu(), problem_of(1, 1, 64, 16))->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(seek, flash2_h200_B1_H16_N4096_d64, "flash2", h200_gpu(), problem_of(1, 16, 4096, 64))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(seek, standard_h200_B1_H16_N4096_d64, "standard", h200_gpu(), problem_of(1, 16, 4096, 64))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(l2_access);

}  // namespace

BENCHMARK_MAIN();
