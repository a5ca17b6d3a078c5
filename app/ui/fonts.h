// Fonts: finds Inter, JetBrains Mono and Noto Sans CJK through fontconfig and bakes them into ImGui's atlas at the size in use.
//
//   every glyph of the listings and the language ──► first family that has it:
//                                                    Inter ─► DejaVu ─► Noto CJK ─► whatever fontconfig knows
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

#include "app/ui/theme.h"

namespace tilescope {

/// The code points of UTF-8 text; a broken byte gives U+FFFD.
std::u32string decode_utf8(std::string_view text);

class FontLibrary {
 public:
  FontLibrary();
  ~FontLibrary();
  FontLibrary(const FontLibrary&) = delete;
  FontLibrary& operator=(const FontLibrary&) = delete;

  /// Bakes every font for `theme.scale` and fills the theme's fonts. `text` is what has to be drawable beyond ASCII and the symbols
  /// of the listings. Without any font file, ImGui's own is used, with the nearest character that it has in place of others.
  void build(ImFontAtlas& atlas, Theme& theme, std::u32string_view text);

  /// Which families are not installed, by name and file, and what stands in for them: one sentence, empty where all are there.
  std::string notice() const;
  /// True where the last build() found no font file at all.
  bool built_in() const { return built_in_; }
  /// Code points of the last build() that no installed font has.
  const std::u32string& missing() const { return missing_; }

 private:
  struct Face;
  struct Finder;
  const Face* open(const std::string& path, int index);
  const Face* find(const char* family, bool bold, bool& exact);
  const Face* find_with(char32_t code_point);
  std::vector<const Face*> chain(const char* family, bool bold, bool mono);
  ImFont* bake(ImFontAtlas& atlas, const std::vector<const Face*>& faces, bool bold, float em_pixels, std::u32string_view text);

  std::unique_ptr<Finder> finder_;
  std::vector<std::unique_ptr<Face>> faces_;
  std::vector<std::vector<ImWchar>> ranges_;  // must outlive the atlas's build
  std::vector<std::string> warnings_;         // one a family that is not installed
  std::u32string missing_;
  bool built_in_ = false;
};

}  // namespace tilescope
