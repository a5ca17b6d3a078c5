// read_suite(): the cases that a program of the lab was given.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/measure/suite.h"
#include "sim/core/result.h"

namespace tilescope {

/// Returns a built-in suite, by its name, or that of a file.
/// Errors  no such file; as suite_from_text()
inline Result<std::vector<SuiteCase>> read_suite(const std::string& name) {
  if (std::optional<std::vector<SuiteCase>> suite = built_in_suite(name)) return std::move(*suite);
  std::ifstream file(name);
  if (!file) return Error{fmt::format("cannot read the suite {}: give a file, or default, forward or backward", name)};
  return suite_from_text(std::string(std::istreambuf_iterator<char>(file), {}), name);
}

}  // namespace tilescope
