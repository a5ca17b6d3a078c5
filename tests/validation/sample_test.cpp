// The gate: a stratified sample of the shipped bundle is simulated and held against committed tables. docs/contributing.md says how
// they are written.
#include <set>

#include "app/model/background/parallel.h"
#include "app/model/measurements/validation_run.h"
#include "sim/analysis/validation_sample.h"
#include "tests/validation/shipped_bundle.h"

using namespace tilescope;

TEST_CASE("gate: the sample has sixty cases or more, of every kernel of ours and of each verdict but fails") {
  const KnownBundle known = shipped_bundle("h200");
  const auto sample = sample_cases(known.bundle, known.misses.of(known.bundle));
  CHECK(sample.size() >= 60);
  std::set<std::string> kernels, all;
  for (const MeasuredCase& c : known.bundle.cases)
    if (!counterpart_of(c.kernel).library) all.insert(c.kernel);
  for (const std::size_t i : sample) kernels.insert(known.bundle.cases[i].kernel);
  CHECK(kernels == all);
  std::set<Verdict> verdicts;
  for (const ValidationRow& row : committed_table("h200-sample"))
    if (row.verdict) verdicts.insert(*row.verdict);
  CHECK(verdicts == std::set<Verdict>{Verdict::within, Verdict::within_spread, Verdict::known_miss});
}

TEST_CASE("gate: no case of the sample leaves its verdict, no mean error grows by half a point, and the tables are up to date") {
  const KnownBundle known = shipped_bundle("h200");
  const auto gpu = load_gpu(known.bundle.gpu);
  REQUIRE(gpu);
  const auto misses = known.misses.of(known.bundle);
  std::vector<MeasuredCase> cases;
  for (const std::size_t i : sample_cases(known.bundle, misses)) cases.push_back(known.bundle.cases[i]);
  std::vector<CaseValidation> results(cases.size());
  REQUIRE(validate_cases(*gpu, cases, misses, {}, core_count(), [&](std::size_t i, const CaseValidation& result) {
    results[i] = result;
    return true;
  }));
  check_none(regressions(committed_table("h200-sample"), cases, results));
  INFO("write the tables and docs/validation.md anew, as docs/contributing.md says");
  check_none(differences(committed_table("h200"), cases, results));
  for (const StaleMiss& stale : stale_misses(known.misses, known.bundle, cases, results))
    CHECK_MESSAGE(false, stale.miss.kernel << ", " << stale.miss.problem << ": " << stale.why);
}
