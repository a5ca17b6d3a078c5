// ShaderProgram: one linked pair of the embedded shaders of shaders/, for OpenGL 3.3 and OpenGL ES 3.0 alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

/// The text of a file of shaders/ ("tile.vert"), without a #version line; empty for an unknown name.
std::string_view shader_text(std::string_view name);

class ShaderProgram {
 public:
  ShaderProgram() = default;
  ShaderProgram(ShaderProgram&& other) noexcept;
  ShaderProgram& operator=(ShaderProgram&& other) noexcept;
  ~ShaderProgram();

  /// Compiles `<name>.vert` and `<name>.frag` for the current context.
  /// Errors  an unknown name; what the compiler or the linker says, on one line.
  static Result<ShaderProgram> make(std::string_view name);

  std::uint32_t id() const { return id_; }
  int uniform(const char* name) const;

 private:
  std::uint32_t id_ = 0;
};

}  // namespace tilescope
