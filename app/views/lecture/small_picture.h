// SmallPicture: a scene, small in the presenter's window.
#pragma once

#include <cstdint>

#include <imgui.h>

#include "app/platform/framebuffer.h"

namespace tilescope {

class SmallPicture {
 public:
  SmallPicture() = default;
  SmallPicture(const SmallPicture&) = delete;
  SmallPicture& operator=(const SmallPicture&) = delete;
  ~SmallPicture();

  /// Copies a picture to a texture of the current OpenGL context, which is that of the presenter's window.
  void take(const Picture& picture);
  /// Lets the picture go.
  void clear() { width_ = height_ = 0; }
  bool empty() const { return width_ == 0; }
  /// Adds the picture as an item of this width.
  void draw(float width) const;

 private:
  std::uint32_t texture_ = 0;
  int width_ = 0, height_ = 0;
};

/// What the class sees, and what comes next, of the current ImGui context.
SmallPicture& class_picture();
SmallPicture& next_picture();

}  // namespace tilescope
