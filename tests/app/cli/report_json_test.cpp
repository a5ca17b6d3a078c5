// The JSON of simulate, key by key.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/platform/files.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/cli/simulated_run.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

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

}  // namespace tilescope
