// Queries GL_VERSION and GL_RENDERER.
#include "app/platform/opengl_name.h"

#include <epoxy/gl.h>
#include <fmt/format.h>

namespace tilescope {

std::string opengl_name() {
  const auto text = [](GLenum name) {
    const GLubyte* const words = glGetString(name);
    return words != nullptr ? std::string(reinterpret_cast<const char*>(words)) : std::string();
  };
  const std::string version = text(GL_VERSION), renderer = text(GL_RENDERER);
  if (version.empty()) return {};
  return renderer.empty() ? fmt::format("OpenGL {}", version) : fmt::format("OpenGL {} ({})", version, renderer);
}

}  // namespace tilescope
