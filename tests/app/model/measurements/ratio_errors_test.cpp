// How far ratios of two predicted times were off.
#include "app/model/measurements/ratio_errors.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/judged_runs.h"
#include "tests/app/model/measurements/predicted_runs.h"

using namespace tilescope;

TEST_CASE("ratio errors: they are the mean over pairs of recorded runs of both programs on one problem") {
  const Measurements known = load_measurements_of("h100");
  const auto runs = [&](std::string_view kernel) {
    std::vector<std::pair<std::string, double>> found;
    for (const auto& bundle : known.bundles)
      for (std::size_t i = 0; i < bundle->time_errors.size(); ++i)
        if (const MeasuredCase& c = bundle->bundle.cases[i]; c.kernel == kernel && c.list == "judge" &&
                                                             std::isfinite(bundle->time_errors[i]) &&
                                                             c.time_cold_ns.median * (1 + bundle->time_errors[i]) >= short_run_ns)
          found.emplace_back(short_text(c), bundle->time_errors[i]);
    return found;
  };
  double sum = 0;
  int pairs = 0;
  for (const auto& [problem, error] : runs("hopper_ping_pong"))
    for (const auto& [other, other_error] : runs("hopper_wgmma"))
      if (problem == other) {
        sum += std::abs((1 + error) / (1 + other_error) - 1);
        ++pairs;
      }
  REQUIRE(pairs > 0);
  const SimulationRequest a = request_for("hopper_ping_pong", long_causal), b = request_for("hopper_wgmma", long_causal);
  const auto errors = ratio_errors_of(known, lasting(a), lasting(b));
  REQUIRE(errors);
  CHECK(errors->held_out);
  CHECK(errors->pairs == pairs);
  CHECK(errors->mean == doctest::Approx(sum / pairs));
  // Of two tiles nothing is recorded, and no tile of a program is compared with another one by runs of two problems.
  SimulationRequest tile = a;
  tile.tile = ProgramTile(128, 64);
  CHECK_FALSE(ratio_errors_of(known, lasting(a), lasting(tile)));
  CHECK_FALSE(ratio_errors_of(known, lasting(a), lasting(a)));
  SimulationRequest shorter = a;
  shorter.problem.seq_q = shorter.problem.seq_kv = 2048;
  CHECK(ratio_errors_of(known, lasting(a), lasting(shorter)));
  // A short run and a long one: only pairs of such runs, of which there are others.
  const auto mixed = ratio_errors_of(known, lasting(a), lasting(shorter, 15e3)),
             swapped = ratio_errors_of(known, lasting(shorter, 15e3), lasting(a));
  REQUIRE(mixed);
  REQUIRE(swapped);
  CHECK(mixed->pairs == swapped->pairs);
  CHECK(mixed->mean != ratio_errors_of(known, lasting(a), lasting(shorter))->mean);
  // Two GPUs: the same problem on both.
  Measurements both = known;
  const Measurements h200 = load_measurements_of("h200");
  both.bundles.insert(both.bundles.end(), h200.bundles.begin(), h200.bundles.end());
  const SimulationRequest of_h200 = request_for("hopper_ping_pong", long_causal, "h200");
  CHECK(ratio_errors_of(both, lasting(a), lasting(of_h200)));
  SimulationRequest changed = b;
  REQUIRE(set_spec_value(changed.gpu, "hbm.bytes_per_second=1e12"));
  CHECK_FALSE(ratio_errors_of(known, lasting(a), lasting(changed)));
}

TEST_CASE("ratio errors: a single pair is called one, and not a mean") {
  RatioErrors errors;
  errors.pairs = 1;
  errors.held_out = true;
  errors.mean = errors.worst = 0.042;
  CHECK(
      ratio_errors_sentence(errors, "flash3", "standard").text() ==
      "The ratio of a time of flash3 to one of standard was off by 4.2 % in one pair of recorded runs that the model had not seen, "
      "the only one.");
  errors.pairs = 2;
  CHECK(ratio_errors_sentence(errors, "flash3", "standard").text().find("mean of 2 pairs") != std::string::npos);
}

TEST_CASE("ratio errors: of a GPU that was never built nothing is said, since the sentence on its times says it all") {
  const Measurements known = load_measurements_of("h100");
  const SimulationRequest real = request_for("flash2", long_causal), imagined = request_for("flash2", long_causal, "toy");
  CHECK(ratio_errors_sentence(known, lasting(real), lasting(imagined), "flash2", "flash2").empty());
  CHECK(ratio_errors_sentence(known, lasting(imagined), lasting(real), "flash2", "flash2").empty());
  CHECK_FALSE(ratio_errors_sentence(known, lasting(real), lasting(real), "flash2", "flash2").empty());
}
