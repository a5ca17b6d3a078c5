# Third-party libraries, each asked for by the part that uses it. System packages first; Dear ImGui from a folder, a system package,
# or a pinned upstream tag.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(TOMLPP REQUIRED IMPORTED_TARGET tomlplusplus)
if(TILESCOPE_KERNELS)
  find_package(nlohmann_json REQUIRED)
elseif(TILESCOPE_TESTS)
  find_package(nlohmann_json QUIET)  # one test of sim reads JSON back
endif()
if(NOT TILESCOPE_APP)
  return()
endif()

find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED)
find_package(glfw3 3.3 REQUIRED)
find_package(Freetype REQUIRED)
pkg_check_modules(EPOXY REQUIRED IMPORTED_TARGET epoxy)
pkg_check_modules(EGL REQUIRED IMPORTED_TARGET egl)
pkg_check_modules(FONTCONFIG REQUIRED IMPORTED_TARGET fontconfig)
pkg_check_modules(MUPARSER REQUIRED IMPORTED_TARGET muparser)
pkg_check_modules(MD4C REQUIRED IMPORTED_TARGET md4c)
# Films: the headers say which versions are opened when one is written, see app/platform/video_libraries.h.
pkg_check_modules(VIDEO QUIET libavcodec libavformat libavutil libswscale)
if(NOT VIDEO_FOUND)
  message(STATUS "libavcodec, libavformat, libavutil and libswscale are not installed: no .gif and .mp4")
endif()
find_path(STB_INCLUDE_DIR stb_image_write.h PATH_SUFFIXES stb REQUIRED)

set(TILESCOPE_IMGUI_DIR "" CACHE PATH "Folder with the source of Dear ImGui 1.90 or later")
set(imgui_dir ${TILESCOPE_IMGUI_DIR})
if(NOT imgui_dir AND EXISTS ${CMAKE_SOURCE_DIR}/build/deps/imgui/imgui.cpp)
  set(imgui_dir ${CMAKE_SOURCE_DIR}/build/deps/imgui)  # where cmake/setup.sh puts it
endif()
if(NOT imgui_dir)
  find_package(imgui 1.90 QUIET)
endif()
if(NOT imgui_dir AND NOT imgui_FOUND)
  include(FetchContent)
  FetchContent_Declare(imgui
    GIT_REPOSITORY https://github.com/ocornut/imgui.git
    GIT_TAG d6cb3c923d28dcebb2d8d9605ccc7229ccef19eb)  # v1.90.1
  FetchContent_MakeAvailable(imgui)
  set(imgui_dir ${imgui_SOURCE_DIR})
endif()

if(imgui_dir)
  add_library(tilescope_imgui STATIC
    ${imgui_dir}/imgui.cpp ${imgui_dir}/imgui_draw.cpp ${imgui_dir}/imgui_tables.cpp ${imgui_dir}/imgui_widgets.cpp
    ${imgui_dir}/backends/imgui_impl_glfw.cpp ${imgui_dir}/backends/imgui_impl_opengl3.cpp
    ${imgui_dir}/misc/freetype/imgui_freetype.cpp ${imgui_dir}/misc/cpp/imgui_stdlib.cpp)
  target_include_directories(tilescope_imgui SYSTEM PUBLIC
    ${imgui_dir} ${imgui_dir}/backends ${imgui_dir}/misc/freetype ${imgui_dir}/misc/cpp)
  target_compile_definitions(tilescope_imgui PUBLIC IMGUI_DISABLE_OBSOLETE_FUNCTIONS IMGUI_ENABLE_FREETYPE IMGUI_DEFINE_MATH_OPERATORS)
  set_target_properties(tilescope_imgui PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(tilescope_imgui PUBLIC glfw Freetype::Freetype ${CMAKE_DL_LIBS})
else()
  add_library(tilescope_imgui INTERFACE)
  target_link_libraries(tilescope_imgui INTERFACE imgui::imgui)
endif()
