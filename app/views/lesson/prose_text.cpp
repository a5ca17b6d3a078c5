// Words of several fonts on lines: a word never breaks, and lines break at blanks only.
#include "app/views/lesson/prose_text.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/ui/short_line.h"
#include "app/ui/widgets.h"
#include "app/views/lesson/figure_words.h"

namespace tilescope {

namespace {

/// Text of one font that stays on one line.
struct Piece {
  std::string text;
  ImFont* font = nullptr;
  ImU32 color = 0;
  bool code = false;
  std::size_t at = 0;  // its first byte in the text of its block
  const GlossaryEntry* term = nullptr;
};
/// Pieces without a blank between them.
using Word = std::vector<Piece>;

class Writer {
 public:
  /// `list` null: measures only.
  Writer(ImDrawList* list, const Theme& theme, const ExpressionValues* values, ImVec2 at, float width, ImU32 color,
         ProseTerms* terms)
      : list_(list),
        theme_(theme),
        values_(values),
        terms_(terms),
        left_(at.x),
        top_(at.y),
        y_(at.y),
        width_(width),
        color_(color) {}

  float write(const Prose& prose) {
    for (const ProseBlock& block : prose) {
      if (y_ > top_) y_ += std::round(gap_before(block) * theme_.scale);
      block.kind == ProseBlock::Kind::code ? write_code(block) : write_block(block);
    }
    return y_ - top_;
  }

 private:
  static float gap_before(const ProseBlock& block) {
    return block.kind == ProseBlock::Kind::item ? 3 : block.kind == ProseBlock::Kind::heading ? 10 : 7;
  }

  std::vector<Word> words_of(const ProseBlock& block) const {
    std::vector<Word> words;
    bool glue = false;  // the next piece belongs to the last word
    std::string text;   // of the block so far
    const auto add = [&](Piece piece) {
      if (!glue || words.empty()) words.emplace_back();
      words.back().push_back(std::move(piece));
      glue = true;
    };
    for (const ProseRun& run : block.runs) {
      const bool heading = block.kind == ProseBlock::Kind::heading;
      ImFont* const font = run.code ? theme_.mono : run.bold || heading ? theme_.ui_bold : theme_.ui;
      if (run.figure) {
        text += '\x01';  // ends a term
        add({value_of(*run.figure), theme_.ui_bold, theme_.accent, run.code, std::string::npos});
        continue;
      }
      text += run.text;
      std::string_view rest = run.text;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of(" \n\t"), rest.size());
        const std::size_t at = text.size() - rest.size();
        if (end > 0) add({std::string(rest.substr(0, end)), font, color_, run.code, at});
        if (end < rest.size()) glue = false;
        if (end < rest.size() && rest[end] == '\n') words.emplace_back();  // an empty word ends the line
        rest.remove_prefix(std::min(rest.size(), end + 1));
      }
    }
    if (block.kind != ProseBlock::Kind::heading) mark_terms(text, words);
    for (Word& word : words)
      for (Piece& piece : word)
        if (!piece.code) piece.text = formula_text(piece.text);
    return words;
  }

  /// Gives the pieces of each term that stands first here its entry.
  void mark_terms(const std::string& text, std::vector<Word>& words) const {
    if (terms_ == nullptr || terms_->view.glossary == nullptr) return;
    for (const FoundTerm& found : terms_->view.glossary->terms_in(text, terms_->view.workspace->language)) {
      if (std::find(terms_->seen.begin(), terms_->seen.end(), found.entry) != terms_->seen.end()) continue;
      terms_->seen.push_back(found.entry);
      for (Word& word : words)
        for (Piece& piece : word)
          if (!piece.code && piece.at < found.last && piece.at + piece.text.size() > found.first) piece.term = found.entry;
    }
  }

  std::string value_of(const FigureText& figure) const { return figure_text(figure, values_); }

  float line_height() const { return std::round(theme_.ui->FontSize * 1.34F); }

  void write_block(const ProseBlock& block) {
    const float step = std::round(16 * theme_.scale);
    const float indent = static_cast<float>(block.depth) * step;
    if (block.kind == ProseBlock::Kind::item && list_ != nullptr) {
      const float middle = y_ + 0.5F * line_height(), x = left_ + indent - 0.55F * step;
      if (block.number > 0)
        draw_text_at(list_, theme_.ui_small, {left_ + indent - step, middle - 0.5F * theme_.ui_small->FontSize}, theme_.text_dim,
                     fmt::format("{}", block.number));
      else
        list_->AddCircleFilled({x, middle}, std::max(1.5F, 2 * theme_.scale), theme_.text_dim);
    }
    const float first = left_ + indent, right = left_ + width_;
    float x = first;
    const float blank = text_width(theme_.ui, " ");
    std::size_t code_end = std::string::npos;  // of the word before, where it is code
    for (const Word& word : words_of(block)) {
      float wide = 0;
      for (const Piece& piece : word) wide += width_of(piece);
      if (word.empty() || (x > first && x + blank + wide > right)) {
        y_ += line_height();
        x = first;
      }
      if (word.empty()) continue;
      const bool goes_on = x > first;
      if (goes_on && word.front().code && word.front().at == code_end + 1) draw_code_ground(x - code_pad(), x + blank + code_pad());
      code_end =
          word.back().code && word.back().at != std::string::npos ? word.back().at + word.back().text.size() : std::string::npos;
      if (goes_on) x += blank;
      for (const Piece& piece : word)
        x += draw_piece(piece, x, &piece != &word.front() ? Before::piece : goes_on ? Before::blank : Before::line_start);
    }
    y_ += line_height();
  }

  /// Code has some room around it.
  float code_pad() const { return std::round(3 * theme_.scale); }
  float width_of(const Piece& piece) const { return text_width(piece.font, piece.text) + (piece.code ? 2 * code_pad() : 0); }

  void draw_code_ground(float from, float to) const {
    if (list_ == nullptr) return;
    list_->AddRectFilled({from, y_ + theme_.scale}, {to, y_ + line_height() - theme_.scale},
                         mix(theme_.inset, theme_.inset_border, 0.35F), 3 * theme_.scale);
  }

  enum class Before { line_start, blank, piece };
  float draw_piece(const Piece& piece, float x, Before before) const {
    const float wide = width_of(piece);
    if (list_ == nullptr) return wide;
    const float y = y_ + 0.5F * (line_height() - piece.font->FontSize);
    if (piece.code) draw_code_ground(x, x + wide);
    const ImVec2 at = {x + (piece.code ? code_pad() : 0), y};
    if (before == Before::line_start)
      draw_text_at(list_, piece.font, at, piece.color, piece.text);
    else
      draw_more_text_at(list_, piece.font, at, piece.color, piece.text, before == Before::blank ? " " : "");
    if (piece.term != nullptr) {
      std::string_view term = piece.text;  // without the comma after it
      while (!term.empty() && std::string_view(".,:;!?)").find(term.back()) != std::string_view::npos) term.remove_suffix(1);
      draw_term(*piece.term, {{x, y_}, {x + text_width(piece.font, term), y_ + line_height()}});
    }
    return wide;
  }

  /// A dotted line below a term; its entry under the mouse.
  void draw_term(const GlossaryEntry& entry, const Rect& rect) const {
    const float dot = std::max(1.0F, theme_.scale), y = std::floor(rect.max.y - 2 * theme_.scale);
    for (float x = rect.min.x; x + dot <= rect.max.x; x += 3 * dot)
      list_->AddRectFilled({x, y}, {x + dot, y + dot}, theme_.text_faint);
    if (rect.contains(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered()) show_entry(terms_->view, entry);
  }

  void write_code(const ProseBlock& block) {
    std::string all;
    for (const ProseRun& run : block.runs) all += run.figure ? value_of(*run.figure) : run.text;
    while (all.ends_with('\n')) all.pop_back();
    std::vector<std::string> lines;
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = std::min(all.find('\n', at), all.size());
      lines.push_back(all.substr(at, end - at));
      at = end + 1;
    }
    const float pad = std::round(6 * theme_.scale), height = std::round(theme_.mono->FontSize * 1.3F);
    const float below = y_ + 2 * pad + static_cast<float>(lines.size()) * height;
    if (list_ != nullptr) {
      list_->AddRectFilled({left_, y_}, {left_ + width_, below}, mix(theme_.inset, theme_.inset_border, 0.35F), 5 * theme_.scale);
      for (std::size_t i = 0; i < lines.size(); ++i)
        draw_text(list_, theme_.mono,
                  {{left_ + pad, y_ + pad + static_cast<float>(i) * height},
                   {left_ + width_ - pad, y_ + pad + static_cast<float>(i + 1) * height}},
                  color_, lines[i]);
    }
    y_ = below;
  }

  ImDrawList* list_;
  const Theme& theme_;
  const ExpressionValues* values_;
  ProseTerms* terms_;
  float left_, top_, y_, width_;
  ImU32 color_;
};

}  // namespace

void gap(const Theme& theme, float points) {
  ImGui::Dummy({1, std::round(points * theme.scale)});
}

float draw_prose_at(ImDrawList* list, const Theme& theme, const Prose& prose, const ExpressionValues* values, ImVec2 at,
                    float width, ImU32 color, ProseTerms* terms) {
  return Writer(list, theme, values, at, width, color, terms).write(prose);
}

float prose_height(const Theme& theme, const Prose& prose, const ExpressionValues* values, float width) {
  return draw_prose_at(nullptr, theme, prose, values, {0, 0}, width, 0);
}

void draw_prose(const Theme& theme, const Prose& prose, const ExpressionValues* values, float width, ImU32 color,
                ProseTerms* terms) {
  const float height =
      draw_prose_at(ImGui::GetWindowDrawList(), theme, prose, values, ImGui::GetCursorScreenPos(), width, color, terms);
  ImGui::Dummy({width, height});
}

}  // namespace tilescope
