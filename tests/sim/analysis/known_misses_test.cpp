// The list of known misses: what is read, what is refused, and which entries are stale.
#include "sim/analysis/known_misses.h"

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {

constexpr const char* head = "schema = \"tilescope.known_misses/1\"\nrecorded = \"2026-01-02\"\n";

std::string entry(const std::string& problem, const std::string& figure = "time", const std::string& cap = "5.5") {
  return "[[miss]]\nkernel = \"flash2\"\nproblem = \"" + problem + "\"\nfigure = \"" + figure + "\"\ncap_percent = " + cap +
         "\ncause = \"Measured.\"\n";
}

KnownMisses read(const std::string& text) {
  const auto misses = known_misses_from_toml(text, "m.toml");
  REQUIRE_MESSAGE(static_cast<bool>(misses), (misses ? "" : misses.error().sentence));
  return *misses;
}

std::string refused(const std::string& text) {
  const auto misses = known_misses_from_toml(text, "m.toml");
  REQUIRE_FALSE(misses);
  return misses.error().sentence;
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("known misses: an entry is one case, one figure, a cap and a cause; an empty list is a list") {
  CHECK(read(head).misses.empty());
  const KnownMisses two = read(head + entry("B1 H1 N64 d16 fp16") + entry("B1 H1 N64 d16 fp16", "hbm_read", "3"));
  REQUIRE(two.misses.size() == 2);
  CHECK(two.recorded == "2026-01-02");
  CHECK(two.misses[0].kernel == "flash2");
  CHECK(two.misses[0].figure == Figure::time);
  CHECK(two.misses[0].cap == doctest::Approx(0.055));
  CHECK(two.misses[0].cause == "Measured.");
  CHECK(two.misses[1].figure == Figure::hbm_read);
}

TEST_CASE("known misses: what is wrong is refused with its line and the way out") {
  CHECK(has(refused("not toml"), "m.toml:1: not TOML"));
  CHECK(has(refused("schema = \"tilescope.known_misses/2\""), "must be 'tilescope.known_misses/1'"));
  CHECK(has(refused("schema = \"tilescope.known_misses/1\""), "recorded is missing"));
  CHECK(has(refused(std::string(head) + "misses = 1"), "did you mean miss"));
  CHECK(has(refused(std::string(head) + "miss = 1"), "write [[miss]]"));
  CHECK(has(refused(head + entry("x", "hbm_raed")), "did you mean hbm_read"));
  CHECK(has(refused(head + entry("x", "time", "0")), "cap_percent is missing or not above 0"));
  CHECK(has(refused(head + entry("x", "time", "-1")), "cap_percent is missing or not above 0"));
  CHECK(has(refused(head + entry("x", "time", "nan")), "cap_percent is missing or not above 0"));
  CHECK(has(refused(head + entry("x") + entry("x")), "is listed twice"));
  CHECK(has(refused(std::string(head) + "[[miss]]\nkernel = \"flash2\"\n"), "m.toml:3: problem is missing"));
  CHECK(has(refused(head + entry("x") + "reason = \"\"\n"), "unknown key 'reason'"));
}

TEST_CASE("known misses: an entry without a case, without a bound or within its bound is stale") {
  const GpuSpec gpu = toy_gpu();
  MeasurementBundle bundle = synthetic_bundle(gpu);
  bundle.date = "2026-01-02";
  Spread& time = bundle.cases[0].time_cold_ns;
  time = exactly(time.median * 1.5);
  const std::string first = short_text(bundle.cases[0].problem), second = short_text(bundle.cases[1].problem);
  const KnownMisses known =
      read(head + entry(first, "time", "40") + entry(second) + entry("B9 H9 N9 d16 fp16") + entry(first, "cycles"));
  const auto validated = [&](std::span<const MeasuredCase> cases) {
    std::vector<CaseValidation> results;
    for (const MeasuredCase& c : cases) {
      const auto result = simulate_case(gpu, c, known.of(bundle));
      REQUIRE(result);
      results.push_back(*result);
    }
    return stale_misses(known, bundle, cases, results);
  };
  const auto stale = validated(bundle.cases);
  REQUIRE(stale.size() == 3);
  CHECK(stale[0].miss.problem == second);
  CHECK(stale[0].why == "the figure is within its bound");
  CHECK(stale[1].why == "the bundle has no such case");
  CHECK(stale[2].why == "the figure has no bound there");

  const std::vector<MeasuredCase> part = {bundle.cases[0]};  // the second case was not asked for, and may miss or not
  CHECK(validated(part).size() == 2);
  bundle.date = "2026-02-03";
  CHECK(known.of(bundle).empty());
  CHECK(validated(part).size() == known.misses.size());
}
