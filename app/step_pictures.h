// StepPictures: a session without a display whose steps are drawn one after the other, into one framebuffer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/model/session/session.h"
#include "app/model/session/window_options.h"
#include "app/platform/headless_context.h"
#include "app/views/app_frame.h"

namespace tilescope {

class StepPictures {
 public:
  /// Simulates, and draws nothing yet. `caption` names problem, GPU, step and line in every picture.
  /// Errors  whatever simulate() refuses, an unknown panel (names those there are), a step beyond the last, no EGL
  static Result<std::unique_ptr<StepPictures>> make(const RenderOptions& options, bool caption);

  SessionView view() const { return session_.view(); }
  std::string notice() const { return frame_->fonts().notice(); }

  /// Carries a command out to its end, with all motion.
  void carry_out(const Command& command);
  /// Goes to a step at once.
  void seek(std::int64_t step);
  /// Sets out for the next step of that size. False at the end of the run.
  bool set_out(Grain grain);
  bool moving() const;
  /// Lets time pass on the way to a step.
  void pass(double seconds);
  /// Gives the presenter's panel what the class sees, and what it sees next; null: nothing comes next.
  void add_small_pictures(const Picture& now, const Picture* next);
  /// Draws the present moment.
  Result<Picture> draw();
  /// Whether the present moment, and those after it, are for draw_svg().
  void set_vector(bool on);
  /// Writes it as a vector picture; `prefix` begins its ids.
  SvgPicture draw_svg(const std::string& prefix = {}) const { return frame_->draw_svg(prefix); }

 private:
  StepPictures(const RenderOptions& options, Session::Start start) : options_(options), session_(std::move(start)) {}
  void build(int frames, double seconds = 0);

  RenderOptions options_;
  Session session_;
  std::unique_ptr<HeadlessContext> context_;
  std::unique_ptr<AppFrame> frame_;  // after the context, which it draws in
};

}  // namespace tilescope
