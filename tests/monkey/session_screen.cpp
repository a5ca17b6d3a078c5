// A screen that draws nothing: only the session's clock runs.
#include "tests/monkey/screen.h"

namespace tilescope {

namespace {

class SessionScreen : public Screen {
 public:
  explicit SessionScreen(Session& session) : session_(session) {}
  void frame(double seconds) override { session_.tick(seconds); }
  void input(Random& /*random*/) override { session_.tick(0); }

 private:
  Session& session_;
};

}  // namespace

std::unique_ptr<Screen> open_screen(Session& session) {
  return std::make_unique<SessionScreen>(session);
}

}  // namespace tilescope
