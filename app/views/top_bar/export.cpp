// The popover of the export: format, steps, size and file; the command for it; progress while it runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "app/model/lessons/lesson.h"
#include "app/model/session/export_job.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/chrome.h"

namespace tilescope {

namespace {

constexpr std::array<const char*, 7> endings = {"gif", "mp4", "png", "svg", "html", "csv", "json"};
constexpr std::array<const char*, 7> names = {"GIF", "MP4", "PNG", "SVG", "HTML", "CSV", "Trace"};
/// In two rows: tables of the run, and those of studies.
constexpr std::array<const char*, 6> run_sheets = {"traffic", "ledger", "launches", "steps", "waits", "bandwidth"};
constexpr std::array<const char*, 5> study_sheets = {"what_if", "fit", "compare", "ladder", "mask"};
struct Size {
  int width, height;
};
constexpr std::array<Size, 4> sizes = {{{1280, 720}, {1600, 900}, {1920, 1080}, {2560, 1440}}};

struct ExportEdit {
  ExportChoice choice;
  std::string file = choice.file;      // as typed: the choice, and with it the rows, follow once the field is left
  std::weak_ptr<const Simulation> of;  // whose steps the range is of
  bool by_hand = false;                // the range was changed in its fields
  bool copied = false;
};

/// The place of the file's ending among the known ones.
std::optional<int> format_of(std::string_view file) {
  const auto at =
      std::find_if(endings.begin(), endings.end(), [&](const char* known) { return file.ends_with("." + std::string(known)); });
  return at == endings.end() ? std::nullopt : std::optional(static_cast<int>(at - endings.begin()));
}

/// The steps from the shown one on, as many as a film has room for; at the end of the run those before it. A range that was set by
/// hand stays for its run.
void settle_range(ExportEdit& edit, const Lane& lane, bool other_run) {
  constexpr std::int64_t most = 40;
  edit.by_hand = edit.by_hand && !other_run;
  edit.of = lane.simulation;
  if (edit.by_hand) return;
  edit.choice.first = lane.step < lane.step_count ? lane.step : std::max<std::int64_t>(0, lane.step_count - most);
  edit.choice.last = std::min(edit.choice.first + most, lane.step_count);
}

bool is_backward(const ExportChoice& choice) {
  return export_shows_steps(choice.file) && choice.lesson.empty() && choice.last < choice.first;
}

void label(const Theme& theme, const char* text) {
  ImGui::AlignTextToFramePadding();
  text_item(theme.ui, theme.text_dim, text);
  ImGui::SameLine(std::round(150 * theme.scale));
}

/// The format, and the name of the file with it. A name without a known ending gets that of the format.
void draw_file(const Theme& theme, ExportEdit& edit) {
  std::string& chosen = edit.choice.file;
  label(theme, tr("Format"));
  if (const auto format = segmented(theme, "format", names, format_of(chosen).value_or(-1)))
    chosen = edit.file = fmt::format("{}.{}", chosen.substr(0, chosen.rfind('.')), endings[static_cast<std::size_t>(*format)]);
  label(theme, tr("File"));
  ImGui::SetNextItemWidth(std::round(410 * theme.scale));
  ImGui::InputText("##file", &edit.file);
  if (ImGui::IsItemActive()) return;
  if (edit.file.empty()) edit.file = chosen;
  if (!format_of(edit.file)) edit.file += chosen.substr(chosen.rfind('.'));
  chosen = edit.file;
}

void draw_steps(const Theme& theme, const Lane& lane, ExportEdit& edit) {
  ExportChoice& choice = edit.choice;
  if (number_field(theme, tr("First step"), "first", tr("0 is before anything has run"), choice.first, 0, lane.step_count))
    edit.by_hand = true;
  if (number_field(theme, tr("Last step"), "last", tr("Included; equal to the first step for a single picture"), choice.last, 0,
                   lane.step_count))
    edit.by_hand = true;
  label(theme, tr("Step size"));
  const std::array<const char*, 3> grains = {tr("Operation"), tr("Tile"), tr("Phase")};
  if (const auto grain = segmented(theme, "grain", grains, static_cast<int>(choice.grain)))
    choice.grain = static_cast<Grain>(*grain);
  label(theme, tr("Picture size"));
  std::array<std::string, sizes.size()> texts;
  std::array<const char*, sizes.size()> shown{};
  int now = -1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    texts[i] = fmt::format("{}×{}", sizes[i].width, sizes[i].height);
    shown[i] = texts[i].c_str();
    if (sizes[i].width == choice.width && sizes[i].height == choice.height) now = static_cast<int>(i);
  }
  if (const auto size = segmented(theme, "size", shown, now)) {
    choice.width = sizes[static_cast<std::size_t>(*size)].width;
    choice.height = sizes[static_cast<std::size_t>(*size)].height;
  }
  if (export_is_film(choice.file)) {
    label(theme, tr("Time per step"));
    constexpr std::array<double, 4> paces = {0.5, 1, 2, 4};
    constexpr std::array<const char*, 4> pace_names = {"0.5 s", "1 s", "2 s", "4 s"};
    const auto pace = std::find(paces.begin(), paces.end(), choice.seconds_per_step);
    if (const auto chosen = segmented(theme, "pace", pace_names, static_cast<int>(pace - paces.begin())))
      choice.seconds_per_step = paces[static_cast<std::size_t>(*chosen)];
  }
  label(theme, tr("Caption"));
  if (pill(theme, choice.caption ? tr("On##caption") : tr("Off##caption"), choice.caption,
           tr("Algorithm, GPU, problem, step and line above the picture")))
    choice.caption = !choice.caption;
}

/// With a lesson open, a page can be all of it, or the page that is shown.
void draw_content(const View& view, ExportChoice& choice) {
  const Theme& theme = *view.theme;
  const Lesson* lesson = view.lesson.lesson;
  const bool possible = lesson != nullptr && choice.file.ends_with(".html");
  if (!possible) return choice.lesson.clear();
  const std::string page = fmt::format("{}:{}", lesson->id, view.lesson.page + 1);
  label(theme, tr("Content"));
  const std::array<const char*, 3> contents = {tr("Steps of the run"), tr("This page"), tr("The lesson")};
  const int now = choice.lesson.empty() ? 0 : choice.lesson.find(':') != std::string::npos ? 1 : 2;
  if (const auto chosen = segmented(theme, "content", contents, now)) {
    const std::array<std::string, 3> lessons = {std::string(), page, lesson->id};
    choice.lesson = lessons[static_cast<std::size_t>(*chosen)];
  } else if (now > 0) {
    choice.lesson = now == 1 ? page : lesson->id;  // one may have turned the page
  }
}

/// Where the file is; a click copies that.
void draw_written(const Theme& theme, Commands& commands, const std::string& path, float width) {
  const float room = width - text_width(theme.ui_small, say(tr("Written: {}"), ""));
  text_item(theme.ui_small, theme.good, say(tr("Written: {}"), elide_path(theme.ui_small, path, room)));
  const bool clicked = ImGui::IsItemClicked();
  item_tooltip(theme, path, tr("Click to copy the path"));
  if (!clicked) return;
  ImGui::SetClipboardText(path.c_str());
  commands.push(ShowNotice{Notice::text_copied});
}

/// Progress and a cancel button, why nothing can be exported, or what became of the last export.
void draw_state(const View& view, Commands& commands, const ExportChoice& choice) {
  const Theme& theme = *view.theme;
  const ExportView& exporting = *view.exporting;
  if (exporting.running) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = std::round(300 * theme.scale), height = ImGui::GetFrameHeight();
    draw_bar(ImGui::GetWindowDrawList(), theme, {{at.x, at.y + height * 0.35F}, {at.x + width, at.y + height * 0.65F}},
             exporting.progress, theme.accent);
    ImGui::Dummy({width, height});
    ImGui::SameLine();
    if (ImGui::Button(tr("Cancel"))) commands.push(StopExport{});
    return;
  }
  const float width = std::round(560 * theme.scale);
  if (is_backward(choice))
    wrapped_text(theme.ui_small, theme.bad, say(tr("The last step ({}) comes before the first ({})."), choice.last, choice.first),
                 width);
  else if (!exporting.refusal.empty())
    wrapped_text(theme.ui_small, theme.bad, say(exporting.refusal), width);
  else if (exporting.done)
    draw_written(theme, commands, exporting.path, width);
}

}  // namespace

void draw_export_controls(const View& view, Commands& commands) {
  if (view.lanes.empty() || view.exporting == nullptr) return;
  const Theme& theme = *view.theme;
  auto& edit = panel_state<ExportEdit>("export");
  ExportChoice& choice = edit.choice;
  const bool other_run = edit.of.lock() != view.lane().simulation || std::max(choice.first, choice.last) > view.lane().step_count;
  if (ImGui::IsWindowAppearing() || other_run) settle_range(edit, view.lane(), other_run);
  panel_heading(theme, tr("Export"), tr("drawn in the background"));
  draw_file(theme, edit);
  draw_content(view, choice);
  if (export_shows_steps(choice.file) && choice.lesson.empty()) draw_steps(theme, view.lane(), edit);
  if (choice.file.ends_with(".csv")) {
    label(theme, tr("Table"));
    const auto choose = [&](const char* id, std::span<const char* const> names) {
      const auto at = std::ranges::find_if(names, [&](const char* name) { return choice.sheet == name; });
      const int selected = at == names.end() ? -1 : static_cast<int>(at - names.begin());
      if (const auto sheet = segmented(theme, id, names, selected)) choice.sheet = names[static_cast<std::size_t>(*sheet)];
    };
    choose("sheet", run_sheets);
    choose("study", study_sheets);
  }
  divider(theme);
  ImGui::BeginDisabled(view.exporting->running || is_backward(choice));
  if (ImGui::Button(tr("Export##start"))) commands.push(StartExport{std::make_shared<const ExportChoice>(choice)});
  ImGui::EndDisabled();
  ImGui::SameLine();
  ImGui::BeginDisabled(is_backward(choice));
  if (ImGui::Button(edit.copied ? tr("Copied") : tr("Copy as command"))) {
    const std::string command = command_text(export_arguments(window_state_of(view), choice));
    ImGui::SetClipboardText(command.c_str());
    edit.copied = true;
  } else if (!ImGui::IsItemHovered()) {
    edit.copied = false;
  }
  ImGui::EndDisabled();
  draw_state(view, commands, choice);
}

}  // namespace tilescope
