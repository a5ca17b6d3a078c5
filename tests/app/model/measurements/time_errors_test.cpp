// How far predicted times were off: the embedded tables, and what is summed of them.
#include "app/model/measurements/time_errors.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/measurements/clock_under_load.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/measurements/judged_runs.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "sim/analysis/validation_csv.h"
#include "sim/programs/programs.h"
#include "tests/app/model/measurements/predicted_runs.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

TEST_CASE("validation: a bundle that comes with the program has the results of its table, of every case") {
  const Measurements known = load_measurements();
  int tables = 0;
  for (const auto& bundle : known.bundles) {
    CAPTURE(bundle->path);
    REQUIRE(bundle->results.size() == bundle->bundle.cases.size());
    ++tables;
    for (std::size_t i = 0; i < bundle->results.size(); ++i) {
      const auto& time = bundle->results[i].figure(Figure::time);
      if (time && std::isfinite(bundle->time_errors[i]))
        CHECK(time->error() == doctest::Approx(bundle->time_errors[i]).epsilon(1e-4));
    }
  }
  CHECK(tables > 10);
}

TEST_CASE("time errors: mean and worst are those of the table's judge cases") {
  double sum = 0, worst = 0;
  int rows = 0;
  for (const char* name : {"h100-flash3", "h100-new-shapes"}) {
    const auto text = read_text_file(fmt::format("{}/tests/validation/{}.csv", TILESCOPE_SOURCE_DIR, name));
    REQUIRE(text);
    const auto table = validation_from_csv(*text);
    REQUIRE(table);
    for (const ValidationRow& row : *table) {
      if (row.kernel != "flash3" || row.simulated.figures[static_cast<std::size_t>(Figure::time)] < short_run_ns) continue;
      const double error = std::abs(*row.errors[static_cast<std::size_t>(Figure::time)]);
      sum += error;
      worst = std::max(worst, error);
      ++rows;
    }
  }
  const SimulationRequest request = request_for("flash3", long_causal);
  const auto errors = time_errors_of(load_measurements_of("h100"), lasting(request));
  REQUIRE(errors);
  CHECK(errors->kernel == "flash3");
  CHECK(errors->held_out);
  CHECK(errors->runs == rows);
  CHECK(errors->mean == doctest::Approx(sum / rows));
  CHECK(errors->worst == doctest::Approx(worst));
}

TEST_CASE("time errors: the mean leaves out runs that the model was made with, and the worst does not") {
  double sum = 0, worst = 0, worst_unseen = 0;
  int unseen = 0, all = 0;
  const Measurements known = load_measurements_of("h100");
  for (const char* name : {"h100-new-shapes", "h100-flash3-backward"}) {
    const auto text = read_text_file(fmt::format("{}/tests/validation/{}.csv", TILESCOPE_SOURCE_DIR, name));
    REQUIRE(text);
    const auto table = validation_from_csv(*text);
    REQUIRE(table);
    const auto bundle =
        std::ranges::find_if(known.bundles, [&](const auto& each) { return each->path.ends_with(fmt::format("/{}.json", name)); });
    REQUIRE(bundle != known.bundles.end());
    const std::vector<MeasuredCase>& cases = (*bundle)->bundle.cases;
    REQUIRE(cases.size() == table->size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const ValidationRow& row = (*table)[i];
      if (row.kernel != "flash3_backward" || row.simulated.figures[static_cast<std::size_t>(Figure::time)] < short_run_ns) continue;
      const auto& read = row.errors[static_cast<std::size_t>(Figure::hbm_read)];
      REQUIRE(read);
      ++all;
      worst = std::max(worst, std::abs(*read));
      if (cases[i].list != "judge") continue;
      ++unseen;
      sum += std::abs(*read);
      worst_unseen = std::max(worst_unseen, std::abs(*read));
    }
  }
  REQUIRE(worst_unseen < worst);
  AttentionProblem problem = long_causal;
  problem.pass = Pass::backward;
  problem.heads = problem.kv_heads = 16;
  const SimulationRequest request = request_for("flash3_backward", problem);
  const auto errors = byte_errors_of(known, lasting(request), Link::hbm_read);
  REQUIRE(errors);
  CHECK(errors->runs == unseen);
  CHECK(errors->all_runs == all);
  CHECK(errors->mean == doctest::Approx(sum / unseen));
  CHECK(errors->worst == doctest::Approx(worst));
}

TEST_CASE("time errors: a program that was never recorded has those of the rung that it launches, or none") {
  Measurements h200 = load_measurements_of("h200");
  std::erase_if(h200.bundles, [](const auto& known) {
    return known->path.find("flash3") != std::string::npos || known->path.find("hopper-flex") != std::string::npos;
  });
  const SimulationRequest flash3 = request_for("flash3", long_causal, "h200"),
                          flex = request_for("hopper_flex", long_causal, "h200"), toy = request_for("flash2", long_causal, "toy");
  const auto rung = time_errors_of(h200, lasting(flash3));
  REQUIRE(rung);
  CHECK(rung->kernel == "hopper_causal");
  CHECK_FALSE(time_errors_of(h200, lasting(flex)));
  CHECK_FALSE(time_errors_of(load_measurements(), lasting(toy)));
  // Where all runs were seen while the model was made, the errors say so.
  AttentionProblem back = long_causal;
  back.pass = Pass::backward;
  const SimulationRequest backward = request_for("flash2_backward", back, "h200");
  REQUIRE(time_errors_of(h200, lasting(backward)));
  CHECK(time_errors_of(h200, lasting(backward))->held_out);
  std::erase_if(h200.bundles, [](const auto& known) { return known->path.find("backward-judge") != std::string::npos; });
  const auto seen = time_errors_of(h200, lasting(backward));
  REQUIRE(seen);
  CHECK_FALSE(seen->held_out);
}

TEST_CASE("time errors: they are unknown where no kernel could run the request, and say where the tile is another") {
  const Measurements known = load_measurements_of("h100");
  const auto of = [&](const SimulationRequest& request) { return time_errors_of(known, lasting(request)); };
  SimulationRequest request = request_for("flash2", long_causal);
  REQUIRE(of(request));
  CHECK_FALSE(of(request)->other_tile);
  CHECK(time_errors_sentence(of(request), "flash2", "h100").text().find("own tile") == std::string::npos);
  request.tile = ProgramTile(64, 64);
  REQUIRE(of(request));
  CHECK(of(request)->other_tile);
  CHECK(time_errors_sentence(of(request), "flash2", "h100").text().ends_with("They have the kernel's own tile."));
  request.tile = ProgramTile(256, 256);  // a thread would spill
  CHECK_FALSE(of(request));
  request.tile.reset();
  request.problem.head_dim = 96;
  CHECK_FALSE(of(request));
  CHECK(of(request).error().sentence.text() == "no kernel is compiled for this, so no recorded run is like it");
  request.problem.head_dim = 128;
  request.masking.masks = {"q - kv < 64"};  // the kernel of flash2 takes none
  CHECK_FALSE(of(request));
}

TEST_CASE("time errors: both passes in one run are not recorded, and the reason says so") {
  AttentionProblem both = long_causal;
  both.pass = Pass::both;
  const auto errors = time_errors_of(load_measurements_of("h100"), lasting(request_for("flash2", both)));
  REQUIRE_FALSE(errors);
  CHECK(errors.error().sentence.text() == "the passes of flash2 are recorded one by one, and not both in one run");
}

TEST_CASE("time errors: HBM bytes have the mean error of the same runs, by the tables") {
  const Measurements known = load_measurements_of("h100");
  const SimulationRequest request = request_for("flash3", long_causal);
  const auto time = time_errors_of(known, lasting(request));
  REQUIRE(time);
  for (const Link link : {Link::hbm_read, Link::hbm_write}) {
    const auto bytes = byte_errors_of(known, lasting(request), link);
    REQUIRE(bytes);
    CHECK(bytes->runs == time->runs);
    double sum = 0;
    int runs = 0;
    for (const auto& bundle : known.bundles)
      for (std::size_t i = 0; i < bundle->results.size(); ++i) {
        const MeasuredCase& measured = bundle->bundle.cases[i];
        const auto& compared = bundle->results[i].figure(link == Link::hbm_read ? Figure::hbm_read : Figure::hbm_write);
        const bool is_short = measured.time_cold_ns.median * (1 + bundle->time_errors[i]) < short_run_ns;
        if (measured.kernel != "flash3" || measured.list != "judge" || is_short || !compared) continue;
        sum += std::abs(compared->error());
        ++runs;
      }
    CHECK(bytes->runs == runs);
    CHECK(bytes->mean == doctest::Approx(sum / runs));
  }
  CHECK(byte_errors_sentence(byte_errors_of(known, lasting(request), Link::hbm_read), Link::hbm_read, "flash3")
            .text()
            .starts_with("HBM reads of flash3 are ±"));
}

TEST_CASE("time errors: on a changed GPU they are of the unchanged one, and a GPU of a file with other numbers has none") {
  const Measurements known = load_measurements_of("h100");
  SimulationRequest request = request_for("flash3", long_causal);
  REQUIRE(set_spec_value(request.gpu, "sm.exps_per_cycle=32"));
  const auto changed = time_errors_of(known, lasting(request));
  REQUIRE(changed);
  CHECK(changed->of_unchanged);
  CHECK(time_errors_sentence(changed, "flash3", "h100").text().ends_with("They are of the unchanged GPU."));
  // What a chip of one's own may differ in: the rate of the tensor cores, the SMs, the clock.
  const auto shipped = read_text_file(fmt::format("{}/assets/gpus/h100.toml", TILESCOPE_SOURCE_DIR));
  REQUIRE(shipped);
  const TemporaryFolder folder;
  for (const std::string key : {"wgmma_flops_per_cycle", "mma_flops_per_cycle", "clock_hz"}) {
    CAPTURE(key);
    const std::size_t line = shipped->find("\n" + key), value = shipped->find("value = ", line) + 8;
    REQUIRE(line != std::string::npos);
    std::string text = *shipped;
    const double number = std::stod(text.substr(value));
    text.replace(value, text.find(',', value) - value, fmt::format("{:.0f}", 0.95 * number));
    SimulationRequest own = request_for("flash3", long_causal);
    const auto gpu = load_gpu(folder.file("own.toml", text));
    REQUIRE_MESSAGE(gpu, (gpu ? "" : gpu.error().sentence));
    own.gpu = *gpu;
    CHECK(own.gpu.id == "h100");
    CHECK(has_other_numbers(own.gpu));
    for (const bool at_other_clock : {false, true}) {
      if (at_other_clock) own.gpu.sm_clock_hz = request.gpu.sm_clock_hz;  // as a run under load has
      const auto errors = time_errors_of(known, lasting(own));
      REQUIRE_FALSE(errors);
      CHECK(errors.error().sentence.text() == "the GPU of this file has other numbers than the recorded h100");
      CHECK_FALSE(byte_errors_of(known, lasting(own), Link::hbm_read));
    }
    for (const auto& bundle : known.bundles) {  // nothing recorded stands beside it
      own.problem = bundle->bundle.cases.front().problem;
      own.algorithm = bundle->bundle.cases.front().kernel;
      if (find_program(own.algorithm)) CHECK_FALSE(find_case(known, own));
    }
  }
  CHECK_FALSE(has_other_numbers(*load_gpu("h100")));
  CHECK_FALSE(has_other_numbers(*load_gpu(folder.file("copy.toml", *shipped))));
}

TEST_CASE("time errors: a short run has the errors of short runs, and a run unlike every recorded one has none") {
  const Measurements known = load_measurements_of("h200");
  SimulationRequest request = request_for("flash3", long_causal, "h200");
  const auto of = [&](double ns) { return time_errors_of(known, lasting(request, ns)); };
  const auto why = [&](double ns) { return of(ns) ? std::string() : of(ns).error().sentence.text(); };
  REQUIRE(of(15e3));
  REQUIRE(of(25e3));
  CHECK(of(15e3)->is_short);
  CHECK_FALSE(of(25e3)->is_short);
  CHECK(of(15e3)->mean != of(25e3)->mean);
  CHECK(of(25e3)->mean == of(10e6)->mean);
  CHECK(time_errors_sentence(of(15e3), "flash3", "h200").text().starts_with("Times of flash3 under 20 µs are ±"));
  CHECK(time_errors_sentence(of(25e3), "flash3", "h200").text().starts_with("Times of flash3 are ±"));
  // Both are of the table, and no run is in both.
  int all = 0;
  double shortest = 1e12, longest = 0;
  for (const auto& bundle : known.bundles)
    for (std::size_t i = 0; i < bundle->time_errors.size(); ++i)
      if (const MeasuredCase& c = bundle->bundle.cases[i]; c.kernel == "flash3") {
        const double ns = c.time_cold_ns.median * (1 + bundle->time_errors[i]);
        shortest = std::min(shortest, ns);
        longest = std::max(longest, ns);
        ++all;
      }
  CHECK(of(15e3)->runs + of(25e3)->runs == all);
  CHECK(of(shortest));
  CHECK(of(longest));
  CHECK(why(0.99 * shortest).starts_with("no run of flash3 this short is recorded on h200: the shortest takes "));
  CHECK(why(1.01 * longest).starts_with("no run of flash3 this long is recorded on h200: the longest takes "));
  request.problem.seq_q = 1;
  CHECK(why(1e6).starts_with("runs of flash3 are recorded on h200 with "));
  CHECK(why(1e6).ends_with(" queries only"));
  request.problem.seq_q = 4096;
  request.problem.seq_kv = 1 << 20;
  CHECK(why(1e6).ends_with(" keys only"));
  // A kernel of which every recorded run is long, and one with a single short run.
  request = request_for("flash2_longest", long_causal, "h200");
  CHECK_FALSE(of(15e3));
  request.problem.pass = Pass::backward;
  request.algorithm = "flash2_backward_deterministic";
  REQUIRE(of(18e3));
  CHECK(of(18e3)->runs == 1);
  CHECK(time_errors_sentence(of(18e3), "it", "h200").text().starts_with("The time of it under 20 µs was off by "));
}

TEST_CASE("time errors: where a changed value lets the L2 decide, no recorded run says how far the time is off") {
  const Measurements known = load_measurements_of("h200");
  SimulationRequest request = request_for("flash3", long_causal, "h200");
  PredictedRun run = {request, 1e6, true};
  CHECK(time_errors_of(known, run));  // on the GPU as it is the recorded runs have this doubt in them
  REQUIRE(set_spec_value(request.gpu, "l2.bytes_per_cycle=2000"));
  CHECK_FALSE(time_errors_of(known, run));
  run.l2_may_decide = false;
  CHECK(time_errors_of(known, run));
}

TEST_CASE("time errors: every recorded case of our own kernels has a row in the table of its bundle") {
  for (const auto& known : load_measurements().bundles) {
    CAPTURE(known->path);
    REQUIRE(known->time_errors.size() == known->bundle.cases.size());
    for (std::size_t i = 0; i < known->time_errors.size(); ++i) {
      const MeasuredCase& measured = known->bundle.cases[i];
      if (counterpart_of(measured.kernel).library) continue;
      CAPTURE(short_text(measured));
      CHECK(std::isfinite(known->time_errors[i]));
    }
  }
}

TEST_CASE("time errors: a borrowed clock is judged by runs of other problems") {
  const GpuSpec gpu = *load_gpu("h100");
  const Recordings recordings = load_recordings(gpu);
  const auto errors = borrowed_clock_errors(recordings.runs, "flash3");
  REQUIRE(errors);
  CHECK(errors->runs == std::ranges::count(recordings.runs, "flash3", &RecordedRun::kernel));
  CHECK(errors->runs >= 60);
  CHECK(errors->mean > 0);
  CHECK(errors->mean < 0.1);
  CHECK(errors->worst >= errors->mean);
  // A kernel whose only runs like it are of the same problem has nothing to borrow.
  std::vector<RecordedRun> alone;
  for (int i = 0; i < 6; ++i) alone.push_back({{ProductInstruction::wgmma, 1e9, 1e6}, 1.5e9, "flash3", long_causal});
  CHECK_FALSE(borrowed_clock_errors(alone, "flash3"));
}

}  // namespace tilescope
