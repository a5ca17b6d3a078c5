// A heading for each file, then its lines:  123 + code // comment
#include "app/views/ladder/ladder_code.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/model/session/rung_code.h"
#include "app/model/state/commands.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/algorithm_style.h"
#include "app/views/study_panel.h"

namespace tilescope {

namespace {

struct LadderCodeState {
  RungCode code;
  std::set<std::string_view> turned;  // the files that are folded or unfolded by hand
};

/// Where the comment of a line begins; the line's size where it has none.
std::size_t comment_at(std::string_view line) {
  bool in_text = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      in_text = !in_text;
    else if (!in_text && line.substr(i, 2) == "//")
      return i;
  }
  return line.size();
}

/// "hopper_persistent_kernel.cuh"
std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string file_remark(const RungFile& file, bool is_compared) {
  const std::size_t lines = file.lines.size(), fresh = file.new_count();
  if (!is_compared) return say(tr("{} lines"), lines);
  if (file.against.empty()) return say(tr("{} lines, a new file"), lines);
  if (fresh == 0) return say(tr("{} lines, none new"), lines);
  return say(tr("{} lines, {} new against {}"), lines, fresh, file_name(file.against));
}

std::string code_remark(const RungCode& code) {
  if (std::ranges::none_of(code.files, [](const RungFile& file) { return file.path.ends_with(".cu"); }))
    return tr("No kernel of its own: it launches one of the others.");
  if (code.over.empty()) return tr("The ladder begins here: nothing is new.");
  return say(tr("{} lines are new, marked with +. Compared with {}."), code.new_count(), algorithm_title(code.over));
}

class CodePainter {
 public:
  CodePainter(const Theme& theme, LadderCodeState& state)
      : theme_(theme),
        state_(state),
        list_(ImGui::GetWindowDrawList()),
        left_(ImGui::GetCursorScreenPos().x),
        width_(ImGui::GetContentRegionAvail().x),
        wide_(width_) {}

  void draw() {
    for (const RungFile& file : state_.code.files)
      if (draw_heading(file)) draw_lines(file);
  }

 private:
  bool is_compared() const { return !state_.code.over.empty(); }
  bool is_visible(float top, float height) const {
    return top + height >= list_->GetClipRectMin().y && top <= list_->GetClipRectMax().y;
  }

  /// Returns whether the file is unfolded. At first it is where there is something new, or where it is the first rung's own.
  bool draw_heading(const RungFile& file) {
    const bool at_first = is_compared() ? file.new_count() > 0 : file.path.starts_with("kernels/" + std::string(state_.code.id));
    const float top = ImGui::GetCursorScreenPos().y, visible_left = list_->GetClipRectMin().x;
    const Rect row = {{visible_left, top}, {visible_left + width_, top + theme_.row_height}};
    ImGui::PushID(file.path.data(), file.path.data() + file.path.size());
    bool turn = hit_area("file", row);
    const bool is_hovered = ImGui::IsItemHovered();
    list_->AddRectFilled(row.min, row.max, is_hovered ? theme_.accent_soft : theme_.panel, 3 * theme_.scale);
    turn = tab_stop(theme_, row.inset(3 * theme_.scale), 3 * theme_.scale) || turn;
    ImGui::PopID();
    if (turn && state_.turned.erase(file.path) == 0) state_.turned.insert(file.path);
    const bool is_open = at_first != state_.turned.contains(file.path);
    const float pad = 8 * theme_.scale;
    const std::string title = fmt::format("{} {}", is_open ? "▾" : "▸", file.path);
    const std::string remark = file_remark(file, is_compared());
    const float title_width = std::min(text_width(theme_.ui_bold, title) + 1, width_ - 2 * pad);
    draw_text(list_, theme_.ui_bold, {{row.min.x + pad, row.min.y}, {row.min.x + pad + title_width, row.max.y}},
              file.new_count() > 0 || !is_compared() ? theme_.text : theme_.text_dim, title);
    const float remark_left = row.min.x + pad + title_width + theme_.gap;
    if (remark_left < row.max.x - pad)
      draw_text(list_, theme_.ui_small, {{remark_left, row.min.y}, {row.max.x - pad, row.max.y}}, theme_.text_dim, remark,
                Align::right);
    ImGui::Dummy({wide_, theme_.row_height});
    return is_open;
  }

  void draw_lines(const RungFile& file) {
    const float height = theme_.mono_small->FontSize + std::round(3 * theme_.scale);
    const float number = text_width(theme_.mono_small, "9999"), mark = number + theme_.gap,
                code = mark + 2 * text_width(theme_.mono_small, "+");
    float y = ImGui::GetCursorScreenPos().y;
    const float top = y;
    for (std::size_t n = 0; n < file.lines.size(); ++n, y += height) {
      const std::string_view line = file.lines[n];
      wide_ = std::max(wide_, code + text_width(theme_.mono_small, line) + theme_.gap);
      if (!is_visible(y, height)) continue;
      const bool is_new = file.is_new[n];
      if (is_new) list_->AddRectFilled({list_->GetClipRectMin().x, y}, {list_->GetClipRectMax().x, y + height}, new_ground_);
      draw_text(list_, theme_.mono_small, {{left_, y}, {left_ + number, y + height}}, on(is_new, theme_.text_faint),
                fmt::format("{}", n + 1), Align::right);
      const float text_top = y + (height - theme_.mono_small->FontSize) * 0.5F;
      if (is_new) draw_text_at(list_, theme_.mono_small, {left_ + mark, text_top}, on(is_new, theme_.good), "+");
      if (line.empty()) continue;
      draw_code(line, {left_ + code, text_top}, is_new);
    }
    ImGui::Dummy({wide_, y - top + theme_.gap});
  }

  /// The colour on the ground of a line that is new or not, with enough contrast.
  ImU32 on(bool is_new, ImU32 color) const { return readable(color, theme_.text, is_new ? new_ground_ : theme_.inset); }

  void draw_code(std::string_view line, ImVec2 at, bool is_new) {
    const bool is_strong = is_new || !is_compared();
    const std::size_t comment = comment_at(line);
    const std::string_view code = line.substr(0, comment), rest = line.substr(comment);
    const ImU32 code_color = on(is_new, is_strong ? theme_.text : theme_.text_dim),
                rest_color = on(is_new, is_strong ? theme_.text_dim : theme_.text_faint);
    if (code.empty()) {
      draw_text_at(list_, theme_.mono_small, at, rest_color, rest);
      return;
    }
    at.x += draw_text_at(list_, theme_.mono_small, at, code_color, code);
    if (!rest.empty()) draw_more_text_at(list_, theme_.mono_small, at, rest_color, rest, "");
  }

  const Theme& theme_;
  LadderCodeState& state_;
  ImDrawList* list_;
  ImU32 new_ground_ = mix(theme_.inset, theme_.good, 0.14F);
  float left_, width_;
  float wide_;  // of the longest line so far
};

/// The title with the buttons at its right, or below it where there is no room, and what is new.
void draw_code_heading(const View& view, Commands& commands, const RungCode& code) {
  const Theme& theme = *view.theme;
  const std::string title = algorithm_title(code.id);
  const auto pill_width = [&](const char* label) {
    return std::round(text_width(theme.ui_bold, label) + 22 * theme.scale) + ImGui::GetStyle().ItemSpacing.x;
  };
  const float buttons = pill_width(tr("Step through it")) + pill_width(tr("Copy the CUDA")) + std::round(28 * theme.scale);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = std::round(28 * theme.scale);
  const bool beside = text_width(theme.heading, title) + theme.gap + buttons <= width;
  draw_text(ImGui::GetWindowDrawList(), theme.heading, {at, {at.x + width - (beside ? buttons : 0), at.y + height}}, theme.text,
            title);
  ImGui::SetCursorScreenPos({beside ? at.x + width - buttons : at.x, beside ? at.y : at.y + height});
  if (pill(theme, tr("Step through it"), false)) {
    commands.push(SetAlgorithm{std::string(code.id)});
    commands.push(SetCenter{CenterView::stage});
  }
  ImGui::SameLine();
  if (pill(theme, tr("Copy the CUDA"), false)) {
    ImGui::SetClipboardText(code.text().c_str());
    commands.push(ShowNotice{Notice::text_copied});
  }
  ImGui::SameLine();
  if (icon_button(theme, "##close", Icon::close, tr("Close the code"))) commands.push(SetRung{});
  wrapped_text(theme.ui_small, theme.text_dim, code_remark(code));
}

}  // namespace

void draw_ladder_code(const View& view, Commands& commands, const Rect& area) {
  const Theme& theme = *view.theme;
  auto& state = panel_state<LadderCodeState>("ladder code");
  const bool is_other = state.code.id != view.workspace->rung;
  if (is_other) state = {rung_code(view.workspace->rung), {}};
  ImGui::SetCursorScreenPos(area.min);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav;
  ImGui::BeginChild("rung", {area.width(), area.height()}, ImGuiChildFlags_None, flags | ImGuiWindowFlags_NoScrollbar);
  draw_code_heading(view, commands, state.code);
  const ImVec2 at = ImGui::GetCursorScreenPos(), left_over = ImGui::GetContentRegionAvail();
  const ImVec2 room = {std::max(1.0F, left_over.x), std::max(1.0F, left_over.y)};  // 0 would mean all there is
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + room.x, at.y + room.y}, theme.inset, 4 * theme.scale);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::BeginChild("code", room, ImGuiChildFlags_None, flags | ImGuiWindowFlags_HorizontalScrollbar);
  if (is_other) ImGui::SetScrollY(0);
  if (study_takes_keys(view) && ImGui::GetIO().KeyShift) {
    constexpr float lines = 4;
    const auto pressed = [](ImGuiKey key) { return ImGui::IsKeyPressed(key, true) ? 1.0F : 0.0F; };
    const float by = pressed(ImGuiKey_DownArrow) - pressed(ImGuiKey_UpArrow);
    if (by != 0) ImGui::SetScrollY(ImGui::GetScrollY() + by * lines * theme.mono_small->FontSize);
  }
  CodePainter(theme, state).draw();
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::EndChild();
}

}  // namespace tilescope
