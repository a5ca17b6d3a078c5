// Fonts: finds Inter, JetBrains Mono and Noto Sans CJK with fontconfig and bakes them into ImGui's atlas at the current size.
//
//   every glyph of the listings and the language ──► first family that has it:
//                                                    Inter ─► DejaVu ─► Noto CJK ─► any other family
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

#include "app/ui/theme.h"

namespace tilescope {

/// Decodes UTF-8; an invalid byte gives U+FFFD.
std::u32string decode_utf8(std::string_view text);

class FontLibrary {
 public:
  FontLibrary();
  ~FontLibrary();
  FontLibrary(const FontLibrary&) = delete;
  FontLibrary& operator=(const FontLibrary&) = delete;

  /// Bakes every font for `theme.scale` and fills the theme's fonts. `text` lists characters besides ASCII and the listing symbols.
  /// `reading` also bakes the larger fonts of a presented lesson.
  /// Without font files it uses ImGui's own font and replaces missing characters by similar ones.
  void build(ImFontAtlas& atlas, Theme& theme, std::u32string_view text, bool reading = false);

  /// The face that draws a character of a baked font, for pictures that name fonts.
  struct Drawn {
    std::string_view family;           // empty for the built-in font
    int weight = 400;                  // as CSS has it
    float em_pixels = 0, advance = 0;  // of the baked size; the advance as the face has it, not rounded to pixels
    bool operator==(const Drawn&) const = default;
  };
  Drawn drawn(const ImFont* font, char32_t code_point) const;

  /// Names missing families and their replacement in one sentence; empty if all are installed.
  std::string notice() const;
  /// Returns true if the last build() found no font file.
  bool built_in() const { return built_in_; }
  /// Returns the code points of the last build() that no installed font has.
  const std::u32string& missing() const { return missing_; }

 private:
  struct Face;
  struct Finder;
  const Face* open(const std::string& path, int index);
  const Face* find(const char* family, bool bold, bool& exact);
  const Face* find_with(char32_t code_point);
  std::vector<const Face*> chain(const char* family, bool bold, bool mono);
  ImFont* bake(ImFontAtlas& atlas, const std::vector<const Face*>& faces, bool bold, float em_pixels, std::u32string_view text);

  /// A baked font: its faces, and which characters each of them draws.
  struct Baked {
    const ImFont* font = nullptr;
    float em_pixels = 0;
    std::vector<const Face*> faces;
    std::vector<std::vector<ImWchar>> characters;  // sorted; of the first face beside ASCII
  };

  std::unique_ptr<Finder> finder_;
  std::vector<Baked> baked_;
  std::vector<std::unique_ptr<Face>> faces_;
  std::vector<std::vector<ImWchar>> ranges_;  // must outlive building the atlas
  std::vector<std::string> warnings_;         // one per missing family
  std::u32string missing_;
  bool built_in_ = false;
};

}  // namespace tilescope
