// The traffic panel's figures: rows, formulas, sums and rivals, from a ledger whose bytes are known.
#include <doctest/doctest.h>

#include <algorithm>

#include <fmt/format.h>

#include "app/model/measurements/clock_under_load.h"
#include "app/model/requests/assets.h"
#include "app/views/traffic/traffic_sheet.h"
#include "sim/analysis/outcome.h"
#include "sim/programs/attention_tensors.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/views/panel_screen.h"
#include "tests/sim/attention_schema.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

/// A simulation whose ledger was filled by walking every block, with every load missing the L2.
Simulation walked(const char* algorithm, const AttentionProblem& problem, const GpuSpec& gpu) {
  Simulation simulation;
  simulation.info = *find_program(algorithm);
  const TileShape tile = simulation.info->default_tile(problem, gpu);
  auto program = simulation.info->make(problem, tile, gpu);
  REQUIRE(program);
  simulation.program = std::move(*program);
  simulation.request.algorithm = algorithm;
  simulation.request.problem = problem;
  simulation.request.gpu = gpu;
  const auto launches = simulation.program->launches();
  simulation.ledger =
      Ledger(static_cast<int>(launches.size()), static_cast<int>(simulation.info->listing.size()), simulation.program->tensors());
  BlockOperations block;
  for (int launch = 0; launch < static_cast<int>(launches.size()); ++launch)
    for (std::int64_t b = 0; b < launches[static_cast<std::size_t>(launch)].blocks(); ++b) {
      simulation.program->emit_block(launch, b, block);
      for (const Operation& op : block.operations) {
        if (reads_memory(op.kind)) simulation.ledger.add(launch, op.tile.tensor, Link::l2_to_sm, op.line, op.bytes);
        if (op.kind == OpKind::load) simulation.ledger.add(launch, op.tile.tensor, Link::hbm_read, op.line, op.bytes);
        if (writes_memory(op.kind)) simulation.ledger.add(launch, op.tile.tensor, Link::sm_to_l2, op.line, op.bytes);
      }
    }
  return simulation;
}

TrafficSheet sheet_of(const Simulation& simulation, LinkChoice choice) {
  return traffic_sheet(simulation, simulation.program->closed_form(), simulation.ledger.table(), choice);
}

}  // namespace

TEST_CASE("traffic: every row of every program agrees with its closed form on both SM links") {
  AttentionProblem problem;
  problem.heads = 2;
  problem.kv_heads = 1;
  problem.seq_q = 100;
  problem.seq_kv = 76;
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(std::string(info.id));
    const Simulation simulation = walked(std::string(info.id).c_str(), problem, toy_gpu());
    if (!simulation.program->closed_form()) continue;
    for (const LinkChoice choice : {LinkChoice::l2_to_sm, LinkChoice::sm_to_l2}) {
      const TrafficSheet sheet = sheet_of(simulation, choice);
      REQUIRE(!sheet.rows.empty());
      for (const TrafficRow& row : sheet.rows) {
        CHECK(row.kind == FormulaKind::exact);
        CHECK(row.formula == row.whole);
        CHECK(row.so_far == row.whole);
      }
      CHECK(sheet.total.kind == FormulaKind::exact);
      CHECK(sheet.total.whole > 0);
      CHECK(sheet.total.agrees());
    }
  }
}

TEST_CASE("traffic: one extra byte is reported") {
  Simulation simulation = walked("flash2", AttentionProblem{}, toy_gpu());
  simulation.ledger.add(0, tensors::k, Link::l2_to_sm, 4, 32);
  const TrafficSheet sheet = sheet_of(simulation, LinkChoice::l2_to_sm);
  const auto k = std::find_if(sheet.rows.begin(), sheet.rows.end(), [](const TrafficRow& row) { return row.tensor == tensors::k; });
  REQUIRE(k != sheet.rows.end());
  CHECK(!k->agrees());
  CHECK(!sheet.total.agrees());
}

TEST_CASE("traffic: the minimum of HBM reads is each input once; without an L2, the closed form") {
  const AttentionProblem problem;
  const Simulation cached = walked("flash2", problem, toy_gpu());
  const TrafficSheet least = sheet_of(cached, LinkChoice::hbm_read);
  CHECK(least.total.kind == FormulaKind::at_least);
  CHECK(least.total.formula == 3 * 64 * 16 * 2);
  CHECK(least.total.agrees());
  const Simulation bare = walked("flash2", problem, textbook_gpu());
  const TrafficSheet exact = sheet_of(bare, LinkChoice::hbm_read);
  CHECK(exact.total.kind == FormulaKind::exact);
  CHECK(exact.total.agrees());
}

TEST_CASE("traffic: a row of HBM has what the SMs moved, and what of it is still in the L2 at the end") {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    const std::string name = algorithm;
    CAPTURE(name);
    SimulationRequest request;
    request.algorithm = algorithm;
    request.gpu = *load_gpu("toy");
    const auto run = *simulate(request);
    std::int64_t spared = 0, dirty = 0;
    for (const LinkChoice choice : {LinkChoice::hbm_read, LinkChoice::hbm_write})
      for (const TrafficRow& row : traffic_sheet(*run, {}, run->ledger.table(), choice).rows) {
        CAPTURE(to_string(row.tensor));
        const Link of_sms = choice == LinkChoice::hbm_read ? Link::l2_to_sm : Link::sm_to_l2;
        CHECK(row.of_sms == run->ledger.total(row.tensor, of_sms).value);
        CHECK(row.of_sms >= row.whole + row.dirty);
        spared += row.of_sms - row.whole - row.dirty;
        dirty += row.dirty;
      }
    CHECK(spared > 0);
    CHECK(dirty == dirty_bytes_at_end(*run));
  }
}

TEST_CASE("traffic: with a causal mask there is no minimum") {
  AttentionProblem problem;
  problem.causal = true;
  const TrafficSheet sheet = sheet_of(walked("flash2", problem, toy_gpu()), LinkChoice::hbm_read);
  CHECK(sheet.total.kind == FormulaKind::none);
}

TEST_CASE("traffic: shared memory counts reads plus writes, so far and in total") {
  Simulation simulation = walked("flash2", AttentionProblem{}, toy_gpu());
  simulation.ledger.add(0, tensors::k, Link::smem_read, 5, 1000);
  simulation.ledger.add(0, tensors::k, Link::smem_write, 4, 500);
  TrafficTable so_far{};
  so_far[Tensor(tensors::k).index()][static_cast<std::size_t>(Link::smem_write)] = 300;
  const TrafficSheet sheet = traffic_sheet(simulation, std::nullopt, so_far, LinkChoice::shared);
  CHECK(sheet.total.whole == 1500);
  CHECK(sheet.total.so_far == 300);
  CHECK(sheet.total.kind == FormulaKind::none);
}

TEST_CASE("traffic: beside a pinned run every row has its bytes, and what only that run moves has a row too") {
  const Simulation flash = walked("flash2", AttentionProblem{}, toy_gpu()),
                   pinned = walked("standard", AttentionProblem{}, toy_gpu());
  const TrafficSheet sheet =
      traffic_sheet(flash, flash.program->closed_form(), flash.ledger.table(), LinkChoice::l2_to_sm, &pinned);
  std::int64_t sum = 0;
  bool has_scores = false;
  for (const TrafficRow& row : sheet.rows) {
    CAPTURE(to_string(row.tensor));
    REQUIRE(row.pinned);
    sum += *row.pinned;
    CHECK(row.whole == flash.ledger.total(row.tensor, Link::l2_to_sm).value);
    has_scores = has_scores || (row.tensor == tensors::s && *row.pinned > 0 && row.whole == 0);
  }
  CHECK(has_scores);
  CHECK(sum == pinned.ledger.total(Link::l2_to_sm).value);
  CHECK(sheet.total.pinned == sum);
  CHECK_FALSE(sheet_of(flash, LinkChoice::l2_to_sm).total.pinned);
}

TEST_CASE("traffic: only standard attention has rows for S and P") {
  const auto has = [](const TrafficSheet& sheet, Tensor tensor) {
    return std::any_of(sheet.rows.begin(), sheet.rows.end(), [tensor](const TrafficRow& row) { return row.tensor == tensor; });
  };
  const TrafficSheet standard = sheet_of(walked("standard", AttentionProblem{}, toy_gpu()), LinkChoice::l2_to_sm);
  const TrafficSheet flash = sheet_of(walked("flash2", AttentionProblem{}, toy_gpu()), LinkChoice::l2_to_sm);
  CHECK(has(standard, tensors::s));
  CHECK(has(standard, tensors::p));
  CHECK(!has(flash, tensors::s));
  CHECK(has(flash, tensors::lse));
}

TEST_CASE("traffic: rivals are the other programs of the family, with the bytes that they report themselves") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 256;
  for (const char* id : {"flash2", "standard", "softmax_online", "matmul_tiled"}) {
    CAPTURE(id);
    const Simulation simulation = walked(id, problem, toy_gpu());
    for (const auto& [choice, link] : {std::pair{LinkChoice::l2_to_sm, Link::l2_to_sm}, {LinkChoice::sm_to_l2, Link::sm_to_l2}}) {
      const auto rivals = find_rivals(simulation, choice);
      REQUIRE(rivals.size() >= 2);
      CHECK(rivals.front().current);
      CHECK(rivals.front().id == id);
      for (const Rival& rival : rivals) {
        CAPTURE(rival.id);
        const Simulation other = walked(rival.id.c_str(), problem, toy_gpu());
        CHECK(other.info->family == simulation.info->family);
        CHECK(rival.bytes == other.ledger.total(link).value);
      }
    }
    for (const LinkChoice choice : {LinkChoice::hbm_read, LinkChoice::hbm_write, LinkChoice::shared}) {
      CHECK(find_rivals(simulation, choice).empty());
      CHECK_FALSE(no_rivals(simulation, choice).brief.empty());
    }
  }
}

TEST_CASE("traffic: with its default tile a run leaves every other program its own, and a chosen tile goes to all") {
  SimulationRequest request;
  request.gpu = *load_gpu("h200");
  request.problem.seq_q = request.problem.seq_kv = 1024;
  request.problem.head_dim = 64;
  request.key_order = KeyOrder::descending;  // part of the program's tile, and not of its shape
  const auto own = simulate(request);
  REQUIRE(own);
  for (const Rival& rival : find_rivals(**own, LinkChoice::l2_to_sm)) {
    CAPTURE(rival.id);
    CHECK(rival.default_tile);
    CHECK(rival.tile == (*find_program(rival.id))->default_tile(request.problem, request.gpu));
  }
  request.tile = ProgramTile(64, 64);
  const auto chosen = simulate(request);
  REQUIRE(chosen);
  const auto rivals = find_rivals(**chosen, LinkChoice::l2_to_sm);
  CHECK_FALSE(rivals.front().default_tile);
  for (const Rival& rival : rivals) CHECK(rival.tile == TileShape{64, 64});
}

TEST_CASE("traffic: the row of each program says its tile") {
  Opened opened;
  View view;
  static_cast<SessionView&>(view) = opened.view();
  PanelScreen screen({420, 600});
  const std::string text = screen.text(view, draw_traffic_panel);
  CAPTURE(text);
  const auto rivals = find_rivals(*view.lane().simulation, LinkChoice::l2_to_sm);
  std::size_t tiles = 0;
  for (std::size_t at = text.find("×"); at != std::string::npos; at = text.find("×", at + 1)) ++tiles;
  CHECK(tiles >= rivals.size());
  for (const Rival& rival : rivals)
    CHECK(text.find(fmt::format("{}×{}", rival.tile.block_q, rival.tile.block_kv)) != std::string::npos);
}

TEST_CASE("traffic: where a run is not measured, its HBM bytes have the error of recorded ones") {
  Session::Start start =
      h200_start({.heads = 4, .kv_heads = 4, .seq_q = 384, .seq_kv = 384, .head_dim = 64, .dtype = DataType::fp16});
  start.measurements = load_measurements_of("h200");
  Opened opened(std::move(start));
  View view;
  static_cast<SessionView&>(view) = opened.view();
  REQUIRE(view.measured.found == nullptr);
  const PredictionErrors& errors = *view.studies->errors;
  REQUIRE(errors.hbm_read);
  PanelScreen screen({900, 600});
  for (const auto& [choice, error] : {std::pair{LinkChoice::l2_to_sm, std::string()},
                                      {LinkChoice::hbm_read, "±" + format_percent(errors.hbm_read->mean)},
                                      {LinkChoice::hbm_write, "±" + format_percent(errors.hbm_write->mean)}}) {
    static_cast<SessionView&>(view) = opened.after(SetTrafficLink{choice});
    const std::string text = screen.text(view, draw_traffic_panel);
    CHECK((text.find("±") != std::string::npos) == !error.empty());
    CHECK(text.find(error) != std::string::npos);
  }
}

TEST_CASE("traffic: rows of partial sectors have no closed form, and the panel says so") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 16;
  problem.head_dim = 4;
  for (const char* id : {"matmul_naive", "matmul_tiled"}) {
    CAPTURE(id);
    const Simulation simulation = walked(id, problem, toy_gpu());
    CHECK(find_rivals(simulation, LinkChoice::l2_to_sm).size() == 1);
    CHECK(no_rivals(simulation, LinkChoice::l2_to_sm).brief == "Others: no formula for rows of 8 B");
    CHECK(no_rivals(simulation, LinkChoice::l2_to_sm).sentence.find("whole 32 B sectors") != std::string::npos);
  }
  problem.head_dim = 16;
  CHECK(no_rivals(walked("matmul_tiled", problem, toy_gpu()), LinkChoice::l2_to_sm).brief.empty());
}

TEST_CASE("traffic: the theory names the term of N·d, which its factor leaves out") {
  Session::Start start = opening_start();
  start.request.algorithm = "standard";
  start.request.problem.seq_q = start.request.problem.seq_kv = 256;
  Opened opened(std::move(start));
  PanelScreen screen({700, 600});
  const std::string text = screen.text(View{opened.view(), nullptr}, draw_traffic_panel);
  CAPTURE(text);
  CHECK(text.find("× N² + O(Nd) elements") != std::string::npos);
}

TEST_CASE("traffic: the segments of a rival's bar are its bytes; only standard attention has S and P") {
  const auto part = [](const Rival& rival, Tensor tensor) {
    std::int64_t bytes = 0;
    for (const auto& [of, moved] : rival.by_tensor) bytes += of == tensor ? moved : 0;
    return bytes;
  };
  for (const Rival& rival : find_rivals(walked("flash2", AttentionProblem{}, toy_gpu()), LinkChoice::sm_to_l2)) {
    CAPTURE(rival.id);
    std::int64_t sum = 0;
    for (const auto& [of, moved] : rival.by_tensor) sum += moved;
    CHECK(sum == rival.bytes);
    CHECK((part(rival, tensors::s) > 0 && part(rival, tensors::p) > 0) == (rival.id == "standard"));
  }
}
