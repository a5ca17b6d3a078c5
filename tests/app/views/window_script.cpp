// Sends events to an AppFrame and lets frames pass.
#include "tests/app/views/window_script.h"

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "app/ui/language.h"
#include "tests/skip.h"

namespace tilescope {

Session::Start opening_start() {
  Session::Start start;
  const Result<GpuSpec> toy = load_gpu("toy");
  REQUIRE(static_cast<bool>(toy));
  start.request.gpu = *toy;
  start.request.tile = TileShape{16, 16};
  start.gpu_ids = gpu_ids();
  start.load_gpu = &load_gpu;
  start.load_text = [](const std::string& path) { return read_text_file(path); };
  start.threads = false;
  return start;
}

Session::Start h200_start(const AttentionProblem& problem) {
  Session::Start start = opening_start();
  const Result<GpuSpec> h200 = start.load_gpu("h200");
  REQUIRE(static_cast<bool>(h200));
  start.request.gpu = *h200;
  start.request.tile.reset();
  start.request.problem = problem;
  return start;
}

std::unique_ptr<WindowScript> WindowScript::open(int width, int height, float scale) {
  return open(opening_start(), width, height, scale);
}

std::unique_ptr<WindowScript> WindowScript::open(Session::Start start, int width, int height, float scale,
                                                 std::shared_ptr<const WindowState> left_over) {
  use_language(nullptr);
  std::unique_ptr<WindowScript> script(new WindowScript);
  Result<std::unique_ptr<HeadlessContext>> context = HeadlessContext::make();
  if (!context) {
    skip_test(context.error().sentence);
    return nullptr;
  }
  script->context_ = std::move(*context);
  script->session_ = std::make_unique<Session>(std::move(start));
  AppFrame::Options options;
  options.scale = scale;
  options.left_over = std::move(left_over);
  Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(*script->session_, options);
  REQUIRE(static_cast<bool>(frame));
  script->frame_ = std::move(*frame);
  script->width_ = width;
  script->height_ = height;
  script->settle();
  return script;
}

void WindowScript::frame_once(double seconds) {
  frame_->build(width_, height_, seconds);
}

void WindowScript::settle() {
  session_->finish();
  // At rest panels' own eased highlights still need some frames; the clock of the session stands still by then.
  int quiet = 0;
  for (int i = 0; i < 2000 && quiet < 8; ++i) {
    frame_once(1.0 / 30);
    quiet = frame_->wants_frame() ? 0 : quiet + 1;
  }
}

void WindowScript::press(ImGuiKey key, ImGuiKey modifier) {
  if (modifier != ImGuiKey_None) frame_->io().AddKeyEvent(modifier, true);
  frame_->io().AddKeyEvent(key, true);
  frame_once(1.0 / 60);
  frame_once(1.0 / 60);
  frame_->io().AddKeyEvent(key, false);
  if (modifier != ImGuiKey_None) frame_->io().AddKeyEvent(modifier, false);
  settle();
}

void WindowScript::type(const char* text) {
  frame_->io().AddInputCharactersUTF8(text);
  settle();
}

void WindowScript::move(float x, float y) {
  frame_->io().AddMousePosEvent(x, y);
  settle();
}

void WindowScript::hover(float x, float y) {
  frame_->io().AddMousePosEvent(x, y);
  frame_once(1.0 / 60);
  frame_once(1.0 / 60);
}

void WindowScript::click(float x, float y) {
  move(x, y);
  frame_->io().AddMouseButtonEvent(0, true);
  frame_once(1.0 / 60);
  frame_once(1.0 / 60);
  frame_->io().AddMouseButtonEvent(0, false);
  settle();
}

void WindowScript::drag(ImVec2 from, ImVec2 to) {
  move(from.x, from.y);
  frame_->io().AddMouseButtonEvent(0, true);
  frame_once(1.0 / 60);
  frame_once(1.0 / 60);
  for (int i = 1; i <= 8; ++i) {
    const float t = static_cast<float>(i) / 8;
    frame_->io().AddMousePosEvent(from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t);
    frame_once(1.0 / 60);
  }
  frame_once(1.0 / 60);
  frame_->io().AddMouseButtonEvent(0, false);
  settle();
}

Picture WindowScript::picture() {
  // The pointer leaves, so that nothing is hovered.
  frame_->io().AddMousePosEvent(-FLT_MAX, -FLT_MAX);
  settle();
  Result<Picture> picture = frame_->draw_picture();
  REQUIRE(static_cast<bool>(picture));
  return std::move(*picture);
}

}  // namespace tilescope
