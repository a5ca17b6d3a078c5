// BakedFonts: an ImGui context with nothing behind it, and the fonts of the program baked into it.
#pragma once

#include <imgui.h>

#include <string_view>

#include "app/ui/fonts.h"
#include "app/ui/theme.h"

namespace tilescope {

struct BakedFonts {
  ImGuiContext* context = ImGui::CreateContext();
  FontLibrary library;
  Theme theme = make_theme(ThemeKind::dark, 1);

  /// `more`: characters beyond those of English.
  explicit BakedFonts(std::u32string_view more = U"") { library.build(*ImGui::GetIO().Fonts, theme, more); }
  ~BakedFonts() { ImGui::DestroyContext(context); }
  BakedFonts(const BakedFonts&) = delete;
  BakedFonts& operator=(const BakedFonts&) = delete;
};

}  // namespace tilescope
