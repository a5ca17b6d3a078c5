# Turns every shader file given in SOURCES into one C++ file with a table of their texts: run at build time by app/CMakeLists.txt.
#   cmake -DOUTPUT=… -DSOURCES="a.vert;b.frag" -P embed_shaders.cmake
set(table "")
foreach(source IN LISTS SOURCES)
  file(READ ${source} text)
  get_filename_component(name ${source} NAME)
  string(APPEND table "    {\"${name}\", R\"glsl(${text})glsl\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from shaders/ at build time: the text of every shader.
#include \"app/ui/shader.h\"

namespace tilescope {
namespace {

struct EmbeddedShader {
  std::string_view name, text;
};
constexpr EmbeddedShader shaders[] = {
${table}};

}  // namespace

std::string_view shader_text(std::string_view name) {
  for (const EmbeddedShader& shader : shaders)
    if (shader.name == name) return shader.text;
  return {};
}

}  // namespace tilescope
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
