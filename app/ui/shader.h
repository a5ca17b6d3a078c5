// ShaderProgram: one linked pair of embedded shaders, for OpenGL 3.3 and OpenGL ES 3.0.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

/// Returns the text of an embedded shader ("tile.vert") without its #version line; empty for an unknown name.
std::string_view shader_text(std::string_view name);

class ShaderProgram {
 public:
  ShaderProgram() = default;
  ShaderProgram(ShaderProgram&& other) noexcept;
  ShaderProgram& operator=(ShaderProgram&& other) noexcept;
  ~ShaderProgram();

  /// Compiles `<name>.vert` and `<name>.frag` for the current context.
  /// Errors  an unknown name; the compiler's or linker's message on one line.
  static Result<ShaderProgram> make(std::string_view name);

  std::uint32_t id() const { return id_; }
  int uniform(const char* name) const;

 private:
  std::uint32_t id_ = 0;
};

}  // namespace tilescope
