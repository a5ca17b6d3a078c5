// The CUDA of a mask and of a score change. A line on the left names the word of the expression that it computes; pointing at a
// word or at a line lights both.
#include "app/views/mask/mask_cuda.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/expression_tokens.h"
#include "sim/masks/score_change.h"

namespace tilescope {

namespace {

/// Returns the derivative that a backward kernel computes; null where there is none.
const Expression* slope_of(const AttentionProblem& problem) {
  return problem.pass != Pass::forward && problem.score_change ? problem.score_change->slope() : nullptr;
}

/// Writes the source where the problem is another than at the last frame.
void refresh(const AttentionProblem& problem, MaskCuda& state) {
  if (state.of == problem) return;
  state.of = problem;
  state.mask = expression_of_mask(problem);
  const Expression* const mask = state.mask ? &*state.mask : nullptr;
  const Expression* const score = problem.score_change ? &problem.score_change->expression() : nullptr;
  const std::span<const TableGradient> gradients =
      problem.score_change ? problem.score_change->table_gradients() : std::span<const TableGradient>();
  state.source = std::make_shared<const KernelSource>(problem.pass == Pass::forward
                                                          ? kernel_source(mask, score)
                                                          : backward_kernel_source(mask, score, slope_of(problem), gradients));
}

std::string_view word_at(const std::vector<Token>& words, std::uint32_t column) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Token& word) { return word.column == column; });
  return found != words.end() ? found->text : std::string_view();
}

/// One expression and its struct.
struct Part {
  MaskCuda::Part part = MaskCuda::Part::mask;
  const char* title = "";
  const Expression* expression = nullptr;
  const std::vector<KernelSourceLine>* lines = nullptr;
};

class CudaPainter {
 public:
  CudaPainter(const Theme& theme, MaskCuda& state)
      : theme_(theme), state_(state), on_part_(state.part), column_(state.column), list_(ImGui::GetWindowDrawList()) {
    state_.column = 0;
  }

  void draw(const Part& part) {
    const std::vector<Token> words = readable_tokens(part.expression->text);
    text_item(theme_.ui_small, theme_.text_dim, part.title);
    draw_expression(part, words);
    ImGui::Dummy({0, theme_.gap * 0.5F});
    for (std::size_t n = 0; n < part.lines->size(); ++n) draw_line(part, words, (*part.lines)[n], n);
    ImGui::Dummy({0, theme_.gap});
  }

 private:
  bool is_lit(const Part& part, std::uint32_t column) const { return column != 0 && on_part_ == part.part && column_ == column; }
  void point(const Part& part, std::uint32_t column) {
    state_.part = part.part;
    state_.column = column;
  }
  float line_height() const { return theme_.mono_small->FontSize + std::round(3 * theme_.scale); }

  /// The words in order, broken before one that does not fit.
  void draw_expression(const Part& part, const std::vector<Token>& words) {
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const float right = from.x + ImGui::GetContentRegionAvail().x, space = text_width(theme_.mono_small, " ");
    ImVec2 at = from;
    std::uint32_t end = 1;  // the column after the word before
    for (const Token& word : words) {
      if (word.text.empty()) continue;
      const float width = text_width(theme_.mono_small, word.text);
      if (word.column > end && at.x > from.x) at.x += space;
      if (at.x + width > right && at.x > from.x) at = {from.x, at.y + line_height()};
      const Rect box = {{at.x - 1, at.y}, {at.x + width + 1, at.y + line_height()}};
      const bool computes = std::any_of(part.lines->begin(), part.lines->end(),
                                        [&](const KernelSourceLine& line) { return line.column == word.column; });
      if (is_lit(part, word.column)) list_->AddRectFilled(box.min, box.max, theme_.accent_soft, 2 * theme_.scale);
      draw_text_at(list_, theme_.mono_small, at, computes ? theme_.text : theme_.text_dim, word.text);
      if (computes) {
        hit_area(fmt::format("word {} {}", static_cast<int>(part.part), word.column).c_str(), box);
        if (ImGui::IsItemHovered() || ImGui::IsItemFocused()) point(part, word.column);
      }
      at.x += width;
      end = word.column + static_cast<std::uint32_t>(word.text.size());
    }
    ImGui::SetCursorScreenPos({from.x, at.y + line_height()});
    ImGui::Dummy({0, 0});
  }

  void draw_line(const Part& part, const std::vector<Token>& words, const KernelSourceLine& line, std::size_t number) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float gutter = std::round(64 * theme_.scale), width = ImGui::GetContentRegionAvail().x;
    const Rect row = {at, {at.x + width, at.y + line_height()}};
    if (is_lit(part, line.column)) list_->AddRectFilled(row.min, row.max, theme_.accent_soft, 2 * theme_.scale);
    if (line.column != 0)
      draw_text_at(list_, theme_.mono_small, {at.x + 2 * theme_.scale, at.y}, theme_.accent, word_at(words, line.column));
    draw_text_at(list_, theme_.mono_small, {at.x + gutter, at.y}, line.column != 0 ? theme_.text : theme_.text_dim, line.text);
    const float wide = gutter + text_width(theme_.mono_small, line.text);
    if (line.column != 0) {
      hit_area(fmt::format("line {} {}", static_cast<int>(part.part), number).c_str(), row);
      if (ImGui::IsItemHovered() || ImGui::IsItemFocused()) point(part, line.column);
      ImGui::SetCursorScreenPos(at);
    }
    ImGui::Dummy({std::max(wide, 1.0F), line_height()});
    ImGui::SetCursorScreenPos({at.x, row.max.y});
  }

  const Theme& theme_;
  MaskCuda& state_;
  // What was pointed at in the last frame: the expression is drawn before its lines.
  const MaskCuda::Part on_part_;
  const std::uint32_t column_;
  ImDrawList* list_;
};

}  // namespace

void draw_mask_cuda(const View& view, const AttentionProblem& problem, MaskCuda& state, const Rect& area) {
  const Theme& theme = *view.theme;
  ImGui::SetCursorScreenPos(area.min);
  ImGui::BeginChild("cuda", {area.width(), area.height()}, false, ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoNav);
  refresh(problem, state);
  const bool other_mask = problem.has_mask() && !state.mask;
  if (other_mask || (!state.mask && !problem.score_change)) {
    wrapped_text(theme.ui_small, theme.text_dim,
                 other_mask ? tr("This mask is a list of elements and no expression: the kernel flex does not take it.")
                            : tr("Without a mask and a score change there is nothing to compile: type one, or choose a preset."));
    ImGui::EndChild();
    return;
  }
  wrapped_text(
      theme.ui_small, theme.text_dim,
      tr("The kernel flex is compiled with the types below. Each part of an expression is computed once for all places where it "
         "is the same: a block, a query row, a key, or an element. Constants are arguments, so another number needs no "
         "compilation. Point at a line or at a word."));
  if (small_button_stop(theme, tr("Copy the CUDA"))) ImGui::SetClipboardText(state.source->text().c_str());
  ImGui::Dummy({0, theme.gap * 0.5F});
  CudaPainter painter(theme, state);
  if (state.mask) painter.draw({MaskCuda::Part::mask, tr("Mask"), &*state.mask, &state.source->mask});
  if (problem.score_change)
    painter.draw({MaskCuda::Part::score, tr("Score change"), &problem.score_change->expression(), &state.source->score});
  if (const Expression* const slope = slope_of(problem))
    painter.draw({MaskCuda::Part::slope, tr("Derivative by the score"), slope, &state.source->slope});
  if (!state.source->table_reads.empty())
    painter.draw(
        {MaskCuda::Part::tables, tr("Gradients of tables"), &problem.score_change->expression(), &state.source->table_reads});
  ImGui::EndChild();
}

}  // namespace tilescope
