// Puts pieces of text into rows.
#include "app/ui/text_record.h"

#include <algorithm>
#include <cfloat>
#include <utility>

#include <imgui_internal.h>

#include "app/ui/panel_state.h"

namespace tilescope {

namespace {

TextRecording*& recording() {
  thread_local TextRecording* active = nullptr;
  return active;
}

struct UnderMouse {
  int frame = -1;
  TextAt at;
};

std::string on_one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

float width_of(const ImFont* font, float size, std::string_view text) {
  // CalcTextSizeA is const in effect, not in ImGui 1.90's signature.
  return const_cast<ImFont*>(font)->CalcTextSizeA(size, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

/// The character of a line at `x` from its left.
std::size_t character_at(const ImFont* font, float size, std::string_view line, float x) {
  const float scale = size / font->FontSize;
  const char* rest = nullptr;
  const_cast<ImFont*>(font)->CalcTextSizeA(size, std::max(x, scale), 0, line.data(), line.data() + line.size(), &rest);
  return std::min(static_cast<std::size_t>(rest - line.data()), line.size() - 1);
}

/// The rectangle of a text's lines, as far as the window that is drawn to shows them.
std::pair<ImVec2, ImVec2> shown_part(ImVec2 at, const ImFont* font, float size, std::string_view text) {
  ImVec2 max = at;
  for (std::string_view rest = text; !rest.empty(); max.y += size) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    max.x = std::max(max.x, at.x + width_of(font, size, line));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  const ImGuiContext* context = ImGui::GetCurrentContext();
  if (context == nullptr || context->CurrentWindow == nullptr) return {at, max};
  const ImRect& clip = context->CurrentWindow->ClipRect;
  return {{std::max(at.x, clip.Min.x), std::max(at.y, clip.Min.y)}, {std::min(max.x, clip.Max.x), std::min(max.y, clip.Max.y)}};
}

/// Keeps a text where the mouse is on it, and on the window that it is in.
void note_under_mouse(ImVec2 at, const ImFont* font, float size, std::string_view text) {
  const ImGuiContext* context = ImGui::GetCurrentContext();
  if (context == nullptr || context->CurrentWindow == nullptr) return;
  const ImVec2 mouse = context->IO.MousePos;
  if (mouse.x < at.x || mouse.y < at.y) return;
  for (std::string_view rest = text; !rest.empty() && mouse.y >= at.y; at.y += size) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (mouse.y >= at.y + size || line.empty()) continue;
    const float right = at.x + width_of(font, size, line);
    const ImGuiWindow& window = *context->CurrentWindow;
    if (mouse.x >= right || !window.ClipRect.Contains(mouse)) return;
    if (context->HoveredWindow == nullptr || context->HoveredWindow->RootWindow != window.RootWindow) return;
    auto& seen = panel_state<UnderMouse>("text under the mouse");
    seen.frame = context->FrameCount;
    seen.at = {on_one_line(text), std::string(line), character_at(font, size, line, mouse.x - at.x), at, {right, at.y + size}};
    return;
  }
}

}  // namespace

TextRecording::TextRecording() {
  recording() = this;
}

TextRecording::~TextRecording() {
  recording() = nullptr;
}

void record_text(ImVec2 at, const ImFont* font, float size, std::string_view text) {
  if (text.empty()) return;
  note_under_mouse(at, font, size, text);
  TextRecording* const active = recording();
  if (active == nullptr) return;
  const auto [min, max] = shown_part(at, font, size, text);
  active->pieces_.push_back({at, size, on_one_line(text), min, max});
}

void record_cut(std::string_view text) {
  if (TextRecording* const active = recording()) active->cut_.emplace_back(text);
}

void record_more_text(ImVec2 at, const ImFont* font, float size, std::string_view text, std::string_view between) {
  TextRecording* const active = recording();
  if (active == nullptr || active->pieces_.empty()) return record_text(at, font, size, text);
  if (text.empty()) return;
  note_under_mouse(at, font, size, text);
  std::string& line = active->pieces_.back().text;
  line += between;
  line += on_one_line(text);
  active->pieces_.back().max.x = std::max(active->pieces_.back().max.x, shown_part(at, font, size, text).second.x);
}

std::vector<std::string> TextRecording::overlapping() const {
  constexpr float least_width = 2, least_part = 0.3F;  // of a line's height: letters rarely fill it
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Piece &a = pieces_[i], &b = pieces_[j];
      const float wide = std::min(a.max.x, b.max.x) - std::max(a.min.x, b.min.x);
      const float high = std::min(a.max.y, b.max.y) - std::max(a.min.y, b.min.y);
      if (wide > least_width && high > least_part * std::min(a.height, b.height)) out.push_back(b.text + " | " + a.text);
    }
  return out;
}

std::optional<TextAt> text_under_mouse() {
  const auto& seen = panel_state<UnderMouse>("text under the mouse");
  if (seen.frame < 0 || ImGui::GetFrameCount() - seen.frame > 1) return std::nullopt;
  return seen.at;
}

std::string TextRecording::text() const {
  std::vector<const Piece*> order;
  for (const Piece& piece : pieces_) order.push_back(&piece);
  const auto middle = [](const Piece* piece) { return piece->at.y + 0.5F * piece->height; };
  std::stable_sort(order.begin(), order.end(), [&](const Piece* a, const Piece* b) { return middle(a) < middle(b); });
  std::string out;
  for (auto row = order.begin(); row != order.end();) {
    const auto end =
        std::find_if(row, order.end(), [&](const Piece* piece) { return middle(piece) - middle(*row) > 0.4F * (*row)->height; });
    std::stable_sort(row, end, [](const Piece* a, const Piece* b) { return a->at.x < b->at.x; });
    for (auto piece = row; piece != end; ++piece) {
      if (piece != row) out += '\t';
      out += (*piece)->text;
    }
    out += '\n';
    row = end;
  }
  return out;
}

}  // namespace tilescope
