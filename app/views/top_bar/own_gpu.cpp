// "My GPU": measures a spec of this machine's GPU, holds it against the shipped one, and chooses it.
#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <imgui.h>

#include "app/model/measurements/calibration.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"
#include "sim/analysis/format.h"

namespace tilescope {

namespace {

void draw_progress(const Theme& theme, const CalibrationView& own, Commands& commands) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::round(220 * theme.scale), height = ImGui::GetFrameHeight();
  const double part = own.of > 0 ? static_cast<double>(own.done) / own.of : 0;
  draw_bar(ImGui::GetWindowDrawList(), theme, {{at.x, at.y + height * 0.35F}, {at.x + width, at.y + height * 0.65F}}, part,
           theme.accent);
  ImGui::Dummy({width, height});
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui_small, theme.text_dim,
            own.of > 0 ? say(tr("{} of {}: {}"), std::min(own.done + 1, own.of), own.of, say(own.step))
                       : std::string(tr("looking for a GPU")));
  ImGui::SameLine();
  if (ImGui::Button(tr("Cancel##own"))) commands.push(Calibrate{false});
}

/// "18 values measured. 3 differ from the shipped spec by more than 10 %."
std::string summary_of(const CalibrationView& own) {
  const auto far = std::count_if(own.rows.begin(), own.rows.end(),
                                 [](const CalibrationRow& row) { return std::fabs(row.difference()) > telling_difference; });
  return say(tr("{}: {} values measured. {} differ from the shipped spec by more than {}."), own.device, own.rows.size(), far,
             format_percent(telling_difference));
}

void draw_rows(const Theme& theme, const CalibrationView& own) {
  constexpr std::size_t most_rows = 8;
  if (!ImGui::BeginTable("own values", 4, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg)) return;
  ImGui::TableNextRow();
  for (const char* head : {tr("Value"), tr("Shipped"), tr("Measured"), tr("Difference")}) {
    ImGui::TableNextColumn();
    text_item(theme.ui_small, theme.text_faint, head);
  }
  for (std::size_t i = 0; i < own.rows.size() && i < most_rows; ++i) {
    const CalibrationRow& row = own.rows[i];
    const SpecKey* key = find_spec_key(row.key);
    if (key == nullptr || row.difference() == 0) continue;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text_item(theme.ui_small, theme.text_dim, row.key);
    item_tooltip(theme, key->key, key->meaning);
    for (const double value : {row.shipped, row.measured}) {
      ImGui::TableNextColumn();
      text_item(theme.mono_small, theme.text, spec_value_text(*key, value));
    }
    ImGui::TableNextColumn();
    const bool far = std::fabs(row.difference()) > telling_difference;
    text_item(theme.mono_small, far ? theme.bad : theme.text_dim, format_signed_percent(row.difference()));
  }
  ImGui::EndTable();
}

}  // namespace

void draw_own_gpu(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  if (view.calibration == nullptr) return;
  const CalibrationView& own = *view.calibration;
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, tr("My GPU"));
  ImGui::SameLine();
  if (own.running) return draw_progress(theme, own, commands);
  if (pill(theme, tr("Measure##own"), false, tr("Measures this machine's NVIDIA GPU with micro-benchmarks, in under a minute")))
    commands.push(Calibrate{});
  if (own.refusal) return wrapped_text(theme.ui_small, theme.bad, say(own.refusal->sentence));
  if (own.rows.empty()) return;
  if (!own.path.empty()) {
    ImGui::SameLine();
    if (pill(theme, tr("Use it"), view.requested->gpu_source == own.path, own.path.c_str())) commands.push(SetGpu{own.path});
  }
  wrapped_text(theme.ui_small, theme.text, summary_of(own));
  if (!own.unsaved.empty()) wrapped_text(theme.ui_small, theme.bad, say(own.unsaved));
  text_item(theme.ui_small, theme.text_faint, tr("Farthest from the shipped spec"));
  draw_rows(theme, own);
}

}  // namespace tilescope
