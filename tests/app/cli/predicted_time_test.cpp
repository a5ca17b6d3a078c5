// A predicted time in table and JSON: its clock, how far such times were off, and what was recorded of the same run.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/platform/files.h"
#include "tests/app/cli/refused_line.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/cli/simulated_run.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

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

TEST_CASE("cli: a run like recorded ones borrows their clock, and its TFLOP/s are those of the wall time") {
  const Json json = simulated_json(flash3_arguments("4096"));
  const Json& load = json["time"]["under_load"];
  CHECK(load["clock_from"] == "like_runs");
  CHECK(load["runs"] > 0);
  CHECK(load["clock_hz"] < 1.756e9);  // products of wgmma draw more power than those of the calibration
  const double flops = 4.0 * 2 * 8 * 4096 * 4096 * 128;
  CHECK(load["tflops"].get<double>() == doctest::Approx(flops / load["ns"].get<double>() / 1e3).epsilon(1e-4));
}

TEST_CASE("cli: a predicted time says how far such times were off, or that nothing is recorded") {
  const Json of_short = simulated_json(flash3_arguments("325"))["time"]["errors"],
             recorded = simulated_json(flash3_arguments("4096"))["time"]["errors"];
  CHECK(recorded["kernel"] == "flash3");
  CHECK(recorded["runs"].get<int>() + of_short["runs"].get<int>() >= 60);  // of two lists
  CHECK(recorded["short"] == false);
  CHECK(of_short["short"] == true);
  CHECK(of_short["mean"] != recorded["mean"]);
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

}  // namespace tilescope
