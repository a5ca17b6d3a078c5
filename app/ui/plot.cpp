// Axes, ticks, curves and labels.
#include "app/ui/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "sim/analysis/format.h"

namespace tilescope {

namespace {

double position(const PlotAxis& axis, double value) {
  if (axis.log) return std::log(value / axis.low) / std::log(axis.high / axis.low);
  return (value - axis.low) / (axis.high - axis.low);
}

double value_at(const PlotAxis& axis, double share) {
  if (axis.log) return axis.low * std::pow(axis.high / axis.low, share);
  return axis.low + share * (axis.high - axis.low);
}

std::string tick_text(const PlotAxis& axis, double value) {
  return axis.format != nullptr ? axis.format(value) : format_value(value);
}

/// The text of a tick among others at equal steps.
std::string linear_tick_text(const PlotAxis& axis, double value) {
  if (axis.units.empty()) return tick_text(axis, value);
  const PlotUnit* unit = &axis.units.front();
  for (const PlotUnit& each : axis.units)
    if (axis.high >= each.size) unit = &each;
  return fmt::format("{} {}", format_value(value / unit->size), unit->name);
}

std::vector<PlotTick> linear_ticks(const PlotAxis& axis, int most) {
  const double raw = (axis.high - axis.low) / std::max(1, most);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double part : {1.0, 2.0, 5.0})
    if (part * power >= raw) {
      step = part * power;
      break;
    }
  std::vector<PlotTick> ticks;
  // + 0.0: the first tick of an axis from 0 is no −0.
  for (double i = std::ceil(axis.low / step - 1e-9) + 0.0; i * step <= axis.high * (1 + 1e-12) + step * 1e-9; ++i)
    ticks.push_back({i * step, linear_tick_text(axis, i * step)});
  return ticks;
}

/// Returns powers of the base. Those of ten have 2 and 5 between them if there is room, and more where the axis is so short that
/// one could read no scale off it.
std::vector<PlotTick> log_ticks(const PlotAxis& axis, int most) {
  constexpr std::array most_parts = {1, 2, 5, 3, 4, 6, 8};  // of a power, those that are labelled first before the others
  std::vector<PlotTick> ticks;
  const double base = axis.base, log_base = std::log(base);
  const int first = static_cast<int>(std::ceil(std::log(axis.low) / log_base - 1e-9));
  const int last = static_cast<int>(std::floor(std::log(axis.high) / log_base + 1e-9));
  const int powers = last - first + 1;
  constexpr int least_labels = 3;  // from which on one sees how an axis is divided
  const int stride = std::clamp((powers + most - 1) / std::max(1, most), 1, std::max(1, (powers - 1) / (least_labels - 1)));
  const auto labels_at = [&](std::span<const int> parts) {
    int count = 0;
    for (int power = first - 1; power <= last; ++power)
      for (const int part : parts) {
        const double value = std::pow(base, power) * part;
        count += value >= axis.low && value <= axis.high ? 1 : 0;
      }
    return count;
  };
  std::span<const int> labelled = std::span(most_parts).first(powers * 3 <= most ? 3 : 1);
  if (axis.base == 10) {
    while (labels_at(labelled) < least_labels && labelled.size() < most_parts.size())
      labelled = std::span(most_parts).first(labelled.size() < 3 ? 3 : most_parts.size());
    if (labels_at(labelled) < least_labels) {
      constexpr int enough = 12;  // steps are at most two and a half times as long as asked for
      int wanted = std::max(most, least_labels);
      while (wanted < enough && linear_ticks(axis, wanted).size() < least_labels) ++wanted;
      return linear_ticks(axis, wanted);
    }
  }
  for (int power = first - 1; power <= last; ++power) {
    const double value = std::pow(base, power);
    if (power >= first) ticks.push_back({value, (power - first) % stride == 0 ? tick_text(axis, value) : std::string()});
    if (axis.base != 10 || powers > 8) continue;
    for (int part = 2; part <= 9; ++part) {
      const double minor = value * part;
      if (minor < axis.low || minor > axis.high) continue;
      ticks.push_back({minor, std::ranges::find(labelled, part) != labelled.end() ? tick_text(axis, minor) : std::string()});
    }
  }
  return ticks;
}

/// Clips the segment a b to `rect`.
std::optional<std::pair<ImVec2, ImVec2>> cut(ImVec2 a, ImVec2 b, const Rect& rect) {
  double from = 0, to = 1;
  const double dx = static_cast<double>(b.x) - a.x, dy = static_cast<double>(b.y) - a.y;
  const std::array<std::pair<double, double>, 4> edges = {
      {{-dx, a.x - rect.min.x}, {dx, rect.max.x - a.x}, {-dy, a.y - rect.min.y}, {dy, rect.max.y - a.y}}};
  for (const auto& [towards, room] : edges) {
    if (towards == 0) {
      if (room < 0) return std::nullopt;
      continue;
    }
    const double t = room / towards;
    towards < 0 ? from = std::max(from, t) : to = std::min(to, t);
  }
  if (from > to) return std::nullopt;
  const auto along = [&](double t) { return ImVec2(static_cast<float>(a.x + t * dx), static_cast<float>(a.y + t * dy)); };
  return std::pair{along(from), along(to)};
}

}  // namespace

PlotAxis axis_over(std::string title, std::span<const double> values, bool log) {
  PlotAxis axis;
  axis.title = std::move(title);
  axis.log = log;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (double value : values) {
    if (!std::isfinite(value) || (log && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = 1, high = 10;
  if (log) {
    const double room = std::max(std::pow(high / low, 0.06), 1.25);
    axis.low = low / room;
    axis.high = high * room;
  } else {
    axis.low = std::min(0.0, low);
    axis.high = high > axis.low ? high + 0.06 * (high - axis.low) : axis.low + 1;
  }
  return axis;
}

double round_number_from(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0})
    if (step * power >= value) return step * power;
  return 10 * power;
}

std::vector<PlotTick> plot_ticks(const PlotAxis& axis, int most) {
  if (!(axis.high > axis.low)) return {};
  if (!axis.ticks.empty()) {
    std::vector<PlotTick> ticks;
    for (const double value : axis.ticks) ticks.push_back({value, tick_text(axis, value)});
    return ticks;
  }
  return axis.log ? log_ticks(axis, most) : linear_ticks(axis, most);
}

void draw_marker(ImDrawList* list, Marker marker, ImVec2 c, float radius, ImU32 color, float line_width) {
  const float r = radius;
  switch (marker) {
    case Marker::circle:
      list->AddCircleFilled(c, r, color);
      break;
    case Marker::ring:
      list->AddCircle(c, r, color, 0, line_width);
      break;
    case Marker::square:
      list->AddRectFilled({c.x - r * 0.88F, c.y - r * 0.88F}, {c.x + r * 0.88F, c.y + r * 0.88F}, color);
      break;
    case Marker::diamond:
      list->AddQuadFilled({c.x, c.y - r * 1.2F}, {c.x + r * 1.2F, c.y}, {c.x, c.y + r * 1.2F}, {c.x - r * 1.2F, c.y}, color);
      break;
    case Marker::triangle:
      list->AddTriangleFilled({c.x, c.y - r * 1.15F}, {c.x + r * 1.1F, c.y + r * 0.85F}, {c.x - r * 1.1F, c.y + r * 0.85F}, color);
      break;
    case Marker::cross:
      list->AddLine({c.x - r, c.y - r}, {c.x + r, c.y + r}, color, line_width);
      list->AddLine({c.x - r, c.y + r}, {c.x + r, c.y - r}, color, line_width);
      break;
  }
}

Plot::Plot(const Theme& theme, ImDrawList* list, const Rect& area, PlotAxis x, PlotAxis y)
    : theme_(theme), list_(list), x_(std::move(x)), y_(std::move(y)) {
  const float small = theme.ui_small->FontSize, number = theme.mono_small->FontSize;
  inside_ = {{area.min.x, area.min.y + small + 8 * theme.scale}, {area.max.x, area.max.y - number - small - 12 * theme.scale}};
  const int most_y = std::max(2, static_cast<int>(inside_.height() / (2.6F * number)));
  const auto y_ticks = plot_ticks(y_, most_y);
  float gutter = 0;
  for (const PlotTick& tick : y_ticks) gutter = std::max(gutter, text_width(theme.mono_small, tick.text));
  inside_.min.x += std::ceil(gutter) + 8 * theme.scale;
  inside_.max.x -= 6 * theme.scale;
  if (inside_.width() < 10 || inside_.height() < 10) return;

  const float hair = std::max(1.0F, std::floor(theme.scale));
  const auto grid = [&](const PlotTick& tick) { return with_alpha(theme.panel_border, tick.text.empty() ? 0.35F : 0.9F); };
  for (const PlotTick& tick : y_ticks) {
    const float at_y = std::floor(at({x_.low, tick.value}).y);
    list->AddRectFilled({inside_.min.x, at_y}, {inside_.max.x, at_y + hair}, grid(tick));
    if (!tick.text.empty())
      draw_text(list, theme.mono_small, {{area.min.x, at_y - number}, {inside_.min.x - 6 * theme.scale, at_y + number}},
                theme.text_faint, tick.text, Align::right);
  }
  const int most_x = std::max(2, static_cast<int>(inside_.width() / (64 * theme.scale)));
  float written = -1e9F;
  for (const PlotTick& tick : plot_ticks(x_, most_x)) {
    const float at_x = std::floor(at({tick.value, y_.low}).x);
    list->AddRectFilled({at_x, inside_.min.y}, {at_x + hair, inside_.max.y}, grid(tick));
    const float width = text_width(theme.mono_small, tick.text);
    const float left = std::clamp(at_x - width * 0.5F, inside_.min.x - gutter, std::max(inside_.min.x, inside_.max.x - width));
    if (tick.text.empty() || left < written + 6 * theme.scale) continue;
    draw_text_at(list, theme.mono_small, {left, inside_.max.y + 4 * theme.scale}, theme.text_faint, tick.text);
    written = left + width;
  }
  list->AddRect(inside_.min, {inside_.max.x + hair, inside_.max.y + hair}, theme.panel_border, 0, 0, hair);
  draw_text(list, theme.ui_small, {area.min, {area.max.x, area.min.y + small}}, theme.text_dim, y_.title);
  draw_text(list, theme.ui_small, {{area.min.x, area.max.y - small}, {inside_.max.x, area.max.y}}, theme.text_dim, x_.title,
            Align::right);
}

ImVec2 Plot::at(PlotPoint point) const {
  // Limits far points, because ImGui computes in floats.
  const double px = std::clamp(position(x_, point.x), -50.0, 50.0), py = std::clamp(position(y_, point.y), -50.0, 50.0);
  return {inside_.min.x + static_cast<float>(px) * inside_.width(), inside_.max.y - static_cast<float>(py) * inside_.height()};
}

double Plot::x_at(float pixel) const {
  return value_at(x_, (pixel - inside_.min.x) / inside_.width());
}
double Plot::y_at(float pixel) const {
  return value_at(y_, (inside_.max.y - pixel) / inside_.height());
}

bool Plot::valid(PlotPoint point) const {
  return std::isfinite(point.x) && std::isfinite(point.y) && !(x_.log && point.x <= 0) && !(y_.log && point.y <= 0);
}

bool Plot::shows(PlotPoint point) const {
  if (!valid(point)) return false;
  const ImVec2 p = at(point);
  return p.x >= inside_.min.x - 1 && p.x <= inside_.max.x + 1 && p.y >= inside_.min.y - 1 && p.y <= inside_.max.y + 1;
}

void Plot::polyline(std::span<const ImVec2> pixels, ImU32 color, float width, Line line) {
  const float on = line == Line::dotted ? 1.6F * width : 7 * theme_.scale,
              off = line == Line::dotted ? 2.4F * width : 5 * theme_.scale;
  float phase = 0;  // along the pattern, carried from segment to segment
  for (std::size_t i = 1; i < pixels.size(); ++i) {
    const auto part = cut(pixels[i - 1], pixels[i], inside_);
    if (!part) continue;
    const auto [a, b] = *part;
    keep_clear_along(a, b);
    if (line == Line::solid) {
      list_->AddLine(a, b, color, width);
      continue;
    }
    const float length = std::hypot(b.x - a.x, b.y - a.y);
    const auto along = [&, a = a, b = b](float t) {
      return ImVec2(a.x + (b.x - a.x) * t / length, a.y + (b.y - a.y) * t / length);
    };
    for (float t = -phase; t < length; t += on + off)
      if (t + on > 0) list_->AddLine(along(std::max(0.0F, t)), along(std::min(length, t + on)), color, width);
    phase = std::fmod(phase + length, on + off);
  }
}

/// Reserves small boxes along a line, so that no label crosses it.
void Plot::keep_clear_along(ImVec2 a, ImVec2 b) {
  const float length = std::hypot(b.x - a.x, b.y - a.y), apart = 6 * theme_.scale, half = theme_.scale;
  for (float t = 0; t <= length; t += apart) {
    const ImVec2 p = length > 0 ? ImVec2(a.x + (b.x - a.x) * t / length, a.y + (b.y - a.y) * t / length) : a;
    lines_.push_back({{p.x - half, p.y - half}, {p.x + half, p.y + half}});
  }
}

void Plot::curve(std::span<const PlotPoint> points, ImU32 color, float width, Line line) {
  std::vector<ImVec2> pixels;
  for (std::size_t i = 0; i <= points.size(); ++i) {
    const bool more = i < points.size() && valid(points[i]);
    if (more) pixels.push_back(at(points[i]));
    if (more) continue;
    polyline(pixels, color, width, line);
    pixels.clear();
  }
}

void Plot::marker(Marker marker, PlotPoint point, ImU32 color, float radius) {
  if (!shows(point)) return;
  const ImVec2 c = at(point);
  // A rim in the panel's colour separates overlapping markers.
  if (marker != Marker::cross && marker != Marker::ring)
    draw_marker(list_, marker, c, radius + 1.5F * theme_.scale, theme_.panel, 1);
  draw_marker(list_, marker, c, radius, color, 2 * theme_.scale);
  keep_clear({{c.x - radius, c.y - radius}, {c.x + radius, c.y + radius}});
}

void Plot::spread(double x, double low, double high, ImU32 color) {
  if (!valid({x, low}) || !valid({x, high})) return;
  const ImVec2 a = at({x, low}), b = at({x, high});
  const float cap = 3 * theme_.scale, width = std::max(1.0F, theme_.scale);
  list_->AddLine(a, b, color, width);
  for (const ImVec2 end : {a, b}) list_->AddLine({end.x - cap, end.y}, {end.x + cap, end.y}, color, width);
}

void Plot::vertical(double x, ImU32 color, Line line) {
  const float px = std::floor(at({x, y_.low}).x) + 0.5F;
  const std::array<ImVec2, 2> ends = {ImVec2(px, inside_.max.y), ImVec2(px, inside_.min.y)};
  polyline(ends, color, std::max(1.0F, theme_.scale), line);
}

bool Plot::is_free(const Rect& rect) const {
  if (rect.min.x < inside_.min.x || rect.max.x > inside_.max.x || rect.min.y < inside_.min.y || rect.max.y > inside_.max.y)
    return false;
  const auto meets = [&](const Rect& t) { return rect.overlaps(t); };
  return std::none_of(taken_.begin(), taken_.end(), meets) && std::none_of(lines_.begin(), lines_.end(), meets);
}

bool Plot::crosses(ImVec2 from, ImVec2 to) const {
  const float length = std::hypot(to.x - from.x, to.y - from.y), step = 2 * theme_.scale, half = theme_.scale;
  const float own = 10 * theme_.scale;  // within it lies its own curve
  const auto is_own = [&](const Rect& taken) { return taken.contains(from); };
  for (float t = own; t < length - step; t += step) {
    const ImVec2 p = {from.x + (to.x - from.x) * t / length, from.y + (to.y - from.y) * t / length};
    const Rect spot = {{p.x - half, p.y - half}, {p.x + half, p.y + half}};
    const auto meets = [&](const Rect& other) { return spot.overlaps(other); };
    if (std::ranges::any_of(lines_, meets)) return true;
    if (std::ranges::any_of(taken_, [&](const Rect& other) { return meets(other) && !is_own(other); })) return true;
  }
  return false;
}

std::optional<Rect> Plot::label_on_line(PlotPoint from, PlotPoint to, std::string_view text, ImU32 color) {
  if (!valid(from) || !valid(to) || text.empty()) return std::nullopt;
  const auto part = cut(at(from), at(to), inside_);
  if (!part) return std::nullopt;
  const ImVec2 a = part->first, b = part->second;
  ImFont* const font = theme_.ui_small;
  const float around = 4 * theme_.scale;
  const ImVec2 half = {text_width(font, text) / 2 + around, font->FontSize / 2};
  const float length = std::hypot(b.x - a.x, b.y - a.y);
  if (length <= 0) return std::nullopt;
  const ImVec2 along = {(b.x - a.x) / length, (b.y - a.y) / length};
  // Its own line is the one that passes through its middle.
  const auto is_own = [&](const Rect& t) {
    const ImVec2 c = t.center();
    return std::abs((c.x - a.x) * along.y - (c.y - a.y) * along.x) < 1;
  };
  std::vector<Rect> others;
  std::copy_if(lines_.begin(), lines_.end(), std::back_inserter(others), [&](const Rect& t) { return !is_own(t); });
  // On its own line and off all others; else beside its own, off all lines; else over another one rather than away from its own.
  constexpr float least_slope = 0.1F;
  enum class Where { on, below, above, over };
  const float step = 4 * theme_.scale, apart = 2 * theme_.scale;
  for (const Where where : {Where::on, Where::below, Where::above, Where::over}) {
    const bool beside = where == Where::below || where == Where::above;
    if (beside && std::abs(along.y) < least_slope) continue;  // beside a flat line is on the next one
    for (float at_length = 0; at_length <= length; at_length += step) {
      ImVec2 c = {a.x + along.x * at_length, a.y + along.y * at_length};
      if (where == Where::below) c = {c.x + half.x, c.y + half.y + apart};
      if (where == Where::above) c = {c.x - half.x, c.y - half.y - apart};
      const Rect rect = {{c.x - half.x, c.y - half.y}, {c.x + half.x, c.y + half.y}};
      if (rect.min.x < inside_.min.x || rect.max.x > inside_.max.x || rect.max.y > inside_.max.y) continue;
      if (rect.min.y < inside_.min.y - half.y) continue;
      const auto meets = [&](const Rect& t) { return rect.overlaps(t); };
      if (std::ranges::any_of(taken_, meets)) continue;
      if (where != Where::over && std::ranges::any_of(beside ? lines_ : others, meets)) continue;
      if (!beside) list_->AddRectFilled(rect.min, rect.max, theme_.panel);
      draw_text_at(list_, font, {rect.min.x + around, rect.min.y}, color, text);
      taken_.push_back(rect);
      return rect;
    }
  }
  return std::nullopt;
}

bool Plot::place_label(PlotPoint point, std::string_view text, ImU32 color, Side side, bool bold, bool may_cross) {
  if (!valid(point)) return false;
  ImFont* font = bold ? theme_.ui_bold : theme_.ui_small;
  const float width = text_width(font, text) + 2 * theme_.scale, height = font->FontSize;
  const ImVec2 c = at(point);
  constexpr std::array<std::array<Side, 4>, 4> orders = {{{Side::right, Side::above, Side::below, Side::left},
                                                          {Side::left, Side::above, Side::below, Side::right},
                                                          {Side::above, Side::below, Side::right, Side::left},
                                                          {Side::below, Side::above, Side::right, Side::left}}};
  for (float off : {7.0F, 16.0F, 30.0F, 46.0F, 64.0F, 84.0F, 110.0F, 140.0F}) {
    const float d = off * theme_.scale;
    for (Side s : orders[static_cast<std::size_t>(side)]) {
      const bool flat = s == Side::right || s == Side::left;
      // Also slides along its side, so that neighbouring labels stack.
      for (float slide : {0.0F, -0.7F, 0.7F, -1.4F, 1.4F}) {
        ImVec2 min;
        if (flat)
          min = {s == Side::right ? c.x + d : c.x - d - width, c.y - height * 0.5F + slide * height};
        else
          min = {c.x - width * 0.5F + slide * width * 0.5F, s == Side::above ? c.y - d - height : c.y + d};
        const Rect rect{min, {min.x + width, min.y + height}};
        if (!is_free(rect)) continue;
        if (off > 10) {
          const ImVec2 near = {std::clamp(c.x, rect.min.x, rect.max.x), std::clamp(c.y, rect.min.y, rect.max.y)};
          if (!may_cross && crosses(c, near)) continue;
          list_->AddLine(c, near, with_alpha(color, 0.5F), std::max(1.0F, theme_.scale));
        }
        list_->AddRectFilled(rect.min, rect.max, with_alpha(theme_.panel, 0.82F), 3 * theme_.scale);
        draw_text_at(list_, font, rect.min, color, text);
        taken_.push_back(rect);
        return true;
      }
    }
  }
  return false;
}

bool Plot::label(PlotPoint point, std::string_view text, ImU32 color, Side side, bool bold) {
  return label(std::span(&point, 1), text, color, side, bold);
}

bool Plot::label(std::span<const PlotPoint> points, std::string_view text, ImU32 color, Side side, bool bold) {
  return label(points, std::array{std::string(text)}, color, side, bold);
}

bool Plot::label(std::span<const PlotPoint> points, std::span<const std::string> texts, ImU32 color, Side side, bool bold) {
  if (points.empty()) return false;
  for (const std::string& text : texts) {
    const auto without_crossing = [&](PlotPoint point) { return place_label(point, text, color, side, bold, false); };
    if (!text.empty() && std::ranges::any_of(points, without_crossing)) return true;
  }
  const auto crossing = [&](const std::string& text) {
    return !text.empty() && place_label(points.front(), text, color, side, bold, true);
  };
  return std::ranges::any_of(texts, crossing);
}

void Plot::end_label(std::span<const PlotPoint> points, std::string_view text, ImU32 color) {
  for (std::size_t i = points.size(); i-- > 0;)
    if (shows(points[i])) {
      label(points[i], text, color, Side::left);
      return;
    }
}

void draw_hatch(ImDrawList* list, const Rect& rect, ImU32 color, float spacing, float width, bool backward) {
  const float height = rect.height();
  for (float x = rect.min.x - height; x < rect.max.x; x += spacing) {
    ImVec2 a = {x, rect.max.y}, b = {x + height, rect.min.y};
    if (backward) std::swap(a.y, b.y);
    if (const auto part = cut(a, b, rect)) list->AddLine(part->first, part->second, color, width);
  }
}

}  // namespace tilescope
