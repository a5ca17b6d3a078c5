// What `simulate` prints of a run, as a table and as JSON.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/platform/files.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

using Json = nlohmann::ordered_json;

/// The table and the JSON of `simulate`, of one run for all tests that ask for it.
struct Simulated {
  std::string table;
  Json json;
};
inline const Simulated& outcome_of_simulate(const std::vector<std::string>& arguments) {
  static std::map<std::vector<std::string>, Simulated> known;
  if (const auto found = known.find(arguments); found != known.end()) return found->second;
  const TemporaryFolder folder;
  std::vector<std::string> all = {"simulate", "--quiet", "--json", folder.path("run.json")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const RunOutcome outcome = run_program(all);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.err == "");
  return known[arguments] = {outcome.out, Json::parse(*read_text_file(folder.path("run.json")))};
}
inline Json simulated_json(const std::vector<std::string>& arguments) {
  return outcome_of_simulate(arguments).json;
}
inline const std::string& simulated_text(const std::vector<std::string>& arguments) {
  return outcome_of_simulate(arguments).table;
}

/// FlashAttention-3 on an H100: with 325 rows it is recorded.
inline std::vector<std::string> flash3_arguments(const char* rows) {
  return {"--gpu",      "h100", "--algorithm", "flash3", "--batch",    "2",   "--heads", "8",
          "--kv-heads", "2",    "--seq",       rows,     "--head-dim", "128", "--dtype", "fp16"};
}
inline std::vector<std::string> extended(std::vector<std::string> arguments, std::initializer_list<const char*> more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace tilescope
