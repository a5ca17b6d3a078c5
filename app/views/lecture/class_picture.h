// ClassPicture: what the class sees, small in the presenter's window.
#pragma once

#include <cstdint>

#include <imgui.h>

#include "app/platform/framebuffer.h"

namespace tilescope {

class ClassPicture {
 public:
  ClassPicture() = default;
  ClassPicture(const ClassPicture&) = delete;
  ClassPicture& operator=(const ClassPicture&) = delete;
  ~ClassPicture();

  /// Copies a picture to a texture of the current OpenGL context, which is that of the presenter's window.
  void take(const Picture& picture);
  bool empty() const { return texture_ == 0; }
  /// Adds the picture as an item of this width.
  void draw(float width) const;

 private:
  std::uint32_t texture_ = 0;
  int width_ = 0, height_ = 0;
};

/// The one of the current ImGui context.
ClassPicture& class_picture();

}  // namespace tilescope
