// HeadlessContext: OpenGL without a display, through EGL (Mesa's surfaceless platform, or a GPU's device platform).
#pragma once

#include <memory>

#include "sim/core/result.h"

namespace tilescope {

class HeadlessContext {
 public:
  ~HeadlessContext();
  HeadlessContext(const HeadlessContext&) = delete;
  HeadlessContext& operator=(const HeadlessContext&) = delete;

  /// Creates an OpenGL 3.3 core context and makes it current on this thread.
  /// Errors  no EGL, or none with OpenGL 3.3: names what there is and what to install.
  static Result<std::unique_ptr<HeadlessContext>> make();

 private:
  HeadlessContext() = default;
  void* display_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace tilescope
