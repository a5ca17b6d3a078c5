// Frequent colours as they are, then boxes of colours, split where the error is largest.
#include "app/platform/palette.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

namespace {

constexpr std::size_t all_colors = std::size_t{1} << 24;
constexpr std::size_t most_exact = 96;
/// A colour with this share of all pixels is kept exactly.
constexpr double exact_share = 2e-4;

struct Color {
  std::array<int, 3> rgb{};
  double weight = 0;
};

std::array<int, 3> channels(std::uint32_t color) {
  return {static_cast<int>(color >> 16 & 255U), static_cast<int>(color >> 8 & 255U), static_cast<int>(color & 255U)};
}

/// A range of colours, its mean, and the axis along which it differs most.
struct Box {
  std::size_t first = 0, last = 0;
  int axis = 0;
  double error = 0;
  std::uint32_t mean = 0;
};

Box box_of(const std::vector<Color>& colors, std::size_t first, std::size_t last) {
  Box box{first, last, 0, 0, 0};
  double weight = 0;
  std::array<double, 3> sum{}, squares{};
  for (std::size_t i = first; i < last; ++i) {
    weight += colors[i].weight;
    for (std::size_t c = 0; c < 3; ++c) {
      const double value = colors[i].rgb[c];
      sum[c] += colors[i].weight * value;
      squares[c] += colors[i].weight * value * value;
    }
  }
  double widest = -1;
  for (std::size_t c = 0; c < 3; ++c) {
    const double variance = squares[c] - sum[c] * sum[c] / weight;
    box.error += variance;
    if (variance > widest) {
      widest = variance;
      box.axis = static_cast<int>(c);
    }
    box.mean = box.mean << 8 | static_cast<std::uint32_t>(std::lround(sum[c] / weight));
  }
  return box;
}

/// Splits a box at its weighted mean along its axis. False where all of it is one value.
bool split(std::vector<Color>& colors, Box& box, Box& other) {
  const auto axis = static_cast<std::size_t>(box.axis);
  const int mean = channels(box.mean)[axis];
  const auto from = colors.begin() + static_cast<std::ptrdiff_t>(box.first);
  const auto to = colors.begin() + static_cast<std::ptrdiff_t>(box.last);
  auto middle = std::partition(from, to, [&](const Color& color) { return color.rgb[axis] <= mean; });
  if (middle == from || middle == to) middle = std::partition(from, to, [&](const Color& color) { return color.rgb[axis] < mean; });
  if (middle == from || middle == to) return false;
  const auto cut = static_cast<std::size_t>(middle - colors.begin());
  other = box_of(colors, cut, box.last);
  box = box_of(colors, box.first, cut);
  return true;
}

}  // namespace

PaletteBuilder::PaletteBuilder() : exact_(all_colors) {}

void PaletteBuilder::add(const Picture& picture) {
  for (std::size_t i = 0; i + 3 < picture.rgba.size(); i += 4)
    ++exact_[static_cast<std::size_t>(picture.rgba[i]) << 16 | static_cast<std::size_t>(picture.rgba[i + 1]) << 8 |
             picture.rgba[i + 2]];
}

Palette PaletteBuilder::build() const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // count, colour
  std::uint64_t pixels = 0;
  for (std::size_t color = 0; color < all_colors; ++color) {
    if (exact_[color] == 0) continue;
    found.emplace_back(exact_[color], static_cast<std::uint32_t>(color));
    pixels += exact_[color];
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  Palette palette;
  const bool few = found.size() <= most_colors;
  std::size_t next = 0;
  while (next < found.size() && (few || (next < most_exact && found[next].first >= exact_share * static_cast<double>(pixels))))
    palette.push_back(found[next++].second);
  // What is rare, such as the edges of letters, counts for more than its pixels.
  std::vector<Color> rest;
  for (; next < found.size(); ++next)
    rest.push_back({channels(found[next].second), std::sqrt(static_cast<double>(found[next].first))});
  if (rest.empty()) return palette;
  std::vector<Box> boxes = {box_of(rest, 0, rest.size())};
  while (palette.size() + boxes.size() < most_colors) {
    const auto worst = std::max_element(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.error < b.error; });
    Box other;
    if (worst->error <= 0) break;
    if (split(rest, *worst, other))
      boxes.push_back(other);
    else
      worst->error = 0;
  }
  for (const Box& box : boxes) palette.push_back(box.mean);
  return palette;
}

PaletteMap::PaletteMap(Palette palette) : palette_(std::move(palette)), known_(all_colors, -1) {}

std::uint8_t PaletteMap::nearest(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  std::int16_t& known = known_[static_cast<std::size_t>(red) << 16 | static_cast<std::size_t>(green) << 8 | blue];
  if (known >= 0) return static_cast<std::uint8_t>(known);
  int best = 0, least = 1 << 30;
  for (std::size_t i = 0; i < palette_.size(); ++i) {
    const auto [r, g, b] = channels(palette_[i]);
    const int dr = r - red, dg = g - green, db = b - blue;
    const int distance = 3 * dr * dr + 6 * dg * dg + db * db;  // as bright as the eye sees them
    if (distance < least) {
      least = distance;
      best = static_cast<int>(i);
    }
  }
  known = static_cast<std::int16_t>(best);
  return static_cast<std::uint8_t>(best);
}

}  // namespace tilescope
