// Finds font files with fontconfig, reads them with FreeType and bakes glyphs with ImGui.
#include "app/ui/fonts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_ADVANCES_H
#include FT_TRUETYPE_TABLES_H
#include <imgui_freetype.h>

#include "sim/programs/tile_program.h"

namespace tilescope {

namespace {

constexpr const char* ui_family = "Inter";
constexpr const char* mono_family = "JetBrains Mono";

/// A family's file name in Debian's packages.
std::string_view file_of(std::string_view family) {
  return family == ui_family ? "Inter-Regular.otf" : "JetBrainsMono-Regular.ttf";
}

// Symbols used by panels, and by the kernels' sources. Listing symbols come from the program table.
constexpr std::string_view panel_symbols =
    "\u2009·×÷−±≤≥≠≈∞→←↑↓↔⇧⏎▾▸ΣΘΩτασβ\u00B5\u03BC√‖⌈⌉⌊⌋°²³⁰¹⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉ₘₙᵀᵢⱼₖ′″…–—“”‘’•✓✕∈∑∏∘∝≡⊙✗─│►ℓ";

// Characters missing from ImGui's own font (Latin only), and below them their replacements.
constexpr std::u32string_view not_built_in =
    U"\u2009−≤≥≠≈→←↑↓↔▾▸ΣΘΩτασβμ\u03BC√‖⌈⌉⌊⌋⁰⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉ₘₙᵀᵢⱼₖ′″…–—“”‘’•✓✕✗∈∑∏∘∝≡⊙─│►ℓ";
constexpr std::u32string_view stands_in = U" -<>/~><^v-v>SOOtasbmmV|[][]0456789-0123456789mnTijk'\"~--\"\"''*vxxeSP.~=o-|>l";
static_assert(not_built_in.size() == stands_in.size());

constexpr char32_t replacement = 0xFFFD;

void collect(std::set<char32_t>& into, std::string_view text) {
  for (char32_t c : decode_utf8(text))
    if (c >= 0x80 && c < 0x10000) into.insert(c);
}

/// Returns every required code point beyond ASCII, sorted.
std::u32string needed_code_points(std::u32string_view extra) {
  std::set<char32_t> all;
  for (char32_t c = 0xA0; c <= 0xFF; ++c) all.insert(c);
  collect(all, panel_symbols);
  for (const ProgramInfo& program : program_table()) {
    for (std::string_view text : {program.title, program.source, program.summary}) collect(all, text);
    for (const ListingLine& line : program.listing)
      for (std::string_view text : {line.text, line.formula, line.why}) collect(all, text);
  }
  for (char32_t c : extra)
    if (c >= 0x80 && c < 0x10000) all.insert(c);
  return {all.begin(), all.end()};
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + length > text.size()) {
      out.push_back(replacement);
      ++i;
      continue;
    }
    char32_t code = length == 1 ? lead : static_cast<char32_t>(lead & (0x7FU >> length));
    bool good = true;
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      good = good && next >> 6 == 2;
      code = code << 6 | (next & 63U);
    }
    out.push_back(good ? code : replacement);
    i += good ? length : 1;
  }
  return out;
}

/// A font file in memory and FreeType's view of it.
struct FontLibrary::Face {
  std::string path;
  int index = 0;
  std::vector<unsigned char> bytes;
  FT_Face ft = nullptr;

  Face() = default;
  Face(const Face&) = delete;
  Face& operator=(const Face&) = delete;
  ~Face() {
    if (ft != nullptr) FT_Done_Face(ft);
  }
  bool has(char32_t c) const { return FT_Get_Char_Index(ft, c) != 0; }
  /// ImGui sizes a font by ascender to descender; designers size it by its em.
  float line_per_em() const { return static_cast<float>(ft->ascender - ft->descender) / static_cast<float>(ft->units_per_EM); }
};

struct FontLibrary::Finder {
  FcConfig* config = nullptr;
  FT_Library freetype = nullptr;

  Finder() : config(FcInitLoadConfigAndFonts()) {
    if (FT_Init_FreeType(&freetype) != 0) freetype = nullptr;
  }
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;
  ~Finder() {
    if (freetype != nullptr) FT_Done_FreeType(freetype);
    if (config != nullptr) FcConfigDestroy(config);
  }
};

FontLibrary::FontLibrary() : finder_(std::make_unique<Finder>()) {}

FontLibrary::~FontLibrary() {
  faces_.clear();  // before the FreeType library that made them
}

const FontLibrary::Face* FontLibrary::open(const std::string& path, int index) {
  for (const auto& face : faces_)
    if (face->path == path && face->index == index) return face.get();
  std::ifstream file(path, std::ios::binary);
  auto face = std::make_unique<Face>();
  face->path = path;
  face->index = index;
  face->bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (face->bytes.empty() || finder_->freetype == nullptr ||
      FT_New_Memory_Face(finder_->freetype, face->bytes.data(), static_cast<FT_Long>(face->bytes.size()), index, &face->ft) != 0)
    return nullptr;
  return faces_.emplace_back(std::move(face)).get();
}

const FontLibrary::Face* FontLibrary::find(const char* family, bool bold, bool& exact) {
  exact = false;
  if (finder_->config == nullptr) return nullptr;
  FcPattern* wanted = FcPatternCreate();
  FcPatternAddString(wanted, FC_FAMILY, reinterpret_cast<const FcChar8*>(family));
  FcPatternAddInteger(wanted, FC_WEIGHT, bold ? FC_WEIGHT_DEMIBOLD : FC_WEIGHT_REGULAR);
  FcPatternAddInteger(wanted, FC_SLANT, FC_SLANT_ROMAN);
  FcPatternAddBool(wanted, FC_SCALABLE, FcTrue);
  FcConfigSubstitute(finder_->config, wanted, FcMatchPattern);
  FcDefaultSubstitute(wanted);
  FcResult result = FcResultNoMatch;
  FcPattern* match = FcFontMatch(finder_->config, wanted, &result);
  FcPatternDestroy(wanted);
  if (match == nullptr) return nullptr;
  FcChar8 *file = nullptr, *name = nullptr;
  int index = 0;
  const Face* face = nullptr;
  if (FcPatternGetString(match, FC_FILE, 0, &file) == FcResultMatch) {
    FcPatternGetInteger(match, FC_INDEX, 0, &index);
    for (int i = 0; FcPatternGetString(match, FC_FAMILY, i, &name) == FcResultMatch; ++i)
      exact = exact || FcStrCmpIgnoreCase(name, reinterpret_cast<const FcChar8*>(family)) == 0;
    // The high half of the index names an instance of a variable font, which a plain FreeType face ignores.
    face = open(reinterpret_cast<const char*>(file), index & 0xFFFF);
  }
  FcPatternDestroy(match);
  return face;
}

const FontLibrary::Face* FontLibrary::find_with(char32_t code_point) {
  if (finder_->config == nullptr) return nullptr;
  FcCharSet* charset = FcCharSetCreate();
  FcCharSetAddChar(charset, code_point);
  FcPattern* wanted = FcPatternCreate();
  FcPatternAddCharSet(wanted, FC_CHARSET, charset);
  FcPatternAddBool(wanted, FC_SCALABLE, FcTrue);
  FcConfigSubstitute(finder_->config, wanted, FcMatchPattern);
  FcDefaultSubstitute(wanted);
  FcResult result = FcResultNoMatch;
  FcPattern* match = FcFontMatch(finder_->config, wanted, &result);
  const Face* face = nullptr;
  FcChar8* file = nullptr;
  int index = 0;
  if (match != nullptr && FcPatternGetString(match, FC_FILE, 0, &file) == FcResultMatch) {
    FcPatternGetInteger(match, FC_INDEX, 0, &index);
    face = open(reinterpret_cast<const char*>(file), index & 0xFFFF);
  }
  if (match != nullptr) FcPatternDestroy(match);
  FcPatternDestroy(wanted);
  FcCharSetDestroy(charset);
  return face != nullptr && face->has(code_point) ? face : nullptr;
}

std::vector<const FontLibrary::Face*> FontLibrary::chain(const char* family, bool bold, bool mono) {
  std::vector<const Face*> faces;
  const auto add = [&](const char* name, bool wanted) {
    bool exact = false;
    const Face* face = find(name, bold, exact);
    if (wanted && !exact) {
      const std::string stand_in = face != nullptr ? face->ft->family_name : "the built-in font";
      const std::string line = fmt::format("font {} ({}) is not installed, using {}", name, file_of(name), stand_in);
      if (std::find(warnings_.begin(), warnings_.end(), line) == warnings_.end()) warnings_.push_back(line);
    }
    if (face != nullptr && (exact || wanted) && std::find(faces.begin(), faces.end(), face) == faces.end()) faces.push_back(face);
  };
  add(family, true);
  if (mono) add("DejaVu Sans Mono", false);
  if (mono) add(ui_family, false);
  add("DejaVu Sans", false);
  return faces;
}

ImFont* FontLibrary::bake(ImFontAtlas& atlas, const std::vector<const Face*>& chain_faces, bool bold, float em_pixels,
                          std::u32string_view text) {
  // The first face in the chain that has a code point draws it.
  std::vector<const Face*> faces = chain_faces;
  std::vector<std::vector<ImWchar>> wanted(faces.size());
  for (char32_t c : text) {
    std::size_t k = 0;
    while (k < faces.size() && !faces[k]->has(c)) ++k;
    if (k == faces.size()) {
      bool exact = false;
      const Face* cjk = find("Noto Sans CJK KR", bold, exact);
      const Face* other = cjk != nullptr && cjk->has(c) ? cjk : find_with(c);
      if (other == nullptr) {
        if (missing_.find(c) == std::u32string::npos) missing_.push_back(c);
        continue;
      }
      faces.push_back(other);
      wanted.emplace_back();
    }
    wanted[k].push_back(static_cast<ImWchar>(c));
  }

  ImFont* font = nullptr;
  for (std::size_t k = 0; k < faces.size(); ++k) {
    std::vector<ImWchar> ranges;
    if (k == 0) ranges = {0x20, 0x7E};
    for (ImWchar c : wanted[k]) ranges.insert(ranges.end(), {c, c});
    if (ranges.empty()) continue;
    ranges.push_back(0);
    ranges_.push_back(std::move(ranges));
    ImFontConfig config;  // the atlas owns the file until it is built: it would copy one that it does not own, 20 MB a font
    config.FontNo = faces[k]->index;
    config.MergeMode = k > 0;
    config.PixelSnapH = true;
    config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
    config.SizePixels = em_pixels * faces[k]->line_per_em();
    // ImGui's signature takes a mutable pointer; it does not write to a font.
    void* data = const_cast<unsigned char*>(faces[k]->bytes.data());
    font = atlas.AddFontFromMemoryTTF(data, static_cast<int>(faces[k]->bytes.size()), config.SizePixels, &config,
                                      ranges_.back().data());
  }
  baked_.push_back({font, em_pixels, std::move(faces), std::move(wanted)});
  return font;
}

FontLibrary::Drawn FontLibrary::drawn(const ImFont* font, char32_t code_point) const {
  const auto baked = std::find_if(baked_.begin(), baked_.end(), [&](const Baked& b) { return b.font == font; });
  if (baked == baked_.end()) return {};
  const bool ascii = code_point >= 0x20 && code_point <= 0x7E;
  for (std::size_t k = 0; k < baked->faces.size(); ++k) {
    const auto& characters = baked->characters[k];
    const bool here = std::binary_search(characters.begin(), characters.end(), static_cast<ImWchar>(code_point));
    if (!here && !(ascii && k == 0)) continue;
    FT_Face face = baked->faces[k]->ft;
    const auto* os2 = static_cast<const TT_OS2*>(FT_Get_Sfnt_Table(face, FT_SFNT_OS2));
    FT_Fixed advance = 0;
    FT_Get_Advance(face, FT_Get_Char_Index(face, code_point), FT_LOAD_NO_SCALE, &advance);
    return {face->family_name != nullptr ? face->family_name : "", os2 != nullptr ? os2->usWeightClass : 400, baked->em_pixels,
            baked->em_pixels * static_cast<float>(advance) / static_cast<float>(face->units_per_EM)};
  }
  return {};
}

std::string FontLibrary::notice() const {
  if (warnings_.empty()) return {};
  return fmt::format("{} (Debian: fonts-inter fonts-jetbrains-mono)", fmt::join(warnings_, "; "));
}

void FontLibrary::build(ImFontAtlas& atlas, Theme& theme, std::u32string_view text, bool reading) {
  atlas.Clear();
  ranges_.clear();
  baked_.clear();
  missing_.clear();
  const std::u32string needed = needed_code_points(text);
  const std::vector<const Face*> regular = chain(ui_family, false, false), bold = chain(ui_family, true, false);
  const std::vector<const Face*> mono = chain(mono_family, false, true);

  const auto size = [&](float points) { return std::max(6.0F, std::round(points * theme.scale * 2) / 2); };
  const auto make = [&](const std::vector<const Face*>& faces, float points) {
    if (!faces.empty()) return bake(atlas, faces, &faces == &bold, size(points), needed);
    ImFontConfig config;
    config.SizePixels = size(points) * 1.2F;
    return atlas.AddFontDefault(&config);
  };
  theme.ui = make(regular, 13);
  theme.ui_small = make(regular, 11.5F);
  theme.ui_bold = make(bold, 13);
  theme.heading = make(bold, 14.5F);
  theme.mono = make(mono, 13);
  theme.mono_small = make(mono, 11);
  theme.mono_tiny = make(mono, 9);
  theme.display = make(bold, 26);
  const auto larger = [&](const std::vector<const Face*>& faces, ReadingSize of, ImFont* plain) {
    return reading ? make(faces, 13 * reading_scales[static_cast<std::size_t>(of)]) : plain;
  };
  theme.reading = larger(regular, ReadingSize::reading, theme.ui);
  theme.reading_bold = larger(bold, ReadingSize::reading, theme.ui_bold);
  theme.reading_mono = larger(mono, ReadingSize::reading, theme.mono);
  theme.lecture = larger(regular, ReadingSize::lecture, theme.ui);
  theme.lecture_bold = larger(bold, ReadingSize::lecture, theme.ui_bold);
  theme.lecture_mono = larger(mono, ReadingSize::lecture, theme.mono);
  atlas.TexDesiredWidth = 2048;
  atlas.Build();
  built_in_ = regular.empty();
  if (!built_in_) {
    for (ImFontConfig& config : atlas.ConfigData) config.FontDataOwnedByAtlas = false;  // the faces free them
    return;
  }
  for (ImFont* font : atlas.Fonts)
    for (std::size_t i = 0; i < not_built_in.size(); ++i)
      font->AddRemapChar(static_cast<ImWchar>(not_built_in[i]), static_cast<ImWchar>(stands_in[i]));
}

}  // namespace tilescope
