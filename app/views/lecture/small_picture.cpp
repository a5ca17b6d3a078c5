// A texture with smaller copies of itself, because it is shown at a third of its size.
#include "app/views/lecture/small_picture.h"

#include <cmath>

#include <epoxy/gl.h>

#include "app/ui/panel_state.h"

namespace tilescope {

SmallPicture::~SmallPicture() {
  if (texture_ != 0) glDeleteTextures(1, &texture_);
}

void SmallPicture::take(const Picture& picture) {
  if (texture_ == 0) glGenTextures(1, &texture_);
  width_ = picture.width;
  height_ = picture.height;
  GLint bound = 0;
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &bound);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width_, height_, 0, GL_RGBA, GL_UNSIGNED_BYTE, picture.rgba.data());
  glGenerateMipmap(GL_TEXTURE_2D);
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(bound));
}

void SmallPicture::draw(float width) const {
  const float height = std::round(width * static_cast<float>(height_) / static_cast<float>(width_));
  ImGui::Image(reinterpret_cast<ImTextureID>(static_cast<std::intptr_t>(texture_)), {width, height});
}

SmallPicture& class_picture() {
  return panel_state<SmallPicture>("class picture");
}

SmallPicture& next_picture() {
  return panel_state<SmallPicture>("next picture");
}

}  // namespace tilescope
