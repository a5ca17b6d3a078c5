// end_with_display(): what happens when the X server goes away under the window.
#pragma once

namespace tilescope {

/// Xlib ends a program whose server died with exit code 1 and words of its own. With this it is exit code 3 and one line.
/// `before` is called first: it must not use the display. Does nothing on a display that is not X11. Call it after glfwInit().
void end_with_display(void (*before)());

}  // namespace tilescope
