// Text on screen: TextRecording collects what the widgets write while it lives, so that a panel or a table can be copied as text;
// text_under_mouse() is the one text that the mouse is on, so that a number can be copied and a word explained.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

namespace tilescope {

/// One at a time. Draw functions call record_text(); without a recording that costs two comparisons.
class TextRecording {
 public:
  TextRecording();
  ~TextRecording();
  TextRecording(const TextRecording&) = delete;
  TextRecording& operator=(const TextRecording&) = delete;

  /// What was written: a line for each row of the picture, tabs between its columns.
  std::string text() const;
  /// Lines that were shortened, or that reach beyond the right edge of what is drawn.
  const std::vector<std::string>& cut() const { return cut_; }
  /// Pairs of texts that are drawn over each other, as "one | other".
  std::vector<std::string> overlapping() const;

 private:
  friend void record_cut(std::string_view text);
  friend void record_text(ImVec2 at, const ImFont* font, float size, std::string_view text);
  friend void record_more_text(ImVec2 at, const ImFont* font, float size, std::string_view text, std::string_view between);
  struct Piece {
    ImVec2 at;
    float height;
    std::string text;
    ImVec2 min, max;  // of all its lines, as far as its window shows them
  };
  std::vector<Piece> pieces_;
  std::vector<std::string> cut_;
};

/// Notes a text with its top left at `at`, in a font at `size` pixels; whole even where it is drawn shortened.
void record_text(ImVec2 at, const ImFont* font, float size, std::string_view text);

/// The same for a text that goes on in the line of the one before, with `between` between them.
void record_more_text(ImVec2 at, const ImFont* font, float size, std::string_view text, std::string_view between);

/// Notes that a line is not drawn whole.
void record_cut(std::string_view text);

/// A text on screen.
struct TextAt {
  std::string text;      // whole, on one line
  std::string line;      // of it, what the mouse is on
  std::size_t byte = 0;  // of `line`, the character under the mouse
  ImVec2 min, max;       // of that line
};
/// Returns the text under the mouse, drawn last in this frame or the one before; nullopt where there is none.
std::optional<TextAt> text_under_mouse();

}  // namespace tilescope
