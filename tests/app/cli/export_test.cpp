// `tilescope export`: formats, tables, and files that appear together.
#include "app/cli/export.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/cli/csv_sheets.h"
#include "app/platform/files.h"
#include "sim/core/csv.h"
#include "sim/core/npy.h"
#include "sim/programs/programs.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/run_simulation.h"
#include "tests/app/temporary_folder.h"
#include "tests/skip.h"

namespace tilescope {

namespace {

/// Rows of a CSV without quotes, the head first.
std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    std::vector<std::string>& row = rows.emplace_back(1);
    bool quoted = false;
    for (char c : text.substr(at, end - at)) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        row.emplace_back();
      else
        row.back() += c;
    }
    at = end + 1;
  }
  return rows;
}

std::string sheet(std::string_view name, const Simulation& simulation) {
  for (const CsvSheet& one : csv_sheets())
    if (one.name == name) return one.text(simulation);
  FAIL("no such sheet");
  return {};
}

std::string refused(const std::vector<std::string>& arguments, int code = 2) {
  const RunOutcome outcome = run_program(arguments);
  CHECK(outcome.code == code);
  CHECK(outcome.out == "");
  return outcome.err;
}

/// The int32 values of a .npy file of that shape.
std::vector<std::int32_t> integers_of(const std::string& file, const std::vector<std::int64_t>& shape) {
  const auto bytes = read_binary_file(file);
  REQUIRE_MESSAGE(bytes, file);
  const auto header = read_npy_header(*bytes);
  REQUIRE_MESSAGE(header, file);
  CHECK(header->descr == "<i4");
  CHECK(header->shape == shape);
  std::vector<std::int32_t> values((bytes->size() - header->data) / 4);
  std::memcpy(values.data(), bytes->data() + header->data, values.size() * 4);
  return values;
}

}  // namespace

TEST_CASE("export: a .npy is the block lists of the mask, as PyTorch's BlockMask has them") {
  using Ints = std::vector<std::int32_t>;
  const TemporaryFolder folder;
  const std::vector<std::string> arguments = {"export", "--heads", "2", "--seq", "500", "--out", folder.path("lists.npy")};
  CHECK(refused(arguments).find("give --mask or --preset") != std::string::npos);
  CHECK(folder.entries() == 0);
  std::vector<std::string> causal = arguments;
  causal.insert(causal.end(), {"--algorithm", "flex", "--gpu", "h200", "--preset", "causal", "--head-dim", "64"});
  const RunOutcome done = run_program(causal);
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(folder.entries() == 8);
  const auto of = [&](const char* array, const std::vector<std::int64_t>& shape) {
    return integers_of(folder.path(std::string("lists-") + array + ".npy"), shape);
  };
  // Four tiles each way, the last one ragged: the diagonal is partial, all left of it and above it is full or empty.
  CHECK(of("kv_num_blocks", {1, 1, 4}) == Ints{1, 1, 1, 1});
  CHECK(of("kv_indices", {1, 1, 4, 4}) == Ints{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0});
  CHECK(of("full_kv_num_blocks", {1, 1, 4}) == Ints{0, 1, 2, 3});
  CHECK(of("full_kv_indices", {1, 1, 4, 4}) == Ints{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0});
  CHECK(of("q_num_blocks", {1, 1, 4}) == Ints{1, 1, 1, 1});
  CHECK(of("full_q_num_blocks", {1, 1, 4}) == Ints{3, 2, 1, 0});
  CHECK(of("full_q_indices", {1, 1, 4, 4}) == Ints{1, 2, 3, 0, 2, 3, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0});
  causal.insert(causal.end(), {"--mask", "h == 0 || kv < 300", "--seq-kv", "300"});  // one list a head
  REQUIRE(run_program(causal).code == 0);
  CHECK(of("kv_num_blocks", {1, 2, 4}).size() == 8);
  CHECK(of("full_q_indices", {1, 2, 3, 4}).size() == 24);
}

TEST_CASE("export: every table has rows as wide as its head") {
  for (const char* algorithm : {"standard", "flash2"}) {
    const auto simulation = run(algorithm);
    for (const CsvSheet& one : csv_sheets()) {
      CAPTURE(one.name);
      const auto rows = rows_of(one.text(*simulation));
      REQUIRE(rows.size() > 1);
      for (const auto& row : rows) CHECK(row.size() == rows.front().size());
    }
  }
}

TEST_CASE("export: the tables of What if, Fit, Compare, the ladder and the mask have the figures of runs of their own") {
  const auto simulation = run("flash2");
  const auto what_if = rows_of(sheet("what_if", *simulation));
  CHECK(what_if.size() > 5);
  CHECK(std::stod(what_if[1][2]) == doctest::Approx(simulation->time.value));
  bool has_own_tile = false;
  for (const auto& row : rows_of(sheet("fit", *simulation)))
    has_own_tile = has_own_tile || (row[0] == "fp16" && row[2] == std::to_string(simulation->program->tile().block_q) &&
                                    row[3] == std::to_string(simulation->program->tile().block_kv) && row[4] == "1");
  CHECK(has_own_tile);
  const auto compared = rows_of(sheet("compare", *simulation));
  CHECK(compared[1][4] == "standard");
  const auto time = std::ranges::find_if(compared, [](const auto& row) { return row[1] == "time_ns"; });
  REQUIRE(time != compared.end());
  CHECK(std::stod((*time)[3]) == doctest::Approx(simulation->time.value));
  CHECK(std::stod((*time)[4]) > std::stod((*time)[3]));
  const auto compared_clock = std::ranges::find_if(compared, [](const auto& row) { return row[1] == "sm_clock_hz"; });
  REQUIRE(compared_clock != compared.end());
  CHECK(std::stod((*compared_clock)[3]) == simulation->request.gpu.sm_clock_hz);
  CHECK((*compared_clock)[4] == (*compared_clock)[3]);
  const auto rungs = rows_of(sheet("ladder", *simulation));
  CHECK(rungs.size() == 1 + ladder().size());
  SimulationRequest causal = simulation->request;
  causal.problem.causal = true;
  const auto masked = simulate(causal);
  REQUIRE(masked);
  std::int64_t elements = 0;
  std::set<std::string> states;
  const auto boxes = rows_of(sheet("mask", **masked));
  for (std::size_t i = 1; i < boxes.size(); ++i) {
    elements += std::stoll(boxes[i][1]) * std::stoll(boxes[i][3]);
    states.insert(boxes[i][4]);
  }
  CHECK(elements == causal.problem.seq_q * causal.problem.seq_kv);
  CHECK(states == std::set<std::string>{"empty", "full", "partial"});
}

TEST_CASE("export: tables add up to the ledger") {
  const auto simulation = run("standard");
  std::int64_t all = 0, traffic = 0, ledger = 0, landed = 0;
  for (Link link : all_links) all += simulation->ledger.total(link).value;
  for (const auto& row : rows_of(sheet("traffic", *simulation))) traffic += std::strtoll(row[2].c_str(), nullptr, 10);
  for (const auto& row : rows_of(sheet("ledger", *simulation))) ledger += std::strtoll(row[6].c_str(), nullptr, 10);
  for (const auto& row : rows_of(sheet("bandwidth", *simulation)))
    for (std::size_t i = 2; i < row.size(); ++i) landed += std::strtoll(row[i].c_str(), nullptr, 10);
  CHECK(traffic == all);
  CHECK(ledger == all);
  CHECK(landed == all);
  const auto steps = rows_of(sheet("steps", *simulation));
  CHECK(static_cast<std::int64_t>(steps.size()) - 1 == simulation->trace->step_count(0));
  for (std::size_t i = 1; i < steps.size(); ++i) CHECK(steps[i][0] == std::to_string(i));
}

TEST_CASE("export: a .csv and a .json need no OpenGL, and a trace is that of simulate") {
  const TemporaryFolder folder;
  CHECK(run_program({"export", "--seq", "16", "--sheet", "waits", "--out", folder.path("w.csv")}).code == 0);
  CHECK(read_text_file(folder.path("w.csv"))->starts_with("sm,unit,cause"));
  CHECK(run_program({"export", "--seq", "16", "--out", folder.path("a.json")}).code == 0);
  CHECK(run_program({"simulate", "--seq", "16", "--trace", folder.path("b.json")}).code == 0);
  CHECK(*read_text_file(folder.path("a.json")) == *read_text_file(folder.path("b.json")));
  CHECK(folder.entries() == 3);
  // A link brings a theme and a view of its own, and nobody typed them.
  CHECK(run_program({"export", "--open", "seq=16&theme=light&view=fit&race=1", "--out", folder.path("l.csv")}).code == 0);
}

TEST_CASE("export: what cannot be is one line, before anything is drawn") {
  const TemporaryFolder folder;
  const std::string gif = folder.path("a.gif");
  CHECK(refused({"export"}).find("--out FILE") != std::string::npos);
  CHECK(refused({"export", "--out", "a.bmp"}).find(".gif, .mp4, .png, .svg, .html, .csv, .json") != std::string::npos);
  CHECK(refused({"export", "--steps", "4:2", "--out", gif}).find("before the first") != std::string::npos);
  CHECK(refused({"export", "--steps", "a", "--out", gif}).find("FIRST:LAST") != std::string::npos);
  CHECK(refused({"export", "--steps", "-1:2", "--out", gif}).find("FIRST:LAST") != std::string::npos);
  CHECK(refused({"export", "--grain", "day", "--out", gif}).find("operation, tile and phase") != std::string::npos);
  CHECK(refused({"export", "--fps", "0", "--out", gif}).find("--fps") != std::string::npos);
  CHECK(refused({"export", "--sheet", "wait", "--out", folder.path("a.csv")}).find("did you mean waits") != std::string::npos);
  CHECK(refused({"export", "--sheet", "waits", "--out", gif}).find("means nothing for .gif") != std::string::npos);
  CHECK(refused({"export", "--steps", "1:2", "--out", folder.path("a.csv")}).find("means nothing for .csv") != std::string::npos);
  for (const std::vector<std::string>& flag : {std::vector<std::string>{"--ncu", folder.path("none.csv")},
                                               {"--race"},
                                               {"--view", "fit"},
                                               {"--lanes", "sms"},
                                               {"--theme", "light"},
                                               {"--scale", "2"},
                                               {"--language", "ko"}})
    for (const char* ending : {".csv", ".json"}) {
      std::vector<std::string> arguments = {"export", "--out", folder.path("a") + ending};
      arguments.insert(arguments.end(), flag.begin(), flag.end());
      CHECK(refused(arguments) == "tilescope: " + flag.front() + " means nothing for " + ending + ": leave it out\n");
    }
  CHECK(refused({"export", "--fps", "nan", "--out", gif}).find("it must be a whole number from 1 to 60") != std::string::npos);
  CHECK(refused({"export", "--out", folder.path("none/a.gif")}).find("there is no folder") != std::string::npos);
  CHECK(folder.entries() == 0);
}

TEST_CASE("export: numbered pictures appear together, and a refused export leaves the old ones") {
  const TemporaryFolder folder;
  const std::vector<std::string> small = {"--seq", "16", "--head-dim", "4", "--size", "320x200"};
  const auto arguments = [&](std::vector<std::string> rest) {
    rest.insert(rest.begin(), "export");
    rest.insert(rest.end(), small.begin(), small.end());
    return rest;
  };
  const RunOutcome done = run_program(arguments({"--steps", "3:5", "--out", folder.path("step.png")}));
  if (done.code == 3) return skip_test(done.err);
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(folder.entries() == 3);
  const std::string old = *read_binary_file(folder.path("step-03.png"));
  CHECK(refused(arguments({"--steps", "3:9999", "--out", folder.path("step.png")})).find("there is no step 9999") !=
        std::string::npos);
  CHECK(*read_binary_file(folder.path("step-03.png")) == old);
  CHECK(folder.entries() == 3);
}

TEST_CASE("export: a handout is light unless --theme says otherwise, and a deck's scenes are pictures") {
  const TemporaryFolder folder;
  const std::string scene = "[[scene]]\nlink = \"seq=16&head_dim=4&block_q=4&block_kv=4\"\n";
  const std::string deck = folder.file("deck.toml", "schema = \"tilescope.deck/1\"\n" + scene + scene);
  const auto exported = [&](std::vector<std::string> rest) {
    rest.insert(rest.begin(), {"export", "--deck", deck, "--size", "320x200"});
    return run_program(rest);
  };
  const std::string page = folder.path("a.html");
  const RunOutcome light = exported({"--out", page});
  if (light.code == 3) return skip_test(light.err);
  REQUIRE_MESSAGE(light.code == 0, light.err);
  CHECK(read_binary_file(page)->find("data-theme=\"light\"") != std::string::npos);
  CHECK(exported({"--theme", "dark", "--out", page}).code == 0);
  CHECK(read_binary_file(page)->find("data-theme=\"dark\"") != std::string::npos);

  CHECK(exported({"--out", folder.path("all.png")}).code == 0);
  for (const char* name : {"all-1.png", "all-2.png"}) CHECK(read_binary_file(folder.path(name)));
  CHECK(exported({"--scene", "2", "--out", folder.path("one.png")}).code == 0);
  CHECK(*read_binary_file(folder.path("one.png")) == *read_binary_file(folder.path("all-2.png")));
  CHECK(exported({"--scene", "2", "--out", page}).err.find("--scene means nothing with --deck") != std::string::npos);
  CHECK(exported({"--out", folder.path("a.gif")}).err.find("end --out in .html, .mp4, .png or .svg") != std::string::npos);
}

TEST_CASE("export: a deck refuses flags that its scenes decide") {
  const TemporaryFolder folder;
  const std::string deck =
      folder.file("deck.toml", "schema = \"tilescope.deck/1\"\n[[scene]]\nlink = \"seq=16&head_dim=4&block_q=4&block_kv=4\"\n");
  for (const std::vector<std::string>& flag : {std::vector<std::string>{"--gpu", "h200"},
                                               {"--seq", "32"},
                                               {"--algorithm", "standard"},
                                               {"--set", "sm.count=2"},
                                               {"--race"},
                                               {"--view", "fit"},
                                               {"--lanes", "sms"}}) {
    std::vector<std::string> arguments = {"export", "--deck", deck, "--out", folder.path("a.html")};
    arguments.insert(arguments.end(), flag.begin(), flag.end());
    CHECK(refused(arguments) == "tilescope: " + flag.front() + " means nothing with --deck: its scenes decide; leave it out\n");
  }
}

}  // namespace tilescope
