// The points of a sweep on all cores, small ones first, each at its clock.
#include "app/model/session/run_sweep.h"

#include <optional>
#include <string>
#include <utility>

#include "app/model/background/parallel.h"
#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/runs_at_clock.h"
#include "app/model/requests/assets.h"
#include "app/model/requests/own_tile.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// The clock of all points of an algorithm, where they differ in a part of the tile or in a value of the GPU alone: that of the
/// kernel's own tile, on the GPU as it was asked for. 0: none is known; nullopt: each point has its own.
/// Errors  cancelled
Result<std::optional<double>> clock_of_points(const SweepRequest& sweep, const std::string& algorithm, const Recordings& recordings,
                                              const Progress& progress) {
  const std::string& key = sweep.axis.key;
  const bool is_tile = key == "block_q" || key == "block_kv" || key == "stages";
  const bool is_gpu = key == "shared_bytes" || find_spec_key(key) != nullptr;
  if (!is_tile && !is_gpu) return std::optional<double>();
  SimulationRequest own = sweep.base;
  own.algorithm = algorithm;
  take_own_tile(own);
  const auto clock = clock_of_comparison(own, recordings, progress);
  if (!clock) return clock.error();
  return std::optional(*clock);
}

}  // namespace

bool run_sweep(Growing<SweepResult>& sweep, int threads, const std::function<bool()>& stop,
               const std::function<void(const SweepResult&)>& changed, const Recordings* recordings) {
  const auto asked = sweep.read();
  const auto& values = asked->request.axis.values;
  const Progress going_on = [&](double) { return !stop || !stop(); };
  std::vector<std::optional<double>> common_hz(asked->request.algorithms.size());
  std::vector<std::size_t> order;
  for (std::size_t value = 0; value < values.size(); ++value)  // small ones of every algorithm first: the picture grows evenly
    for (std::size_t algorithm = 0; algorithm < asked->request.algorithms.size(); ++algorithm)
      if (!asked->at(algorithm, value)) order.push_back(asked->index(algorithm, value));
  for (std::size_t i = 0; recordings != nullptr && !order.empty() && i < common_hz.size(); ++i) {
    const auto clock = clock_of_points(asked->request, asked->request.algorithms[i], *recordings, going_on);
    if (!clock) return false;
    common_hz[i] = *clock;
  }
  return on_cores(order, threads, [&](std::size_t index) {
    const std::size_t at = index / values.size();
    const auto request = request_at(asked->request, asked->request.algorithms[at], values[index % values.size()]);
    Outcome outcome;
    if (!request) {
      outcome.refusal = request.error().sentence;
    } else {
      auto made = recordings != nullptr ? simulate_outcome_under_load(*request, *recordings, going_on, common_hz[at])
                                        : simulate_outcome(*request, going_on);
      if (!made) return false;
      outcome = std::move(*made);
    }
    sweep.change([&](SweepResult& result) {
      result.points[index] = std::move(outcome);
      if (changed) changed(result);
    });
    return going_on(0);
  });
}

void add_errors(SweepErrors& errors, const SweepResult& result, const Measurements& known) {
  errors.resize(result.points.size());
  const std::vector<double>& values = result.request.axis.values;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto& point = result.points[i];
    if (errors[i] || !point || !point->done()) continue;
    const auto request = request_at(result.request, result.request.algorithms[i / values.size()], values[i % values.size()]);
    if (request) errors[i] = time_errors_of(known, predicted(*request, *point));
  }
}

bool l2_may_decide(const SweepResult& result, std::size_t algorithm, std::size_t value) {
  const auto& point = result.at(algorithm, value);
  const auto request = request_at(result.request, result.request.algorithms[algorithm], result.request.axis.values[value]);
  return point && point->done() && request && !unchanged(request->gpu) && point->l2_may_decide();
}

}  // namespace tilescope
