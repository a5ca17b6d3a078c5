// The clock under load: from the recording of the run, else from those most like it, else from the spec.
#include "app/model/measurements/clock_under_load.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/measurements/runs_at_clock.h"
#include "app/model/measurements/useful_flops.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "kernels/kernel_table.h"
#include "sim/masks/mask_choice.h"
#include "tests/app/run_simulation.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> simulated(const char* algorithm, const char* gpu, const AttentionProblem& problem) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = *load_gpu(gpu);
  request.problem = problem;
  const auto made = simulate(request);
  REQUIRE(made);
  return *made;
}

const AttentionProblem recorded_flash3 = {
    .batch = 2, .heads = 8, .kv_heads = 2, .seq_q = 325, .seq_kv = 325, .head_dim = 128, .dtype = DataType::fp16};
const AttentionProblem recorded_flash2 = {
    .batch = 16, .heads = 16, .kv_heads = 16, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .dtype = DataType::fp16};
const AttentionProblem recorded_rung = {.batch = 4,
                                        .heads = 16,
                                        .kv_heads = 16,
                                        .seq_q = 4096,
                                        .seq_kv = 4096,
                                        .head_dim = 128,
                                        .dtype = DataType::fp16,
                                        .causal = true};

/// Returns the mean error of the recorded clocks if `guess` foretells each from the other runs.
template <class Guess>
double mean_error(const std::vector<RecordedRun>& runs, ProductInstruction instruction, const Guess& guess) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].load.instruction != instruction) continue;
    std::vector<RecordedRun> others = runs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    sum += std::abs(guess(others, runs[i].load) / runs[i].clock_hz - 1);
    ++count;
  }
  REQUIRE(count > 50);
  return sum / count;
}

}  // namespace

TEST_CASE("clock under load: like runs foretell a recorded clock with at most 60 % of the error of the calibrated clock") {
  for (const char* id : {"h100", "h200"})
    for (const ProductInstruction instruction : {ProductInstruction::mma_sync, ProductInstruction::wgmma}) {
      CAPTURE(id);
      CAPTURE(static_cast<int>(instruction));
      const GpuSpec gpu = *load_gpu(id);
      const Recordings recordings = load_recordings(gpu);
      const double like = mean_error(recordings.runs, instruction,
                                     [](const auto& others, const TensorLoad& load) { return borrowed_clock(others, load)->hz; });
      const double calibrated =
          mean_error(recordings.runs, instruction, [&](const auto&, const TensorLoad&) { return gpu.sm_clock_under_load_hz; });
      CHECK(like < 0.6 * calibrated);
      CHECK(like < 0.04);
    }
}

TEST_CASE("borrowed clock: it is the mean between lighter and heavier runs, and of the same instruction alone") {
  const auto run = [](ProductInstruction instruction, double flops_a_cycle, double cycles, double ghz) {
    return RecordedRun{{instruction, flops_a_cycle * cycles, cycles}, ghz * 1e9};
  };
  std::vector<RecordedRun> runs = {run(ProductInstruction::wgmma, 1e5, 1e5, 1.9), run(ProductInstruction::wgmma, 2e5, 3e5, 1.6),
                                   run(ProductInstruction::wgmma, 3e5, 2e5, 1.5), run(ProductInstruction::wgmma, 4e5, 1e6, 1.4),
                                   run(ProductInstruction::wgmma, 4e5, 2e6, 1.3)};
  for (int i = 0; i < 9; ++i) runs.push_back(run(ProductInstruction::mma_sync, 2e5, 3e5, 1.2));
  const auto busy = borrowed_clock(runs, {ProductInstruction::wgmma, 3.5e5 * 5e5, 5e5});
  REQUIRE(busy);
  CHECK(busy->hz < 1.6e9);
  CHECK(busy->hz > 1.3e9);
  CHECK(busy->runs >= 1);
  CHECK(borrowed_clock(runs, {ProductInstruction::mma_sync, 2e5 * 3e5, 3e5})->hz == doctest::Approx(1.2e9));
  // Two runs that the rule holds against are averaged.
  runs[3].clock_hz = 1.7e9;
  const auto pooled = borrowed_clock(runs, {ProductInstruction::wgmma, 3e5 * 6e5, 6e5});
  REQUIRE(pooled);
  CHECK(pooled->hz > 1.5e9);
  CHECK(pooled->hz < 1.7e9);
  runs.resize(4);
  CHECK_FALSE(borrowed_clock(runs, {ProductInstruction::wgmma, 3e11, 1e6}));
}

TEST_CASE("borrowed clock: more FLOP a cycle, or more cycles, never give a higher clock") {
  for (const char* id : {"h100", "h200"})
    for (const ProductInstruction instruction : {ProductInstruction::mma_sync, ProductInstruction::wgmma}) {
      CAPTURE(id);
      const Recordings recordings = load_recordings(*load_gpu(id));
      double before_in_rate = 1e12;
      for (const double rate : {1e4, 5e4, 1e5, 2e5, 3e5, 4e5}) {
        double before = 1e12;
        for (double cycles = 3e4; cycles < 3e7; cycles *= 1.7) {
          const auto clock = borrowed_clock(recordings.runs, {instruction, rate * cycles, cycles});
          REQUIRE(clock);
          CAPTURE(rate);
          CAPTURE(cycles);
          CHECK(clock->hz <= before * (1 + 1e-12));
          before = clock->hz;
        }
        const auto long_run = borrowed_clock(recordings.runs, {instruction, rate * 1e6, 1e6});
        REQUIRE(long_run);
        CHECK(long_run->hz <= before_in_rate * (1 + 1e-12));
        before_in_rate = long_run->hz;
      }
    }
}

TEST_CASE("recorded runs: a causal mask over more keys than queries counts the visible keys, as a simulated run does") {
  const Recordings recordings = load_recordings(*load_gpu("h100"));
  int tall = 0;
  for (const RecordedRun& run : recordings.runs) {
    const AttentionProblem& p = run.problem;
    if (!p.causal || p.seq_kv < 2 * p.seq_q || run.kernel != "flash3") continue;
    ++tall;
    AttentionProblem dense = p;
    dense.causal = false;
    const double all = useful_flops(**find_kernel(run.kernel), dense);
    CHECK(run.load.flops > 0.74 * all);
    CHECK(run.load.flops < all);
  }
  CHECK(tall > 0);
}

TEST_CASE("clock under load: a run that was recorded has the clock of its recording, and is simulated at it") {
  const auto run = simulated("flash3", "h100", recorded_flash3);
  const Recordings recordings = load_recordings(run->request.gpu);
  const auto loaded = run_under_load(recordings, *run);
  REQUIRE(loaded);
  REQUIRE(loaded->recorded);
  CHECK(loaded->clock.from == ClockUnderLoad::From::this_case);
  CHECK(loaded->clock.hz == loaded->recorded->measured().sm_clock_hz);
  CHECK(loaded->simulation->request.gpu.sm_clock_hz == loaded->clock.hz);
  CHECK(loaded->simulation->time.value > run->time.value);
  REQUIRE(loaded->errors.time);
  CHECK(loaded->errors.time->is_short);
  CHECK(loaded->errors.time->runs >= 15);
  CHECK_FALSE(loaded->errors.clock);  // the clock is its own
  // A study has the same figures, from one simulation: the clock is known before.
  int finished = 0;
  double last = 0;
  const auto outcome = simulate_outcome_under_load(run->request, recordings, [&](double done) {
    if (done < last) ++finished;
    last = done;
    return true;
  });
  REQUIRE(outcome);
  CHECK(finished == 0);
  CHECK(outcome->under_load.clock_hz == loaded->clock.hz);
  CHECK(outcome->under_load.recorded_ns == loaded->recorded->measured().time_cold_ns.median);
  CHECK(outcome->time_ns == loaded->simulation->time.value);
  CHECK(outcome->cycles == loaded->simulation->cycles.value);
}

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
    const auto outcome = simulate_outcome_under_load(changed, recordings);
    REQUIRE(outcome);
    CHECK(outcome->under_load.clock_hz == clock->hz);
  }
  // The kernel's own tile with its own number of buffers is the kernel.
  SimulationRequest named = own;
  named.tile = ProgramTile(128, 128, 2);
  CHECK_FALSE(clock_under_load(recordings, **simulate(named))->of_own_tile);
}

TEST_CASE("clock under load: a recorded case is found before anything is simulated") {
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

TEST_CASE("clock under load: a file with the id of a GPU and other numbers has no recordings, and a value that is set keeps them") {
  GpuSpec gpu = *load_gpu("h100");
  CHECK_FALSE(load_recordings(gpu).runs.empty());
  REQUIRE(set_spec_value(gpu, "l2.capacity_bytes=1000000"));
  CHECK_FALSE(load_recordings(gpu).runs.empty());
  gpu = *load_gpu("h100");
  gpu.sm_clock_hz = 1e9;
  CHECK(load_recordings(gpu).runs.empty());
}

TEST_CASE("clock under load: what is recorded of a rung is recorded of flash3 where it chooses that rung") {
  const auto rung = simulated("hopper_causal", "h100", recorded_rung);
  const auto flash3 = simulated("flash3", "h100", recorded_rung);
  REQUIRE(chosen_by(*flash3->info, flash3->request.problem) == "hopper_causal");
  const Recordings recordings = load_recordings(rung->request.gpu);
  const auto of_rung = find_case(recordings.known, *rung), of_flash3 = find_case(recordings.known, *flash3);
  REQUIRE(of_rung);
  REQUIRE(of_flash3);
  CHECK(of_rung->measured() == of_flash3->measured());
}

TEST_CASE("clock under load: another order of blocks or fewer of them on an SM is no recorded run") {
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

TEST_CASE("clock under load: two runs that are compared have the clock of the first, so that a borrowed one swaps no two tiles") {
  const auto recorded = simulated("flash3", "h100", recorded_flash3);
  SimulationRequest request = recorded->request;
  request.tile = ProgramTile(128, 64);
  const auto other = *simulate(request);
  const Measurements known = load_measurements_of("h100");
  const Recordings recordings = recordings_of(known, recorded->request.gpu);
  const auto own = clock_under_load(recordings, *recorded), of_other = clock_under_load(recordings, *other);
  REQUIRE(own);
  REQUIRE(of_other);
  CHECK(own->from == ClockUnderLoad::From::this_case);
  // Another tile has the clock of the kernel's own, in whatever order they are compared.
  CHECK(of_other->from == ClockUnderLoad::From::this_case);
  CHECK(of_other->of_own_tile);
  CHECK_FALSE(own->of_own_tile);
  CHECK(of_other->hz == own->hz);
  const auto pair = pair_under_load(known, recorded, other), swapped = pair_under_load(known, other, recorded);
  REQUIRE(pair);
  REQUIRE(swapped);
  CHECK(pair->first->request.gpu.sm_clock_hz == own->hz);
  CHECK(pair->second->request.gpu.sm_clock_hz == own->hz);
  CHECK(swapped->first->request.gpu.sm_clock_hz == of_other->hz);
  CHECK(swapped->second->request.gpu.sm_clock_hz == of_other->hz);
  CHECK((pair->first->time.value < pair->second->time.value) == (swapped->second->time.value < swapped->first->time.value));
  CHECK(*clock_of_comparison(recorded->request, recordings) == own->hz);
  // Two programs too, and two sizes: with a clock each, the clock could decide which is faster.
  const auto flash2 = simulated("flash2", "h100", recorded_flash3);
  REQUIRE(clock_under_load(recordings, *flash2)->hz != own->hz);
  AttentionProblem longer = recorded_flash3, masked = recorded_flash3;
  longer.seq_q = longer.seq_kv = 2048;
  masked.causal = true;
  for (const auto& second : {flash2, simulated("flash3", "h100", longer), simulated("flash3", "h100", masked)}) {
    const auto together = pair_under_load(known, recorded, second);
    REQUIRE(together);
    CHECK(together->first->request.gpu.sm_clock_hz == own->hz);
    CHECK(together->second->request.gpu.sm_clock_hz == own->hz);
  }
  // Two recorded runs, of which both clocks are known.
  AttentionProblem full = recorded_rung, causal = recorded_rung;
  full.causal = false;
  causal.causal = true;
  const auto of_full = simulated("hopper_causal", "h100", full), of_causal = simulated("hopper_causal", "h100", causal);
  REQUIRE(clock_under_load(recordings, *of_full)->hz != clock_under_load(recordings, *of_causal)->hz);
  const auto recorded_both = pair_under_load(known, of_full, of_causal);
  REQUIRE(recorded_both);
  CHECK(recorded_both->first->request.gpu.sm_clock_hz == clock_under_load(recordings, *of_full)->hz);
  CHECK(recorded_both->second->request.gpu.sm_clock_hz == recorded_both->first->request.gpu.sm_clock_hz);
  // On two GPUs each has its own.
  const auto h200 = simulated("flash3", "h200", recorded_flash3);
  Measurements both = known;
  const Measurements of_h200 = load_measurements_of("h200");
  both.bundles.insert(both.bundles.end(), of_h200.bundles.begin(), of_h200.bundles.end());
  const auto two = pair_under_load(both, recorded, h200);
  REQUIRE(two);
  CHECK(two->second->request.gpu.sm_clock_hz == clock_under_load(recordings_of(both, h200->request.gpu), *h200)->hz);
  // A clock that the user chose stays.
  REQUIRE(set_spec_value(request.gpu, "sm.clock_hz=1.2e9"));
  CHECK(at_clock(request, 1.5e9).gpu.sm_clock_hz == 1.2e9);
}

TEST_CASE("clock under load: programs that are ranked have the clock of the fastest, in any order and on any number of threads") {
  const Recordings recordings = load_recordings(*load_gpu("h100"));
  std::vector<SimulationRequest> requests;
  for (const char* program : {"flash2", "hopper_wgmma", "flash3", "hopper_producer"})
    requests.push_back(simulated(program, "h100", recorded_rung)->request);
  SimulationRequest refused = requests.front();
  refused.tile = ProgramTile(1 << 14, 1 << 14);
  requests.insert(requests.begin(), refused);
  const auto clock = clock_of_ranking(requests, recordings, 1);
  REQUIRE(clock);
  CHECK(clock->algorithm == "flash3");
  CHECK(clock->hz == clock_under_load(recordings, *simulated("flash3", "h100", recorded_rung))->hz);
  std::ranges::reverse(requests);
  const auto again = clock_of_ranking(requests, recordings, 3);
  REQUIRE(again);
  CHECK(again->algorithm == clock->algorithm);
  CHECK(again->hz == clock->hz);
  CHECK_FALSE(clock_of_ranking(requests, recordings, 2, [](double) { return false; }));
  for (SimulationRequest& each : requests) REQUIRE(set_spec_value(each.gpu, "sm.clock_hz=1.2e9"));
  CHECK(clock_of_ranking(requests, recordings, 2)->hz == 0);
}

TEST_CASE("clock under load: a comparison that is cancelled has no clock, whenever that happens") {
  SimulationRequest request = simulated("flash2", "h100", recorded_flash2)->request;
  request.tile = ProgramTile(64, 64);  // its clock is that of the kernel's tile, which is simulated after it
  const Recordings recordings = load_recordings(request.gpu);
  // How often a simulation reports depends on the time that it takes.
  int cancelled = 0;
  for (bool whole = false; !whole; ++cancelled) {
    CAPTURE(cancelled);
    int reports = 0;
    const auto clock = clock_of_comparison(request, recordings, [&](double) { return ++reports <= cancelled; });
    whole = reports <= cancelled;
    REQUIRE(static_cast<bool>(clock) == whole);
    if (!whole) CHECK(clock.error().kind == Error::Kind::cancelled);
  }
  CHECK(cancelled > 2);
}

TEST_CASE("clock under load: two runs on two GPUs that are cancelled are no pair, whenever that happens") {
  const auto first = simulated("flash2", "h100", recorded_flash2), second = simulated("flash2", "h200", recorded_flash2);
  SimulationRequest other_tile = second->request;
  other_tile.tile = ProgramTile(64, 64);  // its clock is that of the kernel's tile, which is simulated after it
  const auto made = simulate(other_tile);
  REQUIRE(made);
  Measurements known = load_measurements_of("h100");
  const Measurements of_h200 = load_measurements_of("h200");
  known.bundles.insert(known.bundles.end(), of_h200.bundles.begin(), of_h200.bundles.end());
  int cancelled = 0;
  for (bool whole = false; !whole; ++cancelled) {
    CAPTURE(cancelled);
    int reports = 0;
    const auto pair = pair_under_load(known, first, *made, [&](double) { return ++reports <= cancelled; });
    whole = reports <= cancelled;
    REQUIRE(static_cast<bool>(pair) == whole);
    if (!whole) CHECK(pair.error().kind == Error::Kind::cancelled);
  }
  CHECK(cancelled > 2);
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

TEST_CASE("clock under load: the rate under a mask is of the visible elements, as papers count them") {
  SimulationRequest request;
  request.algorithm = "flex";
  request.gpu = *load_gpu("h100");
  request.problem = {.heads = 2, .kv_heads = 2, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .dtype = DataType::fp16};
  request.masking.masks = {"q >= kv && q - kv <= 100"};
  REQUIRE(settle_masks(request.masking, request.problem, {}));
  const auto made = simulate(request);
  REQUIRE(made);
  double visible = 0;
  for (int q = 0; q < 1024; ++q) visible += std::min(q, 100) + 1;
  CHECK(useful_flops(**made) == doctest::Approx(4.0 * 2 * visible * 64));
  CHECK(useful_flops(**made) < static_cast<double>((*made)->flops));
  // A causal mask hides less than half where there are more keys than queries.
  request.problem = {.seq_q = 512, .seq_kv = 1024, .head_dim = 64, .dtype = DataType::fp16, .causal = true};
  request.masking.masks.clear();
  const auto tall = simulate(request);
  REQUIRE(tall);
  CHECK(useful_flops(**tall) == doctest::Approx(4.0 * 64 * (512.0 * 512 + 512.0 * 513 / 2)));
  // Every block is partial, and there are 2^28 elements.
  request.problem = {.seq_q = 16384, .seq_kv = 16384, .head_dim = 64, .dtype = DataType::fp16};
  request.masking.masks = {"(q - kv) % 2 == 0"};
  REQUIRE(settle_masks(request.masking, request.problem, {}));
  const auto long_run = simulate(request);
  REQUIRE(long_run);
  CHECK(useful_flops(**long_run) == 0);
}
