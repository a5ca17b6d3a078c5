// The sums are worked out when the stretch or the run changes.
#include "app/views/timeline/timeline_range.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/text_record.h"
#include "app/views/chrome.h"
#include "app/views/keys.h"
#include "app/views/timeline/timeline_hover.h"
#include "sim/analysis/format.h"
#include "sim/analysis/l2_busy.h"
#include "sim/analysis/link_bins.h"

namespace tilescope {

namespace {

constexpr std::size_t most_stalls = 6;

/// "HBM read  12.3 kB, 45 %", of the usable bandwidth over that time.
std::string link_text(std::int64_t bytes, double ceiling, double cycles, bool exact) {
  std::string text = (exact ? "" : "≈ ") + (exact ? format_exact_bytes(Bytes(bytes)) : format_bytes(Bytes(bytes)));
  if (ceiling > 0 && cycles > 0)
    text += fmt::format(", {}", format_percent(std::min(1.0, static_cast<double>(bytes) / (ceiling * cycles))));
  return text;
}

void draw_sums(const View& view, const RangeSums& sums) {
  const Theme& theme = *view.theme;
  const GpuSpec& gpu = view.lane().simulation->request.gpu;
  const double cycles = sums.range.to - sums.range.from;
  const auto bytes = [&](Link link) { return sums.bytes[static_cast<std::size_t>(link)]; };
  text_item(theme.ui_small, theme.text_faint, tr("Bytes of all SMs, and the share of the usable bandwidth"));
  const double hbm = gpu.hbm_rate().value;
  key_value_row(theme, tr("HBM"), link_text(bytes(Link::hbm_read) + bytes(Link::hbm_write), hbm, cycles, sums.exact));
  key_value_row(theme, tr("HBM read"), link_text(bytes(Link::hbm_read), 0, cycles, sums.exact));
  key_value_row(theme, "L2↔SM",
                link_text(bytes(Link::l2_to_sm) + bytes(Link::sm_to_l2), 0, cycles, sums.exact) +
                    (l2_peak(gpu) > 0 && cycles > 0 ? ", " + l2_busy_text(sums.l2) : ""));
  text_item(theme.ui_small, theme.text_faint, say(tr("Busy time of SM {}"), view.lane().focus_sm));
  for (std::size_t unit = 0; unit < timeline_units.size(); ++unit)
    key_value_row(theme, lane_name(timeline_units[unit]), format_percent(sums.busy[unit]));
  text_item(theme.ui_small, theme.text_faint, tr("Stalls of its operations, in cycles"));
  if (sums.stalls.empty()) text_item(theme.ui, theme.text_dim, tr("none"));
  const BusyWith busy = busy_with(*view.lane().simulation);
  for (std::size_t i = 0; i < sums.stalls.size() && i < most_stalls; ++i)
    key_value_row(theme, cause_text(sums.stalls[i].cause, busy), format_cycles(Cycles(sums.stalls[i].cycles)));
}

void refresh_sums(TimelineState& state, const View& view, const TimeRange& range) {
  const auto& data = view.lane().timeline;
  if (state.sums_of == data && state.sums.range == range) return;
  state.sums_of = data;
  state.sums = range_sums(*view.lane().simulation, *data, range);
  state.sums.range = range;
}

}  // namespace

bool handle_range(TimelineState& state, const TimelineLayout& layout, Commands& commands) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool pressed = ImGui::IsItemActivated() && io.KeyCtrl && ImGui::IsMouseDown(ImGuiMouseButton_Left);
  const double here =
      std::clamp(state.window.cycle_at(io.MousePos.x, layout.plot.min.x, layout.plot.width()), 0.0, state.window.whole);
  if (pressed) state.range_from = here;
  if (!state.range_from) return false;
  if (!ImGui::IsItemActive()) {
    state.range_from.reset();
    return true;  // the release, too, is no click
  }
  const TimeRange range{std::min(*state.range_from, here), std::max(*state.range_from, here)};
  const double pixel = state.window.span() / layout.plot.width();
  if (range.to - range.from > 2 * pixel) commands.push(SetTimeRange{range});
  return true;
}

void draw_range_band(ImDrawList* list, const View& view, const TimelineState& state, const TimelineLayout& layout) {
  if (!view.workspace->range) return;
  const Theme& theme = *view.theme;
  const auto x_of = [&](double cycle) {
    const double x = state.window.x_of(cycle, layout.plot.min.x, layout.plot.width());
    return static_cast<float>(std::clamp(x, static_cast<double>(layout.plot.min.x), static_cast<double>(layout.plot.max.x)));
  };
  const float from = x_of(view.workspace->range->from), to = x_of(view.workspace->range->to);
  if (to <= from) return;
  list->AddRectFilled({from, layout.plot.min.y}, {to, layout.plot.max.y}, with_alpha(theme.accent, 0.16F));
  const float edge = std::max(1.0F, 1.5F * theme.scale);
  for (const float x : {from, to})
    list->AddRectFilled({x - 0.5F * edge, layout.plot.min.y}, {x + 0.5F * edge, layout.plot.max.y}, theme.accent);
}

void draw_timeline_menu(const View& view, Commands& commands) {
  if (ImGui::MenuItem(tr("Next stall"), "W")) go_to_stall(view, 1, commands);
  if (ImGui::MenuItem(tr("Stall before"), "⇧ W")) go_to_stall(view, -1, commands);
  if (ImGui::MenuItem(tr("Scroll to the playhead"), "J")) panel_state<TimelineState>("timeline").jump = true;
  if (ImGui::MenuItem(tr("Begin a stretch here"), "[")) choose_range_here(view, 1, commands);
  if (ImGui::MenuItem(tr("End the stretch here"), "]")) choose_range_here(view, -1, commands);
  if (ImGui::MenuItem(tr("Find an operation"), "Ctrl F")) commands.push(ShowFind{});
}

void draw_range_box(TimelineState& state, const View& view, const TimelineLayout& layout, Commands& commands) {
  const auto& range = view.workspace->range;
  if (!range || view.lesson.locked || !view.lane().timeline) return;
  refresh_sums(state, view, *range);
  const Theme& theme = *view.theme;
  const double middle = state.window.x_of(0.5 * (range->from + range->to), layout.plot.min.x, layout.plot.width());
  const float width = std::round(320 * theme.scale);
  const float x =
      std::clamp(static_cast<float>(middle) - 0.5F * width, theme.gap, ImGui::GetIO().DisplaySize.x - width - theme.gap);
  ImGui::SetNextWindowPos({x, layout.area.min.y - theme.gap}, ImGuiCond_Always, {0, 1});
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, std::max(80.0F, layout.area.min.y - 2 * theme.gap)});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav;
  if (ImGui::Begin("##range", nullptr, flags)) {
    const auto draw = [&] {
      const Cycles cycles(range_cycles(range->from, range->to));
      panel_heading(theme, say(tr("Cycles {} to {} ({})"), format_cycles(Cycles(range->from)), format_cycles(Cycles(range->to)),
                               format_cycles(cycles)));
      ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, 0});
      draw_sums(view, state.sums);
      ImGui::PopStyleVar();
    };
    if (state.copy_sums) {
      const TextRecording recording;
      draw();
      ImGui::SetClipboardText(recording.text().c_str());
      commands.push(ShowNotice{Notice::text_copied});
      state.copy_sums = false;
    } else {
      draw();
    }
    if (pill(theme, tr("Copy"), false, tr("Copy these sums as text"))) state.copy_sums = true;
    ImGui::SameLine();
    if (pill(theme, tr("Zoom##range"), false, tr("Zoom the timeline to this stretch"))) state.show_range = true;
    ImGui::SameLine();
    if (pill(theme, tr("Clear"), false, tr("Choose no stretch (Esc)"))) commands.push(SetTimeRange{});
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace tilescope
