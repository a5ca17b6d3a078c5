// Draws the links between levels: width is bandwidth, fill is use, with the bytes so far next to them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/stage/link_use.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/format.h"
#include "sim/analysis/link_bins.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

namespace {

std::int64_t traffic(const StageContext& context, Tensor tensor, Link link) {
  return context.lane.state.traffic[tensor.index()][static_cast<std::size_t>(link)];
}

/// Draws a link with a stripe for the used part of its bandwidth.
void draw_channel(StageContext& context, const Rect& rect, double use, ImU32 color, bool upright = true) {
  const Theme& theme = context.theme;
  context.quads.add({.min = rect.min, .max = rect.max, .fill = theme.link});
  if (use <= 0) return;
  const float across = upright ? rect.width() : rect.height();
  const float stripe = std::clamp(static_cast<float>(use), 0.0F, 1.0F) * (across - context.px(2));
  const float half = std::max(stripe, context.px(2)) / 2;
  const ImVec2 center = rect.center();
  if (upright)
    context.quads.add(
        {.min = {center.x - half, rect.min.y}, .max = {center.x + half, rect.max.y}, .fill = with_alpha(color, 0.75F)});
  else
    context.quads.add(
        {.min = {rect.min.x, center.y - half}, .max = {rect.max.x, center.y + half}, .fill = with_alpha(color, 0.75F)});
}

/// Draws a link's direction as a small triangle.
void draw_direction(StageContext& context, const Rect& rect, bool up) {
  const float size = std::min(rect.width() * 0.32F, context.px(5)), x = rect.center().x;
  const float tip = up ? rect.min.y + context.px(3) : rect.max.y - context.px(3), base = up ? tip + size : tip - size;
  context.list->AddTriangleFilled({x, tip}, {x - size, base}, {x + size, base}, context.theme.text_faint);
}

/// Returns the tensor in flight over the port of `sm`, which colours its stripe.
ImU32 port_color(const StageContext& context, int sm, bool to_sm) {
  for (const TileInFlight& flight : context.lane.state.flights) {
    if (flight.sm == sm && flight.to_sm == to_sm && flight.progress > 0) return context.theme.color(flight.tile.tensor);
  }
  return context.theme.accent;
}

std::string rate_text(double rate, double peak) {
  return say(tr("Now {} of {}"), format_rate(BytesPerCycle(rate)), format_rate(BytesPerCycle(peak)));
}

void draw_port(StageContext& context, const Rect& rect, int sm, bool to_sm) {
  const double peak = context.simulation().request.gpu.sm_l2_bytes_per_cycle;
  const double rate = shown_rate(port_rate(*context.simulation().trace, sm, context.lane.state.cycle, to_sm), peak);
  draw_channel(context, rect, peak > 0 ? rate / peak : 0, port_color(context, sm, to_sm));
  if (context.hit(rect)) {
    context.tip(say(to_sm ? tr("L2 → SM {}") : tr("SM {} → L2"), std::to_string(sm)), rate_text(rate, peak));
  }
}

void draw_other_ports(StageContext& context) {
  const StageLayout& layout = context.layout();
  for (const SmBox& box : layout.sms) {
    if (box.port.width() <= 0) continue;
    const double peak = context.simulation().request.gpu.sm_l2_bytes_per_cycle;
    const double up = shown_rate(port_rate(*context.simulation().trace, box.sm, context.lane.state.cycle, true), peak);
    const double down = shown_rate(port_rate(*context.simulation().trace, box.sm, context.lane.state.cycle, false), peak);
    const ImU32 color = port_color(context, box.sm, up >= down);
    const double use = peak > 0 ? std::max(up, down) / peak : 0;
    const Rect elbow = {{box.box.max.x, box.port.min.y}, {box.port.min.x, box.port.min.y + box.port.width()}};
    draw_channel(context, elbow, use, color, false);
    draw_channel(context, box.port, use, color);
    if (context.hit(box.port)) context.tip(say(tr("L2 ↔ SM {}"), std::to_string(box.sm)), rate_text(std::max(up, down), peak));
  }
}

void draw_bundle(StageContext& context) {
  const Rect& rect = context.layout().bundle;
  if (rect.width() <= 0) return;
  const double peak = l2_peak(context.simulation().request.gpu), cycle = context.lane.state.cycle;
  const Trace& trace = *context.simulation().trace;
  // A bin is an average: at this moment at least the ports that are known move bytes.
  double ports = 0;
  for (const int sm : trace.focused_sms()) ports += port_rate(trace, sm, cycle, true) + port_rate(trace, sm, cycle, false);
  const double rate = shown_rate(std::max(context.cache.facts->rates.l2_at(cycle), ports), peak);
  draw_channel(context, rect, peak > 0 ? rate / peak : 0, context.theme.accent);
  context.flush();
  const Rect note = {{rect.max.x + context.px(6), rect.min.y}, {context.layout().others.max.x, rect.max.y}};
  const float line = context.metrics.small_line, top = std::round(note.center().y - line);
  draw_text(context.list, context.theme.ui_small, {{note.min.x, top}, {note.max.x, top + line}}, context.theme.text_dim,
            tr("all SMs"));
  draw_text(context.list, context.theme.mono_small, {{note.min.x, top + line}, {note.max.x, top + 2 * line}},
            context.theme.text_dim, format_rate(BytesPerCycle(rate)));
  if (context.hit(rect)) context.tip(tr("L2 ↔ all SMs"), rate_text(rate, peak));
}

/// Bytes so far beside a link, the fullest words first: a line each way, both ways in one line, the arrows above it, without them.
/// A number parts from its unit only where it must, and nowhere if they stay `whole`.
std::vector<std::vector<std::string>> lane_notes(std::int64_t up, std::int64_t down, bool exact, bool whole) {
  if (up == 0 && down == 0) return {};
  const auto bytes = [&](std::int64_t count) { return (exact ? "" : "≈ ") + format_bytes(Bytes(count)); };
  const std::string arrows = down == 0 ? "\u2191 " : up == 0 ? "\u2193 " : "\u2191\u2193 ";
  const std::string both = bytes(up + down), sum = arrows + both, number = both.substr(0, both.rfind(' '));
  const std::string unit = both.substr(both.rfind(' ') + 1);
  std::vector<std::vector<std::string>> notes;
  if (up > 0 && down > 0) notes.push_back({"\u2191 " + bytes(up), "\u2193 " + bytes(down)});
  const std::string only_arrows = arrows.substr(0, arrows.size() - 1);
  notes.insert(notes.end(), {{sum}, {only_arrows, both}, {both}});
  if (whole) return notes;
  notes.insert(notes.end(), {{arrows + number, unit}, {only_arrows, number, unit}});
  notes.push_back({number, unit});
  return notes;
}

void draw_lane(StageContext& context, const TensorBox& box) {
  const Theme& theme = context.theme;
  const double peak = context.simulation().request.gpu.hbm_rate().value, cycle = context.lane.state.cycle;
  const double rate = shown_rate(context.cache.facts->rates.hbm_at(box.tensor, cycle), peak);
  draw_channel(context, box.lane, peak > 0 ? rate / peak : 0, theme.color(box.tensor));

  const std::int64_t up = traffic(context, box.tensor, Link::hbm_read), down = traffic(context, box.tensor, Link::hbm_write);
  // Between the boxes of the L2 and of HBM, and on neither.
  const float high = box.lane.height(), wide = box.lane_note.width();
  const float small = context.metrics.small_line, tiny = context.metrics.tiny_line;
  context.flush();
  // In a race the counters below have the bytes: a label has its whole text or none.
  const bool whole_or_none = context.view.playback.race;
  const std::vector<std::vector<std::string>> notes = lane_notes(up, down, context.lane.state.traffic_exact, whole_or_none);
  const auto fits = [&](const std::vector<std::string>& lines, ImFont* font, float line, float nearer) {
    return static_cast<float>(lines.size()) * line <= high &&
           std::ranges::all_of(lines, [&](const std::string& text) { return text_width(font, text) <= wide + 2 * nearer; });
  };
  const auto draw = [&](const std::vector<std::string>& lines, ImFont* font, float line, float nearer) {
    float y = std::round(box.lane.center().y - line * static_cast<float>(lines.size()) / 2);
    for (const std::string& text : lines) {
      draw_fitted_text(context.list, font, {{box.lane_note.min.x - nearer, y}, {box.lane_note.max.x + nearer, y + line}},
                       theme.text_color(box.tensor), text);
      y += line;
    }
  };
  const auto draw_first_that_fits = [&] {
    for (const float nearer : {0.0F, context.px(2)})  // to both lanes
      for (const std::vector<std::string>& lines : notes) {
        if (fits(lines, theme.mono_small, small, nearer)) return draw(lines, theme.mono_small, small, nearer);
        if (fits(lines, theme.mono_tiny, tiny, nearer)) return draw(lines, theme.mono_tiny, tiny, nearer);
      }
    // Smaller than any font, but whole.
    if (notes.empty() || whole_or_none) return;
    const std::vector<std::string>& two_lines = notes.back();
    draw(2 * tiny <= high ? two_lines : std::vector{fmt::format("{} {}", two_lines[0], two_lines[1])}, theme.mono_tiny, tiny,
         context.px(2));
  };
  draw_first_that_fits();
  if (context.hit(box.lane) || context.hit(box.lane_note)) {
    context.tip(say(tr("HBM ↔ L2: {}"), std::string(to_string(box.tensor))),
                say(tr("{} read, {} written so far"), format_exact_bytes(Bytes(up)), format_exact_bytes(Bytes(down))) + "\n" +
                    rate_text(rate, peak) + "\n" + tr("The width is the HBM bandwidth; the stripe is this tensor's part."),
                box.tensor);
  }
}

/// Draws the bytes so far over two links as a bar stacked by tensor; traffic towards HBM is hatched. What the L2 has not written
/// when the run ends is a term of its own.
void draw_note(StageContext& context, const Rect& rect, const char* name, const char* closer, Link up, Link down, double full) {
  if (rect.width() <= 0) return;
  const Theme& theme = context.theme;
  const float bar_height = context.px(8), most_line = rect.height() - bar_height - context.px(2);
  const float line = std::max(context.metrics.small_line, std::min(std::ceil(context.total_font()->FontSize), most_line));
  const float height = line + bar_height + context.px(2), top = std::round(rect.center().y - height / 2);
  std::int64_t total = 0;
  float x = rect.min.x;
  const Rect track = {{rect.min.x, top + line + context.px(2)}, {rect.max.x, top + height}};
  context.quads.add({.min = track.min, .max = track.max, .radius = context.px(2), .fill = theme.link});
  for (Link link : {up, down}) {
    for (Tensor tensor : context.simulation().program->tensors()) {
      const std::int64_t bytes = traffic(context, tensor, link);
      if (bytes == 0) continue;
      total += bytes;
      const float width = full > 0 ? static_cast<float>(static_cast<double>(bytes) / full) * rect.width() : 0;
      context.quads.add({.min = {x, track.min.y},
                         .max = {x + width, track.max.y},
                         .fill = with_alpha(theme.color(tensor), context.emphasis(tensor)),
                         .hatch = link == down ? Hatch::diagonal : Hatch::none});
      x += width;
    }
  }
  const std::int64_t left = down == Link::hbm_write && context.layout().has_l2 ? left_in_l2(context.lane) : 0;
  const float left_width = full > 0 ? static_cast<float>(static_cast<double>(left) / full) * rect.width() : 0;
  if (left > 0)
    context.quads.add({.min = {x, track.min.y},
                       .max = {std::min(x + left_width, track.max.x), track.max.y},
                       .border = theme.text_dim,
                       .border_width = context.px(1),
                       .dashed = true});
  context.flush();
  std::string text = about_mark(context.lane, static_cast<double>(total)) + format_bytes(Bytes(total));
  ImFont* font = context.total_font();
  if (font->FontSize > line || text_width(font, text) + text_width(theme.ui_small, closer) + context.px(4) > rect.width())
    font = theme.mono_small;
  if (left > 0) {
    const std::string dirty = format_bytes(Bytes(left)), both = text + " + " + dirty;
    const std::string brief = std::string(without_unit_of(dirty, text)) + " + " + dirty;   // "6.14 + 2.30 kB"
    const float room = rect.width() - text_width(theme.ui_small, closer) - context.px(4);  // the name stays
    if (text_width(font, brief) > room) font = theme.mono_tiny;
    if (text_width(font, brief) <= room)
      text = first_that_fits(font, room, {say(tr("{} + {} in L2"), text, dirty), both, brief});
    else  // the dashed end of the bar says that there is more
      font = theme.mono_small;
  }
  const auto name_room = [&] { return rect.width() - text_width(font, text) - context.px(4); };
  if (text_width(theme.ui_small, name) > name_room()) font = theme.mono_tiny;
  const Rect name_rect = {{rect.min.x, top}, {rect.min.x + name_room(), top + line}};
  draw_text(context.list, theme.ui_small, name_rect, theme.text_dim,
            first_that_fits(theme.ui_small, name_rect.width(), {name, closer}));
  draw_text(context.list, font, {{rect.max.x - text_width(font, text), top}, {rect.max.x + 1, top + line}}, theme.text, text);
  if (!context.hit(rect)) return;
  std::string body = say(tr("{} so far, both ways, all SMs; L2 and HBM bars share one scale"), format_exact_bytes(Bytes(total)));
  if (left > 0)
    body.append("\n").append(say(tr("{} more are still in the L2: {} in all"), format_exact_bytes(Bytes(left)),
                                 format_exact_bytes(Bytes(total + left))));
  context.tip(name, body);
}

}  // namespace

void draw_links(StageContext& context) {
  const StageLayout& layout = context.layout();
  draw_port(context, layout.port_up, context.lane.focus_sm, true);
  draw_port(context, layout.port_down, context.lane.focus_sm, false);
  draw_other_ports(context);
  draw_bundle(context);
  for (const TensorBox& box : layout.tensors) {
    if (box.lane.width() > 0) draw_lane(context, box);
  }
  context.flush();
  draw_direction(context, layout.port_up, true);
  draw_direction(context, layout.port_down, false);

  const Ledger& ledger = context.simulation().ledger;
  const auto sum = [&](Link a, Link b) { return static_cast<double>(ledger.total(a).value + ledger.total(b).value); };
  const double full = std::max(sum(Link::l2_to_sm, Link::sm_to_l2), sum(Link::hbm_read, Link::hbm_write));
  draw_note(context, layout.upper_note, layout.has_l2 ? tr("L2 ↔ SMs") : tr("HBM ↔ SMs"),
            layout.has_l2 ? tr("L2↔SMs") : tr("HBM↔SMs"), Link::l2_to_sm, Link::sm_to_l2, full);
  if (layout.has_l2) draw_note(context, layout.lower_note, tr("HBM ↔ L2"), tr("HBM↔L2"), Link::hbm_read, Link::hbm_write, full);
}

}  // namespace tilescope
