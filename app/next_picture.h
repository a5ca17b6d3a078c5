// NextPicture: a picture of the next scene for the presenter's window, drawn by `tilescope render` beside the window, so that no
// frame of the lecture waits for it.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/session/session_view.h"
#include "app/platform/child_process.h"
#include "app/platform/framebuffer.h"

namespace tilescope {

/// Size of a picture of what the class sees, before it stands small in the presenter's window.
inline constexpr int class_picture_width = 1280, class_picture_height = 720;

/// Returns the arguments of `tilescope render` that draw what comes next before the class; empty where nothing does.
std::vector<std::string> next_picture_arguments(const SessionView& view);

class NextPicture {
 public:
  /// Draws what comes next once it has stayed the same for a moment. Returns true when picture() has become another one.
  bool follow(const SessionView& view);
  /// Of what comes next; nullopt while it is drawn, and where nothing comes or it cannot be drawn.
  const std::optional<Picture>& picture() const { return picture_; }
  ~NextPicture();
  NextPicture() = default;
  NextPicture(const NextPicture&) = delete;
  NextPicture& operator=(const NextPicture&) = delete;

 private:
  void begin();
  void take_drawn();

  std::vector<std::string> wanted_, drawn_;  // arguments: of what comes next, and of the child
  std::chrono::steady_clock::time_point since_;
  std::unique_ptr<ChildProcess> child_;
  std::future<std::optional<Picture>> read_;
  std::string path_;
  std::optional<Picture> picture_;
};

}  // namespace tilescope
