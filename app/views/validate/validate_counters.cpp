// The raw counters of the measured case that the window shows, by the hardware's own names.
#include <cmath>

#include "app/model/measurements/find_recorded.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "app/views/validate/validate_panel.h"
#include "kernels/measure/counters.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

/// Half the distance between the least and the most, of the median.
std::string spread_text(const Spread& spread) {
  if (spread.median <= 0 || spread.most <= spread.least) return {};
  return fmt::format("±{}", format_percent((spread.most - spread.least) / 2 / spread.median));
}

/// The hardware's names differ at their ends: where there is no room for all of one, its middle goes.
std::string without_middle(const ImFont* font, const std::string& name, float width) {
  if (text_width(font, name) <= width) return name;
  const std::size_t head = name.size() / 3;
  for (std::size_t tail = name.size() - head; tail > 0; --tail) {
    const std::string shorter = name.substr(0, head) + "…" + name.substr(name.size() - tail);
    if (text_width(font, shorter) <= width) return shorter;
  }
  return name;
}

void counter_row(const Theme& theme, const std::string& key, const std::string& name, const std::string& value,
                 const std::string& spread) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = std::max(theme.mono_small->FontSize, theme.ui_small->FontSize) + 3 * theme.scale,
              width = ImGui::GetContentRegionAvail().x;
  ImGui::InvisibleButton(key.c_str(), {width, height});
  if (ImGui::IsItemHovered()) show_tooltip(theme, key, name);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float spread_width = 58 * theme.scale, value_width = 98 * theme.scale;
  const float right = at.x + width, bottom = at.y + height;
  draw_text(list, theme.ui_small, {at, {right - spread_width - value_width, bottom}}, theme.text_dim,
            without_middle(theme.ui_small, name, width - spread_width - value_width));
  draw_text(list, theme.mono_small, {{right - spread_width - value_width, at.y}, {right - spread_width, bottom}}, theme.text, value,
            Align::right);
  draw_text(list, theme.mono_small, {{right - spread_width, at.y}, {right, bottom}}, theme.text_faint, spread, Align::right);
}

/// The hardware's name, with what it was multiplied by to become what our key says: sectors to bytes.
std::string name_of(const MeasurementBundle& bundle, const std::string& key) {
  const auto found = bundle.counter_names.find(key);
  if (found == bundle.counter_names.end()) return key;
  for (const Counter& counter : counter_table())
    if (counter.key == key && counter.factor != 1) return fmt::format("{:g} × {}", counter.factor, found->second);
  return found->second;
}

void draw_counters(const Theme& theme, const FoundCase& found) {
  const MeasuredCase& measured = found.measured();
  if (!measured.refused.empty()) wrapped_text(theme.ui_small, theme.bad, measured.refused);
  for (const auto& [key, spread] : measured.counters)
    counter_row(theme, key, name_of(found.bundle->bundle, key), format_count(std::llround(spread.median)), spread_text(spread));
  const auto warm = [&](const std::string& name) { return say(tr("{}, warm L2"), name); };
  for (const auto& [key, spread] : measured.counters_warm)
    counter_row(theme, key + " warm", warm(name_of(found.bundle->bundle, key)), format_count(std::llround(spread.median)),
                spread_text(spread));
  const Spread& flushed = measured.hbm_write_after_flush_bytes;
  if (flushed.median > 0)
    counter_row(theme, "flushed", say(tr("{}, with a flush"), name_of(found.bundle->bundle, "hbm_write_bytes")),
                format_count(std::llround(flushed.median)), spread_text(flushed));
  counter_row(theme, "cold", tr("time from a cold L2"), format_time(Nanoseconds(measured.time_cold_ns.median)),
              spread_text(measured.time_cold_ns));
  counter_row(theme, "warm", tr("time from a warm L2"), format_time(Nanoseconds(measured.time_warm_ns.median)),
              spread_text(measured.time_warm_ns));
  counter_row(theme, "clock", tr("SM clock"), fmt::format("{:.0f} MHz", measured.sm_clock_hz / 1e6), {});
}

}  // namespace

void draw_validate_counters(const Rect& area, const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  ImGui::SetCursorScreenPos(area.min);
  ImGui::BeginChild("counters", {area.width(), area.height()});
  if (view.measured.found == nullptr) {
    wrapped_text(theme.ui, theme.text_dim,
                 tr("What the window shows was not measured. Click a case to open it, or press M to measure on this machine."));
    if (pill(theme, tr("measure"), false, tr("run the real kernel on this machine's GPU (M)"))) commands.push(Measure{});
    ImGui::EndChild();
    return;
  }
  const FoundCase& found = *view.measured.found;
  text_item(theme.ui_bold, theme.text, fmt::format("{}, {}", found.measured().kernel, short_text(found.measured())));
  wrapped_text(theme.ui_small, found.bundle->live ? theme.accent : theme.text_dim,
               say(tr("{}; driver for CUDA {}; {} passes, {} repeats"), provenance_of(*found.bundle), found.bundle->bundle.driver,
                   found.measured().counter_passes, found.measured().counter_repeats));
  if (found.measured().placements > 1)
    wrapped_text(
        theme.ui_small, theme.text_dim,
        say(tr("HBM with the tensors in {} places of memory: what stays in the L2 depends on it"), found.measured().placements));
  ImGui::Dummy({1, 3 * theme.scale});
  draw_counters(theme, found);
  ImGui::Dummy({1, 5 * theme.scale});
  if (pill(theme, tr("measure"), false, tr("run the real kernel on this machine's GPU (M)"))) commands.push(Measure{});
  ImGui::EndChild();
}

}  // namespace tilescope
