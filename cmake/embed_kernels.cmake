# Turns device sources into one C++ file with a table of their texts: run at build time by kernels/CMakeLists.txt.
#   cmake -DOUTPUT=… -DROOT=… -DSOURCES="kernels/a.cuh;kernels/b.h" -P embed_kernels.cmake
set(table "")
foreach(source IN LISTS SOURCES)
  file(READ ${ROOT}/${source} text)
  # A string literal has a limit of 64 KiB in some compilers, and of 2^16 characters in the standard's recommendation.
  string(APPEND table "    {\"${source}\", R\"cuda(${text})cuda\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from kernels/ at build time: the texts of device sources.
#include \"kernels/embedded_sources.h\"

namespace tilescope {
namespace {

constexpr EmbeddedSource sources[] = {
${table}};

}  // namespace

std::span<const EmbeddedSource> embedded_kernel_sources() {
  return sources;
}

}  // namespace tilescope
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
