// AppFrame: one frame of the window, whatever shows it — the window, `render` and the tests drive exactly this.
//
//   input events ─► ImGuiIO ─► build(): keys, layout, panels ─► commands ─► Session
//                              draw(): ImGui's lists and the quads ─► OpenGL
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <imgui.h>

#include "app/model/session.h"
#include "app/platform/framebuffer.h"
#include "app/ui/fonts.h"
#include "app/ui/layout.h"
#include "app/ui/quad_batch.h"
#include "app/views/view.h"

namespace tilescope {

class AppFrame {
 public:
  struct Options {
    float display_scale = 1;  // pixels of a point
    float scale = 1;          // of the display times the user's own
    LayoutShares shares;
    std::string panel;                            // only this one, filling the picture; empty: the whole window
    std::vector<std::string> languages = {"en"};  // for the language button
    bool say_missing_fonts = false;               // once, in the first seconds
  };

  /// Makes the ImGui context and the GL objects; a GL context must be current. `session` must outlive the frame.
  /// Errors  this OpenGL cannot build the shaders.
  static Result<std::unique_ptr<AppFrame>> make(Session& session, Options options);
  ~AppFrame();
  AppFrame(const AppFrame&) = delete;
  AppFrame& operator=(const AppFrame&) = delete;

  /// Where input events go; valid until the next call of any AppFrame's function.
  ImGuiIO& io();
  /// Lets `seconds` pass and builds the next frame for a picture of `width` x `height` pixels. Draws nothing yet.
  void build(int width, int height, double seconds);
  /// Draws what was built into the framebuffer that is bound.
  void draw();
  /// Draws into a picture of its own and reads it back.
  Result<Picture> draw_picture();

  /// True when the next frame would differ from this one without any input.
  bool wants_frame() const;
  /// True while a text field has the keyboard: its cursor blinks.
  bool typing() const;
  void set_scale(float display_scale, float user_scale);
  float scale() const { return options_.scale; }
  const LayoutShares& shares() const { return options_.shares; }
  const Layout& layout() const { return layout_; }
  const Theme& theme() const { return theme_; }
  const FontLibrary& fonts() const { return fonts_; }
  /// The user's change of the text size by Ctrl + and −, not yet taken; 1 when there is none.
  float take_text_scale_change();

 private:
  AppFrame(Session& session, Options options);
  void update_theme(float width, float height);
  /// A panel in its frame; "stage" is whatever the middle shows.
  struct Place {
    std::string_view panel;
    Rect frame, content;
  };
  /// Where no font file was found: what stands in.
  void say_missing_fonts() const;
  std::vector<Place> places_of(const View& view) const;
  std::string_view panel_under_mouse(const View& view) const;
  void draw_window(const View& view, Commands& commands);
  void draw_frame(const Rect& rect) const;
  void draw_place(const Place& place, const View& view, Commands& commands);
  void draw_panel(const char* id, const Rect& rect, const View& view, Commands& commands);
  void draw_splitters(const View& view);
  /// After a key tooltips stay away until the mouse is used again: who steps by keys wants to see what is below them.
  void rest_tooltips();
  void carry_out(Commands& commands);

  Session& session_;
  Options options_;
  ImGuiContext* context_ = nullptr;
  std::unique_ptr<QuadRenderer> quads_;
  std::optional<Framebuffer> framebuffer_;
  FontLibrary fonts_;
  Theme theme_;
  Layout layout_;
  float built_scale_ = 0;  // what theme and fonts were made for
  std::string built_language_;
  bool gl_ready_ = false;
  bool changed_ = false;  // a command was carried out after the frame was built
  double settling_ = 0;   // seconds of frames still wanted after input: tooltips wait, sizes settle
  float text_scale_change_ = 1;
  bool tooltips_rest_ = false;
};

}  // namespace tilescope
