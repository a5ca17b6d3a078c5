// Framebuffer: a picture to draw into when there is no window, and its pixels read back.
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

  /// Errors  a size that this machine's OpenGL does not take, with its limit.
  static Result<Framebuffer> make(int width, int height);

  void bind() const;
  int width() const { return width_; }
  int height() const { return height_; }
  /// What was drawn, opaque.
  Picture read() const;

 private:
  std::uint32_t id_ = 0, color_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace tilescope
