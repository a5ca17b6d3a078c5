// The Chrome trace: valid JSON, one slice an interval, no two slices of a lane at once, counters that add up to the ledger.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/engine/chrome_trace.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> simulate_on(const GpuSpec& gpu, std::string_view algorithm) {
  SimulationRequest request;
  request.algorithm = std::string(algorithm);
  request.gpu = gpu;
  request.problem.heads = request.problem.kv_heads = 4;
  request.problem.seq_q = request.problem.seq_kv = 256;
  request.problem.head_dim = 32;
  const auto result = simulate(request);
  REQUIRE(result);
  return *result;
}

}  // namespace

TEST_CASE("chrome trace: every interval is a slice, and slices of a lane do not overlap") {
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()})
    for (std::string_view id : {"flash2", "standard"}) {
      const auto simulation = simulate_on(gpu, id);
      const nlohmann::json json = nlohmann::json::parse(to_chrome_trace(*simulation));
      std::size_t intervals = 0, slices = 0;
      for (int sm : simulation->trace->focused_sms()) intervals += simulation->trace->intervals(sm).size();
      std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> lanes;
      std::map<std::pair<int, int>, int> names;
      for (const auto& event : json.at("traceEvents")) {
        if (event.at("ph") == "M" && event.at("name") == "thread_name") ++names[{event.at("pid"), event.at("tid")}];
        if (event.at("ph") != "X") continue;
        lanes[{event.at("pid"), event.at("tid")}].emplace_back(event.at("ts"), event.at("dur"));
        slices += event.at("cat") != "launch";
      }
      CHECK(slices == intervals);
      for (auto& [lane, list] : lanes) {
        CHECK(names[lane] == 1);
        std::sort(list.begin(), list.end());
        // As Perfetto reads them: each start and each length rounded to nanoseconds.
        std::int64_t end = 0;
        bool apart = true;
        for (const auto& [start, duration] : list) {
          const std::int64_t start_ns = std::llround(start * 1e3);
          apart = apart && start_ns >= end;
          end = start_ns + std::llround(duration * 1e3);
        }
        CHECK(apart);
      }
    }
}

TEST_CASE("chrome trace: the counters, summed over time, are the bytes of the ledger") {
  const auto simulation = simulate_on(h200_gpu(), "flash2");
  const nlohmann::json json = nlohmann::json::parse(to_chrome_trace(*simulation));
  const double ns = to_nanoseconds(Cycles(simulation->trace->bins().width), simulation->request.gpu.clock()).value;
  double read = 0, to_sm = 0;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "C") continue;
    if (event.at("name") == "HBM GB/s") read += event.at("args").at("read").get<double>() * ns;
    if (event.at("name") == "L2 GB/s") to_sm += event.at("args").at("to SMs").get<double>() * ns;
  }
  CHECK(read == doctest::Approx(static_cast<double>(simulation->ledger.total(Link::hbm_read).value)).epsilon(0.001));
  CHECK(to_sm == doctest::Approx(static_cast<double>(simulation->ledger.total(Link::l2_to_sm).value)).epsilon(0.001));
}
