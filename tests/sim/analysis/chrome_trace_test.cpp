// The Chrome trace: valid JSON, one slice an interval, no two slices of a lane at once, counters that add up to the ledger.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/analysis/chrome_trace.h"
#include "sim/analysis/link_bins.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> simulate_on(const GpuSpec& gpu, std::string_view algorithm, std::int64_t n = 256) {
  SimulationRequest request;
  request.algorithm = std::string(algorithm);
  request.gpu = gpu;
  request.problem.heads = request.problem.kv_heads = 4;
  request.problem.seq_q = request.problem.seq_kv = n;
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
  double read = 0, write = 0, to_sm = 0, from_sm = 0;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "C") continue;
    if (event.at("name") == "HBM GB/s") read += event.at("args").at("read").get<double>() * ns;
    if (event.at("name") == "HBM GB/s") write += event.at("args").at("write").get<double>() * ns;
    if (event.at("name") == "L2 GB/s") to_sm += event.at("args").at("to SMs").get<double>() * ns;
    if (event.at("name") == "L2 GB/s") from_sm += event.at("args").at("from SMs").get<double>() * ns;
  }
  CHECK(read == doctest::Approx(static_cast<double>(simulation->ledger.total(Link::hbm_read).value)).epsilon(0.001));
  CHECK(to_sm == doctest::Approx(static_cast<double>(simulation->ledger.total(Link::l2_to_sm).value)).epsilon(0.001));
  CHECK(write == doctest::Approx(static_cast<double>(simulation->ledger.total(Link::hbm_write).value)).epsilon(0.001));
  CHECK(from_sm == doctest::Approx(static_cast<double>(simulation->ledger.total(Link::sm_to_l2).value)).epsilon(0.001));
}

TEST_CASE("chrome trace: no counter is above what its link carries") {
  for (const bool small : {true, false}) {
    const GpuSpec gpu = small ? toy_gpu() : h200_gpu();
    const auto simulation = simulate_on(gpu, "standard", small ? 80 : 1024);
    const nlohmann::json json = nlohmann::json::parse(to_chrome_trace(*simulation));
    const double hbm = std::max(gpu.hbm_rate().value, gpu.hbm_read_rate().value) * gpu.sm_clock_hz / 1e9,
                 l2 = l2_peak(gpu) * gpu.sm_clock_hz / 1e9;
    double most_hbm = 0, most_l2 = 0;
    for (const auto& event : json.at("traceEvents")) {
      if (event.at("ph") != "C") continue;
      double sum = 0;
      for (const auto& rate : event.at("args")) sum += rate.get<double>();
      double& most = event.at("name") == "HBM GB/s" ? most_hbm : most_l2;
      most = std::max(most, sum);
    }
    CHECK(most_hbm > 0);
    CHECK(most_hbm <= hbm * 1.001);
    CHECK(most_l2 > 0);
    CHECK(most_l2 <= l2 * 1.001);
  }
}

TEST_CASE("chrome trace: each slice has the time, the tile and the wait of its operation, on a lane of its unit") {
  const auto simulation = simulate_on(toy_gpu(), "standard", 80);
  const nlohmann::json json = nlohmann::json::parse(to_chrome_trace(*simulation));
  const double clock = simulation->request.gpu.sm_clock_hz;
  // Times are rounded to nanoseconds.
  const auto is_from_to = [&](const nlohmann::json& slice, double from, double to) {
    const double start = slice.at("ts").get<double>() * 1e3, end = start + slice.at("dur").get<double>() * 1e3;
    return std::abs(start - from / clock * 1e9) < 0.501 && std::abs(end - to / clock * 1e9) < 0.501;
  };
  std::map<std::pair<int, int>, std::string> lanes;
  using Key = std::tuple<int, int, std::int64_t, int>;  // process, launch, block, operation
  std::map<Key, const nlohmann::json*> slices;
  const auto key_of = [](const nlohmann::json& event) {
    const nlohmann::json& args = event.at("args");
    return Key(event.at("pid").get<int>(), args.at("launch").get<int>(), args.at("block").get<std::int64_t>(),
               args.at("op").get<int>());
  };
  std::vector<const nlohmann::json*> launches;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("name") == "thread_name") lanes[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
    if (event.at("ph") != "X") continue;
    if (event.at("cat") == "launch")
      launches.push_back(&event);
    else
      slices[key_of(event)] = &event;
  }
  REQUIRE(launches.size() == simulation->launches.size());
  for (std::size_t n = 0; n < launches.size(); ++n) {
    const LaunchTime& time = simulation->trace->launches()[n];
    CHECK(launches[n]->at("name") == simulation->launches[n].name);
    CHECK(is_from_to(*launches[n], time.start, time.end));
    CHECK(launches[n]->at("args").at("blocks") == simulation->launches[n].blocks);
    CHECK(launches[n]->at("args").at("blocks_per_sm") == simulation->launches[n].blocks_per_sm);
  }
  BlockOperations block;
  for (const int sm : simulation->trace->focused_sms())
    for (const Interval& interval : simulation->trace->intervals(sm)) {
      const BlockRun& run = simulation->trace->runs()[static_cast<std::size_t>(interval.run)];
      const auto found = slices.find(Key(sm + 1, run.launch, run.block, interval.op));
      REQUIRE(found != slices.end());
      const nlohmann::json &slice = *found->second, &args = slice.at("args");
      simulation->program->emit_block(run.launch, run.block, block);
      const Operation& op = block.operations[static_cast<std::size_t>(interval.op)];
      const TileRef& tile = op.tile;
      std::string name(to_string(op.kind));
      if (moves_tile(op.kind))
        name += fmt::format(" {}[{}, {}:{}, {}:{}]", to_string(tile.tensor), tile.plane, tile.row, tile.row + tile.rows, tile.col,
                            tile.col + tile.cols);
      else if (op.dst != ChipTile::none)
        name += fmt::format(" {}", to_string(op.dst));
      CHECK(slice.at("name") == name);
      CHECK(slice.at("cat") == std::string(to_string(interval.unit)));
      CHECK(lanes[{sm + 1, slice.at("tid").get<int>()}].starts_with(to_string(interval.unit)));
      CHECK(is_from_to(slice, interval.start, interval.end));
      CHECK(args.at("line") == op.line);
      CHECK(args.at("cycle").get<double>() == doctest::Approx(interval.start).epsilon(1e-6));
      CHECK(args.at("waited_cycles").get<double>() == doctest::Approx(interval.start - interval.ready).epsilon(1e-3));
      CHECK(args.at("waited_for") == std::string(to_string(interval.cause)));
      CHECK(args.at("bytes") == interval.bytes);
      CHECK(args.at("hbm_bytes") == interval.hbm_bytes);
    }
}
