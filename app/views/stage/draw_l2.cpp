// Draws the L2 with its resident data.
#include <algorithm>
#include <cmath>

#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/stage/flight_path.h"
#include "app/views/stage/stage_context.h"
#include "sim/analysis/format.h"
#include "sim/core/mask.h"

namespace tilescope {

namespace {

std::size_t at(Tensor tensor) {
  return tensor.index();
}

/// One tensor's segment of an L2 bar in bytes: start, maximum, resident, and of it copies and dirty bytes.
struct Part {
  Tensor tensor;
  double begin = 0, room = 0, resident = 0, copies = 0, dirty = 0;
};

struct InL2 {
  double resident = 0, copies = 0;  // bytes; copies lie in the partition that is not their home
};

/// What the L2 holds of a tensor. The model books lines when they are asked for; here they count once their bytes have come.
InL2 in_l2(const StageContext& context, Tensor tensor) {
  const auto& traffic = context.lane.state.traffic[tensor.index()];
  const auto came =
      static_cast<double>(traffic[static_cast<std::size_t>(Link::hbm_read)] + traffic[static_cast<std::size_t>(Link::sm_to_l2)]);
  const InL2 booked = {static_cast<double>(context.lane.state.l2.resident[at(tensor)]),
                       static_cast<double>(context.lane.state.l2.copies[at(tensor)])};
  const double once = booked.resident - booked.copies;
  if (!context.lane.state.traffic_exact || came >= once) return booked;
  const double part = came / once;
  return {part * booked.resident, part * booked.copies};
}

struct BarScale {
  double bytes = 1;   // that the whole bar stands for
  bool whole = true;  // false: enlarged, because the tensors can only fill a sliver of the L2
  std::vector<Part> parts;
};

/// Part of an enlarged bar that the tensors leave free, for the words that say how much it is enlarged.
constexpr double free_of_enlarged = 0.2;

BarScale bar_scale(const StageContext& context) {
  const double usable = context.simulation().request.gpu.usable_l2_bytes();
  double footprint = 0;
  BarScale scale;
  for (const TensorShape& tensor : context.shape().tensors) {
    if (!tensor.here) continue;
    // Data read from both sides lie in both partitions.
    const double bytes =
        static_cast<double>(tensor.layout.bytes().value) * std::max(context.simulation().request.gpu.l2_partitions, 1.0);
    const InL2 held = in_l2(context, tensor.tensor);
    scale.parts.push_back({tensor.tensor, footprint, bytes, held.resident, held.copies,
                           static_cast<double>(context.lane.state.l2.dirty[at(tensor.tensor)])});
    footprint += bytes;
  }
  constexpr double sliver = 0.05;
  scale.whole = footprint > sliver * usable;
  scale.bytes = scale.whole ? usable : footprint / (1 - free_of_enlarged);
  if (!scale.whole) return scale;
  double begin = 0;  // stacked without gaps, for the rooms of all tensors together are more than there is
  for (Part& part : scale.parts) {
    part.begin = begin;
    part.room = part.resident;
    begin += part.resident;
  }
  return scale;
}

void draw_part(StageContext& context, const Rect& bar, const BarScale& scale, const Part& part) {
  const Theme& theme = context.theme;
  const auto x = [&](double bytes) {
    return std::round(bar.min.x + static_cast<float>(std::min(bytes / scale.bytes, 1.0)) * bar.width());
  };
  const Rect room = {{x(part.begin), bar.min.y}, {x(part.begin + part.room) - 1, bar.max.y}};
  const float resident = x(part.begin + part.resident) - 1, dirty = x(part.begin + std::min(part.dirty, part.resident)) - 1;
  const float strength = context.emphasis(part.tensor);
  const ImU32 color = with_alpha(mix(theme.inset, theme.color(part.tensor), 0.85F), strength);
  if (!scale.whole)  // nothing is there yet: no fill
    context.quads.add({.min = room.min,
                       .max = room.max,
                       .radius = context.px(2),
                       .border = with_alpha(theme.text_faint, 0.5F),
                       .border_width = context.px(1),
                       .dashed = true});
  const ImU32 border = context.lit(part.tensor) ? theme.highlight : 0;
  context.quads.add({.min = {std::min(dirty, resident), bar.min.y},
                     .max = {resident, bar.max.y},
                     .radius = context.px(2),
                     .fill = color,
                     .border = border,
                     .border_width = context.px(1.5F)});
  if (const float copies = std::max(dirty, x(part.begin + part.resident - part.copies)); part.copies > 0 && copies < resident)
    context.quads.add({.min = {copies, bar.min.y}, .max = {resident, bar.max.y}, .fill = with_alpha(theme.inset, 0.45F)});
  context.quads.add({.min = room.min,
                     .max = {dirty, bar.max.y},
                     .radius = context.px(2),
                     .fill = color,
                     .border = border ? border : theme.inset,
                     .border_width = context.px(border ? 1.5F : 0.5F),
                     .hatch = Hatch::diagonal});
  if (context.hit(room)) {
    context.tip(say(tr("{} in the L2"), std::string(to_string(part.tensor))),
                say(tr("{} resident"), format_exact_bytes(Bytes(std::llround(part.resident)))) + "\n" +
                    (context.simulation().request.gpu.l2_partitions >= 2
                         ? say(tr("{} of it copies (pale), in the partition that is not their home"),
                               format_exact_bytes(Bytes(std::llround(part.copies)))) +
                               "\n"
                         : std::string()) +
                    say(tr("{} dirty (hatched): written back when evicted"),
                        format_exact_bytes(Bytes(context.lane.state.l2.dirty[at(part.tensor)]))),
                part.tensor);
  }
}

/// Whether requests of a tensor wait in the L2, where their marks stand on its part and say the same.
bool has_marks(const StageContext& context, Tensor tensor) {
  const auto& flights = context.lane.state.flights;
  const bool all_known = context.simulation().trace->focused_sms().size() == context.lane.state.sms.size();
  return std::ranges::any_of(flights, [&](const TileInFlight& flight) {
    return flight.tile.tensor == tensor && flight.to_sm && flight.progress <= 0 &&
           waits_at(flight, flights, all_known) == WaitsAt::l2;
  });
}

void draw_part_names(StageContext& context, const Rect& bar, const BarScale& scale) {
  if (bar.height() < context.theme.ui_small->FontSize) return;
  for (const Part& part : scale.parts) {
    const float begin = bar.min.x + static_cast<float>(part.begin / scale.bytes) * bar.width();
    const float width = static_cast<float>(std::min(part.room / scale.bytes, 1.0)) * bar.width();
    const std::string name = formula_text(to_string(part.tensor));
    const float needed = text_width(context.theme.ui_small, name) + context.px(6), marks = context.px(48);
    if (width < needed + (has_marks(context, part.tensor) ? marks : 0)) continue;
    const float shown = part.room > 0 ? static_cast<float>(part.resident / part.room) * width : 0;
    const bool covered = shown > needed;
    const ImU32 color = covered ? text_on(context.theme, mix(context.theme.inset, context.theme.color(part.tensor), 0.85F))
                                : context.theme.text_color(part.tensor);
    draw_text(context.list, context.theme.ui_small, {{begin + context.px(4), bar.min.y}, {begin + width, bar.max.y}}, color, name);
  }
}

/// Draws the whole L2 to scale, below an enlarged bar.
void draw_true_scale(StageContext& context, const Rect& bar, double full) {
  const Rect strip = {{bar.min.x, bar.max.y + context.px(3)}, {bar.max.x, bar.max.y + context.px(6)}};
  context.quads.add({.min = strip.min,
                     .max = strip.max,
                     .radius = context.px(1.5F),
                     .fill = context.theme.accent,
                     .empty = context.theme.link,
                     .fill_fraction = std::max(static_cast<float>(full), full > 0 ? 0.004F : 0.0F)});
}

/// Says at the right of an enlarged bar by how much it is.
void draw_enlargement(StageContext& context, const Rect& bar, const BarScale& scale) {
  if (bar.height() < context.theme.ui_small->FontSize) return;
  const std::string factor = format_times(context.simulation().request.gpu.usable_l2_bytes() / scale.bytes) + "×";
  const Rect rest = {{bar.min.x + static_cast<float>(1 - free_of_enlarged) * bar.width() + context.px(4), bar.min.y}, bar.max};
  draw_text(context.list, context.theme.ui_small, rest, context.theme.text_dim,
            first_that_fits(context.theme.ui_small, rest.width(), {say(tr("{} enlarged"), factor), factor}));
}

std::string capacity_text(double bytes) {
  return format_capacity(Bytes(static_cast<std::int64_t>(bytes)));
}

}  // namespace

double l2_share(const GpuSpec& gpu, double resident) {
  return resident / gpu.usable_l2_bytes();
}

std::string l2_fill_text(const GpuSpec& gpu, double resident) {
  if (const std::string usable = capacity_text(gpu.usable_l2_bytes()); gpu.l2_usable_fraction < 1)
    return say(tr("{} of {} usable"), without_unit_of(usable, capacity_text(resident)), usable);
  return say(tr("{}, {} full"), capacity_text(gpu.l2_capacity_bytes), format_percent(l2_share(gpu, resident)));
}

std::string l2_copies_text(double copies) {
  return say(tr("copies {}"), capacity_text(copies));
}

CellSpan span_in_l2(const StageContext& context, Tensor tensor) {
  const Rect& bar = context.layout().l2_bars.front();
  const BarScale scale = bar_scale(context);
  const auto x = [&](double bytes) { return bar.min.x + static_cast<float>(std::min(bytes / scale.bytes, 1.0)) * bar.width(); };
  for (const Part& part : scale.parts)
    if (part.tensor == tensor) return {x(part.begin), x(part.begin + part.resident)};
  return {bar.min.x, bar.min.x};
}

namespace {

/// What the whole L2 holds, in bytes.
struct L2Fill {
  double resident = 0, copies = 0;
  double full = 0;  // share of what it can hold
};

L2Fill l2_fill(const StageContext& context) {
  L2Fill fill;
  for (Tensor tensor : context.simulation().program->tensors()) {
    const InL2 held = in_l2(context, tensor);
    fill.resident += held.resident;
    fill.copies += held.copies;
  }
  fill.full = l2_share(context.simulation().request.gpu, fill.resident);
  return fill;
}

void draw_l2_bars(StageContext& context, const BarScale& scale, const L2Fill& fill) {
  const Theme& theme = context.theme;
  for (const Rect& bar : context.layout().l2_bars) {
    context.quads.add({.min = bar.min, .max = bar.max, .radius = context.px(3), .fill = with_alpha(theme.text_faint, 0.10F)});
    for (const Part& part : scale.parts) draw_part(context, bar, scale, part);
    if (!scale.whole) draw_true_scale(context, bar, fill.full);
  }
  context.flush();
  for (const Rect& bar : context.layout().l2_bars) {
    draw_part_names(context, bar, scale);
    if (!scale.whole) draw_enlargement(context, bar, scale);
  }
}

/// Draws the copies where the last bar is free, if it is to scale.
void draw_copies_in_bar(StageContext& context, const BarScale& scale, const L2Fill& fill, const std::string& copies_text) {
  const Theme& theme = context.theme;
  const Rect& bar = context.layout().l2_bars.back();
  const Rect free = {{bar.min.x + static_cast<float>(std::min(fill.full, 1.0)) * bar.width(), bar.min.y},
                     {bar.max.x - context.px(5), bar.max.y}};
  if (scale.whole && text_width(theme.ui_small, copies_text) + context.px(5) <= free.width() &&
      free.height() >= context.metrics.small_line)
    draw_text(context.list, theme.ui_small, free, theme.text_dim, copies_text, Align::right);
}

void draw_l2_label(StageContext& context, const BarScale& scale, const L2Fill& fill) {
  const Theme& theme = context.theme;
  const Rect& label = context.layout().l2_label;
  const float small_line = context.metrics.small_line;
  const bool has_copies = context.layout().l2_bars.size() > 1;
  const std::string percent = format_percent(fill.full), copies_text = l2_copies_text(fill.copies);
  if (label.height() < 1.5F * small_line) {  // one line
    const Rect beside = {{label.min.x + text_width(theme.ui_bold, "L2") + context.px(6), label.min.y}, label.max};
    draw_text(context.list, theme.ui_bold, label, theme.text, "L2");
    if (text_width(theme.ui_small, percent) <= beside.width())
      draw_text(context.list, theme.ui_small, beside, theme.text_dim, percent);
    if (has_copies) draw_copies_in_bar(context, scale, fill, copies_text);
    return;
  }
  const float line = std::min(small_line, std::floor(label.height() * 0.5F));  // two lines, off the box's edges
  const float top = std::round(label.center().y - line);
  ImFont* const name = context.name_font()->FontSize <= label.height() - line ? context.name_font() : theme.ui_bold;
  draw_text(context.list, name, {{label.min.x, std::max(label.min.y, top + line - name->FontSize)}, {label.max.x, top + line}},
            theme.text, "L2");
  const Rect beside = {{label.min.x + text_width(name, "L2") + context.px(6), top}, {label.max.x, top + line}};
  const bool copies_fit = has_copies && text_width(theme.ui_small, copies_text) <= beside.width();
  if (copies_fit) draw_text(context.list, theme.ui_small, beside, theme.text_dim, copies_text);
  draw_text(
      context.list, theme.ui_small, {{label.min.x, top + line}, {label.max.x, top + 2 * line}}, theme.text_dim,
      first_that_fits(theme.ui_small, label.width(), {l2_fill_text(context.simulation().request.gpu, fill.resident), percent}));
  if (has_copies && !copies_fit) draw_copies_in_bar(context, scale, fill, copies_text);
}

std::string tip_of_l2(const StageContext& context, const BarScale& scale, const L2Fill& fill) {
  const GpuSpec& gpu = context.simulation().request.gpu;
  const std::size_t partitions = context.layout().l2_bars.size();
  const std::string usable = capacity_text(gpu.usable_l2_bytes());
  std::string body = say(tr("{} of {} resident"), format_exact_bytes(Bytes(static_cast<std::int64_t>(fill.resident))), usable);
  if (gpu.l2_usable_fraction < 1)
    body.append("\n").append(say(tr("{} reported, {} usable"), capacity_text(gpu.l2_capacity_bytes), usable));
  if (partitions > 1)
    body.append("\n")
        .append(say(tr("{} partitions. Data read from both sides lie in both. Each bar shows half of the total."),
                    std::to_string(partitions)))
        .append("\n")
        .append(say(tr("{} are copies: bytes that crossed to the partition that is not their home"),
                    format_exact_bytes(Bytes(std::llround(fill.copies)))));
  if (!scale.whole)
    body.append("\n").append(
        std::string(tr("The bar is enlarged: the tensors can fill only a sliver of the L2. The thin strip is the whole L2.")));
  body.append("\n").append(tr("Tiles that HBM is sending have their room already: what was used longest ago left for them."));
  return body;
}

}  // namespace

void draw_l2(StageContext& context) {
  if (!context.layout().has_l2) return;
  context.box(context.layout().l2);
  const BarScale scale = bar_scale(context);
  const L2Fill fill = l2_fill(context);
  draw_l2_bars(context, scale, fill);
  draw_l2_label(context, scale, fill);
  if (context.hit(context.layout().l2_label)) context.tip("L2", tip_of_l2(context, scale, fill));
}

}  // namespace tilescope
