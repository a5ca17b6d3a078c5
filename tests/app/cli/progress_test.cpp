// ProgressPrinter where standard error is no terminal: a line at most every ten seconds.
#include "app/cli/progress.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/app/cli/run_program.h"

namespace tilescope {

namespace {

/// What is printed of one report a second, for `seconds` seconds.
std::string printed(int seconds, bool quiet) {
  std::FILE* err = std::tmpfile();
  REQUIRE(err != nullptr);
  auto now = ProgressPrinter::Clock::now();
  ProgressPrinter progress(err, quiet, [&] { return now; });
  for (int i = 1; i <= seconds; ++i) {
    now += std::chrono::seconds(1);
    progress.show(fmt::format("work: {} of {}", i, seconds));
  }
  progress.end();
  return drained(err);
}

}  // namespace

TEST_CASE("progress: a line every ten seconds where there is no terminal") {
  CHECK(printed(35, false) == "work: 10 of 35\nwork: 20 of 35\nwork: 30 of 35\n");
}

TEST_CASE("progress: work that is done within ten seconds says nothing, and neither does quiet work") {
  CHECK(printed(9, false) == "");
  CHECK(printed(35, true) == "");
}

}  // namespace tilescope
