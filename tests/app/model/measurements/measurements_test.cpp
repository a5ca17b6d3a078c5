// Bundles as the program finds them: recorded files, broken ones, and the case of what is shown. Every number is synthetic.
#include "app/model/measurements/measurements.h"
#include "app/ui/say.h"

#include <doctest/doctest.h>

#include "app/model/measurements/validation_run.h"
#include "kernels/measure/bundle.h"
#include "kernels/measure/probe_json.h"
#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"
#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {}  // namespace

TEST_CASE("measurements: recorded bundles are found, other files ignored, a broken one reported") {
  const TemporaryFolder folder;
  const AssetsFolder assets(folder.path(""));
  CHECK(load_measurements().bundles.empty());
  std::filesystem::create_directory(folder.path("measured"));
  folder.file("measured/toy.json", to_json(synthetic_bundle(toy_gpu())));
  folder.file("measured/toy-other.json", "{\"schema\": \"tilescope.simulation/1\"}");
  folder.file("measured/notes.txt", "no bundle");
  const Measurements good = load_measurements();
  REQUIRE(good.bundles.size() == 1);
  CHECK(good.problem.empty());
  CHECK_FALSE(good.bundles[0]->live);
  CHECK(day_of(good.bundles[0]->bundle.date) == "2000-01-02");

  folder.file("measured/broken.json", "{\"schema\": \"tilescope.measurements/1\", \"gpu\": 3}");
  const Measurements mixed = load_measurements();
  CHECK(mixed.bundles.size() == 1);
  CHECK(mixed.problem.text().find("broken.json") != std::string::npos);
  CHECK(mixed.problem.text().find('\n') == std::string::npos);
}

TEST_CASE("measurements: unreadable samples are reported with their file") {
  const TemporaryFolder folder;
  const AssetsFolder assets(folder.path(""));
  std::filesystem::create_directory(folder.path("measured"));
  folder.file("measured/toy-hbm.json", "{\"schema\": \"tilescope.bandwidth/1\"}");
  const Measurements broken = load_measurements();
  CHECK(broken.bandwidths.empty());
  CHECK(broken.problem.text().find("toy-hbm.json") != std::string::npos);
}

TEST_CASE("measurements: an unusable bundle is one sentence with its path") {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.path("none.json"), folder.file("empty.json", ""), folder.file("text.json", "no JSON"), folder.path("")}) {
    CAPTURE(path);
    const auto bundle = load_bundle(path);
    REQUIRE_FALSE(bundle);
    CHECK(bundle.error().sentence.text().find(path.substr(0, 20)) != std::string::npos);
    CHECK(bundle.error().kind == Error::Kind::wrong_request);
  }
  const auto none = load_bundle(folder.file("bare.json", to_json(MeasurementBundle{})));
  REQUIRE_FALSE(none);
  CHECK(none.error().sentence.text().find("no cases") != std::string::npos);
}

TEST_CASE("measurements: a case matches only the same kernel, problem, tile and unchanged GPU") {
  const GpuSpec gpu = toy_gpu();
  Measurements measurements;
  measurements.bundles.push_back(std::make_shared<const KnownBundle>(KnownBundle{synthetic_bundle(gpu), "toy.json", false}));
  const MeasuredCase& wanted = measurements.bundles[0]->bundle.cases[4];
  SimulationRequest request;
  request.algorithm = wanted.kernel;
  request.problem = wanted.problem;
  request.tile = wanted.tile;
  request.gpu = gpu;
  const auto found = [&](const SimulationRequest& asked) {
    const auto simulation = simulate(asked);
    REQUIRE(simulation);
    return find_case(measurements, **simulation);
  };
  const auto same = found(request);
  REQUIRE(same);
  CHECK(same->index == 4);
  CHECK(same->measured() == wanted);

  SimulationRequest other = request;
  other.algorithm = "flash1";
  CHECK_FALSE(found(other));
  other = request;
  other.problem.causal = true;
  CHECK_FALSE(found(other));
  other = request;
  other.tile = TileShape{8, 16};
  CHECK_FALSE(found(other));
  other = request;
  REQUIRE(set_spec_value(other.gpu, "l2.capacity_bytes=4096"));
  CHECK_FALSE(found(other));

  KnownBundle live{measurements.bundles[0]->bundle, {}, true};
  measurements.bundles.insert(measurements.bundles.begin(), std::make_shared<const KnownBundle>(std::move(live)));
  CHECK(found(request)->bundle->live);
}

TEST_CASE("measurements: probes lie next to the bundles and match by the same rule") {
  const TemporaryFolder folder;
  const AssetsFolder assets(folder.path(""));
  std::filesystem::create_directory(folder.path("measured"));
  ProbeResult probe;  // synthetic: no kernel recorded this
  probe.kernel = "flash2";
  probe.device = "NVIDIA H200";
  probe.problem.head_dim = 64;
  probe.problem.seq_q = probe.problem.seq_kv = 256;
  probe.tile = {128, 128};
  folder.file("measured/h200-probe-synthetic.json", to_json(probe));
  const Measurements known = load_measurements();
  CHECK(known.problem == "");
  REQUIRE(known.probes.size() == 1);
  CHECK(known.bundles.empty());
  SimulationRequest request;
  request.problem = probe.problem;
  request.tile = probe.tile;
  request.gpu = h200_gpu();
  const auto found = [&] {
    const auto simulation = simulate(request);
    REQUIRE(simulation);
    return find_probes(known, **simulation).size() == 1;
  };
  CHECK(found());
  request.problem.causal = true;
  CHECK_FALSE(found());
  request.problem.causal = false;
  request.gpu = toy_gpu();
  request.tile = TileShape{16, 16};
  CHECK_FALSE(found());
  folder.file("measured/h200-probe-synthetic.json", "{\"schema\": \"tilescope.probe/2\"}");
  CHECK(load_measurements().problem.text().find("h200-probe-synthetic.json") != std::string::npos);
}

TEST_CASE("validation run: every wanted case is done once, on any number of threads, and cancelling stops it") {
  const GpuSpec gpu = toy_gpu();
  const MeasurementBundle bundle = synthetic_bundle(gpu);
  for (const int threads : {1, 2, 7}) {
    std::vector<int> times(bundle.cases.size());
    CHECK(validate_cases(
        gpu, bundle.cases, {}, [](std::size_t i) { return i != 2; }, threads,
        [&](std::size_t i, const CaseValidation& result) {
          ++times[i];
          CHECK(result.verdict() == Verdict::within);
          return true;
        }));
    CHECK(times == std::vector<int>{1, 1, 0, 1, 1, 1});
  }
  std::size_t done = 0;
  CHECK_FALSE(validate_cases(gpu, bundle.cases, {}, {}, 1, [&](std::size_t, const CaseValidation&) { return ++done < 2; }));
  CHECK(done == 2);
  CHECK_FALSE(validate_cases(gpu, bundle.cases, {}, {}, 2, {}, [] { return true; }));
}

TEST_CASE("validation run: the window's order begins with what is simulated soonest, the other ends with it") {
  const GpuSpec gpu = toy_gpu();
  MeasurementBundle bundle = synthetic_bundle(gpu);
  bundle.cases.resize(2);
  bundle.cases[0].problem.heads = bundle.cases[0].problem.kv_heads = 2 * bundle.cases[1].problem.heads;
  bundle.cases[0].problem.seq_q = bundle.cases[1].problem.seq_q;
  bundle.cases[0].problem.seq_kv = bundle.cases[1].problem.seq_kv;
  bundle.cases[0].problem.batch = bundle.cases[1].problem.batch;
  for (const CaseOrder order : {CaseOrder::largest_first, CaseOrder::smallest_first}) {
    std::vector<std::size_t> seen;
    const auto note = [&](std::size_t i, const CaseValidation&) {
      seen.push_back(i);
      return true;
    };
    CHECK(validate_cases(gpu, bundle.cases, {}, {}, 1, note, {}, order));
    CHECK(seen == (order == CaseOrder::largest_first ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{1, 0}));
  }
}
