// Candidates of a search: which are tried, how they rank, and what is said of them.
#include "app/cli/search.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/platform/files.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/cli/simulated_run.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

TEST_CASE("cli: search tries no tile that wgmma cannot compute, and says the rate and the clock of what it shows") {
  const Json ranked = Json::parse(run_program({"search", "--quiet", "--gpu", "h100", "--algorithm", "flash3", "--heads", "4",
                                               "--seq", "512", "--head-dim", "128", "--dtype", "fp16", "--top", "3", "--json"})
                                      .out)["ranked"];
  REQUIRE(ranked.size() > 3);
  for (const Json& candidate : ranked) CHECK(candidate["tile"]["block_q"].get<int>() % 128 == 0);
  CHECK(ranked[0]["tflops"].get<double>() == doctest::Approx(4.0 * 4 * 512 * 512 * 128 / ranked[0]["ns"].get<double>() / 1e3));
}

TEST_CASE("cli: candidates of a search rank at the clock of the fastest kernel as it stands, whose time is that of simulate") {
  std::vector<std::string> arguments = flash3_arguments("325");
  const Json alone = simulated_json(arguments);
  arguments.insert(arguments.begin(), {"search", "--quiet", "--json"});
  const Json ranked = Json::parse(run_program(arguments).out)["ranked"];
  double before = 0;
  bool own = false;
  for (const Json& candidate : ranked) {
    CHECK(candidate["clock_hz"] == alone["time"]["under_load"]["clock_hz"]);
    CHECK(candidate["ns"].get<double>() >= before);
    CHECK(candidate["key_order"] == "descending");
    before = candidate["ns"].get<double>();
    if (!candidate["own"].get<bool>() || candidate["block_order"] != "launch") continue;
    own = true;
    CHECK(std::llround(candidate["ns"].get<double>()) == alone["time"]["under_load"]["ns"].get<long long>());
    CHECK(candidate["recorded_ns"] > 0);
  }
  CHECK(own);
  // Two programs have one clock, that of the faster kernel.
  const std::vector<std::string> problem = {"--gpu", "h100", "--batch", "4", "--heads", "16", "--seq", "1024", "--head-dim", "64"};
  const auto clock_of = [&](const char* program) {
    return simulated_json(extended(problem, {"--algorithm", program}))["time"]["under_load"]["clock_hz"].get<double>();
  };
  const double flash2 = clock_of("flash2"), flash3 = clock_of("flash3");
  REQUIRE(flash2 != flash3);
  std::vector<std::string> both = extended(problem, {"--json", "--quiet", "--finer", "0", "--algorithm", "flash2,flash3"});
  both.insert(both.begin(), "search");
  const Json of_both = Json::parse(run_program(both).out);
  REQUIRE(of_both["ranked"].size() > 3);
  CHECK(of_both["clock_of"] == "flash3");
  for (const Json& candidate : of_both["ranked"]) CHECK(candidate["clock_hz"] == flash3);
  CHECK(run_program({"search", "--quiet", "--gpu", "toy", "--seq", "64"}).out.find("clock under load") == std::string::npos);
}

TEST_CASE("cli: simulate and search rank two tiles alike, since both have the clock of the kernel's own tile") {
  const std::vector<std::string> problem = {"--gpu", "h100", "--algorithm", "flash3", "--heads", "16",
                                            "--seq", "1024", "--head-dim",  "128",    "--dtype", "fp16"};
  std::vector<std::string> all = extended(problem, {"--json", "--quiet", "--finer", "0"});
  all.insert(all.begin(), "search");
  int compared = 0;
  const Json ranked = Json::parse(run_program(all).out)["ranked"];
  for (const Json& candidate : ranked) {
    if (candidate["block_order"] != "launch") continue;
    const Json alone = simulated_json(extended(problem, {"--block-q", candidate["tile"]["block_q"].dump().c_str(), "--block-kv",
                                                         candidate["tile"]["block_kv"].dump().c_str(), "--stages",
                                                         candidate["stages"].dump().c_str()}))["time"]["under_load"];
    CAPTURE(candidate.dump());
    CHECK(std::llround(candidate["ns"].get<double>()) == alone["ns"].get<long long>());
    CHECK(alone.value("clock_of_own_tile", false) == !candidate["own"].get<bool>());
    ++compared;
  }
  CHECK(compared > 3);
}

TEST_CASE("cli: a search takes the rungs of the ladder where the GPU has wgmma, and names what it leaves out") {
  const auto search = [](const char* gpu, std::initializer_list<std::string> more) {
    std::vector<std::string> all = {"search", "--quiet", "--finer", "0", "--gpu", gpu, "--seq", "256", "--head-dim", "64"};
    all.insert(all.end(), more);
    return run_program(all).out;
  };
  const std::string h100 = search("h100", {});
  CHECK(h100.find("\nflash3 launches Hopper 1: wgmma and TMA (hopper_wgmma) here.\n") != std::string::npos);
  CHECK(h100.find("\nNot searched: flex, hopper_flex.") != std::string::npos);
  CHECK(search("h100", {"--causal"}).find(" flash3 ") != std::string::npos);  // it launches what is no rung of the ladder
  const std::string a100 = search("a100", {});
  CHECK(a100.find("flash3") == std::string::npos);
  CHECK(a100.find("hopper_") == std::string::npos);
  CHECK(a100.find("\nNot searched: flex.") != std::string::npos);
  CHECK(search("h100", {"--algorithm", "flash2"}).find("Not searched") == std::string::npos);
  CHECK(search("h100", {"--pass", "backward"}).find("flash3_backward") != std::string::npos);
}

TEST_CASE("cli: a search writes every candidate as CSV, beside the table or in its place") {
  const TemporaryFolder folder;
  const std::string path = folder.path("ranked.csv");
  const std::vector<std::string> arguments = {"search",      "--quiet", "--finer", "0",     "--gpu",      "h100",
                                              "--algorithm", "flash3",  "--seq",   "512",   "--head-dim", "64",
                                              "--heads",     "8",       "--json",  "--csv", path};
  const Json ranked = Json::parse(run_program(arguments).out)["ranked"];
  const auto text = read_text_file(path);
  REQUIRE(text);
  std::vector<std::string> lines;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE(lines.size() == ranked.size() + 1);
  const auto columns = std::ranges::count(lines.front(), ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    CHECK(std::ranges::count(lines[i], ',') == columns);
    const Json& row = ranked[i - 1];
    CHECK(lines[i].starts_with(fmt::format("{},flash3,{},{},{},{},", i, row["tile"]["block_q"].get<int>(),
                                           row["tile"]["block_kv"].get<int>(), row["stages"].get<int>(),
                                           row["block_order"].get<std::string>())));
    CHECK(lines[i].find(fmt::format(",{:.3f},{:.0f},", row["ns"].get<double>(), row["clock_hz"].get<double>())) !=
          std::string::npos);
  }
}

TEST_CASE("cli: a search says how far the ratio of two programs is off, and that nothing is recorded of two tiles") {
  const std::string text = run_program({"search", "--quiet", "--finer", "0", "--gpu", "h100", "--algorithm",
                                        "hopper_wgmma,hopper_ping_pong", "--seq", "512", "--heads", "4", "--head-dim", "128"})
                               .out;
  CHECK(text.find("The ratio of a time of hopper_") != std::string::npos);
  CHECK(text.find(" is unknown: no bundle of recorded runs has two tiles or orders of one program") != std::string::npos);
  // Where it is unknown for one reason, one line says so of all programs.
  const std::string odd = run_program({"search", "--quiet", "--finer", "0", "--gpu", "h100", "--algorithm", "flash1,flash2",
                                       "--seq", "256", "--head-dim", "96"})
                              .out;
  const std::string reason = " is unknown: no kernel is compiled for this, so no recorded run is like it.\n";
  CHECK(odd.find("The error of times of flash") != std::string::npos);
  CHECK((odd.find("1 and flash2" + reason) != std::string::npos || odd.find("2 and flash1" + reason) != std::string::npos));
  CHECK(odd.find(reason) == odd.rfind(reason));
}

TEST_CASE("cli: a search says which candidates are as quick as the first") {
  const Json json = Json::parse(run_program({"search", "--quiet", "--gpu", "h200", "--algorithm", "flash2", "--heads", "4", "--seq",
                                             "512", "--head-dim", "64", "--causal", "--json"})
                                    .out);
  const double noise = json["noise"], first = json["ranked"][0]["ns"];
  CHECK(noise >= least_difference);
  for (const Json& row : json["ranked"]) CHECK(row["as_quick_as_first"] == (row["ns"].get<double>() / first - 1 <= noise));
}

}  // namespace tilescope
