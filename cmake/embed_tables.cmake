# Turns tables of validation into one C++ file with their texts: run at build time by app/CMakeLists.txt.
#   cmake -DOUTPUT=… -DSOURCES="h100.csv;h200.csv" -P embed_tables.cmake
set(table "")
foreach(source IN LISTS SOURCES)
  file(READ ${source} text)
  cmake_path(GET source STEM name)
  string(APPEND table "    {\"${name}\", R\"csv(${text})csv\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Generated from tests/validation/ at build time: the texts of its tables.
#include \"app/model/measurements/validation_tables.h\"

namespace tilescope {
namespace {

constexpr ValidationTable tables[] = {
${table}};

}  // namespace

std::span<const ValidationTable> validation_tables() {
  return tables;
}

}  // namespace tilescope
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
