// The layout: nothing overlaps, nothing leaves the window, splitters stay where they are put.
#include <random>
#include <tuple>

#include <doctest/doctest.h>

#include "app/ui/layout.h"

using namespace tilescope;

namespace {

bool overlap(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

void check_layout(float width, float height, float scale, const LayoutShares& shares, bool present, bool sm_rows = false) {
  const Layout layout = compute_layout(width, height, scale, shares, present, false, sm_rows);
  const Rect* panels[] = {&layout.listing, &layout.stage, &layout.softmax, &layout.traffic, &layout.timeline, &layout.transport};
  for (const Rect* panel : panels) {
    // Presenting, some have no room.
    const bool vital = panel == &layout.stage || panel == &layout.softmax || panel == &layout.transport;
    if (present && !vital && panel->height() <= 0) continue;
    CHECK(panel->width() > 0);
    CHECK(panel->height() > 0);
    CHECK(panel->min.x >= 0);
    CHECK(panel->min.y >= layout.top_bar.max.y);
    CHECK(panel->max.x <= width);
    CHECK(panel->max.y <= height);
    const auto shares_column = [&](const Rect* one) {
      return layout.one_column && (one == &layout.listing || one == &layout.softmax || one == &layout.traffic);
    };
    for (const Rect* other : panels)
      if (panel != other && !(shares_column(panel) && shares_column(other))) CHECK_FALSE(overlap(*panel, *other));
    for (const Rect& splitter : layout.splitters) CHECK_FALSE(overlap(*panel, splitter));
    CHECK_FALSE(overlap(*panel, layout.side_tabs));
  }
}

}  // namespace

TEST_CASE("layout: no panel overlaps another or leaves the window at any size") {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](float low, float high) { return std::uniform_real_distribution<float>(low, high)(random); };
  for (int i = 0; i < 2000; ++i) {
    const float width = std::round(pick(320, 4000)), height = std::round(pick(240, 2200)), scale = pick(0.75F, 3);
    const LayoutShares shares{pick(0, 1), pick(0, 1), pick(0, 1), pick(0, 1)};
    CAPTURE(width);
    CAPTURE(height);
    CAPTURE(scale);
    check_layout(width, height, scale, shares, i % 2 == 0, i % 4 == 0);
  }
}

TEST_CASE("layout: presented, rows of all SMs keep a timeline, beside one run and under a race") {
  for (const auto& [width, height, scale] :
       {std::tuple{1280.0F, 720.0F, 1.25F}, {1600.0F, 900.0F, 1.4F}, {1920.0F, 1080.0F, 1.5F}}) {
    const float wide = width;
    CAPTURE(wide);
    CHECK(compute_layout(width, height, scale, {}, true).timeline.height() < 140 * scale);
    Layout layout = compute_layout(width, height, scale, {}, true, false, true);
    CHECK(layout.timeline.height() >= 140 * scale);
    CHECK(layout.stage.height() >= 280 * scale);
    give_room_to_race(layout, height, scale, true);
    CHECK(layout.timeline.height() >= 100 * scale);
    CHECK(layout.stage.max.x == layout.transport.max.x);
    CHECK_FALSE(overlap(layout.stage, layout.timeline));
    CHECK_FALSE(overlap(layout.timeline, layout.transport));
    CHECK(layout.bottom.min.y == layout.timeline.min.y);
    if (width > 1280) CHECK(layout.stage.height() >= 432 * scale - 1);  // the pictures of both runs
  }
}

TEST_CASE("layout: presented at 1600x900 the units have their timeline, and the stage most of the height") {
  constexpr float present_scale = 1.4F;
  const Layout layout = compute_layout(1600, 900, present_scale, {}, true);
  CHECK(layout.timeline.height() >= 100 * present_scale);
  CHECK(layout.stage.height() > 0.55F * 900);
}

TEST_CASE("layout: presenting with a lesson leaves a caption above all panels") {
  for (const auto& size : {std::pair{1280.0F, 720.0F}, {1600.0F, 900.0F}, {1920.0F, 1080.0F}}) {
    const float width = size.first, height = size.second;
    CAPTURE(width);
    const Layout layout = compute_layout(width, height, scale_of_window(width, height), {}, true, true);
    CHECK(layout.top_bar.height() >= 30);
    for (const Rect* panel : {&layout.lesson, &layout.stage, &layout.softmax}) CHECK(panel->min.y >= layout.top_bar.max.y);
  }
}

TEST_CASE("layout: a presented lesson shows what its page looks at, with any text size, and nothing else") {
  constexpr float row = 140, timeline = 90;  // in points: enough for the numbers of a row, for the lanes
  for (const float scale : {1.0F, 1.1F, 1.33F, 1.46F, 1.6F})
    for (int bits = 0; bits < 12; ++bits) {
      const PresentedLook look{(bits & 1) != 0, bits >> 2, (bits & 2) != 0};
      CAPTURE(scale);
      CAPTURE(look.middle);
      CAPTURE(look.beside);
      CAPTURE(look.timeline);
      const Layout layout = present_lesson_layout(1280, 720, scale, look);
      std::vector<const Rect*> panels = {&layout.lesson, &layout.transport};
      const bool alone = look.timeline && !look.middle && look.beside == 0;
      if (look.middle || (look.beside == 0 && !alone)) panels.push_back(&layout.stage);
      if (look.beside > 0) panels.push_back(&layout.softmax);
      if (look.beside > 1) panels.push_back(&layout.traffic);
      if (look.timeline) panels.push_back(&layout.timeline);
      for (const Rect* panel : panels) {
        CHECK(panel->width() > 150 * scale);
        CHECK(panel->min.y >= layout.top_bar.max.y);
        CHECK(panel->max.x <= 1280);
        CHECK(panel->max.y <= 720);
        for (const Rect* other : panels)
          if (panel != other) CHECK_FALSE(overlap(*panel, *other));
      }
      if (look.beside == 1 && !look.timeline) CHECK(layout.softmax.height() >= row * scale);
      if (look.timeline) CHECK(layout.timeline.height() >= timeline * std::min(scale, 1.2F));
      if (alone) CHECK(layout.timeline.height() >= layout.alone.height());
      if (!look.timeline) CHECK(layout.timeline.height() == 0);
      if (look.beside < 2) CHECK(layout.traffic.height() == 0);
      if (look.beside < 1) CHECK(layout.softmax.height() == 0);
    }
}

TEST_CASE("layout: a lesson's column overlaps nothing, and leaves stage, row and traffic at 1280x720") {
  for (const auto& size : {std::pair{1280.0F, 720.0F}, {1600.0F, 900.0F}, {2560.0F, 1440.0F}, {800.0F, 500.0F}, {640.0F, 400.0F}}) {
    const float width = size.first, height = size.second;
    CAPTURE(width);
    const float scale = scale_of_window(width, height);
    const Layout layout = compute_layout(width, height, scale, {}, false, true);
    std::vector<const Rect*> panels = {&layout.lesson, &layout.stage, &layout.timeline, &layout.transport};
    if (width >= 1280) {
      CHECK_FALSE(layout.one_column);
      panels.insert(panels.end(), {&layout.softmax, &layout.traffic});
    }
    for (const Rect* panel : panels) {
      CHECK(panel->width() > 100);
      CHECK(panel->height() > 20);
      CHECK(panel->min.x >= 0);
      CHECK(panel->max.x <= width);
      CHECK(panel->max.y <= height);
      for (const Rect* other : panels)
        if (panel != other) CHECK_FALSE(overlap(*panel, *other));
      for (const Rect& splitter : layout.splitters) CHECK_FALSE(overlap(*panel, splitter));
    }
  }
}

TEST_CASE("layout: at 1600x900 the columns have the widths of the design") {
  const Layout layout = compute_layout(1600, 900, 1, {}, false);
  CHECK(layout.listing.width() == doctest::Approx(300).epsilon(0.02));
  CHECK(layout.softmax.width() == doctest::Approx(360).epsilon(0.02));
  CHECK(layout.stage.width() > 880);
  CHECK(layout.top_bar.height() == 44);
}

TEST_CASE("layout: at 1280x720 every panel is still wide and high enough to read") {
  const Layout layout = compute_layout(1280, 720, 1, {}, false);
  CHECK(layout.listing.width() >= 236);
  CHECK(layout.softmax.width() >= 280);
  CHECK(layout.stage.width() >= 700);
  CHECK(layout.stage.height() >= 440);
  CHECK(layout.timeline.height() >= 140);
}

TEST_CASE("layout: with large text one side column with tabs is left, and the middle grows") {
  for (const float scale : {1.25F, 1.5F, 2.0F}) {
    const Layout layout = compute_layout(1280, 720, scale, {}, false);
    CAPTURE(scale);
    CHECK(layout.one_column);
    CHECK(layout.side_tabs.height() > 20 * scale);
    CHECK(layout.stage.width() > 0.6F * 1280);
    for (const Rect* panel : {&layout.softmax, &layout.traffic}) {
      CHECK(panel->min.x == layout.listing.min.x);
      CHECK(panel->max.y == layout.listing.max.y);
    }
  }
  CHECK_FALSE(compute_layout(1280, 720, 1, {}, false).one_column);
  CHECK_FALSE(compute_layout(1600, 900, 1.25F, {}, false).one_column);
}

TEST_CASE("layout: a maximised panel takes everything between the bars") {
  const Layout layout = compute_layout(1600, 900, 1, {}, false);
  CHECK(layout.alone.min.x == layout.listing.min.x);
  CHECK(layout.alone.max.x == layout.bottom.max.x);
  CHECK(layout.alone.min.y == layout.listing.min.y);
  CHECK(layout.alone.max.y < layout.transport.min.y);
  CHECK(layout.alone.max.y > layout.timeline.min.y);
}

TEST_CASE("layout: a splitter follows the pointer") {
  const LayoutShares start;
  for (Splitter splitter : all_splitters) {
    const Rect before = compute_layout(1600, 900, 1, start, false).splitters[static_cast<std::size_t>(splitter)];
    const float x = before.center().x - 25, y = before.center().y + (splitter == Splitter::softmax ? 25.0F : -25.0F);
    const LayoutShares moved = drag_splitter(start, splitter, x, y, 1600, 900, 1, false);
    const Rect after = compute_layout(1600, 900, 1, moved, false).splitters[static_cast<std::size_t>(splitter)];
    CAPTURE(static_cast<int>(splitter));
    if (splitter == Splitter::left || splitter == Splitter::right)
      CHECK(after.center().x == doctest::Approx(x).epsilon(0.001));
    else
      CHECK(after.center().y == doctest::Approx(y).epsilon(0.002));
  }
}

TEST_CASE("layout: a splitter dragged outside leaves every panel in the window") {
  for (Splitter splitter : all_splitters)
    for (float far : {-5000.0F, 5000.0F})
      check_layout(1600, 900, 1, drag_splitter({}, splitter, far, far, 1600, 900, 1, false), false);
}

TEST_CASE("layout: while presenting a caption stands in place of the top bar and the stage is larger") {
  const Layout plain = compute_layout(1920, 1080, 1, {}, false), presented = compute_layout(1920, 1080, 1, {}, true);
  CHECK(presented.top_bar.height() < plain.top_bar.height());
  CHECK(presented.stage.height() > plain.stage.height());
}

TEST_CASE("layout: full size from 1280x720 up; smaller windows shrink to 0.6 at least, and larger ones have larger text") {
  CHECK(scale_of_window(1280, 720) == 1);
  CHECK(scale_of_window(1600, 900) == 1);
  CHECK(scale_of_window(1600, 1400) == 1);
  CHECK(scale_of_window(1920, 1080) == doctest::Approx(1.1));
  CHECK(scale_of_window(2560, 1440) == doctest::Approx(1.3));
  CHECK(scale_of_window(3840, 2160) == doctest::Approx(1.7));
  CHECK(scale_of_window(1279, 720) == doctest::Approx(0.95));
  CHECK(scale_of_window(1024, 640) == doctest::Approx(0.8));
  CHECK(scale_of_window(1600, 540) == doctest::Approx(0.75));
  CHECK(scale_of_window(800, 500) == doctest::Approx(0.6));
  CHECK(scale_of_window(100, 100) == doctest::Approx(0.6));
}
