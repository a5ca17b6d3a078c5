// run_cli() in this process: exit codes, one line for every error, the table and the schema of the JSON.
#include "app/cli/run_cli.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_line.h"
#include "app/cli/output.h"
#include "app/cli/report.h"
#include "app/cli/request.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "kernels/measure/bundle.h"
#include "sim/analysis/format.h"
#include "sim/analysis/what_if.h"
#include "sim/engine/simulation.h"
#include "sim/programs/tile_program.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"
#include "tests/synthetic_measurements.h"

namespace tilescope {

namespace {

/// Refused with `code`, nothing on standard output, and one line that has `fragment` in it.
void refused_line(const std::vector<std::string>& arguments, int code, const std::string& fragment) {
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

using Json = nlohmann::ordered_json;

/// The table and the JSON of `simulate`, of one run for all tests that ask for it.
struct Simulated {
  std::string table;
  Json json;
};
const Simulated& outcome_of_simulate(const std::vector<std::string>& arguments) {
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
Json simulated_json(const std::vector<std::string>& arguments) {
  return outcome_of_simulate(arguments).json;
}
const std::string& simulated_text(const std::vector<std::string>& arguments) {
  return outcome_of_simulate(arguments).table;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("cli: unknown algorithm, GPU, key, flag and command: one line and exit code 2") {
  refused_line({"simulate", "--algorithm", "flash22"}, 2, "unknown algorithm 'flash22': did you mean flash2?");
  refused_line({"simulate", "--gpu", "h20"}, 2, "unknown GPU 'h20': did you mean h200?");
  refused_line({"simulate", "--set", "l2.size=0"}, 2, "unknown GPU key 'l2.size'");
  refused_line({"simulate", "--seqq", "8"}, 2, "did you mean --seq?");
  refused_line({"simulat"}, 2, "did you mean simulate?");
  refused_line({"render"}, 2, "render needs --out");
}

TEST_CASE("cli: sizes that are zero, negative, absurd or not numbers: one line and exit code 2") {
  for (const char* flag :
       {"--batch", "--heads", "--kv-heads", "--seq", "--seq-kv", "--head-dim", "--block-q", "--block-kv", "--blocks-per-sm"})
    for (const char* value : {"0", "-5", "1e3", "99999999999999999999", "64x", "", "nan", "\n"})
      refused_line({"simulate", flag, value}, 2, flag);
  refused_line({"simulate", "--batch", "2000000000", "--heads", "2000000000"}, 2, "2000000000");
  refused_line({"simulate", "--heads", "6", "--kv-heads", "4"}, 2, "6 heads cannot be shared evenly by 4 key-value heads");
  refused_line({"simulate", "--head-dim", "257"}, 2, "--head-dim is 257: it must be from 1 to 256");
}

TEST_CASE("cli: a tile that does not fit is refused with both numbers and exit code 2") {
  refused_line({"simulate", "--block-q", "256", "--block-kv", "128", "--head-dim", "128"}, 2, "tile 256x128 at head_dim 128 needs");
  refused_line({"simulate", "--block-q", "256", "--block-kv", "128", "--head-dim", "128"}, 2, "toy has 64 KiB");
  refused_line({"simulate", "--algorithm", "standard", "--gpu", "rtx4090", "--seq", "500000", "--head-dim", "64"}, 2, "GB");
  refused_line({"simulate", "--blocks-per-sm", "900"}, 2, "900");
  refused_line({"simulate", "--algorithm", "softmax_safe", "--pass", "backward"}, 2, "has no backward pass");
  refused_line({"simulate", "--algorithm", "flash2_backward", "--pass", "forward"}, 2, "--algorithm flash2");
}

TEST_CASE("cli: a broken, empty, binary, missing or unreadable file: one line and exit code 2") {
  const TemporaryFolder folder;
  refused_line({"simulate", "--gpu", folder.path("none.toml")}, 2, "there is no such file");
  refused_line({"simulate", "--gpu", folder.file("empty.toml", "")}, 2, "it is empty");
  refused_line({"simulate", "--gpu", folder.file("binary.toml", std::string("\x7f\x45LF\0\0", 6))}, 2, "it is binary");
  refused_line({"simulate", "--gpu", folder.file("broken.toml", "id = \"x\nname")}, 2, "not TOML");
  refused_line({"simulate", "--gpu", folder.file("odd.toml", "\xff\xfe\xfd")}, 2, "not TOML");
  refused_line({"simulate", "--gpu", folder.path("")}, 2, "it is a folder");
  refused_line({"render", "--out", folder.path("x.png"), "--q", folder.file("broken.csv", "1,2\n3")}, 2, "broken.csv");
  refused_line({"render", "--out", folder.path("x.png"), "--q", folder.file("binary.csv", std::string("1,\0", 3))}, 2,
               "it is binary");
  refused_line({"render", "--out", folder.path("x.png"), "--q", folder.file("empty.csv", "\n\n")}, 2, "empty.csv");
}

TEST_CASE("cli: files that nest too deep for a parser are one line and exit code 2") {
  const TemporaryFolder folder;
  std::string dots, brackets;
  for (int i = 0; i < 50000; ++i) dots += "a.", brackets += "[";
  refused_line({"simulate", "--gpu", folder.file("deep.toml", dots + "b=1")}, 2, "deep.toml:1: nested deeper than 32 levels");
  refused_line({"validate", "--bundle", folder.file("deep.json", brackets)}, 2, "nested deeper than 32 levels");
  refused_line({"sweep", "--over", "seq=16,32", "--json", folder.path("deep.json")}, 2, "exists and is not a sweep");
  refused_line({"sweep", "--over", "seq=16,32", "--csv", folder.file("deep.csv", "# tilescope.sweep/1 " + brackets)}, 2,
               "exists and is not a sweep");
}

TEST_CASE("cli: a suite's line that is cut short is named with its file, its number and what stands there") {
  const TemporaryFolder folder;
  const std::string suite = folder.file("s.txt", "# mine\nflash2 1 8 8 1024\n");
  refused_line({"measure", "--suite", suite, "--json", folder.path("x.json")}, 2,
               "s.txt, line 2: 'flash2 1 8 8 1024' ends before its seq_kv");
}

TEST_CASE("cli: lesson check of a file that cannot be read: one line and exit code 2") {
  const TemporaryFolder folder;
  refused_line({"lesson", "check", folder.path("nope.md")}, 2, "there is no such file");
  refused_line({"lesson", "check", folder.file("empty.md", "")}, 2, "it is empty");
  const RunOutcome read = run_program({"lesson", "check", folder.file("odd.md", "no lesson\n"), "--quiet"});
  CHECK(read.code == 1);  // it was read, and does not hold
  CHECK(read.err == "");
  // Too large to be read is not to be read, whatever the size.
  for (const std::size_t bytes : {std::size_t{300} << 10, std::size_t{20} << 20})
    refused_line({"lesson", "check", folder.file("big.md", std::string(bytes, '\n'))}, 2, "it is larger than 262144 bytes");
}

TEST_CASE("cli: an unwritable output is one line and leaves no partial file") {
  const TemporaryFolder folder;
  for (const char* flag : {"--json", "--trace"}) {
    refused_line({"simulate", flag, folder.path("none/x.json")}, 2, "there is no folder");
    refused_line({"simulate", flag, folder.path(".")}, 2, "it is a folder");
    refused_line({"simulate", flag, "/dev/full"}, 3, "No space left on device");
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("cli: commands that need a GPU say so, with exit code 3") {
  refused_line({"measure"}, 3, "needs an NVIDIA GPU");
  refused_line({"measure", "--algorithm", "flash2", "--pass", "backward"}, 3, "needs an NVIDIA GPU");
  refused_line({"measure", "--algorithm", "flash1_backward", "--seq", "64"}, 3, "needs an NVIDIA GPU");
  refused_line({"measure", "--algorithm", "flash2", "--pass", "both"}, 2, "runs forward, not both");
  refused_line({"measure", "--algorithm", "softmax_safe", "--pass", "backward"}, 2, "softmax_safe has no backward pass");
  refused_line({"measure", "--algorithm", "flash1_backward", "--pass", "forward"}, 2, "runs backward, not forward");
  refused_line({"calibrate", "--out", "x.toml"}, 3, "needs an NVIDIA GPU");
}

TEST_CASE("cli: what is wrong with a request is said before what the machine lacks, with exit code 2") {
  refused_line({"calibrate", "--gpu", "nope"}, 2, "nope");
  refused_line({"measure", "--suite", "default", "--json", "x.json", "--probe", "p.json"}, 2,
               "--suite and --probe each say what is measured: give one of them");
  refused_line({"measure", "--heads", "1", "--probe", "p.json", "--probe-block", "99999"}, 2, "block 99999 is not there");
  refused_line({"--ncu", "nowhere.csv"}, 2, "there is no such file");
  refused_line({"measure", "--probe", "p.json", "--samples", "s.json"}, 2, "--probe and --samples each say what is measured");
  refused_line({"measure", "--probe", "p.json", "--json", "x.json"}, 2, "--probe has a file of its own");
  refused_line({"measure", "--suite", "default", "--json", "x.json", "--seq", "64"}, 2,
               "--seq is about one run, and --suite has its own problems: leave one of them out");
}

TEST_CASE("cli: --help and --version print and do nothing else") {
  CHECK(run_program({"--version"}).out.starts_with("tilescope "));
  const RunOutcome help = run_program({"simulate", "--help"});
  CHECK(help.code == 0);
  CHECK(help.err == "");
  CHECK(help.out.find("--blocks-per-sm") != std::string::npos);
}

TEST_CASE("cli: the window opens on what simulate has without arguments") {
  static std::optional<SimulationRequest> opened;
  const auto open = [](const WindowOptions& options) {
    opened = options.request;
    return 0;
  };
  char name[] = "tilescope";
  char* arguments[] = {name};
  REQUIRE(run_cli(1, arguments, stdout, stderr, {open, &render_picture}) == 0);
  REQUIRE(opened);
  const auto line = parse_command_line(std::vector<std::string>{"simulate"});
  REQUIRE(line);
  const auto request = make_request(*line);
  REQUIRE(request);
  const auto of_window = simulate(*opened);
  const auto of_command = simulate(request->simulation);
  REQUIRE(of_window);
  REQUIRE(of_command);
  CHECK(opened->algorithm == request->simulation.algorithm);
  CHECK(opened->problem == request->simulation.problem);
  CHECK((*of_window)->program->tile() == (*of_command)->program->tile());
  CHECK((*of_window)->launches[0].blocks_per_sm == (*of_command)->launches[0].blocks_per_sm);
  CHECK((*of_window)->cycles.value == (*of_command)->cycles.value);
}

TEST_CASE("cli: simulate prints simulated bytes next to closed forms") {
  const RunOutcome outcome = run_program({"simulate"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  for (const char* word : {"flash2: FlashAttention-2", "toy: Toy", "16 queries x 16 keys", "limited by", "B·Hq·Nq·d·e", "equal",
                           "hbm_read", "l2_to_sm", "Θ(N²d²/M)", "matrix products", "bottleneck", "peak memory"})
    CHECK_MESSAGE(outcome.out.find(word) != std::string::npos, word);
  CHECK(outcome.out.find("differs") == std::string::npos);
}

TEST_CASE("cli: the table gives sizes of memory in units of 1024, and bytes that move in units of 1000") {
  const std::string text = simulated_text({});
  CHECK(text.find(" 8.25 KiB  " + format_exact_bytes(Bytes(8448)) + "\n", text.find("peak HBM")) != std::string::npos);
  CHECK(text.find(" kB", text.find("peak HBM")) == std::string::npos);
}

TEST_CASE("cli: the time names its clock, and stands beside the time at the clock under load where that is known") {
  const std::string measured = simulated_text({"--gpu", "h200", "--dtype", "fp32"});
  CHECK(measured.find("highest clock") != std::string::npos);
  CHECK(measured.find("at 1.98 GHz; ") != std::string::npos);
  CHECK(measured.find("at 1.72 GHz under load, as calibrated under products of mma.sync and exponentials") != std::string::npos);
  const Json json = simulated_json({"--gpu", "h200", "--dtype", "fp32"}),
             loaded = simulated_json({"--gpu", "h200", "--dtype", "fp32", "--set", "sm.clock_hz=1.72e9"});
  CHECK(json["time"]["clock_hz"] == 1.98e9);
  CHECK(json["time"]["under_load"]["clock_hz"] == 1.72e9);
  CHECK(json["time"]["under_load"]["clock_from"] == "calibration");  // the problem is in fp32, of which nothing is recorded
  CHECK(json["time"]["under_load"]["ns"] == loaded["time"]["ns"]);
  CHECK(json["time"]["under_load"]["ns"] > json["time"]["ns"]);
  CHECK_FALSE(loaded["time"].contains("under_load"));
  CHECK(simulated_text({"--gpu", "h200", "--set", "sm.clock_hz=1.72e9"}).find("at 1.72 GHz; ") != std::string::npos);
  const std::string other = simulated_text({"--gpu", "a100"});
  CHECK(other.find("at 1.41 GHz; ") != std::string::npos);
  CHECK(other.find("under load") == std::string::npos);
}

namespace {

/// FlashAttention-3 on an H100: with 325 rows it is recorded.
std::vector<std::string> flash3_arguments(const char* rows) {
  return {"--gpu",      "h100", "--algorithm", "flash3", "--batch",    "2",   "--heads", "8",
          "--kv-heads", "2",    "--seq",       rows,     "--head-dim", "128", "--dtype", "fp16"};
}

std::vector<std::string> extended(std::vector<std::string> arguments, std::initializer_list<const char*> more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("cli: a recorded run shows what was recorded beside what is simulated, as validate compares them") {
  const Json json = simulated_json(flash3_arguments("325"));
  CHECK(json["time"]["under_load"]["clock_from"] == "this_case");
  CHECK(json["time"]["under_load"]["tflops"] < json["time"]["tflops"]);
  REQUIRE(json.contains("recorded"));
  CHECK(json["recorded"]["bundle"] == "h100-flash3.json");
  CHECK(json["recorded"]["clock_hz"] == json["time"]["under_load"]["clock_hz"]);
  bool has_time = false;
  for (const Json& figure : json["recorded"]["figures"]) {
    if (figure["figure"] != "time") continue;
    has_time = true;
    CHECK(std::llround(figure["simulated"].get<double>()) == json["time"]["under_load"]["ns"].get<long long>());
    CHECK(figure["error"].get<double>() ==
          doctest::Approx(figure["simulated"].get<double>() / figure["recorded"][0].get<double>() - 1));
  }
  CHECK(has_time);
  // Bytes, errors and recorded figures of the report are of one run.
  const Json& bytes = json["time"]["under_load"]["traffic"];
  CHECK(bytes["clock_hz"] == json["recorded"]["clock_hz"]);
  CHECK(json["traffic"]["errors"]["clock_hz"] == json["recorded"]["clock_hz"]);
  CHECK(json["traffic"]["clock_hz"] == json["time"]["clock_hz"]);
  for (const Json& figure : json["recorded"]["figures"])
    if (figure["figure"] == "hbm_read") CHECK(figure["simulated"] == bytes["hbm_read_bytes"].get<double>());
  const std::string text = run_program(extended({"simulate"}, {})).out;
  CHECK(text.find("\nrecorded") == std::string::npos);
  const std::string shown = simulated_text(flash3_arguments("325"));
  CHECK(shown.find("as recorded for this run") != std::string::npos);
  CHECK(shown.find("\nrecorded") != std::string::npos);
  CHECK(shown.find("h100-flash3.json") != std::string::npos);
  // Blocks in another order are another run.
  CHECK_FALSE(simulated_json(extended(flash3_arguments("325"), {"--block-order", "reversed"})).contains("recorded"));
}

TEST_CASE("cli: a recording that cannot be read is named, and what else is recorded of the GPU stays") {
  const TemporaryFolder folder;
  std::filesystem::copy(fmt::format("{}/assets", TILESCOPE_SOURCE_DIR), folder.path("assets"),
                        std::filesystem::copy_options::recursive);
  const std::string bundle = folder.path("assets/measured/h100.json");
  const auto whole = read_text_file(bundle);
  REQUIRE(whole);
  const AssetsFolder assets(folder.path("assets"));
  for (const std::string& text : {whole->substr(0, 5000), std::string("{}"), std::string()}) {
    CAPTURE(text.size());
    std::ofstream(bundle) << text;
    const RunOutcome outcome = run_program({"simulate", "--gpu", "h100", "--seq", "128", "--quiet"});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.starts_with("tilescope: "));
    CHECK(outcome.err.find(bundle) != std::string::npos);
    CHECK(outcome.err.ends_with("; what it recorded is left out\n"));
    CHECK(run_program({"simulate", "--gpu", "h200", "--seq", "128", "--quiet"}).err == "");
  }
}

TEST_CASE("cli: what a probe recorded of this very run stands beside the prediction, with its date and its clock") {
  const std::vector<std::string> run = {"--gpu", "h100", "--algorithm", "flash3", "--heads", "16",
                                        "--seq", "2048", "--head-dim",  "128",    "--causal"};
  const Json json = simulated_json(run);
  CHECK_FALSE(json.contains("recorded"));  // no bundle has it
  REQUIRE(json.contains("probed"));
  const Json& probed = json["probed"];
  CHECK(probed["device"] == "NVIDIA H100 80GB HBM3");
  CHECK(probed["recorded_ns"].get<double>() == doctest::Approx(43424).epsilon(1e-4));
  std::vector<std::string> at_its_clock = run;
  at_its_clock.insert(at_its_clock.end(), {"--set", fmt::format("sm.clock_hz={}", probed["clock_hz"].get<double>())});
  CHECK(probed["simulated_ns"].get<double>() ==
        doctest::Approx(simulated_json(at_its_clock)["time"]["ns"].get<double>()).epsilon(1e-4));
  CHECK(probed["error"].get<double>() ==
        doctest::Approx(probed["simulated_ns"].get<double>() / probed["recorded_ns"].get<double>() - 1));
  const std::string shown = simulated_text(run);
  CHECK(shown.find("\nprobed") != std::string::npos);
  CHECK(shown.find("43.4 µs") != std::string::npos);
  CHECK(shown.find("of an NVIDIA H100 80GB HBM3, 2026-11-26, one run with a probe; both at 1.75 GHz") != std::string::npos);
  // Another problem, another order and another GPU are other runs.
  CHECK_FALSE(simulated_json(extended(run, {"--batch", "2"})).contains("probed"));
  CHECK_FALSE(simulated_json(extended(run, {"--block-order", "reversed"})).contains("probed"));
  CHECK_FALSE(simulated_json(extended(run, {"--set", "l2.bytes_per_cycle=4000"})).contains("probed"));
}

TEST_CASE("cli: HBM bytes have their errors beside them, as the time has, and the wall time has its clock") {
  const Json json = simulated_json(flash3_arguments("4096"));
  for (const char* link : {"hbm_read", "hbm_write"}) {
    const Json& errors = json["traffic"]["errors"][link];
    CHECK(errors["kernel"] == "flash3");
    CHECK(errors["runs"] == json["time"]["errors"]["runs"]);
    CHECK(errors["mean"] > 0);
    CHECK(errors["worst"] >= errors["mean"]);
  }
  CHECK(json["time"]["wall_ns"] == json["time"]["under_load"]["ns"]);
  CHECK(json["time"]["wall_clock_hz"] == json["time"]["under_load"]["clock_hz"]);
  CHECK(json["time"]["ns"] != json["time"]["wall_ns"]);
  const Json toy = simulated_json({});
  CHECK(toy["traffic"]["errors"]["hbm_read"].is_null());
  CHECK(toy["time"]["wall_ns"] == toy["time"]["ns"]);
  const std::string shown = simulated_text(flash3_arguments("4096"));
  CHECK(shown.find("\nerror    hbm_read ±") != std::string::npos);
  CHECK(shown.find("\nerror    hbm_write ±") != std::string::npos);
  CHECK(simulated_text({}).find("\nerror    hbm") == std::string::npos);
}

TEST_CASE("cli: simulate takes --quiet, and shows its progress where it is asked for lines") {
  CHECK(run_program({"simulate", "--quiet"}).out.find("traffic") != std::string::npos);
  const EnvironmentVariable lines("TILESCOPE_PROGRESS", "lines");
  const RunOutcome loud = run_program({"simulate"}), quiet = run_program({"simulate", "--quiet"});
  CHECK(loud.err.starts_with("simulate: the run, "));
  CHECK(quiet.err == "");
}

TEST_CASE("cli: a score that makes NaN is said beside the score") {
  const Json json = simulated_json({"--score", "inf"});
  CHECK(json["score_warning"] == "every score is inf, so every row of O is NaN");
  CHECK_FALSE(simulated_json({"--score", "score * 2"}).contains("score_warning"));
  CHECK(run_program({"simulate", "--score", "log(score)"}).out.find("warning: column 1: the log of a negative score is NaN") !=
        std::string::npos);
}

TEST_CASE("cli: a run like recorded ones borrows their clock, and its TFLOP/s are those of the wall time") {
  const Json json = simulated_json(flash3_arguments("4096"));
  const Json& load = json["time"]["under_load"];
  CHECK(load["clock_from"] == "like_runs");
  CHECK(load["runs"] > 0);
  CHECK(load["clock_hz"] < 1.756e9);  // products of wgmma draw more power than those of the calibration
  const double flops = 4.0 * 2 * 8 * 4096 * 4096 * 128;
  CHECK(load["tflops"].get<double>() == doctest::Approx(flops / load["ns"].get<double>() / 1e3).epsilon(1e-4));
}

TEST_CASE("cli: a persistent launch says how many blocks it launches and how many tiles they work through") {
  const Json json = simulated_json(flash3_arguments("4096"));
  const Json& launch = json["launches"][0];
  CHECK(launch["launched_blocks"] == 132);
  CHECK(launch["blocks"] == 2 * 8 * 4096 / 128);
  CHECK(launch["waves"] == 1);
  CHECK(launch["tiles_per_block"].get<double>() == doctest::Approx(2.0 * 8 * 4096 / 128 / 132));
  CHECK(simulated_text(flash3_arguments("4096")).find("tiles/block") != std::string::npos);
  const Json flash2 = simulated_json({"--gpu", "toy"});
  CHECK_FALSE(flash2["launches"][0].contains("tiles_per_block"));
  CHECK(flash2["launches"][0]["launched_blocks"] == flash2["launches"][0]["blocks"]);
}

TEST_CASE("cli: a predicted time says how far such times were off, or that nothing is recorded") {
  const Json of_short = simulated_json(flash3_arguments("325"))["time"]["errors"],
             recorded = simulated_json(flash3_arguments("4096"))["time"]["errors"];
  CHECK(recorded["kernel"] == "flash3");
  CHECK(recorded["runs"].get<int>() + of_short["runs"].get<int>() >= 60);  // of two lists
  CHECK(recorded["short"] == false);
  CHECK(of_short["short"] == true);
  CHECK(of_short["mean"] > recorded["mean"]);
  CHECK(recorded["held_out"] == true);
  CHECK(recorded["worst"] > recorded["mean"]);
  CHECK_FALSE(of_short.contains("borrowed_clock"));
  CHECK(recorded["borrowed_clock"]["mean"] > 0);
  CHECK(simulated_json({"--gpu", "toy"})["time"]["errors"].is_null());
  const std::string flash3 = simulated_text(flash3_arguments("4096"));
  CHECK(flash3.find(fmt::format("mean of {} recorded runs of flash3, not seen by the model before; ",
                                recorded["runs"].get<int>())) != std::string::npos);
  CHECK(flash3.find("error of the clock") != std::string::npos);
  CHECK(simulated_text({"--gpu", "toy"}).find("toy was never built, so its times have nothing to be compared with.") !=
        std::string::npos);
  CHECK(simulated_text(flash3_arguments("325"))
            .find(fmt::format("mean of {} recorded runs of flash3 under 20 µs, not seen by the model before; ",
                              of_short["runs"].get<int>())) != std::string::npos);
  CHECK(simulated_text(flash3_arguments("1")).find("no run of flash3 this short is recorded on h100: the shortest takes ") !=
        std::string::npos);
  std::vector<std::string> in_fp32 = flash3_arguments("4096"), slower = in_fp32;
  *std::ranges::find(in_fp32, "fp16") = "fp32";
  slower.insert(slower.end(), {"--set", "hbm.bytes_per_second=1e12"});
  CHECK(simulated_text(in_fp32).find("no kernel is compiled for this, so no recorded run is like it") != std::string::npos);
  CHECK(simulated_json(in_fp32)["time"]["errors"].is_null());
  CHECK(simulated_text(slower).find("recorded runs of flash3 on the unchanged GPU, ") != std::string::npos);
}

TEST_CASE("cli: the table of simulate says the clock of its launches and of its traffic, and launches add up to the run") {
  const std::string table = simulated_text(flash3_arguments("4096"));
  const Json json = simulated_json(flash3_arguments("4096"));
  const Json& load = json["time"]["under_load"];
  const std::string clock = fmt::format("{:.2f} GHz", load["clock_hz"].get<double>() / 1e9);
  CHECK(table.find("cycles at " + clock) != std::string::npos);
  CHECK(table.find("simulated at " + clock) != std::string::npos);
  CHECK(table.find("simulated at 1.98 GHz") == std::string::npos);
  CHECK(json["launches"][0]["cycles_under_load"] < load["cycles"]);
  CHECK(json["launches"][0]["cycles"] < json["time"]["cycles"]);
}

TEST_CASE("cli: flash3 names the rung that it launches, in simulate, compare and JSON") {
  const std::vector<std::string> problem = {"--gpu", "h100", "--heads", "8", "--seq", "512", "--head-dim", "64", "--causal"};
  std::vector<std::string> run = extended(problem, {"--algorithm", "flash3"});
  CHECK(simulated_text(run).find("Hopper 1, longest first (hopper_wgmma_longest)") != std::string::npos);
  CHECK(simulated_json(run)["rung"] == "hopper_wgmma_longest");
  CHECK_FALSE(simulated_json(extended(problem, {"--algorithm", "flash2"})).contains("rung"));
  std::vector<std::string> both = {"compare", "algorithm=flash2", "algorithm=flash3", "--quiet"};
  both.insert(both.end(), problem.begin(), problem.end());
  const std::string compared = run_program(both).out;
  CHECK(compared.find(", launches Hopper 1, longest first (hopper_wgmma_longest)\n") != std::string::npos);
  CHECK(compared.find(" \xC2\xB1") != std::string::npos);  // "±" beside both predicted times
}

TEST_CASE("cli: imbalance has a price, in the table and in JSON") {
  const std::vector<std::string> arguments = {"--gpu", "h100",       "--algorithm", "flash2",  "--heads", "16",      "--seq",
                                              "4096",  "--head-dim", "128",         "--dtype", "fp16",    "--causal"};
  const Json json = simulated_json(arguments);
  const double ns = json["time"]["under_load"]["ns"], least = json["time"]["under_load"]["balanced_ns"];
  CHECK(least < 0.95 * ns);
  const std::string table = simulated_text(arguments);
  CHECK(table.find("perfect balance") != std::string::npos);
  CHECK(table.find(fmt::format("at most {} less", format_percent(1 - least / ns))) != std::string::npos);
}

TEST_CASE("cli: a slow clock under load is printed in MHz") {
  const std::string out = run_program({"simulate", "--gpu", "h100", "--seq", "128", "--set", "sm.clock_under_load_hz=1e6"}).out;
  CHECK(out.find("at 1 MHz under load, as set") != std::string::npos);
  CHECK(out.find("0.00 GHz") == std::string::npos);
}

TEST_CASE("cli: where a changed GPU lets the L2 decide, the time has its other end, and its error is unknown") {
  const std::vector<std::string> run = {"--gpu", "h100",  "--algorithm", "flash3",     "--batch", "4",       "--heads",
                                        "16",    "--seq", "4096",        "--head-dim", "128",     "--dtype", "fp16"};
  const auto changed = extended(run, {"--set", "l2.bytes_per_cycle=2000"});
  const std::string table = simulated_text(changed);
  CHECK(table.find("no shared lookup") != std::string::npos);
  CHECK(table.find("recorded lookups") != std::string::npos);
  CHECK(table.find("no difference") == std::string::npos);
  CHECK(table.find("unknown  with this change the L2 may decide the time") != std::string::npos);
  const Json time = simulated_json(changed)["time"];
  const double ns = time["under_load"]["ns"], hz = time["under_load"]["clock_hz"];
  CHECK(time["errors"].is_null());
  CHECK_FALSE(time["without_set"]["is_noise"]);
  // The L2 alone: the bytes of the ledger over its rate, and fewer with the recorded lookups.
  CHECK(time["unshared_lookups_least_ns"].get<double>() == doctest::Approx(4362141696.0 / 2000 / hz * 1e9).epsilon(1e-4));
  CHECK(time["recorded_lookups_least_ns"] > ns);
  CHECK(time["recorded_lookups_least_ns"] < time["unshared_lookups_least_ns"]);
  // A change that leaves the L2 far from its limit keeps the error of the recorded runs.
  const std::string slower = simulated_text(extended(run, {"--set", "hbm.bytes_per_second=2e12"}));
  CHECK(slower.find("no shared lookup") == std::string::npos);
  CHECK(slower.find("recorded runs of flash3 on the unchanged GPU") != std::string::npos);
}

TEST_CASE("cli: wgmma sums over sixteen elements, so a tile of 100 keys has no kernel and no known error") {
  for (const char* keys : {"17", "20", "100"}) {
    const Json json = simulated_json(extended(flash3_arguments("325"), {"--block-kv", keys}));
    CHECK(json["kernel"]["warnings"].dump().find(fmt::format("it has {} keys or queries to sum over", keys)) != std::string::npos);
    CHECK(json["time"]["errors"].is_null());
  }
  CHECK_FALSE(simulated_json(extended(flash3_arguments("325"), {"--block-kv", "112"}))["time"]["errors"].is_null());
}

TEST_CASE("cli: the values of --set are all listed, those that a file may leave out too") {
  const std::string help = run_program({"simulate", "--help"}).out;
  for (const SpecKey& row : spec_keys()) CHECK_MESSAGE(help.find(fmt::format("\n  {} ", row.key)) != std::string::npos, row.key);
  CHECK(run_program({"search", "--help"}).out.find("where the GPU has wgmma, hopper_wgmma, ") != std::string::npos);
}

TEST_CASE("cli: a tile without a compiled kernel is named, and one that no kernel can have too") {
  const auto warnings = [](const std::vector<std::string>& arguments) {
    const Json json = simulated_json(arguments);
    return json.contains("kernel") && json["kernel"].contains("warnings") ? json["kernel"]["warnings"].dump() : std::string();
  };
  CHECK(warnings(flash3_arguments("325")).empty());
  const std::string other = warnings(extended(flash3_arguments("325"), {"--block-kv", "64"}));
  CHECK(other.find("no kernel is compiled for this tile, only for 128x128") != std::string::npos);
  CHECK(other.find("its overheads are those of 128x128") != std::string::npos);
  CHECK(other.find("wgmma takes 64") == std::string::npos);
  CHECK(warnings(extended(flash3_arguments("325"), {"--block-q", "96"}))
            .find("a warp group has 48 rows, and wgmma takes 64 at a time") != std::string::npos);
  CHECK(warnings({"--gpu", "toy"}).empty());
  CHECK(warnings({"--gpu", "h100", "--algorithm", "flash2", "--seq", "512", "--head-dim", "128", "--block-kv", "96"})
            .find("registers with this tile, and the limit is ") != std::string::npos);
  // A wgmma kernel cannot spill: its tile does not fit, and both needs are named with their limits.
  refused_line(
      {"simulate", "--gpu", "h100", "--algorithm", "hopper_causal", "--seq", "512", "--head-dim", "128", "--block-kv", "256"}, 2,
      " KiB of shared memory; the limits on h100 are 232 registers and 227 KiB");
  for (const auto& [flag, value, what] : {std::tuple{"--head-dim", "96", "head dimension 96"},
                                          {"--head-dim", "256", "head dimension 256"},
                                          {"--dtype", "fp32", "fp32"}}) {
    std::vector<std::string> all = flash3_arguments("325");
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      if (all[i] == flag) all[i + 1] = value;
    CHECK(warnings(all).find(fmt::format("no kernel of flash3 takes {}", what)) != std::string::npos);
  }
  const Json spills = simulated_json({"--gpu", "h200", "--algorithm", "flash2", "--key-order", "descending", "--seq", "512",
                                      "--head-dim", "128", "--dtype", "fp16", "--causal"});
  CHECK(spills["kernel"]["spilled_bytes_per_thread"] > 0);
  CHECK(spills["kernel"]["warnings"].dump().find("spills") != std::string::npos);
}

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

TEST_CASE("cli: flash3 runs both passes, with the rung of its forward pass") {
  for (const char* dim : {"64", "128"}) {
    const auto run =
        run_program({"simulate", "--algorithm", "flash3", "--gpu", "h100", "--seq", "256", "--head-dim", dim, "--pass", "both"});
    CHECK(run.code == 0);
    CHECK(run.out.find("FlashAttention-3, both passes") != std::string::npos);
  }
}

TEST_CASE("cli: the busy share of the L2 is a range, and a recorded run shows its measured lookups") {
  const std::vector<std::string> run = {"simulate", "--algorithm", "flash3", "--gpu",      "h100", "--batch",
                                        "2",        "--heads",     "8",      "--kv-heads", "2",    "--seq",
                                        "325",      "--head-dim",  "128",    "--dtype",    "fp16"};
  const std::string text = run_program(run).out;
  CHECK(text.find("l2_lookup_read") != std::string::npos);
  CHECK(text.find("The upper end: no read shares a lookup") != std::string::npos);
  const Json json = Json::parse(run_program(extended(run, {"--json"})).out);
  const Json& l2 = json["time"]["l2_busy"];
  CHECK(l2["most"].get<double>() > l2["least"].get<double>());
  bool found = false;
  for (const Json& figure : json["recorded"]["figures"]) {
    if (figure["figure"] != "l2_lookup_read") continue;
    found = true;
    CHECK(figure["recorded"][0].get<double>() > figure["simulated"].get<double>());
  }
  CHECK(found);
}

TEST_CASE("cli: the number of buffers is told, and why it is one") {
  const std::vector<std::string> problem = {"--gpu",      "h200", "--algorithm", "flash3", "--seq",     "1024",
                                            "--head-dim", "128",  "--dtype",     "fp16",   "--block-q", "128"};
  const auto report = [&](std::initializer_list<const char*> more) {
    std::vector<std::string> all = extended(problem, more);
    all.insert(all.begin(), "simulate");
    return run_program(all).out;
  };
  CHECK(report({"--block-kv", "128"}).find("128 queries x 128 keys, 2 buffers of K and V") != std::string::npos);
  CHECK(report({"--block-kv", "176"}).find("1 buffer of K and V: two do not fit the shared memory") != std::string::npos);
  CHECK(simulated_json(extended(problem, {"--block-kv", "176"}))["tile"]["buffers"] == 1);
}

TEST_CASE("cli: a program with one order of its keys refuses the other") {
  std::vector<std::string> all = {"simulate"};
  for (const std::string& argument : flash3_arguments("325")) all.push_back(argument);
  const auto with = [&](const char* order) {
    std::vector<std::string> more = all;
    more.insert(more.end(), {"--key-order", order});
    return run_program(more);
  };
  CHECK(with("ascending").code == 2);
  CHECK(with("ascending").err ==
        "tilescope: --key-order is ascending, and the blocks of flash3 walk their keys in descending order alone: leave it out\n");
  CHECK(with("descending").out.find("as recorded for this run") != std::string::npos);
  CHECK(run_program({"sweep", "--over", "seq=64", "--gpu", "h200", "--algorithm", "flash2,flash3", "--key-order", "ascending"})
            .code == 2);
  CHECK(run_program({"simulate", "--key-order", "ascending"}).code == 0);
}

TEST_CASE("cli: bottleneck, busy shares and the run without it are those of the wall time") {
  const Json json = simulated_json(flash3_arguments("4096"));
  CHECK(json["time"]["next_limit"]["clock_hz"] == json["time"]["under_load"]["clock_hz"]);
  CHECK(json["time"]["under_load"]["busy"].contains("hbm"));
  CHECK(json["time"]["next_limit"]["without"] == json["time"]["under_load"]["bound_by"]);
}

TEST_CASE("cli: where no resource bounds the run alone, the bottleneck is no single one") {
  for (const auto& problem : {flash3_arguments("325"), flash3_arguments("4096"), std::vector<std::string>{"--gpu", "toy"}}) {
    const Json json = simulated_json(problem);
    const std::string text = simulated_text(problem);
    const Json& timed = json["time"].contains("under_load") ? json["time"]["under_load"] : json["time"];
    const bool alone = json["time"]["next_limit"]["decides"].get<bool>() || timed["bound_by"] == "latency";
    CHECK((text.find("no single one") == std::string::npos) == alone);
  }
}

TEST_CASE("cli: a run with --set says what the change does to the time, and where that is noise") {
  const std::vector<std::string> problem = {"--gpu", "h200", "--heads", "16", "--seq", "1024", "--head-dim", "64"};
  const auto with = [&](const char* change) {
    std::vector<std::string> all = problem;
    all.insert(all.end(), {"--set", change});
    return all;
  };
  const Json plain = simulated_json(problem), slow = simulated_json(with("sm.clock_hz=1e9")),
             same = simulated_json(with("hbm.capacity_bytes=1e11"));
  CHECK_FALSE(plain["time"].contains("without_set"));
  CHECK(slow["time"]["without_set"]["ns"] == plain["time"]["ns"]);
  CHECK(slow["time"]["without_set"]["change"] > 0.5);
  CHECK(slow["time"]["without_set"]["is_noise"] == false);
  CHECK(same["time"]["without_set"]["change"] == 0);
  CHECK(same["time"]["without_set"]["is_noise"] == true);
  CHECK(same["time"]["without_set"]["noise"] >= least_difference);
  CHECK(simulated_text(with("hbm.capacity_bytes=1e11")).find(": no difference, the order of events alone may change ") !=
        std::string::npos);
}

TEST_CASE("cli: a search says which candidates are as quick as the first") {
  const Json json = Json::parse(run_program({"search", "--quiet", "--gpu", "h200", "--algorithm", "flash2", "--heads", "4", "--seq",
                                             "512", "--head-dim", "64", "--causal", "--json"})
                                    .out);
  const double noise = json["noise"], first = json["ranked"][0]["ns"];
  CHECK(noise >= least_difference);
  for (const Json& row : json["ranked"]) CHECK(row["as_quick_as_first"] == (row["ns"].get<double>() / first - 1 <= noise));
}

TEST_CASE("cli: a value changed by --set is named in the table") {
  CHECK(run_program({"simulate", "--set", "l2.capacity_bytes=0"}).out.find("changed: l2.capacity_bytes") != std::string::npos);
  CHECK(simulated_text({}).find("changed:") == std::string::npos);
}

TEST_CASE("cli: the report and the JSON of a small grid say how many SMs have a block, and a full grid's are silent") {
  const std::vector<std::string> small = {"--gpu", "h200", "--seq", "512", "--seq-kv", "8192", "--head-dim", "128"};
  const std::string text = simulated_text(small);
  CHECK(text.find("SMs with a block") != std::string::npos);
  CHECK(text.find("4 of 132  an SM of the GPU has no block for 97 % of the time, on average\n") != std::string::npos);
  CHECK(text.find("busy: share of the run; of tensor, exp, fp32 and smem, of the time in which an SM has a block\n") !=
        std::string::npos);
  CHECK(text.find("of the mma.sync peak of those SMs") != std::string::npos);
  const Json json = simulated_json(small);
  CHECK(json["time"]["bound_by"] == "tensor");
  CHECK(json["time"]["sms"]["all"] == 132);
  CHECK(json["time"]["sms"]["with_blocks"] == 4);
  CHECK(json["time"]["sms"]["idle_share"].get<double>() == doctest::Approx(1 - 4.0 / 132).epsilon(0.01));
  CHECK(simulated_text({}).find("SMs with a block") == std::string::npos);
}

TEST_CASE("cli: a run that is slower without its bottleneck is no faster, in the table and in JSON") {
  SimulationRequest request;
  request.gpu = *load_gpu("toy");
  const auto simulation = simulate(request);
  REQUIRE(simulation);
  NextLimit limit = next_limit_of(**simulation, **simulation);
  const auto says = [&](double change, const char* speed, bool decides) {
    limit.outcome.time_ns = limit.before_ns * change;
    CAPTURE(change);
    CHECK(report_table(**simulation, &limit, {}).find(speed) != std::string::npos);
    CHECK(Json::parse(report_json(**simulation, &limit, {}))["time"]["next_limit"]["decides"] == decides);
  };
  says(1.04, "(no faster): no single bottleneck", false);
  says(1.001, "(same time): no single bottleneck", false);
  says(0.98, "(1.02× faster): no single bottleneck", false);
  says(0.5, "(2.0× faster), then", true);
}

TEST_CASE("cli: --json prints the schema of the design, key by key") {
  const RunOutcome printed = run_program({"simulate", "--json"});
  REQUIRE(printed.code == 0);
  CHECK(printed.err == "");
  const Json json = Json::parse(printed.out);
  CHECK(keys(json) ==
        Names{"schema", "algorithm", "gpu", "problem", "tile", "traffic", "work", "memory", "time", "launches", "ledger", "host"});
  CHECK(json["schema"] == "tilescope.simulation/1");
  CHECK(keys(json["problem"]) == Names{"batch", "heads", "kv_heads", "seq_q", "seq_kv", "head_dim", "dtype", "causal", "pass"});
  CHECK(keys(json["tile"]) == Names{"block_q", "block_kv", "buffers"});
  CHECK(keys(json["traffic"]) == Names{"hbm_read_bytes", "hbm_write_bytes", "hbm_write_after_flush_bytes", "l2_to_sm_bytes",
                                       "sm_to_l2_bytes", "smem_read_bytes", "smem_write_bytes", "l2_lookup_read_bytes", "clock_hz",
                                       "errors"});
  const Json queued = simulated_json({"--algorithm", "matmul_tiled"});  // HBM is behind when this run ends
  CHECK(queued["traffic"]["hbm_write_queued_bytes"] > 0);
  CHECK(queued["traffic"]["hbm_write_queued_bytes"] < queued["traffic"]["hbm_write_bytes"]);
  CHECK(keys(json["work"]) == Names{"flops", "exps", "useful_flops"});
  CHECK(keys(json["memory"]) == Names{"peak_hbm_bytes", "extra_hbm_bytes", "live_peak_bytes", "live_peak_formula",
                                      "live_peak_launch", "live_bytes_by_launch"});
  CHECK(keys(json["time"]) == Names{"cycles", "ns", "bound_by", "clock_hz", "wall_ns", "wall_clock_hz", "tflops", "errors", "busy",
                                    "l2_busy", "balanced_ns", "next_limit"});
  CHECK(keys(json["time"]["busy"]) == Names{"tensor", "exp", "fp32", "l2", "hbm", "smem"});
  CHECK(keys(json["time"]["l2_busy"]) == Names{"lookups", "unshared", "ports", "least", "most"});
  CHECK(json["time"]["busy"]["l2"] ==
        std::max(json["time"]["l2_busy"]["lookups"].get<double>(), json["time"]["l2_busy"]["ports"].get<double>()));
  CHECK(keys(json["time"]["next_limit"]) == Names{"without", "cycles", "ns", "bound_by", "decides", "clock_hz"});
  CHECK(json["time"]["next_limit"]["without"] == json["time"]["bound_by"]);
  CHECK(json["time"]["next_limit"]["cycles"].get<std::int64_t>() < json["time"]["cycles"].get<std::int64_t>());
  REQUIRE(json["launches"].size() == 1);
  CHECK(keys(json["launches"][0]) ==
        Names{"name", "blocks", "launched_blocks", "threads", "smem_bytes", "blocks_per_sm", "waves", "cycles"});
  REQUIRE(json["ledger"].size() > 4);
  for (const Json& entry : json["ledger"]) CHECK(keys(entry) == Names{"launch", "tensor", "link", "line", "bytes"});
  CHECK(keys(json["host"]) == Names{"wall_ms", "peak_rss_bytes"});
  CHECK(json["host"]["peak_rss_bytes"].get<std::int64_t>() > 1 << 20);
  CHECK(json["host"]["wall_ms"].get<double>() > 0);
  for (const Json* number :
       {&json["time"]["cycles"], &json["time"]["ns"], &json["traffic"]["hbm_read_bytes"], &json["work"]["flops"]})
    CHECK(number->is_number_integer());
}

TEST_CASE("cli: the JSON repeats the request, and its ledger sums up to its traffic") {
  for (const ProgramInfo& program : program_table()) {
    CAPTURE(std::string(program.id));
    const Json json = simulated_json({"--algorithm", std::string(program.id), "--batch", "2", "--heads", "4", "--kv-heads", "2",
                                      "--seq", "48", "--seq-kv", "80", "--head-dim", "32", "--dtype", "bf16"});
    CHECK(json["algorithm"] == program.id);
    Json problem = Json::parse(R"({"batch":2,"heads":4,"kv_heads":2,"seq_q":48,"seq_kv":80,"head_dim":32,
                                   "dtype":"bf16","causal":false})");
    problem["pass"] = to_string(program.pass);
    CHECK(json["problem"] == problem);
    for (const char* link : {"hbm_read", "hbm_write", "l2_to_sm", "sm_to_l2", "smem_read", "smem_write"}) {
      std::int64_t sum = 0;
      for (const Json& entry : json["ledger"])
        if (entry["link"] == link) sum += entry["bytes"].get<std::int64_t>();
      CHECK(sum == json["traffic"][std::string(link) + "_bytes"].get<std::int64_t>());
    }
    CHECK(json["traffic"]["hbm_write_after_flush_bytes"].get<std::int64_t>() >=
          json["traffic"]["hbm_write_bytes"].get<std::int64_t>());
    CHECK(json["launches"].size() >= 1);
  }
}

TEST_CASE("cli: tile, GPU and blocks per SM of the request reach the simulation") {
  const Json json =
      simulated_json({"--gpu", "h200", "--block-q", "64", "--block-kv", "32", "--blocks-per-sm", "1", "--seq", "256", "--causal"});
  CHECK(json["gpu"] == "h200");
  CHECK(json["tile"] == Json::parse(R"({"block_q":64,"block_kv":32,"buffers":2})"));
  CHECK(json["launches"][0]["blocks_per_sm"] == 1);
  CHECK(json["problem"]["causal"] == true);
}

TEST_CASE("cli: buffers and block order reach the simulation, and are printed only if chosen") {
  const std::vector<std::string> problem = {"--heads",
                                            "4",
                                            "--seq",
                                            "320",
                                            "--causal",
                                            "--set",
                                            "l2.capacity_bytes=1048576",
                                            "--set",
                                            "hbm.bytes_per_second=64e9",
                                            "--set",
                                            "l2.latency_cycles=200",
                                            "--set",
                                            "hbm.latency_cycles=500"};  // latency, not HBM, is the bottleneck
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), problem.begin(), problem.end());
    return simulated_json(more);
  };
  const Json usual = with({});
  CHECK_FALSE(usual.contains("block_order"));
  const Json longest = with({"--block-order", "longest"});
  CHECK(longest["block_order"] == "longest");
  CHECK(longest["time"]["cycles"].get<std::int64_t>() < usual["time"]["cycles"].get<std::int64_t>());
  CHECK(longest["traffic"]["l2_to_sm_bytes"] == usual["traffic"]["l2_to_sm_bytes"]);
  const Json single = with({"--stages", "1"});
  CHECK(single["tile"]["stages"] == 1);
  CHECK(single["launches"][0]["smem_bytes"].get<std::int64_t>() < usual["launches"][0]["smem_bytes"].get<std::int64_t>());
  CHECK(single["time"]["cycles"].get<std::int64_t>() > usual["time"]["cycles"].get<std::int64_t>());  // no load runs ahead
}

TEST_CASE("cli: the table names the next limit") {
  const RunOutcome outcome = run_program({"simulate", "--gpu", "toy", "--set", "hbm.bytes_per_second=1e9"});
  REQUIRE(outcome.code == 0);
  CHECK(outcome.out.find("without hbm") != std::string::npos);
  CHECK(outcome.out.find("then limited by ") != std::string::npos);
}

TEST_CASE("cli: --json FILE and --trace FILE write whole files besides the table") {
  const TemporaryFolder folder;
  const RunOutcome outcome = run_program({"simulate", "--json", folder.path("a.json"), "--trace", folder.path("t.json")});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.out.find("traffic") != std::string::npos);
  CHECK(Json::parse(*read_text_file(folder.path("a.json")))["schema"] == "tilescope.simulation/1");
  const Json trace = Json::parse(*read_text_file(folder.path("t.json")));
  CHECK(trace["traceEvents"].size() > 100);
  CHECK(folder.entries() == 2);
}

TEST_CASE("cli: a full disk behind standard output is an error, not silence, for every command") {
  const TemporaryFolder folder;
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  const std::string bundle = folder.file("bundle.json", to_json(synthetic_bundle(*toy, 1)));
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"simulate"},
                                                    {"simulate", "--json"},
                                                    {"--help"},
                                                    {"sweep", "--over", "seq=16,32"},
                                                    {"sweep", "--over", "seq=16,32", "--json"},
                                                    {"validate", "--bundle", bundle},
                                                    {"validate", "--bundle", bundle, "--json", "-"}}) {
    CAPTURE(arguments[0]);
    CAPTURE(arguments.size());
    std::FILE* full = std::fopen("/dev/full", "w");
    REQUIRE(full != nullptr);
    const RunOutcome outcome = run_program(arguments, full);
    std::fclose(full);
    CHECK(outcome.code == 3);
    CHECK(outcome.err.ends_with("tilescope: cannot write to standard output: No space left on device\n"));
  }
}

TEST_CASE("cli: output is complete or an error") {
  const TemporaryFolder folder;
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  for (const char* path : {"", "-"}) {
    const Status printed = write_or_print(path, "text", full);
    REQUIRE_FALSE(printed);
    CHECK(printed.error().kind == Error::Kind::machine_lacks);
    CHECK(printed.error().sentence == "cannot write to standard output: No space left on device");
  }
  CHECK(write_or_print(folder.path("spec.toml"), "text", full));
  CHECK(*read_text_file(folder.path("spec.toml")) == "text");
  std::fclose(full);
}

}  // namespace tilescope
