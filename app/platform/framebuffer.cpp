// A framebuffer object with one colour buffer.
#include "app/platform/framebuffer.h"

#include <algorithm>
#include <utility>

#include <epoxy/gl.h>

#include "sim/core/refuse.h"

namespace tilescope {

Framebuffer::Framebuffer(Framebuffer&& other) noexcept {
  *this = std::move(other);
}

Framebuffer& Framebuffer::operator=(Framebuffer&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(color_, other.color_);
  std::swap(width_, other.width_);
  std::swap(height_, other.height_);
  return *this;
}

Framebuffer::~Framebuffer() {
  if (color_ != 0) glDeleteRenderbuffers(1, &color_);
  if (id_ != 0) glDeleteFramebuffers(1, &id_);
}

Result<Framebuffer> Framebuffer::make(int width, int height) {
  GLint largest = 0;
  glGetIntegerv(GL_MAX_RENDERBUFFER_SIZE, &largest);
  if (width < 1 || height < 1 || width > largest || height > largest)
    return refuse("a picture of {}x{} cannot be drawn here: each side must be 1 to {} pixels", width, height, largest);
  Framebuffer out;
  out.width_ = width;
  out.height_ = height;
  glGenFramebuffers(1, &out.id_);
  glGenRenderbuffers(1, &out.color_);
  glBindRenderbuffer(GL_RENDERBUFFER, out.color_);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
  glBindFramebuffer(GL_FRAMEBUFFER, out.id_);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, out.color_);
  const GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
  if (status != GL_FRAMEBUFFER_COMPLETE)
    return Error{
        phrase("a picture of {}x{} cannot be drawn here: OpenGL status 0x{:x}; use a smaller --size", width, height, status),
        Error::Kind::machine_lacks};
  return out;
}

void Framebuffer::bind() const {
  glBindFramebuffer(GL_FRAMEBUFFER, id_);
  glViewport(0, 0, width_, height_);
}

Picture Framebuffer::read() const {
  Picture picture{width_, height_, {}};
  const std::size_t row = static_cast<std::size_t>(width_) * 4;
  picture.rgba.resize(row * static_cast<std::size_t>(height_));
  glBindFramebuffer(GL_FRAMEBUFFER, id_);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, picture.rgba.data());
  for (std::size_t top = 0, bottom = static_cast<std::size_t>(height_) - 1; top < bottom; ++top, --bottom)
    std::swap_ranges(picture.rgba.begin() + static_cast<std::ptrdiff_t>(top * row),
                     picture.rgba.begin() + static_cast<std::ptrdiff_t>((top + 1) * row),
                     picture.rgba.begin() + static_cast<std::ptrdiff_t>(bottom * row));
  for (std::size_t i = 3; i < picture.rgba.size(); i += 4) picture.rgba[i] = 255;
  return picture;
}

}  // namespace tilescope
