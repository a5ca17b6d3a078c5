// Lanes by SM: every block in its place, density against a plain sum, what is found out about SMs out of focus, and measured
// blocks.
#include "app/model/run_data/sm_lanes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "app/views/timeline/sm_timeline.h"
#include "sim/core/probe_result.h"
#include "sim/programs/attention_tensors.h"
#include "tests/app/run_simulation.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> simulation_of(const char* algorithm, std::int64_t heads, std::int64_t rows, int focus = 0) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = h200_gpu();
  request.problem = {.heads = heads, .kv_heads = heads, .seq_q = rows, .seq_kv = rows, .head_dim = 64};
  request.focus_sm = focus;
  const auto made = simulate(request);
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("sm rows: every block of the trace is in its slot, and blocks of a slot do not overlap") {
  const auto simulation = simulation_of("standard", 8, 1024);
  const SmLanes lanes = make_sm_lanes(*simulation);
  CHECK(lanes.complete);
  CHECK(lanes.runs.size() == simulation->trace->runs().size());
  std::size_t seen = 0;
  for (int sm = 0; sm < lanes.sm_count; ++sm)
    for (int place = 0; place < lanes.places; ++place) {
      const auto runs = lanes.of(sm, place);
      seen += runs.size();
      for (std::size_t i = 0; i < runs.size(); ++i) {
        REQUIRE(runs[i].sm == sm);
        REQUIRE(runs[i].slot == place);
        if (i > 0) REQUIRE(runs[i].start >= runs[i - 1].end);
      }
    }
  CHECK(seen == lanes.runs.size());
  CHECK(lanes.made == std::vector<Tensor>{tensors::s, tensors::p, tensors::o});
  for (std::size_t i = 0; i < lanes.places_of.size(); ++i) CHECK(lanes.places_of[i] <= simulation->launches[i].blocks_per_sm);
  CHECK(lanes.launch_at(-1) == 0);
  CHECK(lanes.launch_at(simulation->trace->launches()[1].end) == 1);
  CHECK(lanes.launch_at(lanes.end) == 2);
}

TEST_CASE("sm rows: the density of a row is the part of each column that its blocks take") {
  const auto simulation = simulation_of("standard", 8, 1024);
  const SmLanes lanes = make_sm_lanes(*simulation);
  for (const int columns : {700, 9}) {  // 9 columns: many more runs than columns, which then come from the running sums
    const TimeWindow window{lanes.end * 0.05, lanes.end * 0.4, lanes.end};
    const SmDensity density = sm_density(lanes, 3, 4, make_sm_columns(lanes, window, columns));
    double worst = 0;
    for (int c = 0; c < columns; ++c) {
      const double from = window.begin + window.span() * c / columns, to = window.begin + window.span() * (c + 1) / columns;
      double share = 0;
      std::set<int> launches;
      for (const BlockRun& run : lanes.runs) {
        const double part = std::min(run.end, to) - std::max(run.start, from);
        if (run.sm != 3 || part <= 0) continue;
        launches.insert(run.launch);
        share += part / (to - from) / lanes.places_of[static_cast<std::size_t>(run.launch)];
      }
      if (launches.size() < 2)
        worst = std::max(worst, std::abs(share - static_cast<double>(density.level[static_cast<std::size_t>(c)])));
    }
    CAPTURE(columns);
    const double bins_of_column = window.span() / columns / lanes.end * lanes.bins;
    CHECK(worst < (columns == 9 ? 1 / bins_of_column : 1e-3));  // inside a bin the sums go in a straight line
  }
  // Blocks much wider than a column have edges, one for each that begins in view.
  const SmDensity wide = sm_density(lanes, 3, 4, make_sm_columns(lanes, {0, lanes.launches[0].end, lanes.end}, 4000));
  CHECK(std::count(wide.edge.begin(), wide.edge.end(), 1) > 1);
}

TEST_CASE("sm rows: an SM simulated in the background equals the same SM in focus") {
  const auto simulation = simulation_of("flash2", 32, 1024);
  CHECK(simulation->trace->intervals(70).empty());
  const auto works = look_into_sms(simulation, 70, 72, {});
  REQUIRE(works);
  const SmWork* work = works->of(70);
  REQUIRE(work != nullptr);
  const auto in_focus = simulation_of("flash2", 32, 1024, 70);
  const auto expected = in_focus->trace->intervals(70), found = work->simulation->trace->intervals(70);
  REQUIRE(found.size() == expected.size());
  REQUIRE(!found.empty());
  bool same = true;
  for (std::size_t i = 0; i < found.size(); ++i)
    same = same && found[i].start == expected[i].start && found[i].end == expected[i].end && found[i].cause == expected[i].cause;
  CHECK(same);
  CHECK(work->simulation->cycles.value == simulation->cycles.value);
  CHECK(works->of(0) != nullptr);  // in focus all the time

  // What a block waited for longest is the largest sum over its intervals.
  const BlockRun& run = in_focus->trace->runs()[static_cast<std::size_t>(expected.front().run)];
  const SmWork::Waits waits = work->longest_wait(run);
  double sum = 0;
  for (const Interval& interval : expected)
    if (interval.run == expected.front().run && interval.cause == waits.cause) sum += interval.start - interval.ready;
  CHECK(waits.cause != WaitCause::none);
  CHECK(waits.cycles == doctest::Approx(sum));
}

TEST_CASE("sm rows: a measured SM is drawn at the row of its first simulated block") {
  const auto simulation = simulation_of("flash2", 32, 1024);
  const SmLanes simulated = make_sm_lanes(*simulation);
  ProbeResult probe;
  probe.sm_clock_hz = 2e9;
  for (int block = 0; block < 256; ++block) {  // on the hardware, SM 131 - i gets what SM i gets in the model
    const auto run =
        std::find_if(simulated.runs.begin(), simulated.runs.end(), [&](const BlockRun& r) { return r.block == block; });
    REQUIRE(run != simulated.runs.end());
    probe.blocks.push_back({0, block, 131 - run->sm, 100.0 * block, 100.0 * block + 30000});
  }
  const SmLanes measured = make_sm_lanes(probe, simulated);
  CHECK(measured.runs.size() == 256);
  CHECK(measured.made == simulated.made);
  for (const BlockRun& run : measured.runs) {
    CHECK(measured.hardware_sm[static_cast<std::size_t>(run.sm)] == 131 - run.sm);
    CHECK(run.start == doctest::Approx(200.0 * static_cast<double>(run.block)));
  }
  for (int sm = 0; sm < measured.sm_count; ++sm)
    for (int place = 0; place < measured.places; ++place)
      for (std::size_t i = 1; i < measured.of(sm, place).size(); ++i)
        CHECK(measured.of(sm, place)[i].start >= measured.of(sm, place)[i - 1].end);
}

TEST_CASE("sm rows: zooming keeps the row under the mouse and shows one to all rows") {
  SmRows rows = all_rows(132);
  const SmRows near = zoom_rows(rows, 40, 0.25);
  CHECK(near.count == doctest::Approx(33));
  CHECK((40 - near.first) / near.count == doctest::Approx(40.0 / 132));
  for (int i = 0; i < 60; ++i) rows = zoom_rows(rows, 131.5, 0.7);
  CHECK(rows.count == 1);
  CHECK(rows.first <= 131.5);
  CHECK(rows.first + 1 >= 131.5);
  rows = pan_rows(rows, 50);
  CHECK(rows.first == 131);
  CHECK(zoom_rows(rows, 131, 1000) == all_rows(132));
  // Few rows are whole ones, inside of what there is.
  for (double count = 1; count < 40; count += 0.37)
    for (double first = 0; first + count <= 132; first += 3.3) {
      const SmRows shown = snapped_rows({first, count, 132});
      if (shown.count >= 32) continue;
      CHECK(shown.count == std::round(shown.count));
      CHECK(shown.first == std::round(shown.first));
      CHECK(shown.first + shown.count <= 132);
    }
}

TEST_CASE("sm rows: rows fill the panel without overlap at every size") {
  for (const auto& [width, height] :
       {std::pair{1400.0F, 280.0F}, std::pair{900.0F, 150.0F}, std::pair{500.0F, 70.0F}, std::pair{300.0F, 40.0F}})
    for (const std::size_t groups : {std::size_t{1}, std::size_t{2}})
      for (const bool measured : {false, true}) {
        if (measured && groups == 2) continue;
        const int wide = width;  // a lambda of Clang captures no structured binding
        CAPTURE(wide);
        CAPTURE(groups);
        CAPTURE(measured);
        const TimelineLayout layout =
            lay_out_sm_timeline({{10, 20}, {10 + width, 20 + height}}, {groups, 1, false, 100, 1}, measured);
        float bottom = layout.plot.min.y;
        int sms = 0;
        for (const TimelineRow& row : layout.rows) {
          CHECK(row.rect.min.y >= bottom - 0.01F);
          CHECK(row.rect.max.y >= row.rect.min.y);
          CHECK(row.rect.max.y <= layout.plot.max.y + 1);
          bottom = row.rect.max.y;
          sms += row.kind == TimelineRow::Kind::sms || row.kind == TimelineRow::Kind::measured_sms ? 1 : 0;
        }
        CHECK(sms == static_cast<int>(groups) + (measured ? 1 : 0));
      }
}
