// The table that simulate prints, and what its flags change in it.
#include "app/cli/report.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/request.h"
#include "app/model/requests/assets.h"
#include "sim/analysis/format.h"
#include "sim/engine/simulation.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/cli/simulated_run.h"
#include "tests/environment_variable.h"

namespace tilescope {

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

TEST_CASE("cli: the values of --set are all listed, those that a file may leave out too") {
  const std::string help = run_program({"simulate", "--help"}).out;
  for (const SpecKey& row : spec_keys()) CHECK_MESSAGE(help.find(fmt::format("\n  {} ", row.key)) != std::string::npos, row.key);
  CHECK(run_program({"search", "--help"}).out.find("where the GPU has wgmma, hopper_wgmma, ") != std::string::npos);
}

TEST_CASE("cli: flash3 runs both passes, with the rung of its forward pass") {
  for (const char* dim : {"64", "128"}) {
    const auto run =
        run_program({"simulate", "--algorithm", "flash3", "--gpu", "h100", "--seq", "256", "--head-dim", dim, "--pass", "both"});
    CHECK(run.code == 0);
    CHECK(run.out.find("FlashAttention-3, both passes") != std::string::npos);
  }
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

}  // namespace tilescope
