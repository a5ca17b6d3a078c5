// refused_line(): a command that is refused.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/app/cli/run_program.h"

namespace tilescope {

/// Refused with `code`, nothing on standard output, and one line that has `fragment` in it.
inline void refused_line(const std::vector<std::string>& arguments, int code, const std::string& fragment) {
  std::string shown;
  for (const std::string& argument : arguments) shown += argument.substr(0, 80) + " ";
  CAPTURE(shown);
  const RunOutcome outcome = run_program(arguments);
  CHECK(outcome.code == code);
  CHECK(outcome.out == "");
  CHECK_MESSAGE(outcome.err.find(fragment) != std::string::npos, outcome.err);
  CHECK(outcome.err.starts_with("tilescope: "));
  CHECK(outcome.err.ends_with('\n'));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

}  // namespace tilescope
