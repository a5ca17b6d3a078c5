// opengl_name(): names the current OpenGL, for messages about missing support.
#pragma once

#include <string>

namespace tilescope {

/// Returns "OpenGL 3.1 Mesa 22.3.6 (llvmpipe)" for the current context; empty without one.
std::string opengl_name();

}  // namespace tilescope
