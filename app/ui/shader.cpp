// Compiles and links the embedded shaders.
#include "app/ui/shader.h"

#include <algorithm>
#include <string>
#include <utility>

#include <epoxy/gl.h>
#include <fmt/format.h>

namespace tilescope {

namespace {

/// Returns the compiler's log on one line, for an error message.
std::string one_line(std::string log) {
  std::replace(log.begin(), log.end(), '\n', ' ');
  while (!log.empty() && (log.back() == ' ' || log.back() == '\0')) log.pop_back();
  return log;
}

/// Returns the shader prefix: version, and the precision for OpenGL ES.
std::string_view prologue() {
  return epoxy_is_desktop_gl() ? "#version 330 core\n" : "#version 300 es\nprecision highp float;\nprecision highp int;\n";
}

Result<GLuint> compile(GLenum kind, const std::string& name) {
  const std::string_view text = shader_text(name);
  if (text.empty()) return Error{fmt::format("shader {} is not in this program", name), Error::Kind::machine_lacks};
  const std::string_view head = prologue();
  const GLchar* parts[] = {head.data(), text.data()};
  const GLint lengths[] = {static_cast<GLint>(head.size()), static_cast<GLint>(text.size())};
  const GLuint shader = glCreateShader(kind);
  glShaderSource(shader, 2, parts, lengths);
  glCompileShader(shader);
  GLint good = GL_FALSE;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  if (good == GL_TRUE) return shader;
  std::string log(1024, '\0');
  GLsizei length = 0;
  glGetShaderInfoLog(shader, static_cast<GLsizei>(log.size()), &length, log.data());
  log.resize(static_cast<std::size_t>(length));
  glDeleteShader(shader);
  return Error{fmt::format("this machine's OpenGL does not take shader {}: {}", name, one_line(log)), Error::Kind::machine_lacks};
}

}  // namespace

ShaderProgram::ShaderProgram(ShaderProgram&& other) noexcept : id_(std::exchange(other.id_, 0)) {}

ShaderProgram& ShaderProgram::operator=(ShaderProgram&& other) noexcept {
  std::swap(id_, other.id_);
  return *this;
}

ShaderProgram::~ShaderProgram() {
  if (id_ != 0) glDeleteProgram(id_);
}

Result<ShaderProgram> ShaderProgram::make(std::string_view name) {
  const Result<GLuint> vertex = compile(GL_VERTEX_SHADER, std::string(name) + ".vert");
  if (!vertex) return vertex.error();
  const Result<GLuint> fragment = compile(GL_FRAGMENT_SHADER, std::string(name) + ".frag");
  if (!fragment) {
    glDeleteShader(*vertex);
    return fragment.error();
  }
  ShaderProgram program;
  program.id_ = glCreateProgram();
  glAttachShader(program.id_, *vertex);
  glAttachShader(program.id_, *fragment);
  glLinkProgram(program.id_);
  glDeleteShader(*vertex);
  glDeleteShader(*fragment);
  GLint good = GL_FALSE;
  glGetProgramiv(program.id_, GL_LINK_STATUS, &good);
  if (good == GL_TRUE) return program;
  std::string log(1024, '\0');
  GLsizei length = 0;
  glGetProgramInfoLog(program.id_, static_cast<GLsizei>(log.size()), &length, log.data());
  log.resize(static_cast<std::size_t>(length));
  return Error{fmt::format("this machine's OpenGL cannot link shader {}: {}", name, one_line(log)), Error::Kind::machine_lacks};
}

int ShaderProgram::uniform(const char* name) const {
  return glGetUniformLocation(id_, name);
}

}  // namespace tilescope
