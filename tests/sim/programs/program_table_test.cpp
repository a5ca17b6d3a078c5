// The table of programs: what every row refuses, and what the window and the command line read in it.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sim/programs/programs.h"
#include "sim/programs/tile_program.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

using namespace tilescope;

TEST_CASE("program table: every program refuses a tile that is none, and names the value and the limit" *
          doctest::test_suite("every program")) {
  const GpuSpec gpu = toy_gpu();
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  const auto refusal = [&](const ProgramInfo& info, const ProgramTile& tile) {
    const auto made = info.make(problem, tile, gpu);
    return made ? std::string() : made.error().sentence.text();
  };
  for (const ProgramInfo& info : tested_programs()) {
    CAPTURE(info.id);
    CHECK(refusal(info, {0, 16}) == "block_q is 0: it must be 1 to 4096");
    CHECK(refusal(info, {16, TileShape::most_rows + 1}) == "block_kv is 4097: it must be 1 to 4096");
    CHECK(refusal(info, {16, 16, ProgramTile::most_stages + 1}) == "stages is 9: it must be 1 to 8");
    CHECK(refusal(info, {16, 16, -1}) == "stages is -1: it must be 1 to 8");
    CHECK(refusal(info, info.default_tile(problem, gpu)).empty());
  }
}

TEST_CASE("program table: a problem without rows, heads or columns has a default tile, too: the window keeps what is refused") {
  for (const ProgramInfo& info : program_table())
    for (std::int64_t AttentionProblem::*member :
         {&AttentionProblem::batch, &AttentionProblem::heads, &AttentionProblem::kv_heads, &AttentionProblem::seq_q,
          &AttentionProblem::seq_kv, &AttentionProblem::head_dim})
      for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()}) {
        CAPTURE(info.id);
        AttentionProblem problem;
        problem.pass = info.pass;
        problem.*member = 0;
        const TileShape tile = info.default_tile(problem, gpu);
        CHECK(tile.block_q >= 1);
        CHECK(tile.block_kv >= 1);
      }
}

TEST_CASE("program table: the scripts of kernels/lab have the rungs of the ladder, in its order") {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/kernels/lab/rungs.py");
  const std::string all(std::istreambuf_iterator<char>(file), {});
  const std::size_t list = all.find("RUNGS = [");
  REQUIRE(list != std::string::npos);
  const std::string text = all.substr(list, all.find(']', list) - list);
  std::vector<std::string> listed, rungs;
  constexpr std::string_view start = "\"hopper_";
  for (std::size_t at = 0; (at = text.find(start, at)) != std::string::npos;) {
    const std::size_t end = text.find('"', at + 1);
    listed.push_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  for (const LadderStep& step : ladder())
    if (step.id.starts_with("hopper_")) rungs.emplace_back(step.id);
  CHECK(listed == rungs);
}

TEST_CASE("program table: a tile may have up to eight buffers and 4096 rows, or leave the buffers to the program") {
  const auto is_taken = [](std::int64_t q, std::int64_t kv, std::int64_t stages) {
    return static_cast<bool>(check(ProgramTile(q, kv, stages)));
  };
  for (std::int64_t stages = -2; stages <= 12; ++stages) CHECK(is_taken(16, 16, stages) == (stages >= 0 && stages <= 8));
  for (const std::int64_t rows : {-1, 0, 1, 2, 4095, 4096, 4097}) {
    const bool is_tile = rows >= 1 && rows <= 4096;
    CHECK(is_taken(rows, 16, 1) == is_tile);
    CHECK(is_taken(16, rows, 1) == is_tile);
  }
}

TEST_CASE("program table: a row has a button and a tooltip, or neither" * doctest::test_suite("every program")) {
  const auto table = program_table();
  CHECK(std::any_of(table.begin(), table.end(), [](const ProgramInfo& info) { return !info.button.empty(); }));
  for (const ProgramInfo& info : table) CHECK(info.button.empty() == info.tooltip.empty());
}

TEST_CASE("program table: a run of both passes has the launches of its forward program, and then those of its backward row" *
          doctest::test_suite("every program")) {
  const GpuSpec gpu = h200_gpu();  // flash3_backward needs wgmma
  for (const ProgramInfo& info : tested_programs()) {
    if (info.both == nullptr) continue;
    CAPTURE(info.id);
    CHECK(info.pass == Pass::backward);
    CHECK(*find_program(info.id, Pass::both) == info.both);
    AttentionProblem problem;
    problem.seq_q = problem.seq_kv = 256;
    std::vector<std::string> names, expected;
    const auto add = [&](std::vector<std::string>& to, const ProgramInfo& row, Pass pass) {
      problem.pass = pass;
      const auto program = row.make(problem, info.default_tile(problem, gpu), gpu);
      REQUIRE(program);
      for (const LaunchSpec& launch : (*program)->launches()) to.emplace_back(launch.name);
    };
    add(names, *info.both, Pass::both);
    add(expected, **find_program(info.forward), Pass::forward);
    add(expected, info, Pass::backward);
    CHECK(names == expected);
  }
}

TEST_CASE("program table: a backward row without a run of both passes is refused, and moves no other row's") {
  std::vector<ProgramInfo> table;
  for (const ProgramInfo& info : program_table()) {
    if (info.id == "flash2_backward") {
      table.push_back(info);
      table.back().id = "alone_backward";
      table.back().forward = "softmax_safe";
      table.back().both = nullptr;
    }
    table.push_back(info);
  }
  for (const ProgramInfo& info : table) {
    if (info.pass != Pass::backward) continue;
    CAPTURE(info.id);
    const auto both = find_program(info.id, Pass::both, table);
    if (info.id == "alone_backward") {
      REQUIRE_FALSE(both);
      CHECK(both.error().sentence == "alone_backward has no run of both passes: use pass forward or backward");
    } else {
      REQUIRE(both);
      CHECK(*both == *find_program(info.id, Pass::both));
    }
  }
}
