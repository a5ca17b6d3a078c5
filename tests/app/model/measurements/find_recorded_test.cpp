// Which recording is of what was simulated.
#include "app/model/measurements/find_recorded.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include "app/model/measurements/recordings.h"
#include "kernels/measure/probe_json.h"
#include "tests/app/model/measurements/recorded_problems.h"
#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"
#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

TEST_CASE("find recorded: a case matches only the same kernel, problem, tile and unchanged GPU") {
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

TEST_CASE("find recorded: probes lie next to the bundles and match by the same rule") {
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

TEST_CASE("find recorded: a recorded case is found before anything is simulated") {
  const auto run = simulated("flash3", "h100", recorded_flash3);
  const Recordings recordings = load_recordings(run->request.gpu);
  SimulationRequest asked = run->request;
  asked.tile.reset();
  asked.blocks_per_sm.reset();
  const auto before = find_case(recordings.known, asked), after = find_case(recordings.known, *run);
  REQUIRE(before);
  REQUIRE(after);
  CHECK(&before->measured() == &after->measured());
  asked.problem.heads = asked.problem.kv_heads = 3;
  CHECK_FALSE(find_case(recordings.known, asked));
  asked.problem.head_dim = 0;
  CHECK_FALSE(find_case(recordings.known, asked));
}

TEST_CASE("find recorded: what is recorded of a rung is recorded of flash3 where it chooses that rung") {
  const auto rung = simulated("hopper_causal", "h100", recorded_rung);
  const auto flash3 = simulated("flash3", "h100", recorded_rung);
  REQUIRE(chosen_by(*flash3->info, flash3->request.problem) == "hopper_causal");
  const Recordings recordings = load_recordings(rung->request.gpu);
  const auto of_rung = find_case(recordings.known, *rung), of_flash3 = find_case(recordings.known, *flash3);
  REQUIRE(of_rung);
  REQUIRE(of_flash3);
  CHECK(of_rung->measured() == of_flash3->measured());
}

TEST_CASE("find recorded: another order of blocks or fewer of them on an SM is no recorded run") {
  const auto run = simulated("flash2", "h100", recorded_flash2);
  const Recordings recordings = load_recordings(run->request.gpu);
  REQUIRE(find_case(recordings.known, *run));
  SimulationRequest changed = run->request;
  changed.block_order = BlockOrder::reversed;
  CHECK_FALSE(find_case(recordings.known, **simulate(changed)));
  changed = run->request;
  changed.blocks_per_sm = 1;
  CHECK_FALSE(find_case(recordings.known, **simulate(changed)));
}
