// Screen: what stands between the monkey's keys and mouse and the session. Two executables link one of two definitions.
#pragma once

#include <memory>

#include "app/model/session/session.h"
#include "tests/monkey/random.h"

namespace tilescope {

class Screen {
 public:
  virtual ~Screen() = default;
  /// Lets time pass and builds a frame where there is one to build.
  virtual void frame(double seconds) = 0;
  /// Sends a random key, character, mouse or size event.
  virtual void input(Random& random) = 0;
};

/// Opens the window's frames without a display; the session alone where this executable or machine has none.
std::unique_ptr<Screen> open_screen(Session& session);

}  // namespace tilescope
