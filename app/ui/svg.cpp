// Walks ImGui's draw lists and writes SVG 1.1.
#include "app/ui/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "app/ui/quad_batch.h"
#include "app/ui/widgets.h"

namespace tilescope {

namespace {

/// "12.5", "12": at most two decimals.
std::string number(float value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

unsigned channel(ImU32 color, unsigned shift) {
  return color >> shift & 255U;
}
unsigned alpha_of(ImU32 color) {
  return channel(color, IM_COL32_A_SHIFT);
}

std::string hex(ImU32 color) {
  return fmt::format("#{:02x}{:02x}{:02x}", channel(color, IM_COL32_R_SHIFT), channel(color, IM_COL32_G_SHIFT),
                     channel(color, IM_COL32_B_SHIFT));
}

/// " fill-opacity=\"0.5\"", or nothing for an opaque colour.
std::string opacity(const char* what, float alpha) {
  return alpha >= 0.998F ? "" : fmt::format(" {}-opacity=\"{:.3f}\"", what, alpha);
}
std::string paint(const char* what, ImU32 color) {
  return fmt::format(" {}=\"{}\"{}", what, hex(color), opacity(what, static_cast<float>(alpha_of(color)) / 255));
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0U | c >> 6);
  } else {
    put(0xE0U | c >> 12);
    put(0x80U | (c >> 6 & 0x3FU));
  }
  put(0x80U | (c & 0x3FU));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

Rect joined(const Rect& a, const Rect& b) {
  return {{std::min(a.min.x, b.min.x), std::min(a.min.y, b.min.y)}, {std::max(a.max.x, b.max.x), std::max(a.max.y, b.max.y)}};
}

/// Glyphs of the atlas by where they lie in it.
class Glyphs {
 public:
  struct Found {
    const ImFont* font = nullptr;
    const ImFontGlyph* glyph = nullptr;
  };

  explicit Glyphs(const ImFontAtlas& atlas) : atlas_(atlas) {
    for (const ImFont* font : atlas.Fonts)
      for (const ImFontGlyph& glyph : font->Glyphs)
        if (glyph.Visible) by_corner_.emplace(key(glyph.U0, glyph.V0), Found{font, &glyph});
  }

  /// The glyph of a quad; one that is cut at an edge is looked up by its middle.
  Found find(ImVec2 uv_min, ImVec2 uv_max) const {
    if (const auto at = by_corner_.find(key(uv_min.x, uv_min.y)); at != by_corner_.end()) return at->second;
    const ImVec2 middle = {(uv_min.x + uv_max.x) / 2, (uv_min.y + uv_max.y) / 2};
    for (const auto& [corner, found] : by_corner_)
      if (middle.x > found.glyph->U0 && middle.x < found.glyph->U1 && middle.y > found.glyph->V0 && middle.y < found.glyph->V1)
        return found;
    return {};
  }

 private:
  std::uint64_t key(float u, float v) const {
    return static_cast<std::uint64_t>(std::lround(u * static_cast<float>(atlas_.TexWidth))) << 32 |
           static_cast<std::uint32_t>(std::lround(v * static_cast<float>(atlas_.TexHeight)));
  }
  const ImFontAtlas& atlas_;
  std::unordered_map<std::uint64_t, Found> by_corner_;
};

/// A character as it is placed: pen position on the baseline, and how far the pen goes on.
struct Letter {
  const ImFont* font = nullptr;
  FontLibrary::Drawn face;
  char32_t code_point = 0;
  float x = 0, baseline = 0, scale = 1, advance = 0;
  ImU32 color = 0;
  Rect box;
};

class Writer {
 public:
  Writer(const ImDrawData& frame, const ImFontAtlas& atlas, const FontLibrary& fonts, const std::string& prefix)
      : frame_(frame), atlas_(atlas), fonts_(fonts), prefix_(prefix), glyphs_(atlas) {}

  SvgPicture write(ImU32 background) {
    for (int i = 0; i < frame_.CmdListsCount; ++i) {
      const ImDrawList& list = *frame_.CmdLists[i];
      for (const ImDrawCmd& command : list.CmdBuffer) write_command(list, command);
    }
    flush();
    close_clip();
    const std::string width = number(frame_.DisplaySize.x), height = number(frame_.DisplaySize.y);
    SvgPicture out;
    out.svg = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" xml:space=\"preserve\">\n"
        "<style>text{{font-kerning:none;font-feature-settings:\"kern\" 0,\"liga\" 0,\"calt\" 0;white-space:pre}}</style>\n"
        "<defs>\n{2}</defs>\n<rect width=\"{0}\" height=\"{1}\" fill=\"{3}\"/>\n{4}</svg>\n",
        width, height, defs_, hex(background), body_);
    out.texts = std::move(texts_);
    return out;
  }

 private:
  // --- clipping -------------------------------------------------------------------------------------------------------------

  std::string clip_path(const Rect& rect) {
    const std::string shape = fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", number(rect.min.x),
                                          number(rect.min.y), number(rect.width()), number(rect.height()));
    const auto [entry, fresh] = clips_.try_emplace(shape, fmt::format("{}c{}", prefix_, clips_.size()));
    if (fresh) defs_ += fmt::format("<clipPath id=\"{}\">{}</clipPath>\n", entry->second, shape);
    return entry->second;
  }

  void close_clip() {
    if (!open_clip_.empty()) body_ += "</g>\n";
    open_clip_.clear();
  }

  /// Writes an element, in a group with the clip rectangle where it crosses that. Nothing of it may be seen at all.
  void element(const Rect& box, const std::string& text) {
    const bool outside =
        box.min.x >= clip_.max.x || box.max.x <= clip_.min.x || box.min.y >= clip_.max.y || box.max.y <= clip_.min.y;
    if (outside) return;
    constexpr float near = 0.5F;
    const bool cut = box.min.x < clip_.min.x - near || box.min.y < clip_.min.y - near || box.max.x > clip_.max.x + near ||
                     box.max.y > clip_.max.y + near;
    const std::string id = cut ? clip_path(clip_) : std::string();
    if (id != open_clip_) {
      close_clip();
      if (cut) body_ += fmt::format("<g clip-path=\"url(#{})\">\n", id);
      open_clip_ = id;
    }
    body_ += text;
  }

  // --- shapes ---------------------------------------------------------------------------------------------------------------

  void write_command(const ImDrawList& list, const ImDrawCmd& command) {
    const Rect clip = {{command.ClipRect.x, command.ClipRect.y}, {command.ClipRect.z, command.ClipRect.w}};
    if (clip.min.x != clip_.min.x || clip.min.y != clip_.min.y || clip.max.x != clip_.max.x || clip.max.y != clip_.max.y) flush();
    clip_ = clip;
    if (command.UserCallback != nullptr) {
      flush();
      const QuadRenderer::Drawn quads = QuadRenderer::drawn_by(command);
      if (quads.batch == nullptr) return;
      for (const QuadInstance& quad : quads.batch->instances()) write_quad(quad, quads.offset);
      return;
    }
    const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
    const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
    for (unsigned i = 0; i + 2 < command.ElemCount; i += 3) {
      if (i + 5 < command.ElemCount && is_glyph(index + i, vertices)) {
        write_glyph(vertices[index[i]], vertices[index[i + 2]]);
        i += 3;
      } else {
        write_triangle(index + i, vertices);
      }
    }
  }

  /// ImGui draws each letter as two triangles of its own four corners, with a part of the atlas that is not the white pixel.
  bool is_glyph(const ImDrawIdx* index, const ImDrawVert* vertices) const {
    const ImVec2 from = vertices[index[0]].uv, to = vertices[index[2]].uv;
    return index[3] == index[0] && index[4] == index[2] && from.x != to.x && from.y != to.y;
  }

  void write_triangle(const ImDrawIdx* index, const ImDrawVert* vertices) {
    flush_text();
    const ImDrawVert &a = vertices[index[0]], &b = vertices[index[1]], &c = vertices[index[2]];
    if (a.col != shape_color_) flush_shape();
    shape_color_ = a.col;
    const bool goes_on = !polygon_.empty() && same(polygon_.front(), a.pos) && same(polygon_.back(), b.pos);
    if (goes_on) {
      polygon_.push_back(c.pos);
      return;
    }
    close_polygon();
    polygon_ = {a.pos, b.pos, c.pos};
  }

  static bool same(ImVec2 a, ImVec2 b) { return a.x == b.x && a.y == b.y; }

  void close_polygon() {
    if (polygon_.size() >= 3) {
      Rect box{polygon_.front(), polygon_.front()};
      std::string path = "M";
      for (std::size_t i = 0; i < polygon_.size(); ++i) {
        const ImVec2 at = polygon_[i];
        box = joined(box, {at, at});
        path += fmt::format("{}{} {}", i == 0 ? "" : "L", number(at.x), number(at.y));
      }
      path += 'Z';
      // Translucent shapes that overlap must stay apart, and one outside the clip rectangle is left out.
      if (!path_.empty() && alpha_of(shape_color_) < 255) write_path();
      path_box_ = path_.empty() ? box : joined(path_box_, box);
      path_ += path;
    }
    polygon_.clear();
  }

  void write_path() {
    if (!path_.empty() && alpha_of(shape_color_) > 0)
      element(path_box_, fmt::format("<path d=\"{}\"{}/>\n", path_, paint("fill", shape_color_)));
    path_.clear();
  }

  void flush_shape() {
    close_polygon();
    write_path();
  }

  void flush() {
    flush_shape();
    flush_text();
  }

  // --- quads ----------------------------------------------------------------------------------------------------------------

  static std::string rect_text(const Rect& r, float radius) {
    std::string text = fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(r.min.x), number(r.min.y),
                                   number(r.width()), number(r.height()));
    if (radius > 0.05F) text += fmt::format(" rx=\"{}\"", number(radius));
    return text;
  }

  /// Eight halves of sides, each from the middle to the corner, so that dashes are symmetric about the middle as the shader's are.
  static std::string dashed_text(const Rect& r, float radius) {
    const float corner = radius * (1 - std::sqrt(0.5F));  // half of an arc ends so far inside the corner, both ways
    std::string path;
    for (const float x : {-1.0F, 1.0F})
      for (const float y : {-1.0F, 1.0F}) {
        const ImVec2 middle = r.center(), tip = {x < 0 ? r.min.x : r.max.x, y < 0 ? r.min.y : r.max.y};
        const auto half = [&](ImVec2 from, ImVec2 to, bool clockwise) {
          path += fmt::format("M{} {}L{} {}", number(from.x), number(from.y), number(to.x), number(to.y));
          if (radius > 0.05F)
            path += fmt::format("A{0} {0} 0 0 {1} {2} {3}", number(radius), clockwise ? 1 : 0, number(tip.x - x * corner),
                                number(tip.y - y * corner));
        };
        half({middle.x, tip.y}, {tip.x - x * radius, tip.y}, x * y < 0);
        half({tip.x, middle.y}, {tip.x, tip.y - y * radius}, x * y > 0);
      }
    return fmt::format("<path d=\"{}\" stroke-dasharray=\"5 3\" stroke-dashoffset=\"6.5\"", path);
  }

  std::string gradient(ImU32 from, ImU32 to, bool vertical) {
    const auto [entry, fresh] = gradients_.try_emplace({from, to, vertical}, fmt::format("{}g{}", prefix_, gradients_.size()));
    const auto stop = [](int at, ImU32 color) {
      return fmt::format("<stop offset=\"{}\" stop-color=\"{}\"{}/>", at, hex(color),
                         opacity("stop", static_cast<float>(alpha_of(color)) / 255));
    };
    if (fresh)
      defs_ += fmt::format("<linearGradient id=\"{}\" x1=\"0\" y1=\"0\" x2=\"{}\" y2=\"{}\">{}{}</linearGradient>\n", entry->second,
                           vertical ? 0 : 1, vertical ? 1 : 0, stop(0, from), stop(1, to));
    return entry->second;
  }

  std::string pattern(Hatch hatch, ImU32 color) {
    const auto [entry, fresh] = patterns_.try_emplace({hatch, color}, fmt::format("{}p{}", prefix_, patterns_.size()));
    if (fresh) {
      const std::string fill = paint("fill", color);
      const std::string stroke = fmt::format("<rect x=\"1.95\" width=\"1.1\" height=\"5\"{}/>", fill);
      std::string shape = hatch == Hatch::dots ? fmt::format("<circle cx=\"2.5\" cy=\"2.5\" r=\"0.9\"{}/>", fill) : stroke;
      if (hatch == Hatch::cross) shape += fmt::format("<rect y=\"1.95\" width=\"5\" height=\"1.1\"{}/>", fill);
      defs_ += fmt::format("<pattern id=\"{}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"{}>{}</pattern>\n",
                           entry->second, hatch == Hatch::dots ? "" : " patternTransform=\"rotate(45)\"", shape);
    }
    return entry->second;
  }

  /// The part of `rect` that is filled, from one of its sides; the rest is the other one.
  static std::pair<Rect, Rect> parts(const Rect& rect, float fraction, FillFrom from) {
    Rect filled = rect, rest = rect;
    const float x = rect.min.x + fraction * rect.width(), left = rect.max.x - fraction * rect.width();
    const float y = rect.min.y + fraction * rect.height(), top = rect.max.y - fraction * rect.height();
    if (from == FillFrom::left) filled.max.x = rest.min.x = x;
    if (from == FillFrom::right) filled.min.x = rest.max.x = left;
    if (from == FillFrom::top) filled.max.y = rest.min.y = y;
    if (from == FillFrom::bottom) filled.min.y = rest.max.y = top;
    return {filled, rest};
  }

  void write_quad(const QuadInstance& quad, ImVec2 offset) {
    const Rect rect = {{quad.rect[0] + offset.x, quad.rect[1] + offset.y}, {quad.rect[2] + offset.x, quad.rect[3] + offset.y}};
    const float radius = std::min({quad.shape[0], rect.width() / 2, rect.height() / 2});
    const float border = quad.shape[1], fraction = quad.shape[2], glow = quad.shape[3];
    const auto [fill, fill_end, empty, edge, halo] = quad.colors;
    const auto from = static_cast<FillFrom>(quad.flags & 3U);
    const auto hatch = static_cast<Hatch>(quad.flags >> 2 & 3U);
    const auto kind = static_cast<Gradient>(quad.flags >> 4 & 3U);
    const bool dashed = (quad.flags >> 6 & 1U) != 0;

    if (glow > 0) write_halo(rect, radius, glow, halo);
    const auto [filled, rest] = parts(rect, fraction, from);
    const std::string color = kind == Gradient::none
                                  ? paint("fill", fill)
                                  : fmt::format(" fill=\"url(#{})\"", gradient(fill, fill_end, kind == Gradient::vertical));
    if (alpha_of(empty) > 0 && fraction < 1) write_part(rect, radius, rest, fraction <= 0, paint("fill", empty));
    if (fraction > 0 && (alpha_of(fill) > 0 || kind != Gradient::none)) write_part(rect, radius, filled, fraction >= 1, color);
    if (hatch != Hatch::none && fraction > 0) {
      const ImU32 dark = IM_COL32(static_cast<int>(0.45F * static_cast<float>(channel(fill, IM_COL32_R_SHIFT))),
                                  static_cast<int>(0.45F * static_cast<float>(channel(fill, IM_COL32_G_SHIFT))),
                                  static_cast<int>(0.45F * static_cast<float>(channel(fill, IM_COL32_B_SHIFT))), 204);
      const ImU32 stroke = border > 0 ? with_alpha(edge, 0.75F) : dark;
      write_part(rect, radius, filled, fraction >= 1, fmt::format(" fill=\"url(#{})\"", pattern(hatch, stroke)));
    }
    if (border > 0) {
      const float half = border / 2, round = std::max(0.0F, radius - half);
      const std::string outline = dashed ? dashed_text(rect.inset(half), round) : rect_text(rect.inset(half), round);
      element(rect, fmt::format("{} fill=\"none\"{} stroke-width=\"{}\"/>\n", outline, paint("stroke", edge), number(border)));
    }
  }

  /// A part of a rectangle: itself where its corners are square, else the rectangle behind a clip path.
  void write_part(const Rect& rect, float radius, const Rect& part, bool whole, const std::string& color) {
    if (part.width() <= 0 || part.height() <= 0) return;
    const bool behind_clip = !whole && (radius > 0.05F || color.find("url(#") != std::string::npos);
    const std::string clip = behind_clip ? fmt::format(" clip-path=\"url(#{})\"", clip_path(part)) : std::string();
    element(part, fmt::format("{}{}{}/>\n", behind_clip || whole ? rect_text(rect, radius) : rect_text(part, 0), color, clip));
  }

  /// Rings whose opacity falls as that of the shader does.
  void write_halo(const Rect& rect, float radius, float glow, ImU32 color) {
    constexpr int rings = 5;
    const float width = glow / rings;
    for (int i = 0; i < rings; ++i) {
      const float distance = (static_cast<float>(i) + 0.5F) * width, fade = 1 - distance / glow;
      const ImU32 ring = with_alpha(color, fade * fade);
      if (alpha_of(ring) == 0) continue;
      const Rect around = rect.inset(-distance);
      element(around.inset(-width), fmt::format("{} fill=\"none\"{} stroke-width=\"{}\"/>\n", rect_text(around, radius + distance),
                                                paint("stroke", ring), number(width)));
    }
  }

  // --- text -----------------------------------------------------------------------------------------------------------------

  void write_glyph(const ImDrawVert& from, const ImDrawVert& to) {
    flush_shape();
    const Glyphs::Found found = glyphs_.find(from.uv, to.uv);
    if (found.glyph == nullptr) return;
    const ImFontGlyph& glyph = *found.glyph;
    Letter letter;
    letter.font = found.font;
    letter.code_point = glyph.Codepoint;
    letter.face = fonts_.drawn(found.font, letter.code_point);
    const auto texture = static_cast<float>(atlas_.TexWidth), rows = static_cast<float>(atlas_.TexHeight);
    letter.scale = (to.pos.x - from.pos.x) / ((to.uv.x - from.uv.x) * texture);
    const ImVec2 corner = {from.pos.x - (from.uv.x - glyph.U0) * texture * letter.scale,
                           from.pos.y - (from.uv.y - glyph.V0) * rows * letter.scale};
    letter.x = corner.x - glyph.X0 * letter.scale;
    letter.baseline = corner.y + (std::round(found.font->Ascent) - glyph.Y0) * letter.scale;
    letter.advance = glyph.AdvanceX * letter.scale;
    letter.color = from.col;
    letter.box = {from.pos, to.pos};
    if (!run_.empty() && !follows(letter)) flush_text();
    run_.push_back(letter);
  }

  static float blank_of(const Letter& letter) { return letter.font->FindGlyph(' ')->AdvanceX * letter.scale; }

  /// How many blanks lie between the run and this letter; -1 where it does not follow.
  int blanks_before(const Letter& letter) const {
    const Letter& last = run_.back();
    const float gap = letter.x - (last.x + last.advance), blank = blank_of(last);
    constexpr float near = 0.7F;
    constexpr int most = 3;
    const int count = static_cast<int>(std::lround(gap / std::max(blank, 1.0F)));
    return count >= 0 && count <= most && std::fabs(gap - static_cast<float>(count) * blank) < near ? count : -1;
  }

  bool follows(const Letter& letter) const {
    const Letter& last = run_.back();
    return letter.font == last.font && letter.color == last.color && std::fabs(letter.baseline - last.baseline) < 0.2F &&
           std::fabs(letter.scale - last.scale) < 0.05F && letter.face.family == last.face.family &&
           letter.face.weight == last.face.weight && blanks_before(letter) >= 0;
  }

  void flush_text() {
    if (run_.empty()) return;
    std::string plain, spans, word;
    Rect box = run_.front().box;
    std::size_t word_start = 0;
    const auto end_word = [&](std::size_t end) {
      const float natural = std::max(0.01F, natural_width(word_start, end));
      const float width = run_[end - 1].x + run_[end - 1].advance - run_[word_start].x;
      const auto letters = static_cast<float>(end - word_start);
      const float spacing = (width - natural) / letters;
      spans += fmt::format("<tspan x=\"{}\"", number(run_[word_start].x));
      if (std::fabs(spacing) > 0.01F) spans += fmt::format(" letter-spacing=\"{:.3f}\"", spacing);
      if (end - word_start > 1) spans += fmt::format(" textLength=\"{}\"", number(width));
      spans += fmt::format(">{}</tspan>", escaped(word));
      word.clear();
      word_start = end;
    };
    std::vector<Letter> letters;
    std::swap(letters, run_);
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const int blanks = i == 0 ? 0 : blanks_before(letters[i]);
      run_.push_back(letters[i]);
      if (blanks > 0) {
        end_word(i);
        spans.append(static_cast<std::size_t>(blanks), ' ');
        plain.append(static_cast<std::size_t>(blanks), ' ');
      }
      append_utf8(word, letters[i].code_point);
      append_utf8(plain, letters[i].code_point);
      box = joined(box, letters[i].box);
    }
    end_word(letters.size());
    const Letter& first = letters.front();
    const bool mono = first.face.family.find("Mono") != std::string_view::npos;
    const std::string family =
        first.face.family.empty() ? "monospace" : fmt::format("{}, {}", first.face.family, mono ? "monospace" : "sans-serif");
    const float size = (first.face.em_pixels > 0 ? first.face.em_pixels : first.font->FontSize) * first.scale;
    std::string text =
        fmt::format("<text y=\"{}\" font-family=\"{}\" font-size=\"{}\"", number(first.baseline), family, number(size));
    if (first.face.weight != 400) text += fmt::format(" font-weight=\"{}\"", first.face.weight);
    element(box, fmt::format("{}{}>{}</text>\n", text, paint("fill", first.color), spans));
    texts_.push_back({plain, box.min, box.max});
    run_.clear();
  }

  float natural_width(std::size_t first, std::size_t last) const {
    float width = 0;
    for (std::size_t i = first; i < last; ++i)
      width += (run_[i].face.advance > 0 ? run_[i].face.advance * run_[i].scale : run_[i].advance);
    return width;
  }

  const ImDrawData& frame_;
  const ImFontAtlas& atlas_;
  const FontLibrary& fonts_;
  const std::string& prefix_;
  Glyphs glyphs_;
  std::string defs_, body_;
  std::vector<SvgText> texts_;
  Rect clip_{};
  std::string open_clip_;  // the group that elements go into; empty: none
  std::map<std::string, std::string> clips_;
  std::map<std::tuple<ImU32, ImU32, bool>, std::string> gradients_;
  std::map<std::pair<Hatch, ImU32>, std::string> patterns_;
  std::vector<ImVec2> polygon_;  // that grows by triangles
  std::string path_;             // finished polygons of one colour
  Rect path_box_{};
  ImU32 shape_color_ = 0;
  std::vector<Letter> run_;  // of text on one line
};

}  // namespace

SvgPicture to_svg(const ImDrawData& frame, const ImFontAtlas& atlas, const FontLibrary& fonts, ImU32 background,
                  const std::string& prefix) {
  return Writer(frame, atlas, fonts, prefix).write(background);
}

void set_vector_style(bool on) {
  ImGuiStyle& style = ImGui::GetStyle();
  style.AntiAliasedLines = style.AntiAliasedLinesUseTex = style.AntiAliasedFill = !on;
}

}  // namespace tilescope
