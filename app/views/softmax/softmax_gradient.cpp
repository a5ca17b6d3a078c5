// Draws dS = P ∘ (dP − D) of one row: a strip of bars for each factor, and the numbers of the chosen key.
#include "app/views/softmax/softmax_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/meanings.h"
#include "app/ui/say.h"
#include "app/ui/widgets.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

/// One row: a list with a number a key, or a number for all keys.
struct GradientLine {
  const char* id = "";
  ChipTile chip_tile = ChipTile::none;
  const std::vector<float>* keys = nullptr;
  std::optional<float> of_row;
};

std::optional<float> entry(const std::vector<float>& row, int column) {
  const auto at = static_cast<std::size_t>(column);
  return at < row.size() ? std::optional(row[at]) : std::nullopt;
}

/// Returns "(−0.3)" for a negative number in a product.
std::string factor_text(float value) {
  return std::signbit(value) && value != 0 ? fmt::format("({})", format_value(value)) : format_value(value);
}

std::vector<GradientLine> lines_of(const SoftmaxParts& parts, const RowGradient& gradient) {
  std::vector<GradientLine> lines = {{"P", parts.weights, &gradient.p_row, {}},
                                     {"dP", parts.d_p, &gradient.d_p_row, {}},
                                     {"D", parts.row_dot, nullptr, gradient.d}};
  if (parts.slope) lines.push_back({"slope", parts.slope, &gradient.slope_row, {}});
  lines.push_back({"dS", parts.d_s, &gradient.d_s_row, {}});
  return lines;
}

/// The formula above, the factors, dS, and its numbers below.
int count_of_lines(const SoftmaxParts& parts) {
  return parts.slope ? 7 : 6;
}

Rect bar_of(const Rect& strip, std::size_t count, std::size_t key) {
  const float width = strip.width() / static_cast<float>(std::max<std::size_t>(count, 1));
  const float gap = width > 4 ? 1.0F : 0.0F, left = strip.min.x + static_cast<float>(key) * width;
  return {{left, strip.min.y}, {left + width - gap, strip.max.y}};
}

/// Draws a bar for each key, up or down from zero.
void draw_strip(ImDrawList* list, const Theme& theme, const GradientLine& line, const Rect& strip, int column) {
  float low = 0, high = 0;
  for (const float value : *line.keys)
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  if (high <= low) high = low + 1;
  const auto y_of = [&](float value) { return strip.max.y - (value - low) / (high - low) * strip.height(); };
  const float zero = std::floor(y_of(0));
  const ImU32 color = theme.color(tensor_of(line.chip_tile));
  for (std::size_t key = 0; key < line.keys->size(); ++key) {
    const float value = (*line.keys)[key];
    if (!std::isfinite(value)) continue;
    const Rect bar = bar_of(strip, line.keys->size(), key);
    const float y = y_of(value);
    list->AddRectFilled({bar.min.x, std::min(y, zero)}, {bar.max.x, std::max({y, zero, std::min(y, zero) + 1})},
                        static_cast<int>(key) == column ? color : with_alpha(color, 0.45F));
  }
  list->AddRectFilled({strip.min.x, zero}, {strip.max.x, zero + std::max(1.0F, std::floor(theme.scale))}, theme.text_faint);
}

/// Draws one row. Returns the column that was clicked.
std::optional<int> draw_line(const Theme& theme, const GradientLine& line, const RowGradient& gradient, int column, float height) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool clicked = ImGui::InvisibleButton(line.id, {width, height});
  const bool hovered = ImGui::IsItemHovered();
  const float label = text_width(theme.ui_bold, "dS[00]") + 4 * theme.scale, number = text_width(theme.mono, "−0.0000");
  const std::string name(to_string(line.chip_tile));
  draw_text(list, theme.ui_bold, {at, {at.x + label, at.y + height}}, theme.text_color(tensor_of(line.chip_tile)),
            line.keys != nullptr ? fmt::format("{}[{}]", name, column) : name);
  const std::optional<float> value = line.keys != nullptr ? entry(*line.keys, column) : line.of_row;
  draw_text(list, theme.mono, {{at.x + label, at.y}, {at.x + label + number, at.y + height}}, value ? theme.text : theme.text_faint,
            value ? format_value(*value) : "–", Align::right);
  const Rect strip = {{at.x + label + number + 8 * theme.scale, at.y + 1}, {at.x + width, at.y + height - 1}};
  if (line.keys == nullptr) {
    draw_text(list, theme.ui_small, strip, theme.text_faint,
              first_that_fits(theme.ui_small, strip.width(), {tr("one number for the whole row"), tr("one for the row")}));
    item_tooltip(theme, name, meaning_of(line.chip_tile));
    return std::nullopt;
  }
  if (strip.width() < 8 * theme.scale) return std::nullopt;
  draw_strip(list, theme, line, strip, column);
  const float mouse = ImGui::GetIO().MousePos.x;
  const auto count = static_cast<int>(line.keys->size());
  if (!hovered || count == 0) return std::nullopt;
  if (mouse < strip.min.x) {
    item_tooltip(theme, name, meaning_of(line.chip_tile));
    return std::nullopt;
  }
  const int key = std::clamp(static_cast<int>((mouse - strip.min.x) / strip.width() * static_cast<float>(count)), 0, count - 1);
  std::string body = fmt::format("{}[{}] = {}", name, key, format_value((*line.keys)[static_cast<std::size_t>(key)]));
  if (const std::string numbers = gradient_numbers(gradient, key); !numbers.empty()) add_line(body, numbers);
  add_line(body, tr("Click: this key, here and in the listing."));
  show_tooltip(theme, say(tr("key {}"), gradient.first_key + key), body);
  return clicked ? std::optional(key) : std::nullopt;
}

}  // namespace

std::string gradient_formula(const RowGradient& gradient) {
  const std::string slope = gradient.slope ? std::string(to_string(gradient.slope)) + " · " : std::string();
  return fmt::format("{} = {}{} · ({} {} {})", to_string(gradient.d_s), slope, to_string(gradient.p), to_string(gradient.d_p),
                     minus_sign, to_string(gradient.row_dot));
}

std::string gradient_numbers(const RowGradient& gradient, int column) {
  const std::optional<float> p = entry(gradient.p_row, column), d_p = entry(gradient.d_p_row, column),
                             d_s = entry(gradient.d_s_row, column), slope = entry(gradient.slope_row, column);
  if (!p || !d_p || !d_s || !gradient.d || (gradient.slope && !slope)) return {};
  const bool negative = std::signbit(*gradient.d) && *gradient.d != 0;
  return fmt::format("{}[{}] = {}{} · ({} {} {}) = {}", to_string(gradient.d_s), column,
                     slope ? format_value(*slope) + " · " : std::string(), slope ? factor_text(*p) : format_value(*p),
                     format_value(*d_p), negative ? "+" : minus_sign, format_value(std::abs(*gradient.d)), format_value(*d_s));
}

float gradient_height(const Theme& theme, const SoftmaxParts& parts, float room, float smallest) {
  if (!parts.has_gradient()) return 0;
  const auto lines = static_cast<float>(count_of_lines(parts));
  const float gap = 3 * theme.scale;
  return lines * (std::floor(std::clamp(0.7F * room / lines - gap, smallest, theme.row_height)) + gap);
}

std::optional<int> draw_gradient(const View& view, const SoftmaxFigures& figures, int column, float height) {
  const Theme& theme = *view.theme;
  const float gap = 3 * theme.scale, each = height / static_cast<float>(count_of_lines(figures.parts)) - gap;
  RowGradient gradient = figures.row.gradient.value_or(RowGradient{});
  if (!figures.row.gradient) {
    gradient.p = figures.parts.weights, gradient.d_p = figures.parts.d_p, gradient.d_s = figures.parts.d_s;
    gradient.row_dot = figures.parts.row_dot, gradient.slope = figures.parts.slope;
  }
  const auto line_of_text = [&](const char* id, ImFont* font, ImU32 color, const std::string& text) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    ImGui::InvisibleButton(id, {width, each});
    draw_text(ImGui::GetWindowDrawList(), font, {at, {at.x + width, at.y + each}}, color, text);
  };
  line_of_text("formula", theme.ui_bold, theme.text, formula_text(gradient_formula(gradient)));
  item_tooltip(theme, tr("Gradient of the scores"),
               tr("The derivative of softmax. A row of P sums to 1, so only differences within the row count: D is the mean of dP, "
                  "weighted by P."));
  const int keys = static_cast<int>(std::max(gradient.d_p_row.size(), gradient.p_row.size()));
  column = std::clamp(column, 0, std::max(keys - 1, 0));
  std::optional<int> clicked;
  for (const GradientLine& line : lines_of(figures.parts, gradient))
    if (const std::optional<int> chosen = draw_line(theme, line, gradient, column, each)) clicked = chosen;
  const std::string numbers = gradient_numbers(gradient, column);
  const float width = ImGui::GetContentRegionAvail().x;
  line_of_text("numbers", text_width(theme.mono, numbers) <= width ? theme.mono : theme.mono_small,
               theme.text_color(tensor_of(gradient.d_s)), numbers);
  return clicked;
}

}  // namespace tilescope
