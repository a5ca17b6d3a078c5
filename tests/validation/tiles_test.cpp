// flash2 in several tiles, as kernels/lab/record_tiles.cpp measured them: the order, the ratios and the choice that the model
// predicts. docs/findings/tiles.md has the tables; TILESCOPE_UPDATE_PAGES=1 writes them anew.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "app/model/background/parallel.h"
#include "kernels/measure/bundle.h"
#include "sim/engine/simulation.h"
#include "tests/validation/shipped_bundle.h"

using namespace tilescope;

namespace {

constexpr const char* recording = TILESCOPE_SOURCE_DIR "/kernels/lab/measured/h200-flash2-tiles-2026-11-28.json";
constexpr const char* tiles_page = TILESCOPE_SOURCE_DIR "/docs/findings/tiles.md";
constexpr double told_apart = 0.02;  // pairs whose measured cycles differ by less have no order

/// One shape in one tile.
struct TileRun {
  const MeasuredCase* measured = nullptr;
  double cycles = 0;  // measured, the median
  double simulated = 0;
  KernelNeeds needs;  // as the model assumes them
  int blocks_per_sm = 0;
};

/// What the model says of the tiles of one shape, beside what was measured.
struct TileOrder {
  int pairs = 0, right = 0;  // of those that are told apart
  double ratio_errors = 0;   // sum over all pairs
  double worst_ratio = 0;
  int ratios = 0;
  std::size_t best = 0, chosen = 0;  // the least measured and the least simulated cycles
  double cost = 0, own_cost = 0;     // of the choice and of the first tile over the best
};

TileOrder order_of(const std::vector<TileRun>& runs) {
  TileOrder out;
  for (std::size_t a = 0; a < runs.size(); ++a) {
    if (runs[a].cycles < runs[out.best].cycles) out.best = a;
    if (runs[a].simulated < runs[out.chosen].simulated) out.chosen = a;
    for (std::size_t b = a + 1; b < runs.size(); ++b) {
      const double measured = runs[a].cycles / runs[b].cycles, simulated = runs[a].simulated / runs[b].simulated;
      const double error = std::abs(simulated / measured - 1);
      out.ratio_errors += error, ++out.ratios;
      out.worst_ratio = std::max(out.worst_ratio, error);
      if (std::max(measured, 1 / measured) < 1 + told_apart) continue;
      ++out.pairs;
      out.right += (measured < 1) == (simulated < 1);
    }
  }
  out.cost = runs[out.chosen].cycles / runs[out.best].cycles - 1;
  out.own_cost = runs.front().cycles / runs[out.best].cycles - 1;
  return out;
}

/// The recorded shapes, each with its tiles in the order of the recording: the kernel's own comes first.
struct TileShapes {
  MeasurementBundle bundle;
  std::vector<std::vector<TileRun>> shapes;
};

/// Simulates every tile at one clock for its shape, that of the kernel's own tile: whoever compares tiles has one clock.
TileShapes simulated_tiles() {
  TileShapes out;
  const auto text = read_text_file(recording);
  REQUIRE_MESSAGE(static_cast<bool>(text), (text ? "" : text.error().sentence));
  auto bundle = bundle_from_json(*text);
  REQUIRE_MESSAGE(static_cast<bool>(bundle), (bundle ? "" : bundle.error().sentence));
  out.bundle = std::move(*bundle);
  const auto gpu = load_gpu(out.bundle.gpu);
  REQUIRE(gpu);
  struct Place {
    std::size_t shape, run;
  };
  std::vector<Place> places;
  for (const MeasuredCase& one : out.bundle.cases) {
    REQUIRE(one.cycles.median > 0);
    if (out.shapes.empty() || !(out.shapes.back().front().measured->problem == one.problem)) out.shapes.emplace_back();
    out.shapes.back().push_back({.measured = &one, .cycles = one.cycles.median});
    places.push_back({out.shapes.size() - 1, out.shapes.back().size() - 1});
  }
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  const bool all = on_cores(order, core_count(), [&](std::size_t i) {
    std::vector<TileRun>& shape = out.shapes[places[i].shape];
    TileRun& run = shape[places[i].run];
    SimulationRequest request;
    request.algorithm = "flash2";
    request.problem = run.measured->problem;
    request.tile = run.measured->tile;
    request.gpu = *gpu;
    request.gpu.sm_clock_hz = shape.front().measured->sm_clock_hz;
    request.keeps_intervals = false;
    const auto simulation = simulate(request, {});
    if (!simulation) return false;
    run.simulated = (*simulation)->cycles.value;
    run.needs = (*simulation)->program->launches().front().needs;
    run.blocks_per_sm = (*simulation)->launches.front().blocks_per_sm;
    return true;
  });
  REQUIRE(all);
  return out;
}

const TileShapes& recorded_tiles() {
  static const TileShapes shapes = simulated_tiles();
  return shapes;
}

std::string name_of(const TileShape& tile) {
  return fmt::format("{}×{}", tile.block_q, tile.block_kv);
}

std::string percent(double value) {
  return fmt::format("{:.1f} %", 100 * value);
}

std::string signed_percent(double value) {
  const std::string digits = fmt::format("{:.1f}", std::abs(100 * value));
  return (digits == "0.0" ? "" : value < 0 ? "−" : "+") + digits + " %";
}

/// All shapes together.
struct OrderTotals {
  int pairs = 0, right = 0;
  double mean_ratio = 0, worst_ratio = 0;
  double mean_cost = 0, highest_cost = 0, mean_own_cost = 0, highest_own_cost = 0;
};

OrderTotals totals_of(const TileShapes& all) {
  OrderTotals out;
  int ratios = 0;
  for (const std::vector<TileRun>& runs : all.shapes) {
    const TileOrder order = order_of(runs);
    out.pairs += order.pairs, out.right += order.right;
    out.mean_ratio += order.ratio_errors, ratios += order.ratios;
    out.worst_ratio = std::max(out.worst_ratio, order.worst_ratio);
    out.mean_cost += order.cost, out.mean_own_cost += order.own_cost;
    out.highest_cost = std::max(out.highest_cost, order.cost);
    out.highest_own_cost = std::max(out.highest_own_cost, order.own_cost);
  }
  const auto shapes = static_cast<double>(all.shapes.size());
  out.mean_ratio /= ratios, out.mean_cost /= shapes, out.mean_own_cost /= shapes;
  return out;
}

std::string order_table(const TileShapes& all) {
  std::string out =
      "| shape | fastest tile | the model's choice | its cost | cost of the kernel's own | pairs in order | ratios, mean | worst "
      "|\n|---|---|---|--:|--:|--:|--:|--:|\n";
  for (const std::vector<TileRun>& runs : all.shapes) {
    const TileOrder order = order_of(runs);
    out += fmt::format("| {} | {} | {} | {} | {} | {} of {} | {} | {} |\n", short_text(runs.front().measured->problem),
                       name_of(runs[order.best].measured->tile), name_of(runs[order.chosen].measured->tile), percent(order.cost),
                       percent(order.own_cost), order.right, order.pairs, percent(order.ratio_errors / order.ratios),
                       percent(order.worst_ratio));
  }
  const OrderTotals sum = totals_of(all);
  return out + fmt::format("| mean | | | {} | {} | {} of {} | {} | |\n| worst | | | {} | {} | | | {} |\n", percent(sum.mean_cost),
                           percent(sum.mean_own_cost), sum.right, sum.pairs, percent(sum.mean_ratio), percent(sum.highest_cost),
                           percent(sum.highest_own_cost), percent(sum.worst_ratio));
}

std::string needs_table(const TileShapes& all) {
  struct Tile {
    std::map<bool, int> registers;  // by mask
    const TileRun* run = nullptr;
    double error = 0, size = 0;
    int runs = 0;
  };
  std::map<std::pair<std::int64_t, std::pair<std::int64_t, std::int64_t>>, Tile> tiles;
  for (const std::vector<TileRun>& runs : all.shapes)
    for (const TileRun& run : runs) {
      const MeasuredCase& one = *run.measured;
      Tile& tile = tiles[{one.problem.head_dim, {one.tile.block_q, one.tile.block_kv}}];
      tile.run = &run;
      tile.registers[one.problem.causal] = one.launches.front().registers;
      const double error = run.simulated / run.cycles - 1;
      tile.error += error, tile.size += std::abs(error), ++tile.runs;
    }
  std::string out =
      "| d | tile | threads | blocks per SM | registers | causal | the model's | cycles, mean error | mean size "
      "|\n|--:|---|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const auto& [key, tile] : tiles) {
    const auto registers = [&tile = tile](bool causal) {
      const auto found = tile.registers.find(causal);
      return found == tile.registers.end() ? std::string("–") : fmt::format("{}", found->second);
    };
    out +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", key.first, name_of(tile.run->measured->tile),
                    tile.run->needs.threads, tile.run->blocks_per_sm, registers(false), registers(true),
                    tile.run->needs.registers_per_thread, signed_percent(tile.error / tile.runs), percent(tile.size / tile.runs));
  }
  return out;
}

std::string cases_table(const TileShapes& all) {
  std::string out = "| shape | tile | measured, cycles | simulated | error |\n|---|---|--:|--:|--:|\n";
  for (const std::vector<TileRun>& runs : all.shapes)
    for (const TileRun& run : runs)
      out += fmt::format("| {} | {} | {:.0f} | {:.0f} | {} |\n", short_text(run.measured->problem), name_of(run.measured->tile),
                         run.cycles, run.simulated, signed_percent(run.simulated / run.cycles - 1));
  return out;
}

/// Replaces what stands between <!-- name --> and <!-- end -->. Empty: the page has no such place.
std::string with_table(const std::string& page, const std::string& name, const std::string& table) {
  const std::string start = "<!-- " + name + " -->\n", end = "<!-- end -->";
  const std::size_t from = page.find(start);
  if (from == std::string::npos) return {};
  const std::size_t to = page.find(end, from);
  if (to == std::string::npos) return {};
  return page.substr(0, from + start.size()) + table + page.substr(to);
}

}  // namespace

TEST_CASE("tiles: order and ratios of a shape are counted, and pairs closer than 2 % have no order") {
  const std::vector<TileRun> runs = {
      {.cycles = 200, .simulated = 105}, {.cycles = 100, .simulated = 110}, {.cycles = 101, .simulated = 100}};
  const TileOrder order = order_of(runs);
  CHECK(order.ratios == 3);
  CHECK(order.pairs == 2);
  CHECK(order.right == 1);  // 200 and 101; 200 and 100 are the wrong way round
  CHECK(order.best == 1);
  CHECK(order.chosen == 2);
  CHECK(order.cost == doctest::Approx(0.01));
  CHECK(order.own_cost == doctest::Approx(1));
  CHECK(order.worst_ratio == doctest::Approx(1 - (105.0 / 110) / 2));
}

TEST_CASE("tiles: threads, shared memory and blocks per SM of every tile are those of its compiled function") {
  for (const std::vector<TileRun>& runs : recorded_tiles().shapes)
    for (const TileRun& run : runs) {
      const MeasuredLaunch& compiled = run.measured->launches.front();
      CAPTURE(name_of(run.measured->tile));
      CAPTURE(run.measured->problem.head_dim);
      CHECK(run.needs.threads == compiled.threads);
      CHECK(run.needs.shared_bytes == compiled.shared_bytes);
      CHECK(run.blocks_per_sm == compiled.blocks_per_sm);
    }
}

TEST_CASE("tiles: order, ratios and choice are not worse than on the day of the recording") {
  const OrderTotals all = totals_of(recorded_tiles());
  CHECK(recorded_tiles().shapes.size() == 12);
  CHECK(all.pairs - all.right <= 21);
  CHECK(all.mean_ratio < 0.0905);
  CHECK(all.mean_cost < 0.016);
  CHECK(all.highest_cost < 0.062);
  CHECK(all.mean_cost < all.mean_own_cost);
}

TEST_CASE("tiles: the page has the tables of the recording and of today's model") {
  const TileShapes& all = recorded_tiles();
  const auto page = read_text_file(tiles_page);
  REQUIRE(page);
  std::string text = *page;
  for (const auto& [name, table] :
       {std::pair("order", order_table(all)), std::pair("needs", needs_table(all)), std::pair("cases", cases_table(all))}) {
    text = with_table(text, name, table);
    REQUIRE_MESSAGE(!text.empty(), name);
  }
  if (std::getenv("TILESCOPE_UPDATE_PAGES") != nullptr) std::ofstream(tiles_page) << text;
  INFO("the page is stale: TILESCOPE_UPDATE_PAGES=1 test_validation -tc=\"tiles:*\" writes its tables");
  CHECK((*page == text));
}
