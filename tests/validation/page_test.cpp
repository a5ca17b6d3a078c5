// The pages of docs/ follow from the committed results, the bundles and the lists of known misses.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/cli/validation_report.h"
#include "tests/validation/shipped_bundle.h"

using namespace tilescope;

namespace {

/// The results that tests/validation/<name>.csv holds, compared as if they had just been simulated.
std::vector<CaseValidation> committed_results(const KnownBundle& known, const std::string& name = "h200") {
  auto results = results_of(committed_table(name), known.bundle.cases, known.misses.of(known.bundle));
  REQUIRE_MESSAGE(static_cast<bool>(results), (results ? "" : results.error().sentence));
  return std::move(*results);
}

}  // namespace

TEST_CASE("validation page: each table has a page, which is what the committed results give") {
  int pages = 0;
  for (const auto& file : std::filesystem::directory_iterator(TILESCOPE_SOURCE_DIR "/tests/validation")) {
    const std::string name = file.path().stem().native();
    if (file.path().extension() != ".csv" || name.ends_with("-sample")) continue;
    CAPTURE(name);
    const KnownBundle known = shipped_bundle(name);
    const auto results = committed_results(known, name);
    const std::string text = validation_markdown(make_report(known, known.misses, known.bundle.cases, results));
    const std::string path = name == reference_gpu ? TILESCOPE_SOURCE_DIR "/docs/validation.md"
                                                   : TILESCOPE_SOURCE_DIR "/docs/validation-" + name + ".md";
    if (std::getenv("TILESCOPE_UPDATE_PAGES") != nullptr) std::ofstream(path) << text;
    const auto page = read_text_file(path);
    REQUIRE(page);
    INFO("the page is stale: its first lines say which command writes it");
    CHECK((*page == text));
    ++pages;
  }
  CHECK(pages > 10);
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
