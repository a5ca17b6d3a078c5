// The validate panel: every case of the recorded bundle, simulated against measured.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <vector>

#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/beside_run.h"
#include "app/views/panels.h"
#include "app/views/validate/validate_panel.h"
#include "sim/analysis/format.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

namespace {

constexpr std::array shown_figures = {
    Figure::l2_to_sm, Figure::sm_to_l2, Figure::hbm_read, Figure::hbm_write, Figure::hbm_write_after_flush, Figure::time};

const char* figure_meaning(Figure figure) {
  switch (figure) {
    case Figure::l2_to_sm:
      return tr("What SMs read from the L2. The program alone decides it, to the 32-byte sector.");
    case Figure::sm_to_l2:
      return tr("What SMs write to the L2. The program alone decides it, to the 32-byte sector.");
    case Figure::hbm_read:
      return tr("What the L2 did not hold and had to fetch from HBM.");
    case Figure::hbm_write:
      return tr(
          "HBM writes by the kernel's end. L2 write-back timing is undefined, so no bound stands where a flush was measured "
          "too.");
    case Figure::hbm_write_after_flush:
      return tr("HBM writes of the kernel and of a flush after it: everything that it wrote.");
    case Figure::reduced:
      return tr("What the L2 adds to memory, part of SM→L2: the sums of dQ in a backward pass.");
    case Figure::cycles:
    case Figure::time:
      return tr("Simulated at the clock that was measured, against events around the kernel, from a cold L2.");
  }
  return "";
}

/// "within the bound, 2 % or 128 KiB": small figures may be far off in percent.
std::string verdict_text(const Comparison& worst) {
  const char* const name = verdict_name(worst.verdict());
  if (!worst.bound) return name;
  const std::string percent = format_percent(worst.bound->relative);
  if (worst.bound->absolute <= 0) return fmt::format("{}, {}", name, percent);
  return say(tr("{}, {} or {}"), name, percent, format_capacity(Bytes(std::llround(worst.bound->absolute))));
}

/// "; attention kernels alone 2.4 %", beside the mean of all kernels; empty where a kernel is chosen or all are attention kernels.
std::string attention_mean(const ValidationState& validation, const ValidatePanelState& state) {
  if (!state.only_kernel.empty()) return {};
  ErrorSummary attention;
  int others = 0;
  for (std::size_t i = 0; i < validation.results.size(); ++i) {
    const Counterpart counterpart = counterpart_of(validation.bundle->bundle.cases[i].kernel);
    const auto program = find_program(counterpart.algorithm);
    if (!validation.results[i] || counterpart.library || !program) continue;
    const ProgramFamily* const family = family_of(**program);
    const bool is_attention = (*program)->pass != Pass::forward || (family != nullptr && family->computes_attention);
    others += is_attention ? 0 : 1;
    if (is_attention) attention.add(validation.results[i]->figure(state.figure), i);
  }
  if (others == 0 || attention.cases == 0) return {};
  return say(tr("; attention kernels alone: mean error {}"), format_percent(attention.mean()));
}

/// "; library kernels, not counted: worst 75.3 %": their rows stand in the list too. Empty where a kernel is chosen, or there are
/// none.
std::string library_worst(const ValidationState& validation, const ValidatePanelState& state) {
  if (!state.only_kernel.empty()) return {};
  ErrorSummary libraries;
  for (std::size_t i = 0; i < validation.results.size(); ++i)
    if (validation.results[i] && counterpart_of(validation.bundle->bundle.cases[i].kernel).library)
      libraries.add(validation.results[i]->figure(state.figure), i);
  return libraries.cases == 0 ? std::string()
                              : say(tr("; library kernels, not counted: worst {}"), format_percent(libraries.worst));
}

/// "HBM read: 0 of 96 cases fail, 6 known misses; mean error 0.8 %, worst 6.1 %".
enum class Room : std::uint8_t { enough, little };
std::string finding(const ValidationState& validation, const ValidatePanelState& state, Room room) {
  const ErrorSummary errors = errors_of(validation, state.only_kernel, state.figure);
  const char* figure = figure_name(state.figure);
  if (errors.cases == 0) return say(tr("{}: nothing to compare yet"), figure);
  const auto& worst = validation.results[errors.worst_case]->figure(state.figure);
  const std::string mean = format_percent(errors.mean()), most = format_percent(errors.worst);
  const VerdictCounts& verdicts = errors.verdicts;
  if (verdicts.bounded() == 0)
    return say(tr("{}: {} cases without a bound; mean error {}, worst {}"), figure, errors.cases, mean, most) +
           attention_mean(validation, state) + library_worst(validation, state);
  const int fail = verdicts[Verdict::fails], known = verdicts[Verdict::known_miss];
  if (room == Room::little)
    return say(tr("{}: {} fail, {} known misses; worst {}"), figure, fail, known, most) + library_worst(validation, state);
  return say(tr("{}: {} of {} cases fail, {} known misses of this figure; mean error {}, worst {} ({})"), figure, fail,
             verdicts.bounded(), known, mean, most, verdict_text(*worst)) +
         attention_mean(validation, state) + library_worst(validation, state);
}

/// Where the measurements are from; before every case is done, how far it is, with a button that stops it or lets it go on. From
/// `left` on to the panel's edge; the bar takes what the words leave.
void draw_state(const View& view, Commands& commands, float left) {
  const Theme& theme = *view.theme;
  const ValidationState& validation = *view.measured.validation;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (validation.complete()) {
    const Rect line{{left, at.y}, {at.x + ImGui::GetContentRegionAvail().x, at.y + 20 * theme.scale}};
    const std::string from = provenance_of(*validation.bundle);
    draw_text(ImGui::GetWindowDrawList(), theme.ui_small, line, theme.text_dim, from, Align::right);
    if (line.width() > 1 && text_width(theme.ui_small, from) > line.width() && (hit_area("from", line), ImGui::IsItemHovered()))
      show_tooltip(theme, from);
    return;
  }
  const float side = std::round(24 * theme.scale), right = at.x + ImGui::GetContentRegionAvail().x, middle = at.y + side * 0.5F;
  const std::string text = say(tr("{} of {} cases simulated"), validation.done, validation.results.size());
  const float bar_right = right - side - theme.gap, text_needs = text_width(theme.ui_small, text) + theme.gap;
  const float width = std::clamp(bar_right - left - text_needs, 24 * theme.scale, 140 * theme.scale);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui_small,
            {{std::max(left, bar_right - width - text_needs - 2), at.y}, {bar_right - width - theme.gap, at.y + side}},
            theme.text_dim, text, Align::right);
  draw_bar(list, theme, {{bar_right - width, middle - 3 * theme.scale}, {bar_right, middle + 3 * theme.scale}},
           static_cast<double>(validation.done) / static_cast<double>(std::max<std::size_t>(1, validation.results.size())),
           theme.accent);
  ImGui::SetCursorScreenPos({right - side, at.y});
  const bool stopped = validation.stopped;
  if (icon_button(theme, "##run", stopped ? Icon::play : Icon::cancel, stopped ? tr("go on") : tr("stop")))
    commands.push(RunValidation{stopped});
  ImGui::SetCursorScreenPos(at);
}

std::string bundle_name(const KnownBundle& known) {
  return std::filesystem::path(known.path).stem().native();
}

/// The recorded bundles of the GPU of the one that is shown.
std::vector<std::shared_ptr<const KnownBundle>> bundles_beside(const View& view) {
  std::vector<std::shared_ptr<const KnownBundle>> bundles;
  for (const auto& known : view.measured.known->bundles)
    if (!known->live && known->bundle.gpu == view.measured.validation->bundle->bundle.gpu) bundles.push_back(known);
  return bundles;
}

/// A list of the GPU's bundles, before the switches where they have room; nothing where there is one bundle.
void draw_bundle_choice(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  const bool shares_line = ImGui::GetContentRegionAvail().x >= 700 * theme.scale;
  const auto bundles = bundles_beside(view);
  if (bundles.size() < 2) return;
  const KnownBundle& shown = *view.measured.validation->bundle;
  const std::string label = bundle_name(shown) + " ▾##bundle";
  if (segmented(theme, "bundle", std::array{label.c_str()}, 0, true)) ImGui::OpenPopup("bundles");
  const ImVec2 below = {ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + std::round(6 * theme.scale)};
  item_tooltip(theme, tr("Recording"), tr("The recorded cases that the model is compared with."));
  ImGui::SetNextWindowPos(below, ImGuiCond_Appearing);
  if (ImGui::BeginPopup("bundles")) {
    for (const auto& known : bundles) {
      const std::string row =
          say(tr("{}: {} cases, {}"), bundle_name(*known), known->bundle.cases.size(), day_of(known->bundle.date));
      if (ImGui::Selectable(row.c_str(), known.get() == &shown)) commands.push(SetValidation{known});
    }
    ImGui::EndPopup();
  }
  if (shares_line)
    ImGui::SameLine(0, 2 * theme.gap);
  else
    ImGui::Dummy({1, 6 * theme.scale});
}

/// What segmented() needs for small labels.
float switch_width(const Theme& theme, const std::vector<const char*>& labels) {
  float width = 0;
  for (const char* label : labels) width += std::round(text_width(theme.ui_small, label) + 2 * std::round(8 * theme.scale));
  return width;
}

void draw_switches(const View& view, Commands& commands, ValidatePanelState& state) {
  const Theme& theme = *view.theme;
  std::vector<const char*> labels;
  int selected = 0;
  for (const Figure figure : shown_figures) {
    if (figure == state.figure) selected = static_cast<int>(labels.size());
    labels.push_back(figure_name(figure));
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::BeginGroup();
  const int count = static_cast<int>(labels.size()),
            a_row = switch_width(theme, labels) > ImGui::GetContentRegionAvail().x ? count / 2 : count;
  for (int first = 0; first < count; first += a_row) {
    ImGui::PushID(first);
    const std::span row(labels.data() + first, static_cast<std::size_t>(std::min(a_row, count - first)));
    if (const auto chosen = segmented(theme, "figure", row, selected - first, true))
      state.figure = shown_figures[static_cast<std::size_t>(first + *chosen)];
    ImGui::PopID();
  }
  ImGui::EndGroup();
  item_tooltip(theme, figure_name(state.figure), figure_meaning(state.figure));
  const float below = ImGui::GetCursorScreenPos().y, after = ImGui::GetItemRectMax().x + theme.gap;
  if (at.x + ImGui::GetContentRegionAvail().x - after < 120 * theme.scale) {  // no room beside: a line of its own
    ImGui::SetCursorScreenPos({at.x, below + 4 * theme.scale});
    draw_state(view, commands, at.x);
    ImGui::SetCursorScreenPos({at.x, below + 28 * theme.scale});
    return;
  }
  ImGui::SetCursorScreenPos(at);
  draw_state(view, commands, after);
  ImGui::SetCursorScreenPos({at.x, below});
}

void draw_picture_switch(const View& view, ValidatePanelState& state) {
  const std::array labels = {tr("simulated – measured"), tr("error by size"), tr("raw counters")};
  if (const auto chosen = segmented(*view.theme, "picture", labels, static_cast<int>(state.picture), true))
    state.picture = static_cast<ValidatePicture>(*chosen);
}

void draw_without_bundle(const View& view) {
  const Theme& theme = *view.theme;
  panel_heading(theme, tr("Validate"));
  ImGui::Dummy({1, theme.gap});
  if (!view.measured.validation->problem.empty()) return wrapped_text(theme.ui, theme.bad, say(view.measured.validation->problem));
  wrapped_text(theme.ui, theme.text_dim,
               tr("Nothing has been recorded that the model could be held against. tilescope measure --suite records a bundle on a "
                  "machine with an "
                  "NVIDIA GPU; it is looked for in assets/measured."));
}

/// Where the list of kernels and cases and the picture stand.
struct Parts {
  Rect list, picture;
};

/// The list beside the picture; below it where the panel is too narrow for both.
Parts lay_out(const Theme& theme, ImVec2 at, ImVec2 room, ImVec2 switches) {
  constexpr float least_width = 530, least_height = 250, stacked_picture = 220, stacked_list = 320;
  const float right = at.x + room.x, top = at.y + switches.y + 6 * theme.scale;
  if (room.x < least_width * theme.scale) {
    const float split = std::round(top + stacked_picture * theme.scale);
    return {{{at.x, split + theme.gap}, {right, split + theme.gap + std::round(stacked_list * theme.scale)}},
            {{at.x, top}, {right, split}}};
  }
  const float half = std::clamp(room.x * 0.5F, std::min(330 * theme.scale, room.x * 0.5F), 480 * theme.scale);
  const float width = std::round(std::min(half, std::max(200 * theme.scale, room.x - switches.x - 2 * theme.gap)));
  const float left = right - width - theme.gap, bottom = at.y + std::max(room.y, least_height * theme.scale);
  return {{{left + theme.gap, at.y}, {right, bottom}}, {{at.x, top}, {left, bottom}}};
}

}  // namespace

void draw_validate_panel(const View& view, Commands& commands) {
  if (view.measured.validation == nullptr) return;
  const Theme& theme = *view.theme;
  if (view.measured.validation->bundle == nullptr) return draw_without_bundle(view);
  auto& state = panel_state<ValidatePanelState>("validate");
  state.hovered.reset();
  if (std::ranges::count(kernels_of(view.measured.validation->bundle->bundle), state.only_kernel) == 0) state.only_kernel.clear();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {4 * theme.scale, 0});
  std::string found = finding(*view.measured.validation, state, Room::enough);
  if (text_width(theme.heading, found) > ImGui::GetContentRegionAvail().x)
    found = finding(*view.measured.validation, state, Room::little);
  if (text_width(theme.heading, found) > ImGui::GetContentRegionAvail().x)
    wrapped_text(theme.heading, theme.text, found);
  else
    panel_heading(theme, found,
                  view.measured.validation->complete() ? std::string() : provenance_of(*view.measured.validation->bundle));
  if (!view.measured.validation->problem.empty()) wrapped_text(theme.ui_small, theme.bad, say(view.measured.validation->problem));
  draw_beside_line(view);
  ImGui::Dummy({1, 4 * theme.scale});
  draw_bundle_choice(view, commands);
  draw_switches(view, commands, state);
  ImGui::Dummy({1, 8 * theme.scale});

  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float row_height = std::floor(std::min(theme.row_height, 20 * theme.scale));
  ImGui::BeginGroup();
  draw_picture_switch(view, state);
  ImGui::EndGroup();
  const ImVec2 switches = ImGui::GetItemRectSize();
  const Parts parts = lay_out(theme, at, room, switches);
  // The list first: what the mouse is on in it is lit in the plot of the same frame.
  ImGui::SetCursorScreenPos(parts.list.min);
  ImGui::BeginChild("cases", {parts.list.width(), parts.list.height()}, ImGuiChildFlags_None,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  draw_validate_verdicts(view, row_height);
  ImGui::Dummy({1, 4 * theme.scale});
  draw_validate_kernels(view, state, row_height);
  ImGui::Dummy({1, 6 * theme.scale});
  draw_validate_cases(view, commands, state, row_height);
  ImGui::EndChild();
  if (parts.picture.height() > 40 * theme.scale) {
    if (state.picture == ValidatePicture::counters)
      draw_validate_counters(parts.picture, view, commands);
    else
      draw_validate_plot(parts.picture, view, commands, state);
  }
  ImGui::PopStyleVar();
}

}  // namespace tilescope
