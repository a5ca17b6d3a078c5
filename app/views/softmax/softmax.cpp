// The softmax panel: the scores of one row, the moving maximum, and m, α, l and O before and after this tile.
#include <algorithm>
#include <cmath>

#include "app/ui/meanings.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/tab_stops.h"
#include "app/ui/widgets.h"
#include "app/views/chrome.h"
#include "app/views/light_tensor.h"
#include "app/views/panels.h"
#include "app/views/softmax/softmax_figures.h"
#include "app/views/softmax/softmax_gradient.h"
#include "app/views/softmax/softmax_kernel.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

/// Formats with constant width: three decimals below 10, then fewer.
std::string number_text(const std::optional<float>& value) {
  if (!value) return "–";
  const double size = std::fabs(*value);
  if (!std::isfinite(*value) || size >= 1e5) return format_value(*value);
  const int decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;
  const std::string text = fmt::format("{:.{}f}", size, decimals);
  return std::signbit(*value) && size > 0 ? std::string(minus_sign).append(text) : text;
}

/// True of a softmax without an output beside it, as standard attention has: its kernel walks a row of S tile by tile.
bool is_softmax_of_a_row(const Simulation& simulation, const SoftmaxParts& parts) {
  return family_of(*simulation.info)->computes_attention && parts.scale && !parts.output;
}

/// Names what the row belongs to: the launch where a program has several, else the family.
std::string row_title(const Simulation& simulation, const SoftmaxParts& parts) {
  if (is_softmax_of_a_row(simulation, parts)) return tr("Softmax, in parts");
  const ProgramFamily& family = *family_of(*simulation.info);
  if (family.computes_attention && parts.scale) return tr("Online softmax");
  if (family.computes_attention)
    return parts.maximum || parts.sum            ? tr("Softmax of one row")
           : parts.bars.is(Meaning::probability) ? tr("One row of P")
                                                 : tr("One row of S");
  return translated(family.row_title.empty() ? simulation.info->title : family.row_title);
}

void heading(const View& view, Commands& commands, const SoftmaxParts& parts, int row, int rows) {
  const Theme& theme = *view.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = theme.heading->FontSize;
  const float button = std::round(20 * theme.scale), number = text_width(theme.mono, "000") + 4 * theme.scale;
  const float picker = 2 * button + number;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float title = width - picker - 44 * theme.scale;
  const Simulation& run = *view.lane().simulation;
  draw_text(list, theme.heading, {at, {at.x + title, at.y + height}}, theme.text,
            first_that_fits(theme.heading, title, {row_title(run, parts), short_algorithm_title(*run.info)}));
  if (is_softmax_of_a_row(*view.lane().simulation, parts)) {
    hit_area("title", {at, {at.x + width - picker - 44 * theme.scale, at.y + height}});
    item_tooltip(theme, tr("Softmax, in parts"),
                 tr("This kernel reads its row of S tile by tile. m, α and l are those of the online softmax, within one row "
                    "block. S and P still cross HBM."));
  }
  const float left = at.x + width - picker;
  draw_text(list, theme.ui_small, {{left - 60 * theme.scale, at.y}, {left - 6 * theme.scale, at.y + height}}, theme.text_faint,
            tr("Row"), Align::right);
  hit_area("row name", {{left - 44 * theme.scale, at.y}, {left, at.y + height}});
  item_tooltip(theme, tr("Row"), tr("A row of this block's tile: one query. Softmax works on each row by itself."));
  const auto small_button = [&](const char* id, Icon icon, float x, int to, const char* tooltip) {
    const Rect rect = {{x, at.y - 2 * theme.scale}, {x + button, at.y + height + 2 * theme.scale}};
    bool clicked = hit_area(id, rect);
    const bool usable = to >= 0 && to < rows, hovered = ImGui::IsItemHovered();
    if (usable) clicked = tab_stop(theme, rect, 4 * theme.scale) || clicked;
    if (clicked && usable) commands.push(SelectRow{to});
    if (hovered && usable) list->AddRectFilled(rect.min, rect.max, theme.inset_border, 4 * theme.scale);
    draw_icon(list, icon, rect.center(), 10 * theme.scale,
              !usable   ? with_alpha(theme.text_faint, 0.4F)
              : hovered ? theme.text
                        : theme.text_dim);
    item_tooltip(theme, tooltip);
  };
  small_button("row before", Icon::minus, left, row - 1, tr("Previous row"));
  small_button("row after", Icon::plus, left + button + number, row + 1, tr("Next row"));
  draw_text(list, theme.mono, {{left + button, at.y}, {left + button + number, at.y + height}}, theme.highlight,
            fmt::format("{}", row), Align::center);
  ImGui::Dummy({width, height});
}

/// The scale of the bars. It holds zero, where every bar begins: negative scores hang down.
struct ScoreScale {
  float low = -1, high = 1;
  float share(double score) const { return static_cast<float>(std::clamp((score - low) / (high - low), 0.0, 1.0)); }
};

ScoreScale scale_of(const std::vector<float>& scores) {
  ScoreScale scale{0, 0};
  for (const float score : scores) {
    if (!std::isfinite(score)) continue;
    scale.low = std::min(scale.low, score);
    scale.high = std::max(scale.high, score);
  }
  if (scale.high <= scale.low) return {-1, 1};
  return scale;
}

/// A bar narrower than this cannot be told from its neighbours.
constexpr float least_bar_width = 2;

/// Parts of the plot: the axis at the left, the bars with their keys below, and where the row has too many keys for bars of their
/// own only this tile's, with the distribution of all scores seen so far beside them.
struct ScorePlot {
  Rect bars, keys, spread;  // `spread` is empty where every key has its bar
  ScoreRange shown;
};

ScorePlot score_plot(const Theme& theme, const SoftmaxFigures& figures, const Rect& area) {
  ScorePlot plot;
  const float axis = text_width(theme.mono_tiny, "−00.0") + 3 * theme.scale, line = theme.mono_tiny->FontSize + 2 * theme.scale;
  const bool with_keys = area.height() > 2.6F * line;
  plot.bars = {{area.min.x + axis, area.min.y}, {area.max.x, area.max.y - (with_keys ? line : 0)}};
  plot.shown = shown_keys(figures, static_cast<std::int64_t>(plot.bars.width() / (least_bar_width * theme.scale)));
  if (!plot.shown.whole) {
    plot.spread = plot.bars;
    plot.spread.min.x = std::round(plot.bars.max.x - 0.3F * plot.bars.width());
    plot.bars.max.x = plot.spread.min.x - theme.gap;
  }
  if (with_keys) plot.keys = {{plot.bars.min.x, plot.bars.max.y + theme.scale}, {plot.bars.max.x, area.max.y}};
  return plot;
}

float dash_thickness(const Theme& theme) {
  return std::max(1.0F, std::round(1.5F * theme.scale));
}

/// Draws the value of one key in its bar, or above a low one, in the largest font that is no wider than the bar. It stays in
/// `area`, where all bars are: a caption stands above. In the bar it stands below the dashed line of m, which may be at its top.
void draw_bar_value(ImDrawList* list, const Theme& theme, const Rect& area, const Rect& bar, float value, ImU32 color, bool solid) {
  const std::string text = format_value(value);
  ImFont* font = nullptr;
  for (ImFont* const each : {theme.mono, theme.mono_small})
    if (font == nullptr && text_width(each, text) + 4 * theme.scale <= bar.width()) font = each;
  if (font == nullptr) return;
  const float line = font->FontSize + 2 * theme.scale, under_dashes = dash_thickness(theme);
  const bool inside = bar.height() >= line + under_dashes;
  const float top = inside ? bar.min.y + under_dashes : std::max(area.min.y, bar.min.y - line);
  if (top + line > area.max.y) return;
  draw_text(list, font, {{bar.min.x, top}, {bar.max.x, top + line}}, inside && solid ? text_on(theme, color) : theme.text, text,
            Align::center);
}

void draw_bars(ImDrawList* list, const Theme& theme, const SoftmaxFigures& figures, const ScorePlot& plot, const ScoreScale& scale,
               bool held) {
  const Rect& area = plot.bars;
  const std::int64_t count = plot.shown.end - plot.shown.begin;
  if (count <= 0) return;
  const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(area.width() / least_bar_width));
  const std::int64_t bars = std::min(count, most);
  const float width = area.width() / static_cast<float>(bars), gap = width > 4 ? std::round(theme.scale) : width > 3 ? 0.5F : 0;
  const ImU32 color = theme.color(tensor_of(figures.parts.bars));
  for (std::int64_t bar = 0; bar < bars; ++bar) {
    const std::int64_t first = plot.shown.begin + bar * count / bars;
    const std::int64_t last = std::max(first + 1, plot.shown.begin + (bar + 1) * count / bars);
    // Several keys in one bar: a bar from the least to the largest, and from zero if all have one sign.
    float top = -INFINITY, least = INFINITY;
    for (std::int64_t key = first; key < last; ++key) {
      const float value = figures.bars[static_cast<std::size_t>(key)];
      if (!std::isfinite(value)) continue;
      top = std::max(top, value);
      least = std::min(least, value);
    }
    if (!std::isfinite(top)) continue;
    const std::int64_t first_key = figures.first_key + first, last_key = figures.first_key + last;
    const bool current = first_key < figures.current_end && last_key > figures.current_begin, seen = figures.is_earlier(first_key);
    if (held && !current && !seen) continue;  // scores to come answer many a question of a lesson
    const float x = area.min.x + static_cast<float>(bar) * width;
    const auto y_of = [&](float score) { return area.max.y - scale.share(score) * area.height(); };
    const float upper = y_of(std::max(top, 0.0F)), lower = std::max(y_of(std::min(least, 0.0F)), upper + 1);
    list->AddRectFilled({x, upper}, {x + width - gap, lower},
                        current ? color
                        : seen  ? with_alpha(color, 0.5F)
                                : with_alpha(theme.text_faint, 0.2F));
    if (last == first + 1) draw_bar_value(list, theme, area, {{x, upper}, {x + width - gap, lower}}, top, color, current);
  }
}

/// Draws how often each score occurs among those seen so far, on the axis of the bars; this tile's part is brighter.
void draw_spread(ImDrawList* list, const Theme& theme, const SoftmaxFigures& figures, const ScorePlot& plot,
                 const ScoreScale& scale) {
  const Rect& area = plot.spread;
  if (area.width() <= 0) return;
  const int bins = std::max(4, static_cast<int>(area.height() / (4 * theme.scale)));
  const ScoreSpread spread = score_spread(figures, scale.low, scale.high, bins);
  const std::int64_t most = *std::max_element(spread.seen.begin(), spread.seen.end());
  if (most <= 0) return;
  const ImU32 color = theme.color(tensor_of(figures.parts.bars));
  const float height = area.height() / static_cast<float>(bins);
  for (int bin = 0; bin < bins; ++bin) {
    const auto at = static_cast<std::size_t>(bin);
    const float bottom = area.max.y - static_cast<float>(bin) * height, top = bottom - height + std::max(0.5F, 0.5F * theme.scale);
    const auto x = [&](std::int64_t n) { return area.min.x + area.width() * static_cast<float>(n) / static_cast<float>(most); };
    list->AddRectFilled({area.min.x, top}, {x(spread.seen[at]), bottom}, with_alpha(color, 0.5F));
    list->AddRectFilled({area.min.x, top}, {x(spread.tile[at]), bottom}, color);
  }
}

/// Draws where the scores of this tile were before the change of scores: a line across each bar.
void draw_before_change(ImDrawList* list, const Theme& theme, const SoftmaxFigures& figures, const ScorePlot& plot,
                        const ScoreScale& scale) {
  const Rect& area = plot.bars;
  const std::int64_t count = plot.shown.end - plot.shown.begin;
  const float width = area.width() / static_cast<float>(std::max<std::int64_t>(1, count));
  const float thickness = std::max(1.0F, std::round(1.5F * theme.scale));
  if (width < 3) return;
  for (std::size_t i = 0; i < figures.before_change.size(); ++i) {
    const float value = figures.before_change[i];
    const std::int64_t bar = figures.current_begin - figures.first_key + static_cast<std::int64_t>(i) - plot.shown.begin;
    if (!std::isfinite(value) || bar < 0 || bar >= count) continue;
    const float x = area.min.x + static_cast<float>(bar) * width, y = std::floor(area.max.y - scale.share(value) * area.height());
    list->AddRectFilled({x, y}, {x + width - 1, y + thickness}, theme.text);
  }
}

/// Draws the zero line, the scores at the left, and the keys below.
void draw_axes(ImDrawList* list, const Theme& theme, const SoftmaxFigures& figures, const ScorePlot& plot,
               const ScoreScale& scale) {
  const Rect& area = plot.bars;
  const float end = plot.spread.width() > 0 ? plot.spread.max.x : area.max.x;
  const float zero = std::floor(area.max.y - scale.share(0) * area.height()), line = std::max(1.0F, std::floor(theme.scale));
  list->AddRectFilled({area.min.x, zero}, {end, zero + line}, theme.text_faint);
  const float height = theme.mono_tiny->FontSize;
  const auto mark = [&](double value, float middle) {
    const float top = std::clamp(middle - height / 2, area.min.y, area.max.y - height);
    draw_text(list, theme.mono_tiny, {{area.min.x - 60 * theme.scale, top}, {area.min.x - 3 * theme.scale, top + height}},
              theme.text_dim, format_value(std::round(value * 10) / 10), Align::right);
  };
  const bool room_above = zero - area.min.y > 1.6F * height, room_below = area.max.y - zero > 1.6F * height;
  mark(0, zero);
  if (scale.high > 0 && room_above) mark(scale.high, area.min.y);
  if (scale.low < 0 && room_below) mark(scale.low, area.max.y);
  if (plot.keys.height() <= 0) return;
  const std::int64_t count = plot.shown.end - plot.shown.begin, origin = figures.first_key + plot.shown.begin;
  const auto x_of = [&](std::int64_t key) {
    return area.min.x + area.width() * static_cast<float>(key - origin) / static_cast<float>(std::max<std::int64_t>(1, count));
  };
  const float begin = std::clamp(x_of(figures.current_begin), area.min.x, area.max.x),
              finish = std::clamp(x_of(figures.current_end), area.min.x, area.max.x);
  if (plot.shown.whole && finish > begin)  // the tile, on the axis
    list->AddRectFilled({begin, plot.keys.min.y}, {finish, plot.keys.min.y + 2 * theme.scale}, theme.highlight);
  const std::string first = say(tr("key {}"), format_count(origin)), last = format_count(origin + count - 1);
  draw_text(list, theme.mono_tiny, plot.keys, theme.text_faint, first);
  draw_text(list, theme.mono_tiny, plot.keys, theme.text_faint, last, Align::right);
  const std::string tile = fmt::format("{}–{}", figures.current_begin, figures.current_end - 1);
  const float tile_width = text_width(theme.mono_tiny, tile), left = (begin + finish - tile_width) / 2;
  if (plot.shown.whole && finish > begin && left > plot.keys.min.x + text_width(theme.mono_tiny, first) + 4 * theme.scale &&
      left + tile_width < plot.keys.max.x - text_width(theme.mono_tiny, last) - 4 * theme.scale)
    draw_text(list, theme.mono_tiny, {{left, plot.keys.min.y}, {left + tile_width + 1, plot.keys.max.y}}, theme.text_dim, tile);
}

void draw_dashed(ImDrawList* list, const Theme& theme, float x0, float x1, float y, ImU32 color) {
  const float dash = 5 * theme.scale, gap = 3 * theme.scale, thickness = dash_thickness(theme);
  for (float x = x0; x < x1; x += dash + gap)
    list->AddRectFilled({x, std::floor(y)}, {std::min(x + dash, x1), std::floor(y) + thickness}, color);
}

/// What the bars are, in `room` pixels.
std::string bars_words(const Theme& theme, const SoftmaxFigures& figures, bool held, float room) {
  const SoftmaxParts& parts = figures.parts;
  if (parts.bars == ChipTile::none) return tr("No scores in this launch");
  if (parts.bars.is(Meaning::probability)) return tr("weights seen so far");
  if (!parts.maximum) return tr("scores of this tile");
  bool ahead = false;
  for (std::size_t i = 0; i < figures.bars.size() && !ahead; ++i) {
    const std::int64_t key = figures.first_key + static_cast<std::int64_t>(i);
    ahead = std::isfinite(figures.bars[i]) && !figures.is_current(key) && !figures.is_earlier(key);
  }
  return ahead && !held ? first_that_fits(theme.ui_small, room,
                                          {tr("scores, grey: still to come"), tr("grey: still to come"), tr("grey: later")})
                        : first_that_fits(theme.ui_small, room, {tr("seen so far, m not subtracted"), tr("seen so far")});
}

/// What stands over the bars: what they are, and the old and new maximum. In two lines where one has no room for both.
struct BarsCaption {
  std::string words;
  bool maxima = false;
  float height = 0;
};

/// Width of the column with "m = 2.039" or "m′ = 2.663".
float maximum_column(const Theme& theme, const char* letter) {
  return text_width(theme.mono_small, fmt::format("{} = −0.0000", letter)) + 8 * theme.scale;
}

BarsCaption bars_caption(const Theme& theme, const SoftmaxFigures& figures, ImVec2 room, bool only_tile, bool held) {
  BarsCaption caption;
  caption.maxima = figures.parts.maximum && (!figures.known || figures.moves_maximum);
  const float line = theme.ui_small->FontSize + 4 * theme.scale;
  const float columns = caption.maxima ? maximum_column(theme, "m") + maximum_column(theme, "m′") : 0;
  if (only_tile)
    caption.words = first_that_fits(theme.ui_small, room.x - columns,
                                    {figures.current_end > figures.current_begin ? tr("this tile's scores, right: all so far")
                                                                                 : tr("part of the row, right: all so far"),
                                     tr("right: all so far")});
  else
    caption.words = bars_words(theme, figures, held, room.x);
  constexpr float least_lines = 6;  // of a panel with two for the caption
  const bool low = room.y < least_lines * line;
  if (low && !only_tile) caption.words = bars_words(theme, figures, held, room.x - columns);
  const bool one_line = text_width(theme.ui_small, caption.words) + columns <= room.x;
  caption.height = one_line || !caption.maxima || low ? line : 2 * line;
  return caption;
}

void draw_bars_caption(ImDrawList* list, const Theme& theme, const SoftmaxFigures& figures, const BarsCaption& caption,
                       const Rect& rect) {
  const float line = theme.ui_small->FontSize + 4 * theme.scale, bottom = rect.min.y + caption.height;
  float right = rect.max.x;
  const auto maximum = [&](const char* letter, const std::optional<float>& value, ImU32 color) {
    const float column = maximum_column(theme, letter);
    if (right - column < rect.min.x) return;
    draw_text(list, theme.mono_small, {{right - column, bottom - line}, {right, bottom}}, color,
              fmt::format("{} = {}", letter, number_text(value)), Align::right);
    right -= column;
  };
  if (caption.maxima) {
    maximum("m′", figures.row.m_new, figures.row.m_new ? theme.highlight : theme.text_faint);
    maximum("m", figures.row.m_old, theme.text_dim);
  }
  if (bottom > rect.min.y + line) right = rect.max.x;  // the words have a line of their own
  draw_text(list, theme.ui_small, {rect.min, {right, rect.min.y + line}}, theme.text_faint, caption.words);
}

void bar_tooltip(const Theme& theme, const SoftmaxFigures& figures, const ScorePlot& plot, bool held) {
  const std::int64_t count = plot.shown.end - plot.shown.begin;
  const float share = (ImGui::GetIO().MousePos.x - plot.bars.min.x) / plot.bars.width();
  const std::int64_t index =
      plot.shown.begin + std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<float>(count)), 0, count - 1);
  const std::int64_t key = figures.first_key + index;
  const float value = figures.bars[static_cast<std::size_t>(index)];
  const bool current = figures.is_current(key);
  if (held && !current && !figures.is_earlier(key)) return;
  std::string body = tr("Skipped by this block");
  if (!std::isnan(value)) {
    body = say(figures.parts.bars.is(Meaning::probability) ? tr("weight {}") : tr("score {}"), format_value(value));
    add_line(body, current ? tr("in this tile") : figures.is_earlier(key) ? tr("in an earlier tile") : tr("not reached yet"));
    if (const std::int64_t at = key - figures.current_begin;
        current && at >= 0 && at < static_cast<std::int64_t>(figures.before_change.size()))
      add_line(body, say(tr("score {} before the change"),
                         format_value(static_cast<double>(figures.before_change[static_cast<std::size_t>(at)]))));
    if (std::isinf(value)) add_line(body, tr("Masked: this query does not see this key"));
  }
  for (const RowScore& score : figures.row.scores)
    if (score.key == key && score.weight) add_line(body, say(tr("Weight e^(score − m′): {}"), format_value(*score.weight)));
  show_tooltip(theme, say(tr("key {}"), key), body);
}

void draw_scores(const View& view, const SoftmaxFigures& figures, float height) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::InvisibleButton("scores", {width, height});
  const bool hovered = ImGui::IsItemHovered();
  const bool known = figures.known && !figures.bars.empty();
  const bool whole = !known || score_plot(theme, figures, {at, {at.x + width, at.y + height}}).shown.whole;
  const BarsCaption caption = bars_caption(theme, figures, {width, height}, !whole, view.lesson.locked);
  const Rect area = {{at.x, at.y + caption.height + 2 * theme.scale}, {at.x + width, at.y + height}};
  draw_bars_caption(list, theme, figures, caption, {at, {at.x + width, area.min.y}});
  const bool drawn = area.height() >= 8 && known;
  const ScorePlot plot = drawn ? score_plot(theme, figures, area) : ScorePlot{};
  if (!drawn) return;
  ScoreScale scale = scale_of(figures.bars);
  if (!figures.before_change.empty()) {
    const ScoreScale before = scale_of(figures.before_change);
    scale.low = std::min(scale.low, before.low), scale.high = std::max(scale.high, before.high);
  }
  if (figures.parts.bars.is(Meaning::probability)) scale.low = 0;
  draw_bars(list, theme, figures, plot, scale, view.lesson.locked);
  draw_before_change(list, theme, figures, plot, scale);
  draw_spread(list, theme, figures, plot, scale);
  draw_axes(list, theme, figures, plot, scale);
  const float end = plot.spread.width() > 0 ? plot.spread.max.x : plot.bars.max.x;
  const auto line = [&](const std::optional<float>& value, ImU32 color) {
    if (value && std::isfinite(*value))
      draw_dashed(list, theme, plot.bars.min.x, end, plot.bars.max.y - scale.share(*value) * plot.bars.height(), color);
  };
  line(figures.row.m_old, theme.text_dim);
  line(figures.row.m_new, theme.highlight);
  if (hovered && plot.bars.contains(ImGui::GetIO().MousePos)) bar_tooltip(theme, figures, plot, view.lesson.locked);
  if (hovered && plot.spread.contains(ImGui::GetIO().MousePos))
    show_tooltip(theme, tr("Scores seen so far"),
                 tr("How many keys have each score. This tile's are brighter. The bars at the left are this tile's keys alone."));
}

/// Draws a line: a letter, its old and new value, and the formula at the right.
struct Statistic {
  const char* id = "";
  std::string letter;
  ChipTile chip_tile = ChipTile::none;
  ImU32 color = 0;
  std::optional<float> before, after;
  bool only_after = false, only_before = false;
  std::string note;
};

void line_tip(const Theme& theme, const Statistic& line, std::string_view note) {
  std::string body = meaning_of(line.chip_tile);
  if (!note.empty()) add_line(body, note);
  if (line.chip_tile.is(Meaning::output)) add_line(body, tr("Click: the next column."));
  item_tooltip(theme, line.letter, body);
}

/// Returns true when clicked.
bool draw_statistic(const Theme& theme, const Statistic& line, float height) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool clicked = ImGui::InvisibleButton(line.id, {width, height});
  const float bottom = at.y + height, label = text_width(theme.ui_bold, "O[00]") + 4 * theme.scale;
  draw_text(list, theme.ui_bold, {at, {at.x + label, bottom}}, line.color, formula_text(line.letter));
  const float column = text_width(theme.mono, "−0.0000"), arrow = text_width(theme.mono, " → ") + 1;
  float x = at.x + label;
  const auto number = [&](const std::optional<float>& value, ImU32 color) {
    draw_text(list, theme.mono, {{x, at.y}, {x + column, bottom}}, value ? color : theme.text_faint, number_text(value),
              Align::right);
    x += column;
  };
  if (!line.only_after) number(line.before, line.only_before ? theme.text : theme.text_dim);
  if (!line.only_after && !line.only_before) {
    draw_text(list, theme.mono, {{x, at.y}, {x + arrow, bottom}}, theme.text_faint, " → ");
    x += arrow;
  }
  if (!line.only_before) number(line.after, theme.text);
  x += 6 * theme.scale;
  const bool room = text_width(theme.mono_small, line.note) <= at.x + width - x;  // omits a formula that does not fit
  if (room) draw_text(list, theme.mono_small, {{x, at.y}, {at.x + width, bottom}}, theme.text_faint, line.note, Align::right);
  line_tip(theme, line, room ? std::string_view() : line.note);
  // Of the lines only O does something: it shows the next column.
  return (line.chip_tile.is(Meaning::output) && tab_stop(theme, {at, {at.x + width, bottom}}, 4 * theme.scale)) || clicked;
}

/// Returns "e^(1.204 − 1.871)", with a plus instead of two minus signs.
std::string power_text(const std::optional<float>& from, const std::optional<float>& to) {
  const bool negative = to && *to < 0;
  return fmt::format("e^({} {} {})", number_text(from), negative ? "+" : minus_sign,
                     negative ? number_text(-*to) : number_text(to));
}

const char* output_note(OpKind by) {
  switch (by) {
    case OpKind::rescale:
      return tr("before adding P·V");
    case OpKind::matmul:
      return tr("P·V added");
    case OpKind::divide:
      return tr("divided by l");
    default:
      return "";
  }
}

std::vector<Statistic> statistics_of(const Theme& theme, const SoftmaxFigures& figures, int column) {
  const SoftmaxRow& row = figures.row;
  const auto text = [](const std::optional<float>& value) { return number_text(value); };
  const ImU32 of_m = theme.text_color(Meaning::row_max), of_l = theme.text_color(Meaning::row_sum);
  std::vector<Statistic> lines;
  if (figures.parts.maximum)
    lines.push_back({"m", "m", figures.parts.maximum, of_m, row.m_old, row.m_new, false, figures.known && !figures.moves_maximum,
                     row.m_tile ? say(tr("this tile {}"), text(row.m_tile)) : std::string()});
  if (figures.parts.scale)
    lines.push_back({"alpha",
                     "α",
                     figures.parts.scale,
                     of_m,
                     {},
                     row.alpha,
                     true,
                     false,
                     row.alpha ? power_text(row.m_old, row.m_new) : std::string()});
  if (figures.parts.old_scale)
    lines.push_back({"beta",
                     "β",
                     figures.parts.old_scale,
                     of_m,
                     {},
                     row.beta,
                     true,
                     false,
                     row.beta ? power_text(row.m_tile, row.m_new) : std::string()});
  if (figures.parts.sum) {
    std::string note;
    if (row.l_new && row.beta && row.l_tile)
      note = fmt::format("{}·{} + {}·{}", text(row.alpha), text(row.l_old), text(row.beta), text(row.l_tile));
    else if (row.l_new && row.alpha && row.tile_sum)
      note = fmt::format("{}·{} + {}", text(row.alpha), text(row.l_old), format_value(*row.tile_sum));
    else if (row.l_new && row.l_old && row.tile_sum)
      note = fmt::format("{} + {}", text(row.l_old), format_value(*row.tile_sum));
    lines.push_back({"l", "l", figures.parts.sum, of_l, row.l_old, row.l_new, false, figures.known && !figures.moves_sum, note});
  }
  if (figures.parts.output) {
    const auto at = [column](const std::vector<float>& values) {
      return values.empty() ? std::optional<float>() : values[std::min(static_cast<std::size_t>(column), values.size() - 1)];
    };
    lines.push_back({"O", fmt::format("O[{}]", column), figures.parts.output, theme.text_color(Meaning::output), at(row.o_before),
                     at(row.o_after), false, figures.known && !figures.moves_output, formula_text(output_note(figures.output_by))});
  }
  return lines;
}

/// Explains what α rescales, in at most `room` pixels; empty while unknown.
std::string rescale_words(const Theme& theme, const SoftmaxFigures& figures, float room) {
  const SoftmaxRow& row = figures.row;
  if (!row.alpha || !row.m_old || !row.m_new) return {};
  if (!std::isfinite(*row.m_old)) return tr("First tile: nothing to rescale");
  if (*row.m_new <= *row.m_old)
    return first_that_fits(theme.ui_small, room, {tr("No new maximum: α = 1, nothing to rescale"), tr("No new maximum: α = 1")});
  const std::string factor = number_text(row.alpha);
  return first_that_fits(
      theme.ui_small, room,
      {formula_text(
           say(figures.parts.output ? tr("New maximum: multiply l and O by {}") : tr("New maximum: multiply l by {}"), factor)),
       say(tr("New maximum: × {}"), factor)});
}

/// Draws the α sentence during a tile, then the error of O against float64 or why there is none, in at most `room` pixels.
void draw_footer(const View& view, const SoftmaxFigures& figures, float room) {
  const Theme& theme = *view.theme;
  if (!view.lane().operations) return text_item(theme.ui_small, theme.text_faint, tr("Step forward to see values."));
  if (!view.lane().history) return text_item(theme.ui_small, theme.text_faint, tr("Computing the values…"));
  if (!figures.known) return text_item(theme.ui_small, theme.text_faint, tr("Nothing computed yet."));
  const std::string rescale = rescale_words(theme, figures, room);
  if (!rescale.empty() && (!figures.row.output_error || !figures.parts.output)) {
    text_item(theme.ui_small, theme.text, rescale);
    item_tooltip(theme, tr("Why rescale?"),
                 tr("l and O so far are sums of e^(S − m), with the old maximum m. With the new maximum m′ each term changes by\nα "
                    "= e^(m − m′). So one multiplication updates l and O, and no earlier score is read again."));
    return;
  }
  if (!figures.parts.output) return;
  if (view.lesson.covers_error) return text_item(theme.ui_small, theme.text_faint, tr("O against float64: after the answer"));
  const auto& error = figures.row.output_error;
  std::string text = tr("O against float64: –");
  if (error && *error == 0)
    text = tr("O against float64: equal");
  else if (error)
    text = first_that_fits(theme.ui_small, room,
                           {say(tr("O against float64, not rounded: relative error {}"), format_value(*error)),
                            say(tr("O against float64, not rounded: {}"), format_value(*error)),
                            say(tr("O against float64: {}"), format_value(*error))});
  else if (figures.checked)
    text = tr("O against float64: after this tile");
  text_item(theme.ui_small, theme.text_faint, text);
  if (!figures.checked)
    item_tooltip(theme, tr("Not compared with float64"),
                 say(tr("Compared only up to {} elements of K."), format_count(most_checked_elements)));
  else if (!error)
    item_tooltip(theme, tr("O is being updated"), tr("Compared after this tile."));
  else
    item_tooltip(
        theme, tr("O against float64"),
        tr("This row of O, divided by l, against float64 attention over the keys so far.\nFloat64 is not rounded to the type of "
           "O here, so even the nearest O has an error."));
}

}  // namespace

void draw_softmax_panel(const View& shown, Commands& commands) {
  if (shown.lanes.empty() || !shown.lane().simulation) return;
  const Theme theme = shown.workspace->present ? without_small_text(*shown.theme) : *shown.theme;
  const View view{shown, &theme};
  const SoftmaxFigures& figures = panel_state<SoftmaxReader>("softmax").read(view.lane(), view.workspace->row);
  const int columns = static_cast<int>(std::max(figures.row.o_before.size(), figures.row.o_after.size()));
  const int column = columns > 0 ? std::min(view.workspace->views.column, columns - 1) : view.workspace->views.column;

  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 3 * theme.scale});
  heading(view, commands, figures.parts, std::clamp(view.workspace->row, 0, figures.rows - 1), figures.rows);
  const auto lines = statistics_of(theme, figures, column);
  const float whole = ImGui::GetContentRegionAvail().y, footer = theme.ui_small->FontSize + 3 * theme.scale;
  const float smallest = theme.mono->FontSize + 2 * theme.scale, gap = 3 * theme.scale;
  const auto count = static_cast<float>(lines.size());
  const float least_gradient = gradient_height(theme, figures.parts, 0, smallest);
  const float kernel_rows = kernel_rows_height(view, whole - least_gradient - count * (smallest + gap) - footer - gap);
  const float gradient = gradient_height(theme, figures.parts, whole - kernel_rows - footer, smallest);
  const float room = whole - (kernel_rows > 0 ? kernel_rows + gap : 0) - gradient;
  const float line_height =
      std::floor(std::clamp((room - footer) * 0.4F / std::max(1.0F, count) - gap, smallest, theme.row_height));
  draw_scores(view, figures, std::max(room - count * (line_height + gap) - footer - gap, 30 * theme.scale));
  const auto choose_column = [&](int chosen) {
    ViewChoices views = view.workspace->views;
    views.column = chosen;
    commands.push(SetViews{views});
  };
  const std::string word = kernel_rows > 0 ? std::string() : kernel_word(view);
  const auto line_here = [&] {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    return Rect{at, {at.x + ImGui::GetContentRegionAvail().x, at.y + theme.ui_small->FontSize}};
  };
  // Beside the formula of dS there is room for the word; the line below the gradient may be out of the panel.
  if (gradient > 0) draw_kernel_word(view, commands, line_here(), word);
  if (gradient > 0)
    if (const std::optional<int> clicked = draw_gradient(view, figures, view.workspace->views.column, gradient))
      choose_column(*clicked);
  std::optional<Tensor> under_mouse;
  for (const Statistic& line : lines) {
    const bool clicked = draw_statistic(theme, line, line_height);
    if (std::string_view(line.id) != "O") continue;
    if (ImGui::IsItemHovered()) under_mouse = figures.parts.output.tensor();
    if (clicked && columns > 0) choose_column((column + 1) % columns);
  }
  const Rect foot_line = line_here();
  const bool word_below = gradient <= 0 && !word.empty();
  draw_footer(view, figures, foot_line.width() - (word_below ? text_width(theme.ui_small, word) + 10 * theme.scale : 0));
  if (kernel_rows > 0)
    draw_kernel_rows(view, commands, kernel_rows);
  else if (word_below)
    draw_kernel_word(view, commands, foot_line, word);
  light_tensor(view, commands, under_mouse);
  ImGui::PopStyleVar();
}

}  // namespace tilescope
