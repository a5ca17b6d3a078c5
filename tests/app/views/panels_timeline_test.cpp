// The timeline's arithmetic: zoom and pan, ticks, sub-tracks, running sums, density, bandwidth and the rows' places.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "app/views/timeline/timeline_causes.h"
#include "app/views/timeline/timeline_hover.h"
#include "app/views/timeline/timeline_picture.h"
#include "sim/analysis/link_bins.h"
#include "sim/programs/attention_tensors.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/run_simulation.h"
#include "tests/app/views/panel_screen.h"

using namespace tilescope;

namespace {

UnitLane lane_of(const std::vector<std::pair<double, double>>& spans, const std::vector<Tensor>& tensors) {
  std::vector<LaneBar> bars;
  std::vector<StepLabel> labels(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    bars.push_back({spans[i].first, spans[i].second, static_cast<std::int32_t>(i), 0});
    labels[i].tensor = tensors[i % tensors.size()];
  }
  return make_lane(Unit::copy, std::move(bars), labels);
}

TimeBins bins_of(double width, const std::vector<std::int64_t>& reads) {
  TimeBins bins;
  bins.width = width;
  for (const std::int64_t bytes : reads) {
    TrafficTable table{};
    table[Tensor(tensors::k).index()][static_cast<std::size_t>(Link::hbm_read)] = bytes;
    bins.traffic.push_back(table);
  }
  return bins;
}

BandwidthCurve hbm_curve(const TimeBins& bins) {
  constexpr double most = 64;
  return make_curve(bins, link_bytes_by_bin(bins, std::array{Link::hbm_read, Link::hbm_write}, most), most);
}

}  // namespace

TEST_CASE("timeline: the name of every row explains what the row shows") {
  TimelineShape shape;
  shape.groups = 1;
  shape.least_lane = 8;
  const TimelineLayout layout = lay_out_timeline({{0, 0}, {900, 300}}, shape);
  int named = 0;
  for (const TimelineRow& row : layout.rows) {
    const HoverText text = row_meaning(row);
    CHECK_FALSE(text.title.empty());
    CHECK_FALSE(text.body.empty());
    ++named;
  }
  CHECK(named >= 7);  // HBM, L2, copy, tensor, exp, scale and sum, store
}

TEST_CASE("timeline: the tooltip names the ticket of a block that draws its tiles, and none of another") {
  const AttentionProblem problem = {.heads = 32, .kv_heads = 32, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .causal = true};
  const auto drawn = run("hopper_causal", h200_gpu(), problem);
  const auto sentence_of = [&](std::int64_t block) {
    for (const BlockRun& each : drawn->trace->runs())
      if (each.block == block) return ticket_sentence(*drawn, each);
    return std::string();
  };
  // Six query tiles a head; all heads fit the L2 together.
  CHECK(sentence_of(5) == "Ticket 0, the first of its thread block: head 0, query tile 5");
  CHECK(sentence_of(3 * 6 + 5) == "Ticket 3, the first of its thread block: head 3, query tile 5");
  CHECK(sentence_of(4 * 6 + 1) == "Ticket 132, drawn from the counter: head 4, query tile 1");
  const auto fixed = run("hopper_persistent", h200_gpu(), problem);
  CHECK(ticket_sentence(*fixed, fixed->trace->runs().front()).empty());
}

TEST_CASE("timeline: where warps have roles, a wait on a token names the token and the group that signalled it") {
  const AttentionProblem problem = {.heads = 16, .kv_heads = 16, .seq_q = 2048, .seq_kv = 2048, .head_dim = 128};
  const auto simulation = run("hopper_ping_pong", h200_gpu(), problem);
  const auto steps = std::make_shared<const StepIndex>(make_step_index(*simulation, 0));
  const TimelineData data = make_timeline(*simulation, steps);
  const auto intervals = simulation->trace->intervals(0);
  int full = 0, empty = 0, turns = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const std::string sentence = wait_sentence(*simulation, data, i);
    CHECK(sentence.find("other warps") == std::string::npos);
    if (sentence.find("token") == std::string::npos && sentence.find("a signal of") == std::string::npos) continue;
    // The signal ended the wait, but for what the operation needs to begin.
    const auto signaller = signaller_of(*simulation, data, i);
    REQUIRE(signaller);
    CHECK(intervals[*signaller].end >= intervals[i].ready - 0.01);
    CHECK(intervals[*signaller].end <= intervals[i].start + 0.01);
    CHECK(intervals[i].start - intervals[*signaller].end < 100);
    full +=
        sentence.find("the full token of K") != std::string::npos && sentence.find("copied by the producer") != std::string::npos;
    empty += sentence.find("the empty token of its buffer, signalled by consumer") != std::string::npos;
    turns += intervals[i].group == 2 && sentence.ends_with("a signal of consumer 0: pass the turn on");
  }
  CHECK(full > 0);
  CHECK(empty > 10);
  CHECK(turns > 0);
}

TEST_CASE("timeline: where warps have roles, the producer and the exponentials have lanes") {
  const AttentionProblem problem = {.heads = 16, .kv_heads = 16, .seq_q = 2048, .seq_kv = 2048, .head_dim = 128};
  const auto simulation = run("hopper_ping_pong", h200_gpu(), problem);
  const TimelineData data = make_timeline(*simulation, std::make_shared<const StepIndex>(make_step_index(*simulation, 0)));
  std::vector<std::string> names;
  for (const UnitLane& lane : data.lanes) names.push_back(lane_title(lane));
  CHECK(names == std::vector<std::string>{"copy", "producer", "tensor", "consumer 0", "consumer 1", "exp", "store"});
  const UnitLane &copies = data.lanes[0], &producer = data.lanes[1], &exps = data.lanes[5];
  const auto intervals = simulation->trace->intervals(0);
  REQUIRE(producer.bars.size() == copies.bars.size());
  // One thread asks: its requests follow one another, and each begins when its copy does.
  for (std::size_t i = 0; i < producer.bars.size(); ++i) {
    const LaneBar& bar = producer.bars[i];
    CHECK(bar.start == intervals[static_cast<std::size_t>(bar.interval)].start);
    CHECK(bar.end - bar.start == doctest::Approx(h200_gpu().sm_box_issue_cycles));  // 128 rows of 256 bytes are one box
  }
  CHECK_FALSE(exps.bars.empty());
  for (const LaneBar& bar : exps.bars) CHECK(intervals[static_cast<std::size_t>(bar.interval)].unit == Unit::exp);
}

TEST_CASE("timeline: zooming keeps the cycle under the mouse fixed") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  TimeWindow window = fit(100000);
  for (int i = 0; i < 300; ++i) {
    const double share = std::uniform_real_distribution(0.0, 1.0)(random),
                 factor = std::uniform_real_distribution(0.3, 2.5)(random);
    const double cycle = window.begin + share * window.span();
    const TimeWindow next = zoom_at(window, cycle, factor);
    CHECK(next.begin >= 0);
    CHECK(next.end <= next.whole * (1 + 1e-12));
    CHECK(next.span() >= 8 - 1e-6);
    const bool clamped = next.begin <= 0 || next.end >= next.whole * (1 - 1e-12);
    if (!clamped) CHECK(next.x_of(cycle, 0, 1000) == doctest::Approx(share * 1000).epsilon(1e-6));
    window = next;
  }
}

TEST_CASE("timeline: the zoom survives a new simulation unless its range changed by more than a factor of two") {
  const TimeWindow zoomed = zoom_at(fit(1000), 500, 0.2);
  const TimeWindow similar = carry_over(zoomed, 1500);
  CHECK(similar.begin == doctest::Approx(zoomed.begin));
  CHECK(similar.span() == doctest::Approx(zoomed.span()));
  CHECK(similar.whole == 1500);
  CHECK(carry_over(zoomed, 2100).fits_all());
  CHECK(carry_over(zoomed, 400).fits_all());
  CHECK(carry_over(fit(1000), 1500).fits_all());
  CHECK(carry_over(zoomed, 520).end <= 520);
}

TEST_CASE("timeline: panning stops at both ends") {
  const TimeWindow window = zoom_at(fit(1000), 500, 0.1);
  CHECK(pan(window, -1e9).begin == 0);
  CHECK(pan(window, 1e9).end == doctest::Approx(1000));
  CHECK(pan(window, 10).begin == doctest::Approx(window.begin + 10));
  CHECK(follow(window, window.begin + 1).begin == window.begin);
  const TimeWindow turned = follow(window, 900);
  CHECK(turned.begin <= 900);
  CHECK(turned.end >= 900);
}

TEST_CASE("timeline: ticks are round, visible, ordered and few") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    const double whole = std::pow(10.0, std::uniform_real_distribution(1.0, 9.5)(random));
    const TimeWindow window = zoom_at(fit(whole), whole * std::uniform_real_distribution(0.0, 1.0)(random),
                                      std::pow(10.0, std::uniform_real_distribution(-3.0, 0.0)(random)));
    const int most = std::uniform_int_distribution(2, 20)(random);
    for (const bool time : {false, true}) {
      const auto ticks = time ? time_ticks(window, most, Hertz(1.755e9)) : cycle_ticks(window, most);
      CAPTURE(window.begin);
      CAPTURE(window.end);
      CHECK(static_cast<int>(ticks.size()) <= most + 1);
      for (std::size_t k = 0; k < ticks.size(); ++k) {
        CHECK(ticks[k].cycle >= window.begin - window.span() * 1e-6);
        CHECK(ticks[k].cycle <= window.end + window.span() * 1e-6);
        if (k > 0) CHECK(ticks[k].cycle > ticks[k - 1].cycle);
        if (k > 0) CHECK(ticks[k].text != ticks[k - 1].text);
      }
    }
  }
}

TEST_CASE("timeline: time ticks have their unit") {
  const auto ticks = time_ticks(fit(2000), 5, Hertz(1e9));
  REQUIRE(ticks.size() == 5);
  CHECK(ticks.front().text == "0");
  CHECK(ticks[1].text == "0.5 µs");
  CHECK(ticks.back().text == "2.0 µs");
}

TEST_CASE("timeline: loads in flight together use different sub-tracks") {
  const UnitLane lane = lane_of({{0, 10}, {5, 15}, {10, 12}, {16, 20}}, {tensors::k});
  CHECK(lane.tracks == 2);
  CHECK(lane.bars[0].track == 0);
  CHECK(lane.bars[1].track == 1);
  CHECK(lane.bars[2].track == 0);
  CHECK(lane.bars[3].track == 0);
}

TEST_CASE("timeline: binary search finds every visible bar") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<std::pair<double, double>> spans;
  double at = 0;
  for (int i = 0; i < 500; ++i) {
    at += std::uniform_real_distribution(0.0, 3.0)(random);
    spans.push_back({at, at + std::uniform_real_distribution(0.1, 9.0)(random)});
  }
  const UnitLane lane = lane_of(spans, {tensors::q, tensors::k, tensors::v});
  for (int i = 0; i < 200; ++i) {
    const double from = std::uniform_real_distribution(0.0, at)(random),
                 to = from + std::uniform_real_distribution(0.0, 100.0)(random);
    const auto [first, last] = lane.visible(from, to);
    for (std::size_t k = 0; k < spans.size(); ++k)
      if (spans[k].second >= from && spans[k].first <= to) CHECK((k >= first && k < last));
    if (first == last) continue;
    CHECK(spans[first].first >= from - 9);  // no bar is longer than 9, so none before that can reach
    CHECK(spans[last - 1].first <= to);
  }
}

TEST_CASE("timeline: density is the fraction of time that a row is busy with a tensor") {
  const UnitLane lane = lane_of({{0, 5}, {10, 20}, {20, 30}, {38, 40}}, {tensors::k, tensors::k, tensors::v, tensors::k});
  const auto columns = density(lane, 0, 40, 4);
  REQUIRE(columns.size() == 4);
  CHECK(columns[0].tensor[0] == tensors::k);
  CHECK(columns[0].share[0] == doctest::Approx(0.5F));
  CHECK(columns[1].share[0] == doctest::Approx(1.0F));
  CHECK(columns[2].tensor[0] == tensors::v);
  CHECK(columns[3].share[0] == doctest::Approx(0.2F));
  CHECK(columns[3].share[1] == 0);
}

TEST_CASE("timeline: density equals a direct sum for random bars") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<std::pair<double, double>> spans;
  double at = 0;
  for (int i = 0; i < 2000; ++i) {
    at += std::uniform_real_distribution(0.0, 2.0)(random);
    const double end = at + std::uniform_real_distribution(0.1, 4.0)(random);
    spans.push_back({at, end});
    at = end;
  }
  const UnitLane lane = lane_of(spans, {tensors::q});
  const double from = at * 0.2, to = at * 0.9;
  const auto columns = density(lane, from, to, 37);
  const double width = (to - from) / 37;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double left = from + width * static_cast<double>(c), right = left + width;
    double busy = 0;
    for (const auto& [start, end] : spans) busy += std::max(0.0, std::min(end, right) - std::max(start, left));
    CHECK(columns[c].share[0] == doctest::Approx(busy / width).epsilon(1e-4));
  }
}

TEST_CASE("timeline: two tensors at once never fill more than the column") {
  const UnitLane lane = lane_of({{0, 10}, {0, 10}}, {tensors::k, tensors::v});
  const auto columns = density(lane, 0, 10, 1);
  CHECK(columns[0].share[0] + columns[0].share[1] == doctest::Approx(1.0F));
}

TEST_CASE("timeline: bandwidth between two cycles is bytes over time, inside and across bins") {
  const BandwidthCurve curve = hbm_curve(bins_of(10, {100, 300, 0}));
  CHECK(curve.rate_between(0, 10) == doctest::Approx(10));
  CHECK(curve.rate_between(0, 20) == doctest::Approx(20));
  CHECK(curve.rate_between(5, 15) == doctest::Approx(20));
  CHECK(curve.rate_between(20, 30) == 0);
  CHECK(curve.rate_between(10, 10) == 0);
  CHECK(hbm_curve(bins_of(10, {})).rate_between(0, 10) == 0);
}

TEST_CASE("timeline: rows neither overlap nor leave the panel, from narrow to wide and in Race") {
  for (const float width : {420.0F, 1264.0F, 1584.0F})
    for (const float height : {70.0F, 110.0F, 150.0F, 260.0F})
      for (const std::size_t groups : {std::size_t{1}, std::size_t{2}})
        for (const bool launches : {false, true})
          for (const float scale : {1.0F, 1.5F}) {
            CAPTURE(width);
            CAPTURE(height);
            CAPTURE(groups);
            CAPTURE(scale);
            const Rect area = {{8, 600}, {8 + width, 600 + height}};
            const TimelineLayout layout = lay_out_timeline(area, {groups, groups == 1 ? 4 : 1, launches, 100, scale});
            CHECK(layout.rows.size() >= groups * timeline_units.size());
            float bottom = area.min.y + layout.launch_strip;
            for (const TimelineRow& row : layout.rows) {
              CHECK(row.rect.min.y >= bottom - 0.01F);
              CHECK(row.rect.height() >= 1);
              CHECK(row.rect.max.y <= layout.plot.max.y + layout.hidden + 0.01F);
              bottom = row.rect.max.y;
            }
            CHECK(layout.axis.max.y <= area.max.y);
            CHECK(layout.axis.min.y >= layout.plot.max.y - 0.01F);
          }
}

TEST_CASE("timeline: a presented race leaves out lanes that do not fit, and keeps the launches of both") {
  TimelineShape shape{2, 1, false, 100, 1, 12};
  shape.leaves_out = true;
  for (const float height : {90.0F, 120.0F, 160.0F, 300.0F}) {
    CAPTURE(height);
    const TimelineLayout layout = lay_out_timeline({{0, 0}, {800, height}}, shape);
    CHECK(layout.hidden == 0);
    for (const std::size_t group : {0U, 1U}) {
      const auto count = [&](TimelineRow::Kind kind) {
        return std::count_if(layout.rows.begin(), layout.rows.end(),
                             [&](const TimelineRow& row) { return row.group == group && row.kind == kind; });
      };
      CHECK(count(TimelineRow::Kind::launches) == 1);
      CHECK(count(TimelineRow::Kind::unit) >= 1);
      if (height == 300) CHECK(count(TimelineRow::Kind::unit) == static_cast<std::ptrdiff_t>(shape.lanes[group]));
    }
  }
}

TEST_CASE("timeline: a hidden row is scrolled into view; a visible one moves nothing") {
  TimelineShape shape{2, 1, false, 100, 1, 12};
  const Rect area = {{0, 0}, {800, 120}};
  const TimelineLayout top = lay_out_timeline(area, shape);
  REQUIRE(top.hidden > 0);
  CHECK(scroll_to(top, top.rows.front(), 0) == 0);
  shape.scroll = scroll_to(top, top.rows.back(), 0);
  CHECK(shape.scroll > 0);
  const TimelineLayout bottom = lay_out_timeline(area, shape);
  CHECK(bottom.rows.back().rect.max.y <= bottom.plot.max.y + 1);
  CHECK(scroll_to(bottom, bottom.rows.front(), shape.scroll) == doctest::Approx(0).epsilon(1));
}

TEST_CASE("timeline: rows of all SMs say of a grid that fills no wave how many blocks would") {
  const auto text_of = [](std::int64_t heads) {
    Opened opened(h200_start({.heads = heads, .kv_heads = heads, .seq_q = 256, .seq_kv = 256, .head_dim = 64}));
    opened.after(SetLanes{true});
    PanelScreen screen({1600, 400});
    View view;
    static_cast<SessionView&>(view) = opened.view();
    return screen.text(view, &draw_timeline_panel);
  };
  const std::string few = text_of(8);
  CAPTURE(few);
  CHECK(few.find("16 blocks, ") != std::string::npos);
  CHECK(few.find(" would fill the GPU") != std::string::npos);
  CHECK(few.find(" waves") == std::string::npos);
  CHECK(text_of(512).find(" waves") != std::string::npos);
}
