// opengl_name(): which OpenGL a context gives, for a sentence about what is missing.
#pragma once

#include <string>

namespace tilescope {

/// "OpenGL 3.1 Mesa 22.3.6 (llvmpipe)", of the context that is current; empty without one.
std::string opengl_name();

}  // namespace tilescope
