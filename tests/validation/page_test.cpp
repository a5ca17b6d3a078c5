// The pages of docs/ follow from the committed results, the bundles and the lists of known misses.
#include "app/cli/validation_report.h"
#include "tests/validation/shipped_bundle.h"

using namespace tilescope;

namespace {

/// The results that tests/validation/<gpu>.csv holds, compared as if they had just been simulated.
std::vector<CaseValidation> committed_results(const KnownBundle& known) {
  auto results = results_of(committed_table(known.bundle.gpu), known.bundle.cases, known.misses.of(known.bundle));
  REQUIRE_MESSAGE(static_cast<bool>(results), (results ? "" : results.error().sentence));
  return std::move(*results);
}

}  // namespace

TEST_CASE("validation page: docs/validation.md is what the committed results give") {
  const KnownBundle known = shipped_bundle("h200");
  const auto results = committed_results(known);
  const auto page = read_text_file(TILESCOPE_SOURCE_DIR "/docs/validation.md");
  REQUIRE(page);
  INFO("docs/validation.md is stale: its first lines say which command writes it");
  CHECK((*page == validation_markdown(make_report(known, known.misses, known.bundle.cases, results))));
}

TEST_CASE("validation page: no figure of the shipped bundle fails, and no known miss is stale") {
  const KnownBundle known = shipped_bundle("h200");
  const auto results = committed_results(known);
  const ValidationReport report = make_report(known, known.misses, known.bundle.cases, results);
  CHECK_FALSE(report.summary.fails());
  CHECK(report.stale.empty());
  CHECK(report.summary.cases[Verdict::known_miss] > 0);
}

TEST_CASE("validation page: each known miss has a cap that its error reaches within half a point, and a cause") {
  const KnownBundle known = shipped_bundle("h200");
  const auto results = committed_results(known);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const auto& c : results[i].figures) {
      if (!c || !c->known) continue;
      CAPTURE(c->known->problem);
      CHECK(std::abs(c->error()) <= c->known->cap);
      CHECK(std::abs(c->error()) > c->known->cap - 0.005);
      CHECK(c->known->cause.size() > 20);
    }
}
