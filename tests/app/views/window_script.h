// WindowScript: the window without a display, driven by the events a person would cause.
#pragma once

#include <memory>
#include <string>

#include "app/platform/headless_context.h"
#include "app/views/app_frame.h"

namespace tilescope {

class WindowScript {
 public:
  /// nullptr with a message printed where this machine has no EGL.
  static std::unique_ptr<WindowScript> open(int width = 960, int height = 540, float scale = 1);
  static std::unique_ptr<WindowScript> open(Session::Start start, int width, int height, float scale = 1,
                                            std::shared_ptr<const WindowState> left_over = nullptr);

  Session& session() { return *session_; }
  AppFrame& frame() { return *frame_; }
  View view() const { return {session_->view(), &frame_->theme()}; }

  /// Runs frames until nothing moves any more.
  void settle();
  void press(ImGuiKey key, ImGuiKey modifier = ImGuiKey_None);
  void type(const char* text);
  void move(float x, float y);
  /// Two frames with the mouse there: what it is over is known then, though colours may still be on their way.
  void hover(float x, float y);
  void click(float x, float y);
  void drag(ImVec2 from, ImVec2 to);
  /// Does a command as a panel would ask for it.
  template <class T>
  void command(T value) {
    session_->apply(Command(std::move(value)));
    settle();
  }
  void resize(int width, int height) {
    width_ = width;
    height_ = height;
    settle();
  }
  Picture picture();
  int width() const { return width_; }
  int height() const { return height_; }

 private:
  WindowScript() = default;
  void frame_once(double seconds);
  std::unique_ptr<HeadlessContext> context_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<AppFrame> frame_;
  int width_ = 0, height_ = 0;
};

/// The opening request of the window, as the command line makes it.
Session::Start opening_start();
/// The same on an H200, with the tile of its kernel.
Session::Start h200_start(const AttentionProblem& problem);

}  // namespace tilescope
