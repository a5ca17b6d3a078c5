// The stage's layout: nothing overlaps and nothing leaves its box, for every program, on every kind of GPU, at every size.
#include "app/views/stage/stage_layout.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "app/views/stage/race_layout.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

struct Named {
  std::string name;
  Rect rect;
};

bool overlap(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

/// Half a pixel of slack: rectangles are rounded to whole pixels one by one.
bool inside(const Rect& inner, const Rect& outer) {
  const float slack = 0.51F;
  return inner.min.x >= outer.min.x - slack && inner.min.y >= outer.min.y - slack && inner.max.x <= outer.max.x + slack &&
         inner.max.y <= outer.max.y + slack;
}

std::string words(const Named& named) {
  const Rect& r = named.rect;
  return named.name + " (" + std::to_string(r.min.x) + ", " + std::to_string(r.min.y) + ")-(" + std::to_string(r.max.x) + ", " +
         std::to_string(r.max.y) + ")";
}

void check_apart(const std::vector<Named>& rects) {
  for (std::size_t i = 0; i < rects.size(); ++i) {
    INFO(words(rects[i]));
    CHECK(rects[i].rect.width() > 0);
    CHECK(rects[i].rect.height() > 0);
    for (std::size_t j = 0; j < i; ++j) {
      INFO(words(rects[j]));
      CHECK_FALSE(overlap(rects[i].rect, rects[j].rect));
    }
  }
}

void check_inside(const std::vector<Named>& rects, const Rect& outer, const char* what) {
  for (const Named& named : rects) {
    INFO(words(named), " in ", what);
    CHECK(inside(named.rect, outer));
  }
}

std::vector<Named> large_boxes(const StageLayout& layout) {
  std::vector<Named> boxes = {{"focus", layout.focus}, {"hbm", layout.hbm}};
  if (layout.has_l2) boxes.push_back({"l2", layout.l2});
  if (layout.grid) boxes.push_back({"others", layout.others});
  if (!layout.grid) {
    for (const SmBox& sm : layout.sms) boxes.push_back({"card " + std::to_string(sm.sm), sm.box});
  }
  return boxes;
}

std::vector<Named> links_and_notes(const StageLayout& layout) {
  std::vector<Named> boxes = {{"port up", layout.port_up}, {"port down", layout.port_down}, {"upper note", layout.upper_note}};
  if (layout.bundle.width() > 0) boxes.push_back({"bundle", layout.bundle});
  for (const SmBox& sm : layout.sms) {
    if (sm.port.width() > 0) boxes.push_back({"port " + std::to_string(sm.sm), sm.port});
  }
  if (layout.has_l2) boxes.push_back({"lower note", layout.lower_note});
  for (const TensorBox& tensor : layout.tensors) {
    if (tensor.lane.width() <= 0) continue;
    boxes.push_back({"lane " + std::string(to_string(tensor.tensor)), tensor.lane});
    boxes.push_back({"lane note " + std::string(to_string(tensor.tensor)), tensor.lane_note});
  }
  return boxes;
}

void check_focus(const StageLayout& layout) {
  std::vector<Named> parts = {{"title", layout.focus_title},
                              {"operation", layout.operation_line},
                              {"shared label", layout.shared_label},
                              {"occupancy", layout.occupancy}};
  for (const ChipTileBox& chip_tile : layout.chip_tiles) {
    const std::string name = std::string(to_string(chip_tile.chip_tile)) + " " + std::to_string(chip_tile.ring);
    parts.push_back({name, chip_tile.box});
    check_inside({{name + " label", chip_tile.label}, {name + " cells", chip_tile.cells}}, chip_tile.box, "its chip_tile");
    check_apart({{name + " label", chip_tile.label}, {name + " cells", chip_tile.cells}});
    INFO(name);
    CHECK(chip_tile.shown_rows >= 1);
    CHECK(chip_tile.shown_rows <= std::max(chip_tile.rows, 1));
    CHECK(chip_tile.shown_cols >= 1);
  }
  check_apart(parts);
  check_inside(parts, layout.focus, "the SM in focus");
}

void check_memory(const StageLayout& layout) {
  std::vector<Named> parts = {{"hbm label", layout.hbm_label}};
  for (const TensorBox& tensor : layout.tensors) {
    const std::string name(to_string(tensor.tensor));
    parts.push_back({name, tensor.box});
    check_inside({{name + " label", tensor.label}, {name + " cells", tensor.cells}}, tensor.box, "its tensor");
    check_apart({{name + " label", tensor.label}, {name + " cells", tensor.cells}});
  }
  check_apart(parts);
  check_inside(parts, layout.hbm, "HBM");
  if (!layout.has_l2) return;
  std::vector<Named> l2 = {{"l2 label", layout.l2_label}};
  for (const Rect& bar : layout.l2_bars) l2.push_back({"l2 bar", bar});
  check_apart(l2);
  check_inside(l2, layout.l2, "the L2");
}

void check_layout(const StageLayout& layout) {
  std::vector<Named> outer = large_boxes(layout);
  check_apart(outer);
  const std::vector<Named> links = links_and_notes(layout);
  check_apart(links);
  check_inside(outer, layout.area, "the panel");
  check_inside(links, layout.area, "the panel");
  // Links run between the boxes; those of the cards begin beside their card.
  for (const Named& link : links) {
    for (const Named& box : outer) {
      INFO(words(link), " and ", words(box));
      CHECK_FALSE(overlap(link.rect, box.rect));
    }
  }
  check_focus(layout);
  check_memory(layout);
  if (layout.grid) {
    std::vector<Named> cells = {{"grid label", layout.others_label}};
    for (const SmBox& sm : layout.sms) cells.push_back({"SM " + std::to_string(sm.sm), sm.box});
    check_apart(cells);
    check_inside(cells, layout.others, "the grid");
  }
}

StageMetrics metrics_at(float scale) {
  StageMetrics metrics;
  metrics.scale = scale;
  for (float StageMetrics::*length :
       {&StageMetrics::line, &StageMetrics::small_line, &StageMetrics::digit, &StageMetrics::gap, &StageMetrics::padding}) {
    metrics.*length *= scale;
  }
  return metrics;
}

std::vector<ProgramShape> shapes_of(const ProgramInfo& info, const AttentionProblem& problem, const GpuSpec& gpu) {
  std::vector<ProgramShape> shapes;
  const auto program = info.make(problem, info.default_tile(problem, gpu), gpu);
  REQUIRE_MESSAGE(program, (program ? std::string() : program.error().sentence.text()));
  for (int launch = 0; launch < static_cast<int>((*program)->launches().size()); ++launch)
    shapes.push_back(program_shape(info, **program, launch));
  return shapes;
}

std::vector<GpuSpec> gpus() {
  return {toy_gpu(), h200_gpu(), textbook_gpu()};
}

}  // namespace

TEST_CASE("stage: digits of a presented row leave a gap to those above and below") {
  StageMetrics metrics;
  metrics.presented = true;
  metrics.tiny_line = 12;
  constexpr float digit_height = 0.73F;  // of a line
  for (float row = 3; row < 16; row += 0.25F) {
    CAPTURE(row);
    CHECK(digit_height * digits_size(row, metrics) * metrics.tiny_line <= 0.9F * row);
  }
}

TEST_CASE("stage layout: nothing overlaps or leaves its box, for every program, GPU and size") {
  for (const ProgramInfo& info : program_table()) {
    for (const GpuSpec& gpu : gpus()) {
      for (const AttentionProblem& problem :
           {AttentionProblem{},
            AttentionProblem{.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64}}) {
        for (const ProgramShape& shape : shapes_of(info, problem, gpu)) {
          for (const auto& size : {std::pair{470.0F, 354.0F},
                                   {700.0F, 500.0F},
                                   {900.0F, 640.0F},
                                   {1000.0F, 560.0F},
                                   {720.0F, 980.0F},
                                   {1400.0F, 1000.0F}}) {
            const float width = size.first, height = size.second;
            INFO(info.id, " on ", gpu.id, " N ", problem.seq_q, " at ", width, "x", height);
            for (const bool presented : {false, true}) {
              StageMetrics metrics = metrics_at(1);
              metrics.presented = presented;
              check_layout(layout_stage({{13, 57}, {13 + width, 57 + height}}, gpu, shape, 1, metrics));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("stage layout: valid at random sizes, scales and SM counts") {
  const std::uint32_t seed = std::random_device{}();
  std::mt19937 random(seed);
  INFO("seed ", seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int trial = 0; trial < 200; ++trial) {
    const auto table = program_table();
    const ProgramInfo& info = table[static_cast<std::size_t>(draw(0, static_cast<int>(table.size()) - 1))];
    GpuSpec gpu = gpus()[static_cast<std::size_t>(draw(0, 2))];
    gpu.sm_count = draw(1, 200);
    AttentionProblem problem;
    problem.seq_q = draw(1, 300);
    problem.seq_kv = draw(1, 300);
    problem.head_dim = 8 * draw(1, 16);
    const float scale = static_cast<float>(draw(4, 8)) / 4;
    const float width = static_cast<float>(draw(700, 1400)) * scale, height = static_cast<float>(draw(500, 1000)) * scale;
    for (const ProgramShape& shape : shapes_of(info, problem, gpu)) {
      INFO(info.id, " on ", gpu.id, " with ", gpu.sm_count, " SMs, N ", problem.seq_q, " Nk ", problem.seq_kv, " d ",
           problem.head_dim, " at ", width, "x", height, " scale ", scale);
      check_layout(
          layout_stage({{0, 0}, {width, height}}, gpu, shape, draw(0, static_cast<int>(gpu.sm_count) - 1), metrics_at(scale)));
    }
  }
}

TEST_CASE("stage layout: equal inputs give equal rectangles, and the focused SM only changes the cards") {
  const GpuSpec gpu = toy_gpu();
  const auto info = find_program("flash2");
  REQUIRE(info);
  const ProgramShape shape = shapes_of(**info, AttentionProblem{}, gpu).front();
  const Rect area = {{0, 0}, {900, 640}};
  const StageLayout first = layout_stage(area, gpu, shape, 1, metrics_at(1)),
                    second = layout_stage(area, gpu, shape, 2, metrics_at(1));
  REQUIRE(first.sms.size() == 3);
  REQUIRE(second.sms.size() == 3);
  CHECK(first.sms[1].sm == 2);
  CHECK(second.sms[1].sm == 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(first.sms[i].box.min.y == second.sms[i].box.min.y);
  CHECK(first.focus.max.x == second.focus.max.x);
}

TEST_CASE("stage layout: flash2 on toy shows every tile of Q as a cell, and empty boxes for S and P") {
  const GpuSpec gpu = toy_gpu();
  const auto info = find_program("flash2");
  REQUIRE(info);
  const auto program = (*info)->make(AttentionProblem{}, TileShape{16, 16}, gpu);
  REQUIRE(program);
  const ProgramShape shape = program_shape(**info, **program, 0);
  const StageLayout layout = layout_stage({{0, 0}, {900, 640}}, gpu, shape, 0, metrics_at(1));
  const TensorBox* q = layout.find(tensors::q);
  REQUIRE(q);
  CHECK(q->grid_rows == 4);
  CHECK(q->shown_rows == 4);
  CHECK(q->here);
  REQUIRE(layout.find(tensors::s));
  CHECK_FALSE(layout.find(tensors::s)->here);
  CHECK(layout.find(tensors::s)->lane.width() == 0);
  REQUIRE(layout.find(tiles::s));
  CHECK(layout.find(tiles::s)->rows == 16);
  CHECK_FALSE(layout.find(tiles::s)->shared);
  REQUIRE(layout.find(tiles::k));
  CHECK(layout.find(tiles::k)->shared);
}

TEST_CASE("stage layout: each warp group's strip of Q has a box, so the boxes lack only the output and the barriers") {
  const auto info = find_program("hopper_ping_pong");
  REQUIRE(info);
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 1024;
  problem.head_dim = 128;
  const auto program = (*info)->make(problem, TileShape{128, 128}, h200_gpu());
  REQUIRE(program);
  std::int64_t drawn = 0, q = 0;
  for (const ChipTileShape& tile : program_shape(**info, **program, 0).chip_tiles) {
    if (!tile.shared) continue;
    drawn += tile.rings * tile.buffer_bytes;
    if (tile.chip_tile.is(Meaning::query)) q += tile.rings * tile.buffer_bytes;
  }
  CHECK(q == 128 * 128 * 2);
  CHECK(drawn == 5 * 128 * 128 * 2);  // Q, and two buffers each of K and V
}

TEST_CASE("stage layout: presented at 1600x900, a tile of 16 rows has 16") {
  const GpuSpec gpu = toy_gpu();
  const auto info = find_program("flash2");
  REQUIRE(info);
  const auto program = (*info)->make(AttentionProblem{}, TileShape{16, 16}, gpu);
  REQUIRE(program);
  const StageLayout layout = layout_stage({{0, 0}, {1060, 580}}, gpu, program_shape(**info, **program, 0), 0, metrics_at(1.4F));
  const ChipTileBox* scores = layout.find(tiles::s);
  REQUIRE(scores);
  CHECK(scores->rows == 16);
  CHECK(scores->shown_rows == 16);
}

TEST_CASE("stage layout: presented at 1600x900 and at 1280x720, the cells of a 4x4 tile have room for large digits") {
  const GpuSpec gpu = toy_gpu();
  const auto info = find_program("flash2");
  REQUIRE(info);
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 16;
  problem.head_dim = 4;
  const auto program = (*info)->make(problem, TileShape{4, 4}, gpu);
  REQUIRE(program);
  StageMetrics metrics = metrics_at(1);
  metrics.digit = 6.6F;  // of JetBrains Mono in 11 points
  metrics.large_digit = 7.8F;
  metrics.tiny_digit = 5.4F;
  metrics.presented = true;
  for (const auto& [width, height] : {std::pair{782.0F, 527.0F}, {711.0F, 462.0F}}) {
    const StageLayout layout = layout_stage({{0, 0}, {width, height}}, gpu, program_shape(**info, **program, 0), 0, metrics);
    for (const ChipTile chip_tile : {tiles::s, tiles::p, tiles::o}) {
      const ChipTileBox* box = layout.find(chip_tile);
      REQUIRE(box);
      CAPTURE(to_string(chip_tile));
      CHECK(box->cells.height() / 4 >= 24);
      CHECK(box->cells.width() / 4 >= 4 * metrics.digit + 3);
    }
    for (const ChipTile chip_tile : {tiles::m, tiles::m_new, tiles::alpha, tiles::l}) {
      const ChipTileBox* box = layout.find(chip_tile);
      REQUIRE(box);
      CAPTURE(to_string(chip_tile));
      CHECK(box->cells.width() >= 4 * metrics.digit + 3);
    }
  }
}

TEST_CASE("stage layout: presented beside a lesson at 1280x720, the columns of m, m′, α and ℓ have four digits") {
  const GpuSpec gpu = toy_gpu();
  const auto info = find_program("flash2");
  REQUIRE(info);
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 4;
  problem.head_dim = 4;
  const auto program = (*info)->make(problem, TileShape{4, 2}, gpu);
  REQUIRE(program);
  StageMetrics metrics = metrics_at(1);
  metrics.digit = 6.6F;  // of JetBrains Mono in 11 points
  metrics.large_digit = 7.8F;
  metrics.tiny_digit = 5.4F;
  metrics.presented = true;
  const StageLayout layout = layout_stage({{0, 0}, {515, 538}}, gpu, program_shape(**info, **program, 0), 0, metrics);
  for (const ChipTile chip_tile : {tiles::m, tiles::m_new, tiles::alpha, tiles::l}) {
    const ChipTileBox* box = layout.find(chip_tile);
    REQUIRE(box);
    CAPTURE(to_string(chip_tile));
    CHECK(box->cells.width() >= 4 * metrics.tiny_digit + 3);
  }
}

TEST_CASE("stage layout: standard attention has square S and P in HBM") {
  const GpuSpec gpu = toy_gpu();
  const auto info = find_program("standard");
  REQUIRE(info);
  const auto program = (*info)->make(AttentionProblem{}, TileShape{16, 16}, gpu);
  REQUIRE(program);
  const StageLayout layout = layout_stage({{0, 0}, {900, 640}}, gpu, program_shape(**info, **program, 0), 0, metrics_at(1));
  REQUIRE(layout.find(tensors::s));
  CHECK(layout.find(tensors::s)->here);
  CHECK(layout.find(tensors::s)->grid_rows == 4);
  CHECK(layout.find(tensors::s)->grid_cols == 4);
}

TEST_CASE("stage layout: a link is wider where bandwidth is higher, and never too thin to see") {
  const StageMetrics metrics = metrics_at(1);
  CHECK(link_width(32, metrics) < link_width(64, metrics));
  CHECK(link_width(0.01, metrics) >= 8);
  CHECK(link_width(1e6, metrics) <= 30);
}

TEST_CASE("stage layout: every cell stands for the same number of tiles") {
  CHECK(cell_of(0, 4, 4) == 0);
  CHECK(cell_of(3, 4, 4) == 3);
  CHECK(cell_of(127, 128, 19) == 18);
  CHECK(cell_of(6, 128, 19) == 0);
  CHECK(cell_of(7, 128, 19) == 1);
  for (const auto& [count, shown] : {std::pair(4, 4), {128, 19}, {128, 16}, {1, 1}, {13, 3}})
    for (int index = 0; index < count; ++index) {
      const TileSpan tiles = tiles_of(cell_of(index, count, shown), count, shown);
      CHECK(tiles.begin <= index);
      CHECK(index < tiles.end);
    }
}

TEST_CASE("race layout: two equal columns and a verdict, nothing overlapping") {
  for (const auto& [width, height] : {std::pair{700.0F, 520.0F}, {900.0F, 640.0F}, {1400.0F, 1000.0F}}) {
    const Rect area = {{5, 7}, {5 + width, 7 + height}};
    const RaceLayout layout = layout_race(area, metrics_at(1));
    std::vector<Named> boxes = {{"left", layout.columns[0].box}, {"right", layout.columns[1].box}, {"verdict", layout.verdict}};
    check_apart(boxes);
    check_inside(boxes, area, "the panel");
    CHECK(layout.columns[0].box.width() == doctest::Approx(layout.columns[1].box.width()).epsilon(0.01));
    for (const RaceColumn& column : layout.columns) {
      std::vector<Named> parts = {
          {"title", column.title}, {"finish", column.finish}, {"strip", column.strip}, {"stage", column.stage}};
      for (const Rect& counter : column.counters) {
        parts.push_back({"counter", counter});
        const CounterParts split = counter_parts(counter, metrics_at(1));
        check_apart({{"label", split.label}, {"bar", split.bar}, {"value", split.value}});
        check_inside({{"label", split.label}, {"bar", split.bar}, {"value", split.value}}, counter, "a counter");
      }
      check_apart(parts);
      check_inside(parts, column.box, "its column");
    }
  }
}

TEST_CASE("race layout: at 1280x720 O of both runs stands beside the figures, and the columns keep their room") {
  for (const Rect area : {Rect{{0, 0}, {684, 402}}, Rect{{0, 0}, {600, 420}}, Rect{{3, 5}, {803, 480}}, Rect{{0, 0}, {820, 500}},
                          Rect{{10, 20}, {850, 550}}}) {
    const RaceLayout layout = layout_race(area, metrics_at(1), RaceOutputs::pictures), without = layout_race(area, metrics_at(1));
    REQUIRE(layout.exactness.height() > 0);
    CHECK(layout.exactness.width() > 240);
    CHECK(layout.exactness.height() > 66);  // two lines and the pictures
    check_apart({{"verdict", layout.verdict}, {"exactness", layout.exactness}, {"left", layout.columns[0].box}});
    check_inside({{"verdict", layout.verdict}, {"exactness", layout.exactness}}, area, "the panel");
    check_inside({{"reason", layout.reason}}, layout.verdict, "the verdict");
    CHECK(layout.columns[0].stage.height() == without.columns[0].stage.height());
  }
}

TEST_CASE("race layout: at 1280x720, O of both runs beside the figures, every tile row of the opening problem is in HBM") {
  const RaceLayout race = layout_race({{0, 0}, {684, 402}}, metrics_at(1), RaceOutputs::pictures);
  for (const char* id : {"standard", "flash2"}) {
    const auto info = find_program(id);
    REQUIRE(info);
    const auto program = (*info)->make(AttentionProblem{}, TileShape{16, 16}, toy_gpu());
    REQUIRE(program);
    const StageLayout layout =
        layout_lane(race.columns[0].stage, toy_gpu(), program_shape(**info, **program, 0), metrics_at(1), false);
    for (const TensorBox& box : layout.tensors) {
      CAPTURE(to_string(box.tensor));
      if (box.here) CHECK(box.shown_rows == box.grid_rows);
    }
  }
}

TEST_CASE("race layout: O of both runs lies between the verdict and the columns where the stages have room") {
  for (const Rect area : {Rect{{10, 20}, {850, 620}}, Rect{{0, 0}, {1500, 1000}}}) {
    const RaceLayout layout = layout_race(area, metrics_at(1), RaceOutputs::pictures), without = layout_race(area, metrics_at(1));
    CHECK(without.exactness.height() == 0);
    REQUIRE(layout.exactness.height() > 0);
    CHECK(layout.exactness.min.y >= layout.verdict.max.y);
    for (const RaceColumn& column : layout.columns) {
      CHECK(column.box.min.y >= layout.exactness.max.y);
      CHECK(column.stage.height() > 0);
    }
  }
  CHECK(layout_race({{0, 0}, {400, 200}}, metrics_at(1), RaceOutputs::pictures).exactness.height() == 0);
}

TEST_CASE("race layout: in little room there are figures and counters, stages where their tiles have names, nothing overlapping") {
  for (const auto& [width, height] :
       {std::pair{270.0F, 215.0F}, {364.0F, 105.0F}, {490.0F, 188.0F}, {440.0F, 340.0F}, {600.0F, 300.0F}, {400.0F, 700.0F}}) {
    const Rect area = {{5, 7}, {5 + width, 7 + height}};
    CHECK(race_size({width, height}, metrics_at(1)).x == width);
    CHECK(race_size({width, height}, metrics_at(1)).y == height);
    const RaceLayout layout = layout_race(area, metrics_at(1));
    CHECK(layout.reason.height() == 0);
    check_apart({{"left", layout.columns[0].box}, {"right", layout.columns[1].box}, {"verdict", layout.verdict}});
    for (const RaceColumn& column : layout.columns) {
      CHECK((column.stage.height() >= 100) == (width == 600));
      std::vector<Named> parts = {{"title", column.title}, {"finish", column.finish}};
      if (column.stage.height() > 0) parts.push_back({"stage", column.stage});
      if (column.strip.height() > 0) parts.push_back({"strip", column.strip});
      for (const Rect& counter : column.counters)
        if (counter.height() > 0) {
          parts.push_back({"counter", counter});
          const CounterParts split = counter_parts(counter, metrics_at(1));
          check_apart({{"label", split.label}, {"bar", split.bar}, {"value", split.value}});
          check_inside({{"label", split.label}, {"bar", split.bar}, {"value", split.value}}, counter, "a counter");
          CHECK(split.value.width() >= (width >= 350 ? 10 : 8) * metrics_at(1).digit);
        }
      CHECK(parts.size() >= 4);
      check_apart(parts);
      check_inside(parts, column.box, "its column");
    }
  }
}

TEST_CASE("race layout: in a little less room than the pictures need, all of them are there, closer together") {
  const ImVec2 room = {470, 362};
  CHECK(race_size(room, metrics_at(1)).x == room.x);
  CHECK(race_size(room, metrics_at(1)).y == room.y);
  const Rect area = {{5, 7}, {5 + room.x, 7 + room.y}};
  for (const bool with_exactness : {false, true}) {
    const RaceLayout layout = layout_race(area, metrics_at(1), with_exactness ? RaceOutputs::pictures : RaceOutputs::none);
    check_inside({{"left", layout.columns[0].box}, {"right", layout.columns[1].box}, {"verdict", layout.verdict}}, area,
                 "the panel");
    for (const RaceColumn& column : layout.columns) {
      std::vector<Named> parts = {
          {"title", column.title}, {"finish", column.finish}, {"strip", column.strip}, {"stage", column.stage}};
      for (const Rect& counter : column.counters) parts.push_back({"counter", counter});
      check_apart(parts);
      check_inside(parts, column.box, "its column");
    }
  }
}

TEST_CASE("race layout: a low race keeps both stages, larger ones while its figures are kept back") {
  const StageMetrics metrics = metrics_at(1);
  const Rect low = {{0, 0}, {960, 336}};  // presented at 1280x720, with a question below it in two rows
  const RaceLayout open = layout_race(low, metrics, RaceOutputs::none, false),
                   held = layout_race(low, metrics, RaceOutputs::none, true);
  for (std::size_t i = 0; i < open.columns.size(); ++i) {
    CHECK(open.columns[i].stage.height() >= 100);
    CHECK(held.columns[i].stage.height() > open.columns[i].stage.height());
  }
  for (const RaceLayout* race : {&open, &held}) CHECK(race->verdict.max.y <= race->columns[0].box.min.y);
}

TEST_CASE("race layout: presented at 1600x900, a finished race has every tile row in HBM, and room for two lines on its links") {
  const StageMetrics metrics = metrics_at(1);
  const RaceLayout race = layout_race({{0, 0}, {1097, 527}}, metrics, RaceOutputs::pictures);
  REQUIRE(race.exactness.height() > 0);
  for (const char* id : {"standard", "flash2"}) {
    const auto info = find_program(id);
    REQUIRE(info);
    const auto program = (*info)->make(AttentionProblem{}, TileShape{16, 16}, toy_gpu());
    REQUIRE(program);
    const StageLayout layout = layout_lane(race.columns[0].stage, toy_gpu(), program_shape(**info, **program, 0), metrics);
    for (const TensorBox& box : layout.tensors) {
      CAPTURE(to_string(box.tensor));
      if (!box.here) continue;
      CHECK(box.shown_rows == box.grid_rows);
      CHECK(box.lane.height() >= 2 * metrics.small_line);
    }
  }
}

TEST_CASE("stage layout: in a low and narrow stage, rows of the tiles can be told apart, and so can columns of one value a row") {
  const ProgramInfo& info = **find_program("flash2", Pass::forward);
  for (const float scale : {1.0F, 2.0F, 2.5F})
    for (const auto& [width, height] : {std::pair{244.0F, 124.0F}, {285.0F, 150.0F}, {350.0F, 150.0F}, {520.0F, 200.0F}}) {
      const float wide = width, high = height;
      INFO(scale, " at ", wide, "x", high);
      const GpuSpec toy = gpus().front();
      const ProgramShape shape = shapes_of(info, AttentionProblem{}, toy).front();
      const StageLayout layout =
          layout_lane({{13, 57}, {13 + wide * scale, 57 + high * scale}}, toy, shape, metrics_at(scale), true);
      check_apart(large_boxes(layout));
      check_memory(layout);
      std::vector<Named> chip_tiles;
      for (const ChipTileBox& box : layout.chip_tiles) {
        INFO(to_string(box.chip_tile));
        chip_tiles.push_back({std::string(to_string(box.chip_tile)), box.box});
        const float rows = static_cast<float>(std::clamp(box.rows, 4, 16));
        CHECK(box.cells.height() >= 1.75F * scale * rows - 1);
        CHECK(box.cells.width() >= 8.5F * scale);
      }
      check_apart(chip_tiles);
      check_inside(chip_tiles, layout.focus, "the SM in focus");
      // The title goes before a tile does.
      CHECK((layout.focus_title.height() > 0) == (layout.operation_line.height() > 0));
      if (high >= 200) CHECK(layout.focus_title.height() > 0);
    }
}

TEST_CASE("race side layout: SM, L2 and HBM stay apart, and every tensor has cells") {
  for (const ProgramInfo& info : program_table())
    for (const GpuSpec& gpu : gpus())
      for (const ProgramShape& shape : shapes_of(info, AttentionProblem{}, gpu))
        for (const auto& size : {std::pair{364.0F, 125.0F}, {490.0F, 172.0F}, {490.0F, 380.0F}}) {
          const float width = size.first, height = size.second;
          INFO(info.id, " on ", gpu.id, " at ", width, "x", height);
          const StageLayout layout = layout_lane({{13, 57}, {13 + width, 57 + height}}, gpu, shape, metrics_at(1));
          check_apart(large_boxes(layout));
          check_inside(large_boxes(layout), layout.area, "the panel");
          check_memory(layout);
          std::vector<Named> chip_tiles = {{"title", layout.focus_title}, {"operation", layout.operation_line}};
          for (const ChipTileBox& chip_tile : layout.chip_tiles)
            chip_tiles.push_back({std::string(to_string(chip_tile.chip_tile)), chip_tile.box});
          check_apart(chip_tiles);
          check_inside(chip_tiles, layout.focus, "the SM in focus");
        }
}

}  // namespace tilescope
