// `tilescope compare`: two runs side by side, as text, CSV and JSON, and what it refuses.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/platform/files.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

using Json = nlohmann::ordered_json;

std::string printed_comparison(const std::vector<std::string>& arguments) {
  const RunOutcome outcome = run_program(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.err == "");
  return outcome.out;
}

std::string refused_comparison(const std::vector<std::string>& arguments) {
  const RunOutcome outcome = run_program(arguments);
  CHECK(outcome.code == 2);
  CHECK(outcome.out == "");
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  return outcome.err;
}

const Json* figure_of(const Json& comparison, const std::string& name, const std::string& of) {
  for (const Json& each : comparison["figures"])
    if (each["figure"] == name && each["of"] == of) return &each;
  return nullptr;
}

}  // namespace

TEST_CASE("compare: bytes by tensor and link, and times, are those of both runs by themselves") {
  const Json comparison =
      Json::parse(printed_comparison({"compare", "algorithm=standard", "algorithm=flash2", "--seq", "128", "--json"}));
  CHECK(comparison["schema"] == "tilescope.comparison/1");
  for (const auto& [side, algorithm] : {std::pair{"first", "standard"}, {"second", "flash2"}}) {
    CAPTURE(side);
    CHECK(comparison[side]["algorithm"] == algorithm);
    CHECK(comparison[side]["problem"]["seq_q"] == 128);  // the flag holds for both
    CHECK(comparison[side]["errors"].is_null());         // toy was never built
    const Json alone = Json::parse(printed_comparison({"simulate", "--algorithm", algorithm, "--seq", "128", "--json"}));
    std::map<std::string, std::int64_t> sums;
    for (const Json& entry : alone["ledger"])
      sums[entry["tensor"].get<std::string>() + " " + entry["link"].get<std::string>()] += entry["bytes"].get<std::int64_t>();
    for (const auto& [of, bytes] : sums) {
      CAPTURE(of);
      const Json* const found = figure_of(comparison, "tensor_bytes", of);
      REQUIRE(found != nullptr);
      CHECK((*found)[side] == static_cast<double>(bytes));
    }
    CHECK((*figure_of(comparison, "time_ns", ""))[side].get<double>() ==
          doctest::Approx(alone["time"]["ns"].get<double>()).epsilon(1e-3));
  }
  const Json& stored = *figure_of(comparison, "tensor_bytes", "S sm_to_l2");
  CHECK(stored["second"] == 0);                                             // flash2 never stores S
  CHECK(figure_of(comparison, "waves", "scores")->at("second").is_null());  // and has no such launch
  CHECK(stored["difference"] == -stored["first"].get<double>());
}

TEST_CASE("compare: the CSV is that of export --sheet compare, and the table has the same figures") {
  const TemporaryFolder folder;
  const std::vector<std::string> pair = {"compare", "algorithm=flash2", "algorithm=standard"};
  std::vector<std::string> with_csv = pair;
  with_csv.insert(with_csv.end(), {"--csv", folder.path("differences.csv")});
  const std::string table = printed_comparison(with_csv);
  printed_comparison({"export", "--sheet", "compare", "--out", folder.path("sheet.csv")});
  CHECK(*read_text_file(folder.path("differences.csv")) == *read_text_file(folder.path("sheet.csv")));
  CHECK(table.starts_with("A: flash2, B1 H1 N64 d16 fp16, tile "));
  for (const char* part : {"\nB: standard, ", "\ntime: +", " instead of ", "\nclock: both at ", "\nsettings ", "all hbm_read",
                           "K l2_to_sm", "toy was never built"})
    CHECK_MESSAGE(table.find(part) != std::string::npos, part);
  CHECK(printed_comparison({"compare", "algorithm=flash2", "algorithm=flash2"})
            .find(" equal figures of the other groups are left out; --csv has them.") != std::string::npos);
}

TEST_CASE("compare: both runs have the clock that the GPU holds under the first, and the errors of their programs") {
  const std::vector<std::string> problem = {"--gpu", "h100", "--heads", "16", "--seq", "2048", "--head-dim", "128"};
  std::vector<std::string> both = {"compare", "algorithm=flash2", "algorithm=flash3", "--json"},
                           alone = {"simulate", "--algorithm", "flash2", "--json"};
  for (auto* arguments : {&both, &alone}) arguments->insert(arguments->begin() + 1, problem.begin(), problem.end());
  const Json comparison = Json::parse(printed_comparison(both)), first = Json::parse(printed_comparison(alone));
  CHECK(comparison["first"]["clock_hz"] == first["time"]["under_load"]["clock_hz"]);
  CHECK(comparison["second"]["clock_hz"] == comparison["first"]["clock_hz"]);
  CHECK((*figure_of(comparison, "time_ns", ""))["first"].get<double>() ==
        doctest::Approx(first["time"]["under_load"]["ns"].get<double>()).epsilon(1e-4));
  Json of_simulate = first["time"]["errors"];
  of_simulate.erase("borrowed_clock");
  CHECK(comparison["first"]["errors"] == of_simulate);  // one shape for all commands
  CHECK(comparison["ratio_errors"]["pairs"] > 0);
}

TEST_CASE("compare: a file with a link is a run, and flags override both") {
  const TemporaryFolder folder;
  const std::string file = folder.file("before.txt", "heads=2&seq=96&head_dim=32\n");
  const Json comparison =
      Json::parse(printed_comparison({"compare", file, "heads=4&seq=96&head_dim=32", "--head-dim", "16", "--json"}));
  CHECK(comparison["first"]["problem"]["heads"] == 2);
  CHECK(comparison["second"]["problem"]["heads"] == 4);
  CHECK(comparison["first"]["problem"]["head_dim"] == 16);
  REQUIRE(comparison["settings"].size() == 2);
  CHECK(comparison["settings"][0]["key"] == "heads");
  CHECK(comparison["settings"][1]["key"] == "kv_heads");
}

TEST_CASE("compare: what it cannot compare is one sentence") {
  const std::string two =
      "tilescope: compare needs two runs: tilescope compare A B, each a link or a file with one, such as algorithm=flash2\n";
  CHECK(refused_comparison({"compare"}) == two);
  CHECK(refused_comparison({"compare", "algorithm=flash2"}) == two);
  CHECK(refused_comparison({"compare", "--json", "algorithm=flash2", "algorithm=flash1"}) ==
        "tilescope: compare needs two runs, and --json took algorithm=flash2 for its file: write --json at the end\n");
  CHECK(refused_comparison({"compare", "seq=64", "seq=128", "seq=256"}) == "tilescope: unexpected 'seq=256' after compare\n");
  CHECK(refused_comparison({"compare", "sqe=64", "seq=128"}).starts_with("tilescope: A: "));
  CHECK(refused_comparison({"compare", "seq=64", "missing.toml"}).starts_with("tilescope: B: "));
  CHECK(refused_comparison({"compare", "seq=64", "gpu=nowhere"}).starts_with("tilescope: B: unknown GPU"));
  CHECK(refused_comparison({"compare", "seq=64", "block_q=4096&block_kv=4096"}).starts_with("tilescope: B: tile 4096x4096"));
  const TemporaryFolder folder;
  const std::string file = folder.file("run.txt", "seq=64");
  CHECK(refused_comparison({"compare", file, "seq=128", "--csv", file}) ==
        "tilescope: --csv " + file + " would overwrite the file that compare reads: name another file\n");
}

}  // namespace tilescope
