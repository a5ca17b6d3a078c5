// The tabs above the middle and above the side column, and the bottleneck line.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "app/model/state/center_views.h"
#include "app/ui/layout.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/outcome_words.h"
#include "app/views/timed_run.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"
#include "sim/analysis/launch_balance.h"
#include "sim/analysis/roofline.h"
#include "sim/analysis/what_if.h"

namespace tilescope {

namespace {

/// "Bottleneck: HBM bandwidth (78 % busy). Without this limit: 1.6× faster, then limited by the FP32 units", shortened to fit.
void draw_bound(const Rect& rect, const View& view) {
  if (view.lanes.empty()) return;
  const Theme& theme = *view.theme;
  const Simulation& run = timed_run(view);
  const NextLimit* limit = view.studies->limit && view.studies->limit->outcome.done() ? view.studies->limit.get() : nullptr;
  const double tensor = run.utilisation[static_cast<std::size_t>(Bound::tensor)];
  const double busy = run.utilisation[static_cast<std::size_t>(run.bound)];
  const RunBound bound = bound_of(run, limit);
  const std::string alone = bottleneck_text(bound), idle = idle_text(bound);
  const bool latency = run.bound == Bound::latency;  // no unit is busy with it
  const bool idle_decides = bound.idle_decides();
  const std::string use = busy_text(run.bound, format_percent(busy));
  const std::string with_use = latency        ? alone
                               : idle_decides ? fmt::format("{}; {}: {}", alone, bound_name(run.bound), use)
                                              : alone + fmt::format(" ({})", use);
  const std::string now = with_use + idle;
  // The idle share in the same brackets, where the use is of the other share.
  const bool joined = !latency && !idle_decides && !is_shared(run.bound) && run.sms.many_idle() && !run.sms.never_used();
  const std::string brief = joined ? alone + say(tr(" ({}; {} has none)"), use, format_percent(run.sms.idle)) : now;
  const std::string least = latency || idle_decides ? alone : fmt::format("{}: {}", bound_name(run.bound), use);
  std::vector<std::string> texts = {now, brief, with_use, least, alone};
  if (limit != nullptr) {
    const std::string faster = speed_text(limit->outcome.time_ns, limit->before_ns);
    const std::string next = ". " + next_limit_text(bound);
    const bool decides = limit->decides() && !idle_decides;
    const std::string without = decides ? say(tr(". Without this limit: {}"), faster) : next;
    const std::string without_it = decides ? say(tr(". Without it: {}"), faster) : next;
    texts.insert(texts.begin(), {now + next, now + without, now + without_it, brief + without_it});
  }
  // In a race the line is of one of the two.
  const std::string whose = view.playback.race ? short_algorithm_title(*run.info) + " · " : std::string();
  for (const std::string& each : texts) {
    const std::string text = whose + each;
    const float width = text_width(theme.ui_small, text);
    if (width > rect.width()) continue;
    const Rect at = {{rect.max.x - width, rect.min.y}, rect.max};
    draw_text(ImGui::GetWindowDrawList(), theme.ui_small, at, theme.text_dim, text);
    hit_area("bound", at);
    std::string body = say(tr("Whole run: {}, {} cycles at {}"), format_time(run.time), format_cycles(run.cycles),
                           format_clock(run.request.gpu.sm_clock_hz));
    if (run.bound == Bound::latency)
      add_line(body, tr("Latency: operations wait for data or results while every resource is mostly idle."));
    if (run.sms.many_idle())
      add_line(body, say(tr("SMs with a block: {} of {}. SM time without a block: {}."), run.sms.with_blocks, run.sms.all,
                         format_percent(run.sms.idle)));
    const bool hovered = ImGui::IsItemHovered();  // its blocks are many
    if (const double balanced = hovered ? balanced_ns(run) : 0; balanced > 0 && balanced < (1 - least_difference) * run.time.value)
      add_line(body, say(tr("With perfect balance, the run would take at least {}: at most {} less."),
                         format_time(Nanoseconds(balanced)), format_percent(1 - balanced / run.time.value)));
    // L2 and HBM serve all SMs, so their busy time is always of the run.
    for (const bool shared : {false, true}) {
      add_line(body, shared ? tr("Busy time, of the whole run:") : tr("Busy, of the SM time with a block:"));
      for (std::size_t i = 0; i < run.utilisation.size(); ++i)
        if (run.utilisation[i] > 0 && is_shared(static_cast<Bound>(i)) == shared)
          add_line(body, fmt::format("{}: {}", bound_name(static_cast<Bound>(i)), busy_share_text(run, static_cast<Bound>(i))));
    }
    if (run.l2.looked_up.value > 0)
      add_line(body, say(tr("L2: lookups {}, ports of the SMs {}. Reads of a line close together share a lookup."),
                         format_percent(run.l2.lookups), format_percent(run.l2.ports)));
    if (const L2Busy l2 = l2_busy(run.l2); !l2.is_known())
      add_line(
          body,
          say(tr("L2 busy with lookups: {} to {}. The model may let too many reads share one; the upper end is without sharing."),
              format_percent(run.l2.lookups), format_percent(std::min(1.0, run.l2.unshared))));
    if (const double products = product_share(run); products > 0 && tensor > products)
      add_line(body, say(tr("Tensor pipes, of the SM time with a block: {} occupied, {} useful. Other instructions take the rest."),
                         format_percent(tensor), format_percent(products)));
    if (limit != nullptr) {
      add_line(body, say(tr("Without this limit, the run takes {}."), format_time(Nanoseconds(limit->outcome.time_ns))));
      add_line(body, next_limit_text(bound) + ".");
    }
    item_tooltip(theme, tr("Bottleneck"), body);
    return;
  }
}

float tabs_width(const Theme& theme, const std::vector<const char*>& titles) {
  float width = 0;
  for (const char* title : titles) width += text_width(theme.ui_small, title) + 17 * theme.scale;
  return width;
}

/// Draws tabs that do not fit as a pill with a list.
std::optional<int> draw_tab_list(const Theme& theme, const std::vector<const char*>& titles, int selected) {
  std::optional<int> clicked;
  const std::string label = std::string(titles[static_cast<std::size_t>(selected)]) + " ▾##center";
  if (segmented(theme, "center", std::array{label.c_str()}, 0, true)) ImGui::OpenPopup("views");
  const ImVec2 below = {ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + std::round(6 * theme.scale)};
  ImGui::SetNextWindowPos(below, ImGuiCond_Appearing);
  if (ImGui::BeginPopup("views")) {
    for (int i = 0; i < static_cast<int>(titles.size()); ++i)
      if (ImGui::Selectable(titles[static_cast<std::size_t>(i)], i == selected)) clicked = i;
    ImGui::EndPopup();
  }
  return clicked;
}

}  // namespace

float center_tabs_height(const Theme& theme) {
  return center_views().size() > 1 ? std::round(30 * theme.scale) : 0;
}

void push_race(const View& view, Commands& commands) {
  const bool race = !view.playback.race;
  commands.push(SetRace{race});
  if (race && !view.lesson.locked) commands.push(SetCenter{CenterView::stage});
}

void draw_center_tabs(const Rect& rect, float room, const View& view, Commands& commands) {
  std::vector<const char*> titles;
  int selected = 0;
  for (const CenterViewInfo& row : center_views()) {
    if (row.view == view.workspace->center) selected = static_cast<int>(titles.size());
    titles.push_back(tr(row.title));
  }
  const float scale = view.theme->scale, top = rect.min.y + std::round(8 * scale);
  ImGui::SetCursorScreenPos({rect.min.x + view.theme->padding, top});
  const Theme& theme = *view.theme;
  const auto chosen = static_cast<std::size_t>(selected);
  const bool fits = tabs_width(theme, titles) <= room - 2 * theme.padding;
  const auto clicked = fits ? segmented(theme, "center", titles, selected, true) : draw_tab_list(theme, titles, selected);
  if (clicked) commands.push(SetCenter{center_views()[static_cast<std::size_t>(*clicked)].view});
  const float tabs = fits ? tabs_width(theme, titles) : tabs_width(theme, {titles[chosen]}) + text_width(theme.ui_small, " ▾");
  const float right = rect.min.x + theme.padding + tabs, bottom = top + std::round(20 * scale);
  // It is half of many answers.
  if (!view.lesson.locked && !view.lesson.covers)
    draw_bound({{right + std::round(14 * scale), top}, {rect.max.x - view.theme->padding, bottom}}, view);
}

void draw_side_tabs(const Rect& rect, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const std::array<const char*, side_panels.size()> titles = {tr("Algorithm"), tr("One row"), tr("Traffic")};
  const auto shown = std::find(side_panels.begin(), side_panels.end(), view.workspace->side) - side_panels.begin();
  ImGui::SetCursorScreenPos({rect.min.x + theme.padding, rect.min.y + std::round(8 * theme.scale)});
  if (const auto clicked = segmented(theme, "side", titles, static_cast<int>(shown), true))
    commands.push(SetSide{std::string(side_panels[static_cast<std::size_t>(*clicked)])});
}

}  // namespace tilescope
