// TextRecording: collects what the widgets write while it lives, so that a panel or a table can be copied as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

namespace tilescope {

/// One at a time. Draw functions call record_text(); without a recording that costs nothing.
class TextRecording {
 public:
  TextRecording();
  ~TextRecording();
  TextRecording(const TextRecording&) = delete;
  TextRecording& operator=(const TextRecording&) = delete;

  /// What was written: a line for each row of the picture, tabs between its columns.
  std::string text() const;

 private:
  friend void record_text(ImVec2 at, float height, std::string_view text);
  struct Piece {
    ImVec2 at;
    float height;
    std::string text;
  };
  std::vector<Piece> pieces_;
};

/// Notes a text with its top left at `at`, whole even where it is drawn shortened.
void record_text(ImVec2 at, float height, std::string_view text);

}  // namespace tilescope
