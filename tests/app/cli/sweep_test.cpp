// `tilescope sweep`: what every point has from the flags.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

nlohmann::json swept(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sweep");
  arguments.insert(arguments.end(), {"--quiet", "--json"});
  const RunOutcome outcome = run_program(std::move(arguments));
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return nlohmann::json::parse(outcome.out)["points"];
}

}  // namespace

TEST_CASE("sweep: a range of heads keeps the key heads, and refuses the points that they do not divide") {
  const auto points = swept({"--over", "heads=2,3,4", "--kv-heads", "2", "--algorithm", "flash2"});
  REQUIRE(points.size() == 3);
  CHECK(points[0]["refusal"] == "");
  CHECK(points[1]["refusal"].get<std::string>().find("3 heads cannot be shared evenly by 2") != std::string::npos);
  CHECK(points[2]["refusal"] == "");
  const auto alone = nlohmann::json::parse(run_program({"simulate", "--heads", "4", "--kv-heads", "2", "--json"}).out);
  CHECK(points[2]["l2_to_sm_bytes"] == alone["traffic"]["l2_to_sm_bytes"]);
  const RunOutcome none = run_program({"sweep", "--over", "heads=3,5", "--kv-heads", "2"});
  CHECK(none.code == 2);
  CHECK(none.err == "tilescope: 3 heads cannot be shared evenly by 2 key-value heads: --heads must be a multiple of --kv-heads\n");
}

TEST_CASE("sweep: one side of the tile may be given; the other is the program's at each point") {
  for (const auto& [algorithm, flag, value] : {std::tuple{"standard", "--block-q", "8"},
                                               {"flash2", "--block-q", "8"},
                                               {"flash1", "--block-kv", "8"},
                                               {"flash2", "--stages", "2"}}) {
    const std::string asked = fmt::format("{} {}", algorithm, flag);
    CAPTURE(asked);
    const auto points = swept({"--over", "seq=32,64", "--algorithm", algorithm, flag, value});
    const auto alone =
        nlohmann::json::parse(run_program({"simulate", "--seq", "64", "--algorithm", algorithm, flag, value, "--json"}).out);
    REQUIRE(points.size() == 2);
    CHECK(points[1]["block_q"] == alone["tile"]["block_q"]);
    CHECK(points[1]["block_kv"] == alone["tile"]["block_kv"]);
    CHECK(points[1]["l2_to_sm_bytes"] == alone["traffic"]["l2_to_sm_bytes"]);
    CHECK(points[1]["cycles"].get<double>() == doctest::Approx(alone["time"]["cycles"].get<double>()).epsilon(1e-3));
    CHECK(points[1]["clock_hz"] == alone["time"]["clock_hz"]);
  }
  CHECK(swept({"--over", "block_q=8,16", "--block-kv", "8", "--algorithm", "flash2"})[1]["block_kv"] == 8);
  const RunOutcome own = run_program({"sweep", "--over", "head_dim=8,16", "--block-q", "8"});
  CHECK(own.code == 2);
  CHECK(own.err == "tilescope: --over head_dim takes a tile of its own for each value: leave --block-q out\n");
}

TEST_CASE("sweep: a recorded point has the recorded time beside the simulated one, and every point its clock under load") {
  const std::vector<std::string> problem = {"--over",     "seq=325,650", "--gpu",   "h100", "--algorithm", "flash3",
                                            "--batch",    "2",           "--heads", "8",    "--kv-heads",  "2",
                                            "--head-dim", "128",         "--dtype", "fp16"};
  const auto points = swept(problem);
  REQUIRE(points.size() == 2);
  const auto alone =
      nlohmann::json::parse(run_program({"simulate", "--gpu", "h100", "--algorithm", "flash3", "--batch", "2", "--heads", "8",
                                         "--kv-heads", "2", "--seq", "325", "--head-dim", "128", "--dtype", "fp16", "--json"})
                                .out);
  CHECK(points[0]["recorded_ns"] > 0);
  CHECK(points[0]["ns_under_load"].get<double>() == doctest::Approx(alone["time"]["under_load"]["ns"].get<double>()).epsilon(1e-3));
  CHECK(points[0]["clock_under_load_hz"] == alone["time"]["under_load"]["clock_hz"]);
  CHECK(points[0]["clock_hz"] == points[0]["clock_under_load_hz"]);  // that of `cycles` and `ns`
  CHECK(points[0]["recorded_error"].get<double>() ==
        doctest::Approx(points[0]["ns_under_load"].get<double>() / points[0]["recorded_ns"].get<double>() - 1));
  CHECK(points[0]["tflops"].get<double>() == doctest::Approx(alone["time"]["under_load"]["tflops"].get<double>()).epsilon(1e-3));
  CHECK_FALSE(points[1].contains("recorded_error"));
  CHECK(points[1]["recorded_ns"] == 0);
  CHECK(points[1]["clock_under_load_hz"] > 0);
  CHECK(points[1]["useful_flops"] == 4.0 * 2 * 8 * 650 * 650 * 128);
  std::vector<std::string> all = {"sweep", "--quiet"};
  all.insert(all.end(), problem.begin(), problem.end());
  const std::string table = run_program(all).out;
  for (const char* word : {"clock", "rate", "recorded", "error", "TFLOP/s", "GHz"}) CHECK(table.find(word) != std::string::npos);
  const std::string toy = run_program({"sweep", "--over", "seq=32,64", "--quiet"}).out;
  for (const char* word : {"clock", "error"}) CHECK(toy.find(word) == std::string::npos);
  CHECK(toy.find("toy was never built, so its times have nothing to be compared with.") != std::string::npos);
}

TEST_CASE("sweep: tiles have one clock, that of the program's own tile, though one of them was recorded") {
  const auto points = swept({"--over", "block_kv=64,128", "--gpu", "h100", "--algorithm", "flash3", "--batch", "2", "--heads", "8",
                             "--kv-heads", "2", "--seq", "325", "--head-dim", "128", "--dtype", "fp16"});
  REQUIRE(points.size() == 2);
  CHECK(points[1]["recorded_ns"] > 0);
  CHECK(points[0]["clock_under_load_hz"] == points[1]["clock_under_load_hz"]);
  CHECK(points[0]["ns_under_load"] == points[0]["ns"]);  // all figures of a point have one clock
}

TEST_CASE("sweep: a tile that would spill is marked, with the registers that it needs") {
  const auto table = [](const char* range) {
    return run_program({"sweep", "--quiet", "--over", range, "--gpu", "h100", "--algorithm", "flash2", "--heads", "4", "--seq",
                        "512", "--head-dim", "128", "--dtype", "fp16"})
        .out;
  };
  const std::string wide = table("block_kv=64,96");
  CHECK(wide.find("! 128x96") != std::string::npos);
  CHECK(wide.find("! flash2 at block_kv 96: a thread needs ") != std::string::npos);
  CHECK(wide.find("! 128x64") == std::string::npos);
  CHECK(table("block_kv=32,64").find('!') == std::string::npos);
}

TEST_CASE("sweep: each program has the errors that simulate has, whichever program stands first") {
  const auto table = [](const char* algorithms, const char* range, const char* flag, const char* value) {
    return run_program({"sweep", "--quiet", "--over", range, "--gpu", "h100", "--algorithm", algorithms, "--heads", "2", flag,
                        value, "--dtype", "fp16"})
        .out;
  };
  const std::string heads = table("flash3", "head_dim=64,96,128,192", "--seq", "512");
  CHECK(heads.find("At head_dim 96, 192: How far times of flash3 are off is unknown: no kernel is compiled for this") !=
        std::string::npos);
  CHECK(heads.find("At head_dim 64, 128: Times of flash3 under 20 µs are ±") != std::string::npos);
  CHECK(heads.find("flash3 at head_dim 96: no kernel of flash3 takes head dimension 96") != std::string::npos);
  CHECK(heads.find("flash3 at head_dim 192: no kernel of flash3 takes head dimension 192") != std::string::npos);
  for (const char* both : {"flash3,flash3_backward", "flash3_backward,flash3"}) {
    const std::string mixed = table(both, "seq=2048,4096", "--head-dim", "128");
    CHECK(mixed.find("Times of flash3 are ±") != std::string::npos);
    CHECK(mixed.find("Times of flash3_backward are ±") != std::string::npos);
    CHECK(mixed.find("unknown") == std::string::npos);
  }
}

TEST_CASE("sweep: buffers have a column, and points that drop to one of them are named") {
  const std::vector<std::string> run = {
      "--over", "block_kv=160,176", "--gpu", "h100",    "--algorithm", "flash3", "--heads", "2", "--seq",
      "512",    "--head-dim",       "128",   "--dtype", "fp16"};
  const auto points = swept(run);
  CHECK(points[0]["buffers"] == 2);
  CHECK(points[1]["buffers"] == 1);
  std::vector<std::string> shown = {"sweep", "--quiet"};
  shown.insert(shown.end(), run.begin(), run.end());
  const std::string table = run_program(std::move(shown)).out;
  CHECK(table.find("flash3 at block_kv 176: 1 buffer: two do not fit the shared memory") != std::string::npos);
}

TEST_CASE("sweep: a point whose changed L2 may decide has the least time without shared lookups, and no error") {
  const std::string table =
      run_program({"sweep", "--quiet", "--over", "l2.bytes_per_cycle=1000,8000", "--gpu", "h100", "--algorithm", "flash3",
                   "--heads", "16", "--seq", "2048", "--head-dim", "128", "--dtype", "fp16"})
          .out;
  CHECK(table.find("no sharing") != std::string::npos);
  CHECK(table.find("At l2.bytes_per_cycle 1000: How far times of flash3 are off is unknown: with this change the L2 may decide") !=
        std::string::npos);
}

TEST_CASE("sweep, search: a mask that shows nothing is told") {
  const std::vector<std::string> problem = {"--quiet", "--gpu", "h100", "--heads", "2", "--head-dim", "64", "--dtype", "fp16"};
  const auto warns = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), problem.begin(), problem.end());
    return run_program(arguments).out.find("no query sees a key, and every row of O is 0.") != std::string::npos;
  };
  CHECK(warns({"sweep", "--over", "seq=128,256", "--algorithm", "flex", "--mask", "q < 0"}));
  CHECK_FALSE(warns({"sweep", "--over", "seq=128,256", "--algorithm", "flex", "--mask", "q < 1"}));
  CHECK(warns({"search", "--seq", "128", "--mask", "q < 0", "--finer", "0"}));
}

TEST_CASE("sweep: key heads can be swept, and a number that does not divide the heads is refused at its point") {
  const auto points = swept({"--over", "kv_heads=1,2,3,4", "--algorithm", "flash2", "--heads", "4", "--seq", "64"});
  REQUIRE(points.size() == 4);
  CHECK(points[2]["refusal"].get<std::string>().find("3") != std::string::npos);
  for (const std::size_t i : {0, 1, 3}) CHECK(points[i]["refusal"] == "");
  CHECK(points[0]["hbm_read_bytes"] < points[3]["hbm_read_bytes"]);
}

TEST_CASE("sweep: a file of another side of the tile is another sweep") {
  const TemporaryFolder folder;
  const auto to_file = [&](const char* rows) {
    return run_program({"sweep", "--over", "seq=32,64", "--quiet", "--block-q", rows, "--csv", folder.path("s.csv")});
  };
  CHECK(to_file("8").code == 0);
  CHECK(to_file("8").code == 0);
  CHECK(to_file("16").err.find("holds another sweep") != std::string::npos);
}

}  // namespace tilescope
