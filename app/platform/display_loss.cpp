// Replaces Xlib's handler of a lost connection, in the library that GLFW loaded.
#include "app/platform/display_loss.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

namespace tilescope {

namespace {

constexpr int exit_machine_lacks = 3;

using Handler = int (*)(void* display);
void (*before_the_end)() = nullptr;

/// Xlib does not let this return.
int end_program(void*) {
  if (before_the_end != nullptr) before_the_end();
  std::fputs("tilescope: the display is gone, and the window with it: open it again on another display\n", stderr);
  std::fflush(stderr);
  ::_exit(exit_machine_lacks);
}

}  // namespace

void end_with_display(void (*before)()) {
  before_the_end = before;
  void* xlib = ::dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (xlib == nullptr) return;
  using SetHandler = Handler (*)(Handler);
  if (const auto set = reinterpret_cast<SetHandler>(::dlsym(xlib, "XSetIOErrorHandler")); set != nullptr) set(&end_program);
  ::dlclose(xlib);
}

}  // namespace tilescope
