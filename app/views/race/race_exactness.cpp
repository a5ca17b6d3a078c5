// Draws O of both runs as heat maps on one scale, their difference beside them, and every element in a tooltip.
#include "app/views/race/race_exactness.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/quad_batch.h"
#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "app/views/chrome.h"
#include "app/views/race/race_reason.h"
#include "app/views/stage/cell_picture.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// One of the three pictures.
struct Picture {
  std::string title, shorter;
  const Matrix* values = nullptr;
  const Matrix* minus = nullptr;  // of a difference: what is taken off
};

float value_at(const Picture& picture, int row, int col) {
  const float value = picture.values->at(row, col);
  return picture.minus == nullptr ? value : std::fabs(value - picture.minus->at(row, col));
}

/// Whether the two runs give a row of O other numbers.
bool row_differs(const Exactness& exact, int row) {
  for (int col = 0; col < exact.first.cols; ++col)
    if (exact.first.at(row, col) != exact.second.at(row, col)) return true;
  return false;
}

int count_differing_rows(const Exactness& exact) {
  int count = 0;
  for (int row = 0; row < exact.first.rows; ++row) count += row_differs(exact, row) ? 1 : 0;
  return count;
}

/// A mark below each row of O that differs; the picture's columns are rows of O.
void mark_differing_rows(const Theme& theme, const Rect& rect, const Exactness& exact) {
  const float each = rect.width() / static_cast<float>(exact.first.rows);
  for (int row = 0; row < exact.first.rows; ++row)
    if (const float left = rect.min.x + each * static_cast<float>(row); row_differs(exact, row))
      ImGui::GetWindowDrawList()->AddRectFilled({left, rect.min.y}, {left + std::max(1.0F, each - 1), rect.max.y}, theme.highlight);
}

/// Draws one picture; its columns are rows of O. Several elements in one cell show the one farthest from zero.
void draw_picture(ImDrawList* list, const Theme& theme, const Rect& rect, const Picture& picture, double largest) {
  const int rows = picture.values->rows, cols = picture.values->cols;
  const float smallest = 3 * theme.scale;
  const int across = std::clamp(static_cast<int>(rect.width() / smallest), 1, rows);
  const int down = std::clamp(static_cast<int>(rect.height() / smallest), 1, cols);
  const float scale = largest > 0 ? static_cast<float>(1 / largest) : 0;
  QuadBatch quads;
  quads.reserve(static_cast<std::size_t>(across) * static_cast<std::size_t>(down));
  for (int x = 0; x < across; ++x) {
    const float left = rect.min.x + rect.width() * static_cast<float>(x) / static_cast<float>(across);
    const float right = rect.min.x + rect.width() * static_cast<float>(x + 1) / static_cast<float>(across);
    for (int y = 0; y < down; ++y) {
      float shown = 0;
      for (int row = x * rows / across; row < (x + 1) * rows / across; ++row)
        for (int col = y * cols / down; col < (y + 1) * cols / down; ++col)
          if (const float value = value_at(picture, row, col); std::fabs(value) > std::fabs(shown)) shown = value;
      const float top = rect.min.y + rect.height() * static_cast<float>(y) / static_cast<float>(down);
      const float bottom = rect.min.y + rect.height() * static_cast<float>(y + 1) / static_cast<float>(down);
      const float heat = std::clamp(shown * scale, -1.0F, 1.0F);
      const ImU32 color = picture.minus == nullptr ? mix(theme.panel, theme.color(Meaning::output), 0.5F + 0.5F * heat)
                                                   : mix(theme.panel, theme.highlight, heat);
      quads.add({.min = {left, top}, .max = {right, bottom}, .fill = color});
    }
  }
  draw_quads(list, std::move(quads));
  list->AddRect(rect.min, rect.max, theme.inset_border);
}

}  // namespace

std::vector<std::string> exactness_sentences(const Exactness& exact, const std::string& first, const std::string& second) {
  const double least = std::max(std::min(exact.first_hbm_bytes, exact.second_hbm_bytes), 1.0);
  const double factor = std::max(exact.first_hbm_bytes, exact.second_hbm_bytes) / least;
  std::string finding;
  if (!exact.same_answer())
    finding = tr("The answers differ by more than rounding.");
  else if (factor < 1.005)
    finding = tr("Same answer, same HBM bytes.");
  else if (exact.second_hbm_bytes < exact.first_hbm_bytes)
    finding = say(tr("Same answer, 1/{} of the HBM bytes."), format_times(factor));
  else
    finding = say(tr("Same answer, {}× the HBM bytes."), format_times(factor));
  const std::string a = format_value(exact.first_error), b = format_value(exact.second_error);
  return {finding + " " + say(tr("Largest difference from float64: {} {}, {} {}."), first, a, second, b),
          finding + " " + say(tr("From float64: {} and {}."), a, b), finding};
}

void draw_too_large(const View& view, const Rect& rect, const StageMetrics& metrics, std::int64_t queries) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(rect.min, rect.max, theme.inset, theme.rounding);
  list->AddRect(rect.min, rect.max, theme.inset_border, theme.rounding);
  const Rect inside = {{rect.min.x + metrics.padding, rect.min.y + 2 * theme.scale}, {rect.max.x - metrics.padding, rect.max.y}};
  const std::string way = queries > 0 ? say(tr("Choose N {} or less."), format_count(queries))
                                      : std::string(tr("Choose fewer heads or a smaller batch."));
  const std::string why = tr("O of both runs is not compared: executing a run of this size would take too long.");
  const auto lines = [&](const std::string& text) { return wrapped_height(theme.ui_small, text, inside.width()); };
  const std::string all = why + " " + way, brief = std::string(tr("Too large to compare O.")) + " " + way;
  const std::string& text = lines(all) <= inside.height() ? all : brief;
  draw_wrapped(list, theme.ui_small, inside.min, theme.text_dim, text, inside.width());
  hit_area("too large", rect);
  item_tooltip(theme, all);
}

void draw_exactness(const View& view, const Rect& rect, const StageMetrics& metrics) {
  const Theme& theme = *view.theme;
  const Exactness& exact = *view.studies->exactness;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float scale = theme.scale, pad = metrics.padding;
  list->AddRectFilled(rect.min, rect.max, theme.inset, theme.rounding);
  list->AddRect(rect.min, rect.max, exact.same_answer() ? theme.inset_border : theme.bad, theme.rounding);
  const std::string first = translated(view.lanes.front().simulation->info->title);
  const std::string second = translated(view.lanes.back().simulation->info->title);
  Rect line = {{rect.min.x + pad, rect.min.y + 2 * scale}, {rect.max.x - pad, rect.min.y + 2 * scale + metrics.small_line}};
  const std::vector<std::string> sentences = exactness_sentences(exact, first, second);
  hit_area("same answer", line);
  std::string whole = sentences.front();
  add_line(whole, race_written_after(*view.lanes.front().simulation, *view.lanes.back().simulation));
  item_tooltip(theme, sentences.back(), whole);
  const ImU32 color = exact.same_answer() ? theme.good : theme.bad;
  const auto fits = [&](const std::string& text) { return text_width(theme.ui_small, text) <= line.width(); };
  if (const auto one_line = std::find_if(sentences.begin(), sentences.end() - 1, fits); one_line != sentences.end() - 1) {
    draw_text(list, theme.ui_small, line, color, *one_line, Align::center);
    // The stages below show the current step, O the end.
    const char* const when = tr("Whole run");
    if (text_width(theme.ui_small, *one_line) + 2 * text_width(theme.ui_small, when) < line.width())
      draw_text(list, theme.ui_small, line, theme.text_faint, when);
  } else {  // the finding, and how far both are from float64 below it
    draw_text(list, theme.ui_small, line, color, sentences.back(), Align::center);
    line = {{line.min.x, line.max.y}, {line.max.x, line.max.y + metrics.small_line}};
    const std::string a = format_value(exact.first_error), b = format_value(exact.second_error);
    const std::string errors =
        first_that_fits(theme.ui_small, line.width(),
                        {say(tr("From float64: {} {}, {} {}."), short_algorithm_title(*view.lanes.front().simulation->info), a,
                             short_algorithm_title(*view.lanes.back().simulation->info), b),
                         say(tr("From float64: {} and {}."), a, b), fmt::format("float64 ± {}, ± {}", a, b)});
    draw_text(list, theme.ui_small, line, theme.text, errors, Align::center);
  }
  if (rect.max.y < line.max.y + metrics.small_line) return;
  double largest = 0;
  for (const float value : exact.reference.values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  const auto short_title = [&](const Lane& lane) { return say(tr("O: {}"), short_algorithm_title(*lane.simulation->info)); };
  const std::array pictures = {Picture{say(tr("O: {}"), first), short_title(view.lanes.front()), &exact.first},
                               Picture{say(tr("O: {}"), second), short_title(view.lanes.back()), &exact.second},
                               Picture{say(tr("Difference, at most {}; in {} of {} rows"), format_value(exact.between),
                                           count_differing_rows(exact), exact.first.rows),
                                       say(tr("± {}"), format_value(exact.between)), &exact.first, &exact.second}};
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const CellSpan x = cell_span(line.min.x, line.max.x + metrics.gap, static_cast<int>(pictures.size()), static_cast<int>(i));
    const Rect title = {{x.begin, line.max.y}, {x.end - metrics.gap, line.max.y + metrics.small_line}};
    draw_text(list, theme.ui_small, title, theme.text_dim,
              first_that_fits(theme.ui_small, title.width(), {pictures[i].title, pictures[i].shorter}));
    if (pictures[i].minus != nullptr) {
      hit_area("difference", title);
      item_tooltip(theme, pictures[i].title,
                   exact.same_answer()
                       ? tr("The largest difference between O of the two runs. They round differently; the result is the same. A "
                            "mark stands below each row that differs.")
                       : tr("The largest difference between O of the two runs. A mark stands below each row that differs."));
    }
    const float marks = std::round(3 * scale);  // of rows
    const Rect cells = {{title.min.x, title.max.y + 1 * scale}, {title.max.x, rect.max.y - 5 * scale - marks}};
    if (cells.height() < 4 || cells.width() < 4) continue;
    draw_picture(list, theme, cells, pictures[i], i < 2 ? largest : exact.between);
    if (pictures[i].minus != nullptr)
      mark_differing_rows(theme, {{cells.min.x, cells.max.y + 1}, {cells.max.x, cells.max.y + 1 + marks}}, exact);
    hit_area(pictures[i].title.c_str(), cells);
    if (!ImGui::IsItemHovered()) continue;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto index = [](float share, int count) {
      return std::clamp(static_cast<int>(share * static_cast<float>(count)), 0, count - 1);
    };
    const int row = index((mouse.x - cells.min.x) / cells.width(), exact.reference.rows);
    const int col = index((mouse.y - cells.min.y) / cells.height(), exact.reference.cols);
    std::string body;
    add_line(body, fmt::format("{}: {:.6f}", first, exact.first.at(row, col)));
    add_line(body, fmt::format("{}: {:.6f}", second, exact.second.at(row, col)));
    add_line(body, fmt::format("float64: {:.6f}", exact.reference.at(row, col)));
    add_line(body, tr("Both programs ran on the same inputs. This is head 0."));
    show_tooltip(theme, fmt::format("O[{}][{}]", row, col), body);
  }
}

}  // namespace tilescope
