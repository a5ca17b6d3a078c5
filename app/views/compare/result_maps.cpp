// Draws results of two runs as maps: a cell an element, and a colour for other bits.
#include "app/views/compare/result_maps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "app/ui/quad_batch.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/chrome.h"
#include "app/views/compare/run_bars.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// The program of a run, or where all are of one, the settings in which it differs from the first runs of the other pairs.
std::vector<std::string> names_of_pairs(std::span<const ComparedResult> results) {
  std::vector<PageRun> runs;
  std::vector<std::size_t> run_of_result;  // by result
  for (const ComparedResult& result : results) {
    const auto known = std::ranges::find(runs, result.first, &PageRun::simulation);
    run_of_result.push_back(static_cast<std::size_t>(known - runs.begin()));
    if (known == runs.end()) runs.push_back({result.first, std::nullopt});
  }
  if (runs.size() == 1) return std::vector<std::string>(results.size());
  const std::vector<std::string> names = distinct_names(runs);
  std::vector<std::string> out;
  for (const std::size_t each : run_of_result) out.push_back(names[each]);
  return out;
}

/// Maps in rows of as many columns as have room for their words.
struct MapGrid {
  int columns = 1, rows = 1;
};
MapGrid grid_of(const Theme& theme, int count, float width) {
  constexpr float least = 165;
  const int most = std::max(1, static_cast<int>(width / (least * theme.scale)));
  const int rows = (count + most - 1) / most;
  return {(count + rows - 1) / rows, rows};
}

/// Draws the planes below each other; a cell is an element.
void draw_cells(const Theme& theme, const ComparedResult& result, const Rect& room) {
  const int cols = result.of_first.front().cols;
  int rows = 0;
  for (const Matrix& plane : result.of_first) rows += plane.rows;
  constexpr float widest = 4;  // of a cell's height
  const float each = room.height() / static_cast<float>(rows), high = each < 4 ? each : std::floor(each);
  const float wide = std::max(1.0F, std::floor(std::min(room.width() / static_cast<float>(cols), widest * high)));
  const float gap = std::min(high, wide) >= 5 ? 1 : 0;
  const ImU32 same = mix(theme.panel, theme.color(result.tensor), 0.3F), other = theme.text;
  QuadBatch quads;
  float y = room.min.y;
  for (std::size_t plane = 0; plane < result.of_first.size(); ++plane)
    for (int row = 0; row < result.of_first[plane].rows; ++row, y += high)
      for (int col = 0; col < cols; ++col) {
        const float x = room.min.x + static_cast<float>(col) * wide;
        const bool differs = have_other_bits(result.of_first[plane].at(row, col), result.of_second[plane].at(row, col));
        quads.add({.min = {x, y}, .max = {x + wide - gap, y + high - gap}, .fill = differs ? other : same});
      }
  draw_quads(ImGui::GetWindowDrawList(), std::move(quads));
  const Rect map = {room.min, {room.min.x + wide * static_cast<float>(cols), room.min.y + high * static_cast<float>(rows)}};
  hit_area("map", map);
  if (!ImGui::IsItemHovered()) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  int row = std::clamp(static_cast<int>((mouse.y - map.min.y) / high), 0, rows - 1);
  const int col = std::clamp(static_cast<int>((mouse.x - map.min.x) / wide), 0, cols - 1);
  std::size_t plane = 0;
  for (; row >= result.of_first[plane].rows; ++plane) row -= result.of_first[plane].rows;
  const float a = result.of_first[plane].at(row, col), b = result.of_second[plane].at(row, col);
  std::string body = say(tr("First run: {:.9g}"), a);
  add_line(body, say(tr("Second run: {:.9g}"), b));
  show_tooltip(theme, fmt::format("{}[{}][{}]", to_string(result.tensor), row, col), body);
}

}  // namespace

std::string difference_text(const Difference& difference) {
  if (difference.elements == 0) return say(tr("All {} elements have the same bits"), format_count(difference.all));
  return say(tr("{} of {} elements differ, in {} of {} rows, by at most {}"), format_count(difference.elements),
             format_count(difference.all), format_count(difference.rows), format_count(difference.all_rows),
             format_value(difference.largest));
}

float draw_result_maps(const View& view, std::span<const ComparedResult> results, const Rect& given) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<PageRun> pair = {{results.front().first, std::nullopt}, {results.front().second, std::nullopt}};
  const std::vector<std::string> runs = distinct_names(pair);
  const std::string head = say(tr("Results of two runs on the same inputs: {} and {}"), runs.front(), runs.back());
  draw_wrapped(list, theme.heading, given.min, theme.text, head, given.width());
  float y = given.min.y + wrapped_height(theme.heading, head, given.width()) + std::round(4 * theme.scale);
  const std::string key = tr("A cell is an element. Those that stand out have other bits in the second run.");
  draw_wrapped(list, theme.ui, {given.min.x, y}, theme.text_dim, key, given.width());
  y += wrapped_height(theme.ui, key, given.width()) + std::round(10 * theme.scale);

  const std::vector<std::string> names = names_of_pairs(results);
  const MapGrid grid = grid_of(theme, static_cast<int>(results.size()), given.width());
  const float between = std::round(22 * theme.scale), least_map = 64 * theme.scale;
  const float wide =
      std::floor((given.width() - between * static_cast<float>(grid.columns - 1)) / static_cast<float>(grid.columns));
  std::vector<std::string> texts;
  float words = 0;
  for (const ComparedResult& result : results) {
    texts.push_back(difference_text(result.difference));
    words = std::max(words, wrapped_height(theme.ui, texts.back(), wide));
  }
  const float line = std::round(1.35F * theme.heading->FontSize);
  const float above = line + words + std::round(6 * theme.scale);
  const float high = std::max(above + least_map, std::floor((given.max.y - y) / static_cast<float>(grid.rows)));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto column = static_cast<float>(static_cast<int>(i) % grid.columns),
               row = static_cast<float>(static_cast<int>(i) / grid.columns);
    const ImVec2 at = {given.min.x + column * (wide + between), y + row * high};
    const std::string tensor = formula_text(to_string(results[i].tensor)),
                      name = names[i].empty() ? tensor : fmt::format("{}: {}", tensor, names[i]);
    draw_text(list, theme.ui_bold, {at, {at.x + wide, at.y + line}}, theme.text,
              first_that_fits(theme.ui_bold, wide, {name, tensor}));
    draw_wrapped(list, theme.ui, {at.x, at.y + line}, theme.text, texts[i], wide);
    ImGui::PushID(static_cast<int>(i));
    draw_cells(theme, results[i], {{at.x, at.y + above}, {at.x + wide, at.y + high - std::round(10 * theme.scale)}});
    ImGui::PopID();
  }
  return y + high * static_cast<float>(grid.rows) - given.min.y;
}

}  // namespace tilescope
