// Fonts: every character that the program can show has a glyph in every font.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <doctest/doctest.h>

#include "sim/programs/tile_program.h"
#include "tests/app/temporary_folder.h"
#include "tests/app/ui/baked_fonts.h"
#include "tests/environment_variable.h"
#include "tests/skip.h"

using namespace tilescope;

namespace {

std::array<ImFont*, 6> fonts_of(const Theme& theme) {
  return {theme.ui, theme.ui_small, theme.ui_bold, theme.heading, theme.mono, theme.mono_small};
}

std::string utf8(char32_t c) {
  std::string out;
  if (c < 0x80)
    out = {static_cast<char>(c)};
  else if (c < 0x800)
    out = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
  else
    out = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
  return out;
}

void check_drawable(const Theme& theme, std::u32string_view text) {
  const std::set<char32_t> characters(text.begin(), text.end());
  for (char32_t c : characters) {
    if (c < 0x20) continue;
    CAPTURE(utf8(c));
    for (ImFont* font : fonts_of(theme)) CHECK(font->FindGlyphNoFallback(static_cast<ImWchar>(c)) != nullptr);
  }
}

/// The text inside the string literals of a source file; comments are not shown to anybody.
std::string literals_of(const std::string& source) {
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (!inside && source.compare(i, 2, "//") == 0) {
      while (i < source.size() && source[i] != '\n') ++i;
    } else if (source[i] == '\\') {
      ++i;
    } else if (!inside && source[i] == '\'' && i + 2 < source.size() && source[i + 2] == '\'') {
      i += 2;
    } else if (source[i] == '"') {
      inside = !inside;
    } else if (inside) {
      out += source[i];
    }
  }
  return out;
}

/// Says so where a font is not installed.
bool skipped(const BakedFonts& fonts) {
  if (fonts.library.notice().empty()) return false;
  skip_test(fonts.library.notice());
  return true;
}

}  // namespace

TEST_CASE("fonts: every listing character has a glyph") {
  const BakedFonts fonts;
  if (skipped(fonts)) return;
  CHECK(fonts.library.missing().empty());
  for (const ProgramInfo& program : program_table()) {
    CAPTURE(program.id);
    for (std::string_view text : {program.title, program.source, program.summary}) check_drawable(fonts.theme, decode_utf8(text));
    for (const ListingLine& line : program.listing)
      for (std::string_view text : {line.text, line.formula, line.why}) check_drawable(fonts.theme, decode_utf8(text));
  }
}

TEST_CASE("fonts: every character in the sources has a glyph") {
  const BakedFonts fonts;
  if (skipped(fonts)) return;
  int files = 0;
  for (const char* tree : {"/app", "/sim"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(TILESCOPE_SOURCE_DIR) + tree)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".h") continue;
      std::ifstream file(entry.path());
      const std::string source((std::istreambuf_iterator<char>(file)), {});
      CAPTURE(entry.path().string());
      check_drawable(fonts.theme, decode_utf8(literals_of(source)));
      ++files;
    }
  CHECK(files > 50);
}

TEST_CASE("fonts: characters of another language are baked on request") {
  const BakedFonts fonts(U"타일 메모리");
  if (!fonts.library.notice().empty() || !fonts.library.missing().empty()) {
    skip_test("no font here has Hangul");
    return;
  }
  check_drawable(fonts.theme, U"타일 메모리");
}

TEST_CASE("fonts: a larger scale bakes larger glyphs, not stretched ones") {
  BakedFonts fonts;
  const float size = fonts.theme.ui->FontSize;
  Theme two = make_theme(ThemeKind::dark, 2);
  fonts.library.build(*ImGui::GetIO().Fonts, two, U"");
  CHECK(two.ui->FontSize == doctest::Approx(2 * size).epsilon(0.05));
  CHECK(two.ui->Scale == 1);
}

TEST_CASE("fonts: digits of the number font have equal width") {
  const BakedFonts fonts;
  const ImFont& mono = *fonts.theme.mono;
  const float width = mono.FindGlyph('0')->AdvanceX;
  for (char digit = '1'; digit <= '9'; ++digit) CHECK(mono.FindGlyph(static_cast<ImWchar>(digit))->AdvanceX == width);
}

TEST_CASE("fonts: broken UTF-8 becomes a replacement character, never a crash") {
  CHECK(decode_utf8("a\xC3") == U"a\uFFFD");
  CHECK(decode_utf8("\xFF\xFE") == U"\uFFFD\uFFFD");
  CHECK(decode_utf8("α→₂") == U"α→₂");
  CHECK(decode_utf8("\xE2\x28\xA1") == U"\uFFFD(\uFFFD");
  CHECK(decode_utf8("").empty());
}

TEST_CASE("fonts: without font files, Latin letters replace Greek ones") {
  const TemporaryFolder folder;
  const EnvironmentVariable none("FONTCONFIG_FILE", folder.file("none.conf", "<fontconfig></fontconfig>"));
  {
    const BakedFonts fonts;
    CHECK(fonts.library.built_in());
    CHECK(fonts.library.notice() ==
          "font Inter (Inter-Regular.otf) is not installed, using the built-in font; font JetBrains Mono "
          "(JetBrainsMono-Regular.ttf) is not installed, using the built-in font (Debian: fonts-inter fonts-jetbrains-mono)");
    const auto same = [&](char32_t shown, char as) {
      CAPTURE(as);
      for (ImFont* font : fonts_of(fonts.theme)) {
        const ImFontGlyph* glyph = font->FindGlyphNoFallback(static_cast<ImWchar>(shown));
        REQUIRE(glyph != nullptr);
        CHECK(glyph->Codepoint == static_cast<unsigned>(as));
      }
    };
    same(U'α', 'a');
    same(U'β', 'b');
    same(U'τ', 't');
    same(U'Σ', 'S');
    same(U'₃', '3');
    same(U'→', '>');
  }
}
