// Opens EGL without a window system.
#include "app/platform/headless_context.h"

#include <array>
#include <cstring>
#include <string>

#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "app/platform/opengl_name.h"

namespace tilescope {

namespace {

bool has_extension(const char* list, const char* name) {
  return list != nullptr && std::strstr(list, name) != nullptr;
}

/// Lists displays to try. Surfaceless Mesa comes first, because it draws the same bytes everywhere.
std::array<EGLDisplay, 3> candidate_displays() {
  std::array<EGLDisplay, 3> displays = {EGL_NO_DISPLAY, EGL_NO_DISPLAY, EGL_NO_DISPLAY};
  const char* client = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  if (has_extension(client, "EGL_EXT_platform_base")) {
    if (has_extension(client, "EGL_MESA_platform_surfaceless"))
      displays[0] = eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr);
    EGLDeviceEXT device = nullptr;
    EGLint count = 0;
    if (has_extension(client, "EGL_EXT_platform_device") && has_extension(client, "EGL_EXT_device_enumeration") &&
        eglQueryDevicesEXT(1, &device, &count) && count > 0)
      displays[1] = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, device, nullptr);
  }
  displays[2] = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  return displays;
}

/// Creates an OpenGL 3.3 core context, or any OpenGL if `core` is false.
EGLContext make_context(EGLDisplay display, bool core) {
  if (!has_extension(eglQueryString(display, EGL_EXTENSIONS), "EGL_KHR_surfaceless_context")) return EGL_NO_CONTEXT;
  if (!eglBindAPI(EGL_OPENGL_API)) return EGL_NO_CONTEXT;
  constexpr EGLint wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (!eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) return EGL_NO_CONTEXT;
  constexpr EGLint attributes[] = {
      EGL_CONTEXT_MAJOR_VERSION,           3,       EGL_CONTEXT_MINOR_VERSION, 3, EGL_CONTEXT_OPENGL_PROFILE_MASK,
      EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, core ? attributes : nullptr);
  if (context != EGL_NO_CONTEXT && !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
    eglDestroyContext(display, context);
    return EGL_NO_CONTEXT;
  }
  return context;
}

/// Whether so much address space is left.
bool has_room(std::size_t bytes) {
  void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  ::munmap(room, bytes);
  return true;
}

constexpr std::size_t to_load_driver = std::size_t{256} << 20;  // that draws in software; EGL only says that it has none
/// To draw a picture with it. Mesa took 630 MB for one of 1600x900 on two cores, and crashed where less was left.
constexpr std::size_t to_draw = std::size_t{640} << 20;

/// Whether a limit on address space (ulimit -v) leaves the driver too little: some drivers crash rather than say so.
bool is_limited_too_far() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && !has_room(to_draw);
}

}  // namespace

HeadlessContext::~HeadlessContext() {
  if (display_ == nullptr) return;
  eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  if (context_ != nullptr) eglDestroyContext(display_, context_);
  eglTerminate(display_);
}

Result<std::unique_ptr<HeadlessContext>> HeadlessContext::make() {
  const Error no_room{"drawing needs more memory than the machine gives: raise the limit on memory, or free some",
                      Error::Kind::machine_lacks};
  if (is_limited_too_far()) return no_room;
  std::string found;
  for (EGLDisplay display : candidate_displays()) {
    if (display == EGL_NO_DISPLAY) continue;
    EGLint major = 0, minor = 0;
    if (!eglInitialize(display, &major, &minor)) continue;
    std::unique_ptr<HeadlessContext> out(new HeadlessContext);
    out->display_ = display;
    out->context_ = make_context(display, true);
    if (out->context_ != EGL_NO_CONTEXT) return out;
    out->context_ = make_context(display, false);
    if (out->context_ != EGL_NO_CONTEXT && found.empty()) found = opengl_name();
  }
  if (found.empty() && !has_room(to_load_driver)) return no_room;
  return Error{
      fmt::format("drawing without a display needs OpenGL 3.3, and EGL gives {} here: {}install libegl1 and libgl1-mesa-dri, "
                  "which draw in software without a GPU",
                  found.empty() ? "none" : found, found.empty() ? "" : "update the driver of the graphics card, or "),
      Error::Kind::machine_lacks};
}

}  // namespace tilescope
