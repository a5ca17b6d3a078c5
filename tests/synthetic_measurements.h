// Synthetic measurements for tests: what the model itself says, so that every error is known. No hardware ever gave these numbers.
#pragma once

#include <doctest/doctest.h>

#include "sim/analysis/validation.h"

namespace tilescope {

inline Spread exactly(double value) {
  return {value, value, value};
}

/// A case whose "measured" figures are the simulated ones times `factor`; counters by the keys of counter_table().
inline MeasuredCase synthetic_case(const std::string& kernel, const AttentionProblem& problem, const TileShape& tile,
                                   const GpuSpec& gpu, double factor = 1) {
  SimulationRequest request;
  request.algorithm = counterpart_of(kernel).algorithm;
  request.problem = problem;
  request.tile = tile;
  request.gpu = gpu;
  const auto simulated = simulate(request);
  REQUIRE_MESSAGE(static_cast<bool>(simulated), (simulated ? "" : simulated.error().sentence));
  const Simulation& s = **simulated;
  MeasuredCase out;
  out.kernel = kernel;
  out.problem = problem;
  out.tile = tile;
  const auto total = [&](Link link) { return exactly(factor * static_cast<double>(s.ledger.total(link).value)); };
  out.counters = {{"l2_to_sm_bytes", total(Link::l2_to_sm)},
                  {"sm_to_l2_bytes", total(Link::sm_to_l2)},
                  {"hbm_read_bytes", total(Link::hbm_read)},
                  {"hbm_write_bytes", total(Link::hbm_write)}};
  if (s.reduced.value > 0) out.counters["sm_to_l2_reduce_bytes"] = exactly(factor * static_cast<double>(s.reduced.value));
  out.hbm_write_after_flush_bytes = exactly(factor * static_cast<double>(s.hbm_write_after_flush.value));
  out.cycles = exactly(factor * s.cycles.value);
  out.sm_clock_hz = gpu.sm_clock_hz;
  out.time_cold_ns = exactly(factor * s.time.value);
  return out;
}

inline MeasurementBundle synthetic_bundle(const GpuSpec& gpu, double factor = 1) {
  MeasurementBundle out;
  out.gpu = gpu.id;
  out.device = "synthetic, no hardware";
  out.driver = "0";
  out.date = "2000-01-02T03:04:05";
  out.counter_names = {{"hbm_read_bytes", "dram__bytes_read.sum"}};
  for (const std::string kernel : {"flash2", "standard"}) {
    for (const std::int64_t rows : {64, 100, 256}) {
      AttentionProblem problem;
      problem.heads = 2;
      problem.kv_heads = 2;
      problem.seq_q = problem.seq_kv = rows;
      MeasuredCase made = synthetic_case(kernel, problem, {16, 16}, gpu, factor);
      made.list = rows == 100 ? "judge" : "build";
      out.cases.push_back(std::move(made));
    }
  }
  return out;
}

}  // namespace tilescope
