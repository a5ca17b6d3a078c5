// PanelScreen: draws one panel alone, in ImGui's own font, and moves a mouse over it; nothing reaches a GPU.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "app/ui/text_record.h"
#include "app/ui/theme.h"
#include "app/views/panels.h"

namespace tilescope {

using DrawPanel = void (*)(const View&, Commands&);

class PanelScreen {
 public:
  explicit PanelScreen(ImVec2 size, ThemeKind kind = ThemeKind::dark)
      : context_(ImGui::CreateContext()), theme_(make_theme(kind, 1)) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.ConfigInputTrickleEventQueue = false;
    io.DisplaySize = size;
    io.DeltaTime = 1.0F / 60;
    ImFont* font = io.Fonts->AddFontDefault();
    io.Fonts->Build();
    for (auto each : theme_fonts) theme_.*each = font;
  }
  ~PanelScreen() { ImGui::DestroyContext(context_); }
  PanelScreen(const PanelScreen&) = delete;
  PanelScreen& operator=(const PanelScreen&) = delete;

  std::vector<Command> frame(View view, DrawPanel draw) {
    ImGui::SetCurrentContext(context_);
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("panel", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    view.theme = &theme_;
    Commands commands;
    draw(view, commands);
    ImGui::End();
    ImGui::Render();
    vertices_ = ImGui::GetDrawData()->TotalVtxCount;
    return commands.take();
  }
  /// The same with the mouse there.
  std::vector<Command> frame(const View& view, DrawPanel draw, ImVec2 at, bool down = false) {
    mouse(at);
    button(0, down);
    return frame(view, draw);
  }
  /// What a panel writes, once it has been laid out.
  std::string text(const View& view, DrawPanel draw) {
    frame(view, draw);
    const TextRecording recording;
    frame(view, draw);
    return recording.text();
  }
  void mouse(ImVec2 at) { ImGui::GetIO().AddMousePosEvent(at.x, at.y); }
  void button(int which, bool down) { ImGui::GetIO().AddMouseButtonEvent(which, down); }
  void wheel(float by) { ImGui::GetIO().AddMouseWheelEvent(0, by); }
  std::vector<Command> click(const View& view, DrawPanel draw, ImVec2 at) {
    mouse(at);
    frame(view, draw);
    button(0, true);
    std::vector<Command> all = frame(view, draw);
    button(0, false);
    for (Command& command : frame(view, draw)) all.push_back(std::move(command));
    return all;
  }
  int vertices() const { return vertices_; }
  const Theme& theme() const { return theme_; }

 private:
  ImGuiContext* context_;
  Theme theme_;
  int vertices_ = 0;
};

}  // namespace tilescope
