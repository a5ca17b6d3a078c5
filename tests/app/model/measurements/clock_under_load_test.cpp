// The clock under load: from the recording of the run, else from those most like it, else from the spec.
#include "app/model/measurements/clock_under_load.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/measurements/run_under_load.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "tests/app/model/measurements/recorded_problems.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

TEST_CASE("clock under load: a changed value of the GPU keeps the clock of the unchanged run") {
  SimulationRequest request = simulated("flash3", "h100", recorded_flash3)->request;
  request.blocks_per_sm.reset();
  const Recordings recordings = load_recordings(request.gpu);
  const auto own = clock_under_load(recordings, **simulate(request));
  REQUIRE(own);
  CHECK_FALSE(own->of_unchanged);
  // Half the bandwidth makes a longer run, and twice the shared memory lets two blocks on an SM.
  for (const char* change : {"hbm.bytes_per_second=2e11", "sm.shared_bytes=466944"}) {
    CAPTURE(change);
    SimulationRequest changed = request;
    REQUIRE(set_spec_value(changed.gpu, change));
    const auto clock = clock_under_load(recordings, **simulate(changed));
    REQUIRE(clock);
    CHECK(clock->hz == own->hz);
    CHECK(clock->from == ClockUnderLoad::From::this_case);
    CHECK(clock->of_unchanged);
  }
  SimulationRequest chosen = request;
  REQUIRE(set_spec_value(chosen.gpu, "hbm.bytes_per_second=2e11"));
  REQUIRE(set_spec_value(chosen.gpu, "sm.clock_under_load_hz=1.1e9"));
  CHECK(clock_under_load(recordings, **simulate(chosen))->hz == 1.1e9);
}

TEST_CASE("clock under load: another tile, order or number of blocks keeps the clock of the kernel as it stands") {
  SimulationRequest own = simulated("flash3", "h100", recorded_flash3)->request;
  own.problem.seq_q = own.problem.seq_kv = 1024;
  own.tile.reset();
  own.blocks_per_sm.reset();
  const Recordings recordings = load_recordings(own.gpu);
  const auto clock = clock_under_load(recordings, **simulate(own));
  REQUIRE(clock);
  CHECK(clock->from == ClockUnderLoad::From::like_runs);
  SimulationRequest tile = own, order = own;
  tile.tile = ProgramTile(128, 32);
  order.block_order = BlockOrder::reversed;
  for (const SimulationRequest& changed : {tile, order}) {
    const auto of_changed = clock_under_load(recordings, **simulate(changed));
    REQUIRE(of_changed);
    CHECK(of_changed->hz == clock->hz);
    CHECK(of_changed->of_own_tile);
  }
  // The kernel's own tile with its own number of buffers is the kernel.
  SimulationRequest named = own;
  named.tile = ProgramTile(128, 128, 2);
  CHECK_FALSE(clock_under_load(recordings, **simulate(named))->of_own_tile);
}

TEST_CASE("clock under load: a clock that the user chose stays, and a GPU without recordings has that of its spec or none") {
  SimulationRequest request;
  request.gpu = *load_gpu("h100");
  request.problem = recorded_flash2;
  REQUIRE(set_spec_value(request.gpu, "sm.clock_hz=1.5e9"));
  const Recordings recordings = load_recordings(request.gpu);
  CHECK_FALSE(clock_under_load(recordings, **simulate(request)));
  const auto before = clock_before_simulating(request, recordings);
  REQUIRE(before);
  CHECK_FALSE(before->has_value());
  request.gpu = *load_gpu("h100");
  request.problem.dtype = DataType::fp32;
  const auto in_fp32 = clock_under_load(recordings, **simulate(request));
  REQUIRE(in_fp32);
  CHECK(in_fp32->from == ClockUnderLoad::From::calibration);
  CHECK(in_fp32->hz == request.gpu.sm_clock_under_load_hz);
  for (const char* id : {"toy", "a100"}) {
    CAPTURE(id);
    const auto run = simulated("flash2", id, {.seq_q = 64, .seq_kv = 64, .head_dim = 16});
    CHECK_FALSE(clock_under_load(load_recordings(run->request.gpu), *run));
  }
}

TEST_CASE("clock under load: a file of one's own says which clock its times have") {
  const auto text = read_text_file(fmt::format("{}/assets/gpus/h100.toml", TILESCOPE_SOURCE_DIR));
  REQUIRE(text);
  const auto with = [&](std::string_view old, std::string_view now) {
    std::string changed = *text;
    const std::size_t at = changed.find(old);
    REQUIRE(at != std::string::npos);
    changed.replace(at, old.size(), now);
    return changed;
  };
  const TemporaryFolder folder;
  struct Loaded {
    GpuSpec gpu;
    Recordings recordings;
    std::string said;
  };
  const auto load = [&](const std::string& content) {
    const std::string path = folder.file("mine.toml", content);
    const auto gpu = load_gpu(path);
    REQUIRE(gpu);
    const Recordings recordings = load_recordings(*gpu);
    return Loaded{*gpu, recordings, clock_of_file_sentence(path, *gpu, recordings).text()};
  };
  const auto run_on = [&](const Loaded& loaded) {
    SimulationRequest request;
    request.algorithm = "flash3";
    request.gpu = loaded.gpu;
    request.problem = recorded_flash3;
    return *simulate(request);
  };
  const auto shipped = simulated("flash3", "h100", recorded_flash3);
  const auto of_shipped = run_under_load(load_recordings(shipped->request.gpu), *shipped);
  REQUIRE(of_shipped);
  CHECK(clock_of_file_sentence("h100", shipped->request.gpu, load_recordings(shipped->request.gpu)).empty());
  // A copy under another id has the clock, the time and the errors of the GPU whose numbers it has.
  const Loaded copy = load(with("id = \"h100\"", "id = \"mine\""));
  CHECK(copy.gpu.id == "h100");
  const auto of_copy = run_under_load(copy.recordings, *run_on(copy));
  REQUIRE(of_copy);
  CHECK(of_copy->simulation->time.value == of_shipped->simulation->time.value);
  CHECK(of_copy->errors.time);
  CHECK(copy.said.starts_with("This file has the numbers of h100"));
  // The same chip measured anew: the recorded runs lend their clocks, and nothing else.
  const Loaded anew = load(with("exps_per_cycle         = { value = 15.98", "exps_per_cycle         = { value = 15.9"));
  const auto of_anew = run_under_load(anew.recordings, *run_on(anew));
  REQUIRE(of_anew);
  CHECK(of_anew->clock.from == ClockUnderLoad::From::like_runs);
  CHECK_FALSE(of_anew->recorded);
  CHECK_FALSE(of_anew->errors.time);
  CHECK(anew.said.starts_with("This file is of an h100 with other numbers."));
  // Another GPU has the clock of its file, or the highest.
  std::string other = with("id = \"h100\"", "id = \"mine\"");
  other.replace(other.find("value = 1980000000"), 18, "value = 1970000000");
  const Loaded slower = load(other);
  CHECK(slower.gpu.id == "mine");
  CHECK(clock_under_load(slower.recordings, *run_on(slower))->from == ClockUnderLoad::From::calibration);
  CHECK(slower.said.ends_with("so its times are at 1.76 GHz, its sm.clock_under_load_hz."));
  other.erase(other.find("clock_under_load_hz"),
              other.find('\n', other.find("clock_under_load_hz")) - other.find("clock_under_load_hz") + 1);
  const Loaded highest = load(other);
  CHECK_FALSE(clock_under_load(highest.recordings, *run_on(highest)));
  CHECK(highest.said.find("so its times are at 1.97 GHz, the highest") != std::string::npos);
}

TEST_CASE("clock under load: one that is set goes before recordings") {
  SimulationRequest request = simulated("flash3", "h100", recorded_flash3)->request;
  REQUIRE(set_spec_value(request.gpu, "sm.clock_under_load_hz=1.1e9"));
  const auto clock = clock_under_load(load_recordings(request.gpu), **simulate(request));
  REQUIRE(clock);
  CHECK(clock->hz == 1.1e9);
  CHECK(to_string(clock->from) == "set");
  SimulationRequest toy;
  toy.gpu = *load_gpu("toy");
  REQUIRE(set_spec_value(toy.gpu, "sm.clock_under_load_hz=5e8"));
  CHECK(clock_under_load({}, **simulate(toy))->hz == 5e8);
}
