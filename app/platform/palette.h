// Palette: the colours of a GIF, chosen for text on flat grounds and used by all of its frames.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "app/platform/framebuffer.h"

namespace tilescope {

/// At most 255 colours, 0xRRGGBB; a GIF keeps one entry for "as before".
using Palette = std::vector<std::uint32_t>;
inline constexpr std::size_t most_colors = 255;

/// Collects the colours of pictures. Colours of large flat areas and of text are kept exactly; the rest is cut by variance.
class PaletteBuilder {
 public:
  PaletteBuilder();
  void add(const Picture& picture);
  Palette build() const;

 private:
  struct Bin {
    std::uint64_t count = 0;
    std::array<std::uint64_t, 3> sum{}, squares{};
  };
  std::vector<std::uint32_t> exact_;  // pixels by colour
};

/// Maps colours to the nearest of a palette; remembers those it has seen.
class PaletteMap {
 public:
  explicit PaletteMap(Palette palette);
  const Palette& palette() const { return palette_; }
  std::uint8_t nearest(std::uint8_t red, std::uint8_t green, std::uint8_t blue);

 private:
  Palette palette_;
  std::vector<std::int16_t> known_;  // by colour; -1: not asked for yet
};

}  // namespace tilescope
