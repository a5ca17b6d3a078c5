// AppFrame: one frame of the window. The window, `render` and the tests all use it.
//
//   input events ─► ImGuiIO ─► build(): keys, layout, panels ─► commands ─► Session
//                              draw(): ImGui's lists and the quads ─► OpenGL
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <imgui.h>

#include "app/model/session/session.h"
#include "app/platform/framebuffer.h"
#include "app/ui/fonts.h"
#include "app/ui/layout.h"
#include "app/ui/quad_batch.h"
#include "app/ui/svg.h"
#include "app/views/held_typing.h"
#include "app/views/view.h"

namespace tilescope {

struct PanelInfo;  // app/views/panel_table.h

class AppFrame {
 public:
  struct Options {
    float display_scale = 1;  // pixels per point
    float scale = 1;          // display scale times the user's
    LayoutShares shares;
    std::string panel;                            // draw only this one; empty: the whole window
    bool lesson_column = true;                    // false: an open lesson is told beside the picture, as on an exported page
    bool caption = false;                         // draw what is shown in place of the top bar, for exported pictures
    std::vector<std::string> languages = {"en"};  // for the language button
    bool say_missing_fonts = false;               // once, in the first seconds
    bool follows = false;                         // beside another frame of the session, which lets its time pass
    /// What the last window showed when it ended without being closed: offered once. Null: nothing.
    std::shared_ptr<const WindowState> left_over;
  };

  /// Creates the ImGui context and the GL objects; needs a current GL context. `session` must outlive the frame.
  /// Errors  the shaders do not compile
  static Result<std::unique_ptr<AppFrame>> make(Session& session, Options options);
  ~AppFrame();
  AppFrame(const AppFrame&) = delete;
  AppFrame& operator=(const AppFrame&) = delete;

  /// Returns the sink of input events, valid until the next AppFrame call.
  ImGuiIO& io();
  /// Makes this frame's ImGui context the current one, where there are several.
  void select();
  /// Advances by `seconds` and builds the next frame of `width` x `height` pixels without drawing it.
  void build(int width, int height, double seconds);
  /// Draws the built frame into the bound framebuffer.
  void draw();
  /// Draws off screen and reads the pixels back.
  Result<Picture> draw_picture();
  /// Writes the built frame as a vector picture; needs set_vector().
  SvgPicture draw_svg(const std::string& prefix = {}) const;

  /// Returns true if the next frame differs without any input.
  bool wants_frame() const;
  /// Returns true while a text field has the keyboard, because its cursor blinks.
  bool typing() const;
  /// From the next frame on: whether frames are built for draw_svg().
  void set_vector(bool on) { vector_ = on; }
  void set_scale(float display_scale, float user_scale);
  float scale() const { return options_.scale; }
  const LayoutShares& shares() const { return options_.shares; }
  const Layout& layout() const { return layout_; }
  const Theme& theme() const { return theme_; }
  const FontLibrary& fonts() const { return fonts_; }
  /// Returns the pending change of the text size (Ctrl + and −); 1 for none.
  float take_text_scale_change();

 private:
  AppFrame(Session& session, Options options);
  void update_theme(float width, float height);
  /// Draws a panel in its frame; "stage" is the middle view.
  struct Place {
    std::string_view panel;
    Rect frame, content;
  };
  /// Names the fallback font if no font file was found.
  void say_missing_fonts() const;
  std::vector<Place> places_of(const View& view) const;
  std::string_view panel_under_mouse(const View& view) const;
  /// Computes `layout_` for what is shown.
  void lay_out(const View& view);
  void draw_window(const View& view, Commands& commands);
  void draw_frame(const Rect& rect) const;
  void draw_place(const Place& place, const View& view, Commands& commands);
  /// Returns the theme of a panel, by its width.
  Theme presented_theme(const View& view, const PanelInfo& panel, float width) const;
  void draw_panel(const char* id, const Rect& rect, const View& view, Commands& commands);
  void draw_splitters(const View& view);
  bool in_column(const View& view) const { return view.lesson.lesson != nullptr && options_.lesson_column; }
  /// Shows what the lesson's page looks at and nothing else.
  static bool presents_lesson(const View& view) { return view.workspace->present && view.lesson.lesson != nullptr; }
  /// A presented race has no column beside it: the numbers of one row say nothing about who wins.
  static bool presents_race(const View& view) {
    return view.workspace->present && view.playback.race && view.lesson.lesson == nullptr;
  }
  void fit_column_to_lesson(const View& view);
  /// Outlines what the lesson's page looks at and dims the rest.
  void draw_look(const View& view, std::string_view panel, const Rect& frame) const;
  /// The one line of the first start.
  void draw_offer(const View& view, Commands& commands) const;
  /// Hides tooltips after a key press until the mouse moves, because they cover what changes.
  void rest_tooltips();
  /// Presented, a mouse that rests marks nothing: before it first moves, and two seconds after it last did.
  void rest_mouse(double seconds);
  /// Opens a panel's menu on a right click; copies texts.
  void draw_panel_menu(const View& view, Commands& commands);
  /// The offer, the list of scenes, the question, the pointer, the black screen.
  void draw_in_front(const View& view, Commands& commands);
  void carry_out(Commands& commands);

  Session& session_;
  Options options_;
  ImGuiContext* context_ = nullptr;
  std::unique_ptr<QuadRenderer> quads_;
  std::optional<Framebuffer> framebuffer_;
  FontLibrary fonts_;
  Theme theme_;
  /// Where a lesson is presented at another text size: the theme of the default one, which draws nothing.
  std::optional<Theme> plain_theme_;
  ImFontAtlas plain_fonts_;
  Layout layout_;
  float built_scale_ = 0, built_plain_scale_ = 0;  // what theme and fonts were made for
  std::string built_language_;
  bool built_reading_ = false;
  bool gl_ready_ = false;
  bool vector_ = false;
  bool asked_ = false;    // the class, in the last frame
  bool changed_ = false;  // a command was carried out after the frame was built
  HeldTyping typing_;
  double settling_ = 0;  // seconds of frames still wanted after input: tooltips wait, sizes settle
  float text_scale_change_ = 1;
  std::int64_t gestures_ = 0;             // so far: presses of the mouse, and typings of a number
  std::int64_t press_ = 0, typed_ = 0;    // the latest of each
  std::string copy_panel_;                // whose text goes to the clipboard with the next frame; empty: none
  std::string menu_panel_;                // whose menu is open
  std::string menu_text_, menu_tooltip_;  // what the mouse was on when it opened
  bool tooltips_rest_ = false;
  bool presented_ = false, mouse_rests_ = false;
  double mouse_still_ = 0;               // seconds since it moved
  ImVec2 mouse_ = {-FLT_MAX, -FLT_MAX};  // where it is, also while it rests
};

}  // namespace tilescope
