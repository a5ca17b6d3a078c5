// The window's own frames, driven by the events that a keyboard and a mouse cause.
#include <cfloat>
#include <cstdio>
#include <utility>

#include "app/platform/headless_context.h"
#include "app/ui/language.h"
#include "app/views/app_frame.h"
#include "tests/monkey/screen.h"

namespace tilescope {

namespace {

class WindowScreen : public Screen {
 public:
  WindowScreen(std::unique_ptr<HeadlessContext> context, std::unique_ptr<AppFrame> frame)
      : context_(std::move(context)), frame_(std::move(frame)) {}

  void frame(double seconds) override { frame_->build(width_, height_, seconds); }

  void input(Random& random) override {
    ImGuiIO& io = frame_->io();
    switch (random.below(8)) {
      case 0:
      case 1:
        press(random);
        break;
      case 2:
      case 3:
        move(random);
        break;
      case 4:
        move(random);
        click(random);
        break;
      case 5:
        io.AddMouseWheelEvent(0, static_cast<float>(random.unit() * 4 - 2));
        break;
      case 6:
        io.AddInputCharactersUTF8(random.pick<const char*>({"1", "0", "-", "+", "?", "=", "9999999999", "\xed\x95\x9c", ".", "e"}));
        break;
      default:
        if (random.chance(20)) resize(random);
        if (random.chance(10)) frame_->set_scale(1, random.pick({0.5F, 1.0F, 2.0F}));
    }
    frame(1.0 / 60);
  }

 private:
  void move(Random& random) {
    frame_->io().AddMousePosEvent(static_cast<float>(random.unit() * width_), static_cast<float>(random.unit() * height_));
    frame(1.0 / 60);
  }
  /// The button may stay down for some frames and be let go elsewhere: a drag.
  void click(Random& random) {
    const int button = random.chance(85) ? 0 : 1;
    frame_->io().AddMouseButtonEvent(button, true);
    frame(1.0 / 60);
    if (random.chance(30)) move(random);
    frame_->io().AddMouseButtonEvent(button, false);
  }
  void press(Random& random) {
    const ImGuiKey key = random.pick({ImGuiKey_Space,     ImGuiKey_RightArrow, ImGuiKey_LeftArrow, ImGuiKey_Home,  ImGuiKey_End,
                                      ImGuiKey_PageDown,  ImGuiKey_PageUp,     ImGuiKey_Escape,    ImGuiKey_Enter, ImGuiKey_Tab,
                                      ImGuiKey_Backspace, ImGuiKey_F1,         ImGuiKey_F5,        ImGuiKey_F11,   ImGuiKey_1,
                                      ImGuiKey_2,         ImGuiKey_3,          ImGuiKey_4,         ImGuiKey_5,     ImGuiKey_6,
                                      ImGuiKey_Z,         ImGuiKey_S,          ImGuiKey_R,         ImGuiKey_L,     ImGuiKey_T,
                                      ImGuiKey_UpArrow,   ImGuiKey_DownArrow,  ImGuiKey_Delete,    ImGuiKey_Equal, ImGuiKey_Minus});
    const ImGuiKey modifier =
        random.pick({ImGuiKey(ImGuiMod_None), ImGuiKey(ImGuiMod_None), ImGuiKey(ImGuiMod_Ctrl), ImGuiKey(ImGuiMod_Shift)});
    ImGuiIO& io = frame_->io();
    if (modifier != ImGuiMod_None) io.AddKeyEvent(modifier, true);
    io.AddKeyEvent(key, true);
    frame(1.0 / 60);
    frame_->io().AddKeyEvent(key, false);
    if (modifier != ImGuiMod_None) frame_->io().AddKeyEvent(modifier, false);
  }
  void resize(Random& random) {
    width_ = random.pick({960, 1280, 640, 200, 64});
    height_ = random.pick({540, 720, 480, 64});
  }

  std::unique_ptr<HeadlessContext> context_;
  std::unique_ptr<AppFrame> frame_;
  int width_ = 960, height_ = 540;
};

}  // namespace

std::unique_ptr<Screen> open_screen(Session& session) {
  use_language(nullptr);
  Result<std::unique_ptr<HeadlessContext>> context = HeadlessContext::make();
  if (!context) {
    std::fprintf(stderr, "monkey: %s\n", context.error().sentence.text().c_str());
    return nullptr;
  }
  AppFrame::Options options;
  options.languages = {"en", "ko"};
  Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(session, options);
  if (!frame) {
    std::fprintf(stderr, "monkey: %s\n", frame.error().sentence.text().c_str());
    return nullptr;
  }
  return std::make_unique<WindowScreen>(std::move(*context), std::move(*frame));
}

}  // namespace tilescope
