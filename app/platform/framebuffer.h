// Framebuffer: an off-screen render target and its pixels.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// Pixels, 4 bytes each (RGBA), top row first.
struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgba;
};

class Framebuffer {
 public:
  Framebuffer() = default;
  Framebuffer(Framebuffer&& other) noexcept;
  Framebuffer& operator=(Framebuffer&& other) noexcept;
  ~Framebuffer();

  /// Errors  a size beyond this machine's OpenGL limit, which it names.
  static Result<Framebuffer> make(int width, int height);

  void bind() const;
  int width() const { return width_; }
  int height() const { return height_; }
  /// Returns the pixels, opaque.
  Picture read() const;

 private:
  std::uint32_t id_ = 0, color_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace tilescope
