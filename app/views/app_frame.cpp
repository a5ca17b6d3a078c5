// Builds and draws a frame: theme, keys, layout, panels.
#include "app/views/app_frame.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <epoxy/gl.h>
#include <fmt/format.h>
#include <imgui_impl_opengl3.h>
#include <imgui_internal.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_list.h"
#include "app/ui/key_hold.h"
#include "app/ui/language.h"
#include "app/ui/say.h"
#include "app/ui/text_record.h"
#include "app/views/beside_run.h"
#include "app/views/caption.h"
#include "app/views/chrome.h"
#include "app/views/compare/run_bars.h"
#include "app/views/keys.h"
#include "app/views/lesson/lesson_clicker.h"
#include "app/views/lesson/presented_text.h"
#include "app/views/lesson/question.h"
#include "app/views/panel_table.h"
#include "app/views/terms.h"

namespace tilescope {

namespace {

/// Scale while presenting, for a window in points: a class sees the window whole, so text grows with it. It is as large as leaves
/// room for the numbers in the cells of a small example. A lesson takes a column of its own, so the rest has less room.
float present_scale(float width, float height, bool lesson) {
  constexpr float least_width = 1280, least_height = 720, least = 0.6F, steps = 20;
  const float part = std::max(least, std::min(width / least_width, height / least_height));
  return std::floor((lesson ? 1.1F : 1.25F) * part * steps + 1e-3F) / steps;
}
const PanelInfo* find_panel(std::string_view id) {
  for (const PanelInfo& panel : panel_table())
    if (panel.id == id) return &panel;
  return nullptr;
}

/// Scale of the only panel of a window.
float alone_fit(std::string_view id, float width, float height) {
  constexpr float steps = 20;
  const PanelInfo* const panel = find_panel(id);
  if (panel == nullptr || panel->grows_from.x <= 0) return 1;
  const float part = std::min(width / panel->grows_from.x, height / panel->grows_from.y);
  return std::max(1.0F, std::floor(part * steps + 1e-3F) / steps);
}

/// Text scale of a maximised column panel.
constexpr float alone_scale = 1.5F;
/// Frames continue this long after input: longer than a tooltip's delay.
constexpr double seconds_to_settle = 0.5;

/// Returns the middle panel.
const char* center_panel(const View& view) {
  if (draws_curve_in_middle(view)) return "curve";
  if (view.playback.race && view.workspace->center == CenterView::stage) return "race";
  for (const CenterViewInfo& row : center_views())
    if (row.view == view.workspace->center) return row.id.data();
  return "stage";
}

/// Returns true where one panel has all the room: a maximised one, or a view about the whole run or many, which has no step.
bool has_whole_window(const View& view) {
  return !view.workspace->alone.empty() || view.workspace->center != CenterView::stage || draws_curve_in_middle(view);
}

/// Returns true for a view that would answer the question of the lesson's page: it is about the whole run. Some leave out what
/// answers: pages ask about their pictures.
bool is_withheld(const View& view) {
  const CenterView center = view.workspace->center;
  const bool leaves_out_answers = center == CenterView::stage || center == CenterView::roofline || center == CenterView::banks;
  const bool shown = center == CenterView::mask && view.lesson.scene != nullptr && view.lesson.scene->shown;
  return view.lesson.locked && !leaves_out_answers && !shown && !compares_page_runs(view);
}

/// Draws what a withheld view is about: a mask by its text, which questions speak of.
void draw_withheld(const View& view, const Rect& rect) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<std::string> lines;
  if (view.workspace->center == CenterView::mask) {
    const MaskChoice& choice = view.lane().simulation->request.masking;
    for (const auto* texts : {&choice.presets, &choice.masks})
      for (const std::string& text : *texts) lines.push_back(text);
    if (!choice.score.empty()) lines.push_back(choice.score);
  }
  const float width = rect.width() - 2 * theme.padding, gap = std::round(10 * theme.scale);
  ImFont* const font = theme.display;
  const auto height_of = [&](const std::string& text) { return wrapped_height(font, text, width) + gap; };
  float y = rect.center().y - 0.5F * theme.ui->FontSize;
  for (const std::string& line : lines) y -= 0.5F * height_of(line);
  for (const std::string& line : lines) {
    const float left = rect.min.x + std::max(theme.padding, 0.5F * (rect.width() - text_width(font, line)));
    draw_wrapped(list, font, {left, y}, theme.text, line, width);
    y += height_of(line);
  }
  draw_text(list, theme.ui, {{rect.min.x, y}, {rect.max.x, y + 1.5F * theme.ui->FontSize}}, theme.text_dim,
            tr("This view shows after the answer."), Align::center);
}

/// Returns true where the lesson's page looks at a panel; a page that names none looks at the middle.
bool looks_at(const View& view, std::string_view panel) {
  const auto& look = view.lesson.scene->look;
  return std::find(look.begin(), look.end(), panel) != look.end();
}
bool looks_at_middle(const View& view) {
  return view.lesson.scene->look.empty() || looks_at(view, "stage") || looks_at(view, "race") || view.playback.race ||
         looks_at(view, center_panel(view));
}

bool looks_at_timeline_alone(const View& view) {
  return view.lesson.lesson != nullptr && view.lesson.scene->look == std::vector<std::string>{"timeline"};
}

/// Enlarges the timeline for recorded rows, for rows of all SMs, and for a page of a lesson that is about it alone.
LayoutShares shown_shares(LayoutShares shares, const View& view, float height) {
  constexpr float recorded_lanes = 40;
  if (height <= 0) return shares;
  constexpr float most = 0.5F;
  if (looks_at_timeline_alone(view)) shares.bottom = std::max(shares.bottom, most);
  // SM rows are many, and twice as many in Race.
  const float scale = view.theme->scale, sms = view.playback.race || view.measured.probe != nullptr ? 170 : 110, upper = 525;
  constexpr float race_launches = 92;
  if (view.workspace->by_sm)
    shares.bottom += std::clamp(height - upper * scale - shares.bottom * height, 0.0F, sms * scale) / height;
  else if (view.playback.race)
    shares.bottom += std::clamp(height - upper * scale - shares.bottom * height, 0.0F, race_launches * scale) / height;
  // Room for readable row names, one curve, recorded rows, and the names of two runs.
  constexpr float lanes = 131, curve = 20, most_with_curve = 0.36F, race_lanes = 152;
  const float wanted = std::max(lanes * scale, std::min((lanes + curve) * scale, most_with_curve * height));
  shares.bottom = std::max(shares.bottom, (view.playback.race ? race_lanes * scale : wanted) / height);
  if (view.measured.probe != nullptr && !view.workspace->by_sm && !view.playback.race)
    shares.bottom += recorded_lanes * scale / height;
  if (beside_run(view) == nullptr || view.playback.race) return shares;
  // Its units, too, where the panels above keep their room.
  constexpr float pinned_row = 20, pinned_units = 35;
  const float bottom = std::max(shares.bottom * height + pinned_row * scale, least_bottom * scale);
  const float units = view.workspace->by_sm ? 0 : std::clamp(height - upper * scale - bottom, 0.0F, pinned_units * scale);
  shares.bottom = (bottom + units) / height;
  return shares;
}

/// Returns the height of the window's picture: a question to the class lies below it, not over the numbers that it asks for, and so
/// does the offer to go on where the last window was. The offer of lessons lies over the timeline, or below a view without one.
float picture_height(const View& view, bool offers_left_over) {
  const bool offers = offers_left_over || (view.lesson.offered && has_whole_window(view));
  const float offer = offers && !view.workspace->present ? left_over_height(*view.theme) : 0;
  return ImGui::GetIO().DisplaySize.y - question_room(view) - offer;
}

/// Returns every character of the current language and of its lessons, to bake the fonts.
std::u32string language_characters(const View& view) {
  std::u32string out;
  if (view.lesson.list != nullptr)
    for (const std::string_view id : {std::string_view("en"), std::string_view(view.workspace->language)})
      if (const auto found = view.lesson.list->characters.find(id); found != view.lesson.list->characters.end())
        out += decode_utf8(found->second);
  if (const Language* language = language_in_use())
    for (const auto& [english, translated] : language->texts()) out += decode_utf8(translated);
  return out;
}

}  // namespace

AppFrame::AppFrame(Session& session, Options options) : session_(session), options_(std::move(options)) {}

Result<std::unique_ptr<AppFrame>> AppFrame::make(Session& session, Options options) {
  std::unique_ptr<AppFrame> frame(new AppFrame(session, std::move(options)));
  frame->context_ = ImGui::CreateContext();
  ImGui::SetCurrentContext(frame->context_);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;  // our own settings file is used
  io.LogFilename = nullptr;
  io.ConfigFlags |= ImGuiConfigFlags_NoMouseCursorChange;
  io.ConfigInputTrickleEventQueue = true;
  io.ConfigDragClickToInputText = true;
  io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;  // in popovers; the bars and panels have tab stops
  frame->context_->ConfigNavWindowingKeyNext = frame->context_->ConfigNavWindowingKeyPrev = 0;
  std::string error;
  frame->quads_ = QuadRenderer::make(error);
  if (frame->quads_ == nullptr) return Error{error, Error::Kind::machine_lacks};
  io.UserData = frame->quads_.get();
  if (!ImGui_ImplOpenGL3_Init(epoxy_is_desktop_gl() ? "#version 330 core" : "#version 300 es"))
    return Error{"this machine's OpenGL cannot draw the window: OpenGL 3.3 or OpenGL ES 3.0 is needed", Error::Kind::machine_lacks};
  frame->gl_ready_ = true;
  return frame;
}

AppFrame::~AppFrame() {
  if (context_ == nullptr) return;
  ImGui::SetCurrentContext(context_);
  if (gl_ready_) ImGui_ImplOpenGL3_Shutdown();
  ImGui::DestroyContext(context_);
}

ImGuiIO& AppFrame::io() {
  ImGui::SetCurrentContext(context_);
  settling_ = seconds_to_settle;
  return ImGui::GetIO();
}

void AppFrame::select() {
  ImGui::SetCurrentContext(context_);
}

void AppFrame::set_scale(float display_scale, float user_scale) {
  options_.display_scale = display_scale;
  options_.scale = std::clamp(display_scale * user_scale, 0.5F, 6.0F);
}

float AppFrame::take_text_scale_change() {
  return std::exchange(text_scale_change_, 1.0F);
}

void AppFrame::update_theme(float width, float height) {
  const Workspace& workspace = *session_.view().workspace;
  const std::string_view alone = workspace.alone;
  const bool column_alone = std::find(side_panels.begin(), side_panels.end(), alone) != side_panels.end();
  const View view{session_.view(), &theme_};
  const bool lesson = in_column(view), reading = workspace.present;
  const float wide = width / options_.display_scale, high = height / options_.display_scale;
  // A single panel gets all the room; the user's text size stays, unless the panel is read from afar.
  const float fit = !options_.panel.empty() ? alone_fit(options_.panel, wide, high)
                    : reading               ? present_scale(wide, high, lesson)
                                            : scale_of_window(wide, high);
  const float others = fit * (column_alone ? alone_scale : 1), scale = options_.scale * others;
  const float plain_scale = reading && lesson ? options_.display_scale * others : scale;
  const bool other_fonts = scale != built_scale_ || plain_scale != built_plain_scale_ || workspace.language != built_language_ ||
                           reading != built_reading_;
  if (!other_fonts && theme_.kind == workspace.theme) return;
  Theme theme = make_theme(workspace.theme, scale);
  if (other_fonts) {
    if (workspace.language != built_language_) {
      Result<std::shared_ptr<const Language>> language = load_language(workspace.language);
      use_language(language ? std::move(*language) : nullptr);
    }
    const std::u32string characters = language_characters({session_.view(), &theme});
    plain_theme_.reset();
    if (plain_scale != scale) {
      plain_theme_ = make_theme(workspace.theme, plain_scale);
      fonts_.build(plain_fonts_, *plain_theme_, characters, reading);  // first: the library names the faces of the last fonts
      plain_fonts_.ClearTexData();
    }
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    fonts_.build(*ImGui::GetIO().Fonts, theme, characters, reading);
    ImGui_ImplOpenGL3_CreateFontsTexture();
    built_scale_ = scale;
    built_plain_scale_ = plain_scale;
    built_reading_ = reading;
    built_language_ = workspace.language;
  } else {
    for (auto font : theme_fonts) theme.*font = theme_.*font;
  }
  theme_ = theme;
  ImGui::GetIO().FontDefault = theme_.ui;
  apply_to_imgui(theme_);
}

void AppFrame::build(int width, int height, double seconds) {
  ImGui::SetCurrentContext(context_);
  if (!options_.follows) session_.tick(seconds);
  update_theme(static_cast<float>(width), static_cast<float>(height));
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
  io.DisplayFramebufferScale = {1, 1};
  io.DeltaTime = std::max(1e-4F, static_cast<float>(seconds));
  set_vector_style(vector_);
  ImGui_ImplOpenGL3_NewFrame();
  quads_->new_frame();
  rest_mouse(seconds);
  // A question that has just been raised is about to take the keyboard.
  if (const bool asks = session_.view().lecture->asking && !options_.follows; std::exchange(asked_, asks) != asks && asks)
    hold_keys_for(0);
  {
    const HeldKeys held;
    ImGui::NewFrame();
  }

  const View view{session_.view(), &theme_};
  Commands commands;
  const float change = handle_keys(view, panel_under_mouse(view), commands);
  if (change != 1) text_scale_change_ = change;
  draw_window(view, commands);
  rest_tooltips();
  ImGui::Render();
  settling_ = std::max(0.0, settling_ - std::max(seconds, 1e-3));
  carry_out(commands);
}

void AppFrame::rest_mouse(double seconds) {
  constexpr double seconds_until_rest = 2;
  ImGuiIO& io = ImGui::GetIO();
  auto& events = context_->InputEventsQueue;
  const bool pointer = ImGui::IsKeyDown(ImGuiKey_L);
  bool used = ImGui::IsAnyMouseDown() || pointer;
  if (!mouse_rests_) mouse_ = io.MousePos;
  ImVec2 last = mouse_;
  for (int i = 0; i < events.Size; ++i) {
    const ImGuiInputEvent& event = events[i];
    used = used || event.Type == ImGuiInputEventType_MouseButton || event.Type == ImGuiInputEventType_MouseWheel;
    if (event.Type != ImGuiInputEventType_MousePos) continue;
    used = used || event.MousePos.PosX != last.x || event.MousePos.PosY != last.y;
    last = {event.MousePos.PosX, event.MousePos.PosY};
  }
  const bool present = session_.view().workspace->present && !options_.follows;
  const bool rested = mouse_rests_;
  if (!present || used)
    mouse_rests_ = false;
  else if (!presented_)
    mouse_rests_ = true;
  else
    mouse_rests_ = mouse_rests_ || mouse_still_ >= seconds_until_rest;
  mouse_still_ = used || !present ? 0 : mouse_still_ + seconds;
  presented_ = present;
  if (mouse_rests_) {
    // A window in focus is told again and again where the mouse is.
    events.erase(std::remove_if(events.begin(), events.end(),
                                [](const ImGuiInputEvent& event) { return event.Type == ImGuiInputEventType_MousePos; }),
                 events.end());
    io.MousePos = {-FLT_MAX, -FLT_MAX};
  } else if (rested) {
    io.MousePos = mouse_;
  }
}

void AppFrame::rest_tooltips() {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 || ImGui::IsAnyMouseDown())
    tooltips_rest_ = false;
  else
    for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_GamepadStart; ++key)
      tooltips_rest_ = tooltips_rest_ || ImGui::IsKeyPressed(static_cast<ImGuiKey>(key));
  if (!tooltips_rest_ && !holds_pointer({session_.view(), &theme_})) return;
  constexpr std::string_view name = "##Tooltip";  // ImGui's tooltip windows; message boxes stay
  for (ImGuiWindow* window : context_->Windows)
    if (std::string_view(window->Name).starts_with(name)) window->Hidden = true;
}

void AppFrame::carry_out(Commands& commands) {
  changed_ = false;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) press_ = ++gestures_;
  const bool pressing = ImGui::IsMouseDown(ImGuiMouseButton_Left) || ImGui::IsMouseReleased(ImGuiMouseButton_Left);
  const bool was_typing = typing_.typing();
  const std::vector<Command> passed = typing_.pass(commands.take());
  if (!was_typing && typing_.typing()) typed_ = ++gestures_;
  // What ends the typing, Enter, Esc or a click elsewhere, belongs to it.
  session_.set_gesture(was_typing || typing_.typing() ? typed_ : pressing ? press_ : 0);
  for (const Command& command : passed) {
    session_.apply(command);
    changed_ = true;
  }
}

bool AppFrame::wants_frame() const {
  // ImGui spreads simultaneous key events over several frames, so that press and release are both seen.
  const bool mouse_will_rest = presented_ && !mouse_rests_ && ImGui::IsMousePosValid(&context_->IO.MousePos);
  return changed_ || settling_ > 0 || mouse_will_rest || context_->InputEventsQueue.Size > 0 || typing_.waiting() ||
         session_.animating();
}

bool AppFrame::typing() const {
  return context_->IO.WantTextInput;
}

void AppFrame::draw_panel(const char* id, const Rect& rect, const View& view, Commands& commands) {
  const PanelInfo* panel = find_panel(id);
  if (panel == nullptr || rect.width() < 8 || rect.height() < 8) return;
  ImGui::SetCursorScreenPos(rect.min);
  ImGuiWindowFlags flags = ImGuiWindowFlags_NoNav;
  // Bars of a page's runs take any width; a table does not.
  const PanelContent least = std::string_view(id) == "compare" && compares_page_runs(view) ? PanelContent{0, 0} : panel->least;
  const auto content = [&](float room, float points) {
    return points > 0 && room - 2 * theme_.padding < points * theme_.scale ? std::round(points * theme_.scale) : 0;
  };
  // A question to the class takes width for a while: a plot is then narrower, and not cut.
  const bool narrower = view.workspace->present && view.lecture->asking;
  const ImVec2 size = {narrower ? 0 : content(rect.width(), least.width), content(rect.height(), least.height)};
  if (!panel->lays_itself_out) ImGui::SetNextWindowContentSize(size);
  if (size.x > 0) flags |= ImGuiWindowFlags_HorizontalScrollbar;
  if (!panel->scrolls && size.x == 0 && size.y == 0) flags |= ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  // A class sees all of what its page looks at: the clicker scrolls it.
  PicturePlace* const place = presents_lesson(view) && options_.panel.empty() && std::string_view(id) != "lesson"
                                  ? &picture_places().of(view.lesson, id)
                                  : nullptr;
  if (place != nullptr)
    if (const auto wanted = std::exchange(place->wanted, std::nullopt)) ImGui::SetNextWindowScroll({-1, *wanted});
  ImGui::BeginChild(id, {rect.width(), rect.height()}, ImGuiChildFlags_AlwaysUseWindowPadding, flags);
  if (place != nullptr) {
    place->scroll = ImGui::GetScrollY();
    place->most = ImGui::GetScrollMaxY();
    place->seen = ImGui::GetWindowHeight();
    place->frame = ImGui::GetFrameCount();
  }
  if (copy_panel_ == id) {
    const TextRecording recording;
    panel->draw(view, commands);
    ImGui::SetClipboardText(recording.text().c_str());
    copy_panel_.clear();
    commands.push(ShowNotice{Notice::text_copied});
  } else {
    panel->draw(view, commands);
  }
  ImGui::EndChild();
}

void AppFrame::draw_splitters(const View& view) {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  for (Splitter splitter : all_splitters) {
    const Rect& rect = layout_.splitters[static_cast<std::size_t>(splitter)];
    if (rect.width() <= 0 || rect.height() <= 0) continue;
    ImGui::PushID(static_cast<int>(splitter));
    hit_area("splitter", rect);
    const bool across = splitter == Splitter::left || splitter == Splitter::right;
    if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
      ImGui::SetMouseCursor(across ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
      const float half = std::max(1.0F, theme_.scale);
      const ImVec2 c = rect.center();
      const Rect line = across ? Rect{{c.x - half, rect.min.y}, {c.x + half, rect.max.y}}
                               : Rect{{rect.min.x, c.y - half}, {rect.max.x, c.y + half}};
      ImGui::GetWindowDrawList()->AddRectFilled(line.min, line.max, theme_.accent, half);
    }
    if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
      options_.shares = LayoutShares{};
    else if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 1)) {
      const float height = picture_height(view, options_.left_over != nullptr);
      const LayoutShares shown = shown_shares(options_.shares, view, height);
      const float extra = shown.bottom - options_.shares.bottom;
      options_.shares = drag_splitter(shown, splitter, ImGui::GetMousePos().x, ImGui::GetMousePos().y, size.x, height, theme_.scale,
                                      view.workspace->present);
      options_.shares.bottom -= extra;
    }
    ImGui::PopID();
  }
}

void AppFrame::lay_out(const View& view) {
  ImVec2 size = ImGui::GetIO().DisplaySize;
  const float whole = size.x, height = picture_height(view, options_.left_over != nullptr);
  // A question to the class stands over the lesson's text or in place of the row; what has all the width gives some of it.
  const bool asks = view.workspace->present && view.lecture->asking;
  const bool gives = asks && !in_column(view) && (has_whole_window(view) || presents_race(view) || presents_lesson(view));
  if (gives) size.x -= presented_column(size.x, theme_.scale) + theme_.gap;
  if (presents_lesson(view)) {
    const auto beside = std::count_if(side_panels.begin(), side_panels.end(), [&](auto id) { return looks_at(view, id); });
    PresentedText text{.share = 0};
    if (in_column(view)) {
      // As without a question to the class below.
      text = presented_text(view, theme_, plain_theme_ ? *plain_theme_ : theme_, size.x, size.y);
      lesson_place().size = text.size;
    }
    layout_ = present_lesson_layout(size.x, height, theme_.scale,
                                    {looks_at_middle(view), static_cast<int>(beside), looks_at(view, "timeline"), text.share});
  } else {
    layout_ = compute_layout(size.x, height, theme_.scale, shown_shares(options_.shares, view, height), view.workspace->present,
                             in_column(view), view.workspace->by_sm);
    fit_column_to_lesson(view);
  }
  if (presents_race(view)) give_room_to_race(layout_, height, theme_.scale, view.workspace->by_sm);
  if (!asks) return;
  if (gives) {
    layout_.top_bar.max.x = whole;
    layout_.question = {{size.x, layout_.top_bar.max.y}, {whole - theme_.gap, layout_.transport.max.y}};
  } else if (in_column(view)) {
    layout_.question = layout_.lesson;
  } else {
    layout_.question = {layout_.softmax.min, {layout_.softmax.max.x, layout_.stage.max.y}};
    layout_.softmax = layout_.listing = {};
  }
}

void AppFrame::draw_window(const View& view, Commands& commands) {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  lay_out(view);
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  constexpr ImGuiWindowFlags bare = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoSavedSettings |
                                    ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::Begin("##tilescope", nullptr, bare);
  ImGui::PopStyleVar(3);

  if (!options_.panel.empty()) {
    const float gap = theme_.gap;
    const float top = options_.caption ? caption_height(theme_, size.x) : 0;
    const Rect whole{{gap, top + gap}, {size.x - gap, size.y - gap}};
    if (options_.caption && !view.lanes.empty()) draw_caption({{0, 0}, {size.x, top}}, view);
    draw_frame(whole);
    if (!view.lanes.empty()) draw_panel(options_.panel.c_str(), whole, view, commands);
    ImGui::End();
    return;
  }

  if (options_.caption && !view.lanes.empty())
    draw_caption(layout_.top_bar, view);
  else if (view.workspace->present)
    draw_presenting_bar(layout_.top_bar, view);
  else
    draw_top_bar(layout_.top_bar, view, commands, options_.languages);
  const std::vector<Place> places = places_of(view);
  for (const Place& place : places) draw_frame(place.frame);
  draw_frame(has_whole_window(view) ? layout_.transport : layout_.bottom);
  for (const Place& place : places)
    if (!view.lanes.empty()) draw_place(place, view, commands);
  if (!has_whole_window(view)) {
    if (!view.lanes.empty()) draw_panel("timeline", layout_.timeline, view, commands);
    if (layout_.timeline.height() > 0) draw_look(view, "timeline", layout_.timeline);
    draw_splitters(view);
  }
  if (in_column(view)) {
    draw_frame(layout_.lesson);
    draw_panel("lesson", layout_.lesson, view, commands);
  }
  draw_transport(layout_.transport, view, commands, !options_.caption);
  draw_panel_menu(view, commands);
  ImGui::End();
  // Over the keys at the end of the playback bar, which is the one thing there that nobody reads meanwhile.
  if (!options_.caption) draw_notice(view, layout_.transport.max);
  say_missing_fonts();
  if (view.lesson.offered && !view.workspace->present) draw_offer(view, commands);
  if (view.workspace->help) draw_help(view, commands);
  draw_in_front(view, commands);
  if (!view.workspace->blank && !holds_pointer(view)) draw_term_tooltip(view);
}

void AppFrame::draw_panel_menu(const View& view, Commands& commands) {
  const ImGuiIO& io = ImGui::GetIO();
  const auto shown_panel = [&]() {
    const std::string_view panel = panel_under_mouse(view);
    return std::string(panel == "stage" ? center_panel(view) : panel);
  };
  const bool keys = io.KeyCtrl && io.KeyShift && !io.WantTextInput && ImGui::IsKeyPressed(ImGuiKey_C, false);
  if (const std::string tooltip = keys ? shown_tooltip() : std::string(); !tooltip.empty()) {
    ImGui::SetClipboardText(tooltip.c_str());
    commands.push(ShowNotice{Notice::text_copied});
  } else if (keys) {
    copy_panel_ = shown_panel();
  }
  constexpr float still = 5;  // pixels: more is a drag
  const bool clicked = ImGui::IsMouseReleased(ImGuiMouseButton_Right) &&
                       io.MouseDragMaxDistanceSqr[ImGuiMouseButton_Right] < still * still &&
                       !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  if (clicked && !view.lanes.empty()) {
    menu_panel_ = shown_panel();
    const std::optional<TextAt> text = text_under_mouse();
    menu_text_ = text ? text->text : std::string();
    menu_tooltip_ = shown_tooltip();
    ImGui::OpenPopup("panel menu");
  }
  if (!ImGui::BeginPopup("panel menu")) return;
  const auto copy = [&](const std::string& text) {
    ImGui::SetClipboardText(text.c_str());
    commands.push(ShowNotice{Notice::text_copied});
  };
  if (!menu_text_.empty()) {
    const std::string shown = elide(theme_.ui, menu_text_, std::round(260 * theme_.scale));
    if (ImGui::MenuItem(fmt::format("{}##text", say(tr("Copy “{}”"), shown)).c_str())) copy(menu_text_);
  }
  if (!menu_tooltip_.empty() && ImGui::MenuItem(tr("Copy the tooltip"))) copy(menu_tooltip_);
  constexpr std::size_t most_terms = 4;
  std::vector<const GlossaryEntry*> entries = entries_in(view, menu_text_ + "\n" + menu_tooltip_);
  entries.resize(std::min(entries.size(), most_terms));
  for (const GlossaryEntry* entry : entries) {
    const std::string& term = entry->text(view.workspace->language).term;
    if (ImGui::MenuItem(fmt::format("{}##{}", say(tr("What is “{}”?"), term), entry->id).c_str(), "Ctrl F"))
      commands.push(ShowFind{true, term});
  }
  if (menu_panel_ == "timeline") draw_timeline_menu(view, commands);
  if (!menu_text_.empty() || !menu_tooltip_.empty() || menu_panel_ == "timeline") ImGui::Separator();
  if (ImGui::MenuItem(tr("Copy this panel as text"), "Ctrl ⇧ C")) copy_panel_ = menu_panel_;
  if (ImGui::MenuItem(tr("Copy the link to this state"), "Ctrl C")) copy_link(view, commands);
  ImGui::EndPopup();
}

void AppFrame::draw_in_front(const View& view, Commands& commands) {
  if (options_.left_over != nullptr && !view.workspace->present) {
    const ImVec2 at = {layout_.top_bar.min.x + theme_.gap,
                       ImGui::GetIO().DisplaySize.y - question_room(view) - left_over_height(theme_)};
    if (const std::optional<bool> answer = draw_left_over(view, at)) {
      if (*answer) commands.push(OpenState{options_.left_over});
      options_.left_over = nullptr;
    }
  }
  if (view.lecture->listed) draw_scenes(view, commands);
  view.workspace->find ? draw_find(view, commands) : close_find();
  if (view.lecture->asking) draw_question(view, commands, layout_.question);
  if (view.workspace->blank) return draw_blank(view);
  draw_pointer(view);
}

void AppFrame::draw_look(const View& view, std::string_view panel, const Rect& frame) const {
  if (view.lesson.lesson == nullptr || view.lesson.scene->look.empty() || !view.workspace->alone.empty()) return;
  if (looks_at(view, panel) || (panel == "stage" && looks_at_middle(view))) {
    ImGui::GetWindowDrawList()->AddRect(frame.min, frame.max, theme_.accent, theme_.rounding, 0, std::max(1.5F, 2 * theme_.scale));
    return;
  }
  // A child of its own, because those of the panel are drawn over everything before them.
  ImGui::SetCursorScreenPos(frame.min);
  constexpr ImGuiWindowFlags veil = ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav;
  if (ImGui::BeginChild(fmt::format("veil {}", panel).c_str(), {frame.width(), frame.height()}, ImGuiChildFlags_None, veil))
    ImGui::GetWindowDrawList()->AddRectFilled(frame.min, frame.max, with_alpha(theme_.panel, 0.5F), theme_.rounding);
  ImGui::EndChild();
}

void AppFrame::draw_offer(const View& view, Commands& commands) const {
  const LessonInfo& first = view.lesson.list->lessons.front();
  const LessonInfo::Text& text = first.text(view.workspace->language);
  // Over the timeline: the stage shows what the first look is for.
  if (has_whole_window(view)) {
    const float below = ImGui::GetIO().DisplaySize.y - question_room(view) - left_over_height(theme_);
    ImGui::SetNextWindowPos({layout_.alone.center().x, below}, ImGuiCond_Always, {0.5F, 0});
  } else {
    const Rect& under = layout_.timeline.height() > 0 ? layout_.timeline : layout_.transport;
    ImGui::SetNextWindowPos(under.center(), ImGuiCond_Always, {0.5F, 0.5F});
  }
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme_.inset);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoNav |
                                     ImGuiWindowFlags_NoFocusOnAppearing;
  if (ImGui::Begin("##offer", nullptr, flags)) {
    ImGui::AlignTextToFramePadding();
    text_item(theme_.ui, theme_.text, say(tr("New here? Lesson {}: {}, {} minutes."), first.number, text.title, text.minutes));
    ImGui::SameLine(0, theme_.gap);
    if (pill(theme_, tr("Start"), true, tr("Open the lesson (Enter)"))) commands.push(OpenLesson{first.id, 0});
    ImGui::SameLine(0, theme_.gap * 0.5F);
    if (pill(theme_, tr("No, thanks"), false, tr("Do not offer it again (Esc)"))) commands.push(DeclineLessons{});
  }
  ImGui::End();
  ImGui::PopStyleColor();
}

/// The one panel of the column that the page looks at gets the height. Lines of code, which stand above, always need it; where
/// the page looks at nothing else there, they have the whole column, so that no line that it speaks of is below the fold.
void AppFrame::fit_column_to_lesson(const View& view) {
  if (!in_column(view) || layout_.one_column) return;
  const bool code = looks_at(view, side_panels[0]), row = looks_at(view, side_panels[1]), traffic = looks_at(view, side_panels[2]);
  if (!code && row == traffic) return;
  if (code && !row && !traffic) {
    layout_.softmax.max.y = std::exchange(layout_.traffic, Rect{}).max.y;
    layout_.splitters[static_cast<std::size_t>(Splitter::softmax)] = {};
    return;
  }
  constexpr float larger = 0.66F;
  const float upper = code || row ? larger : 1 - larger;
  const float gap = layout_.traffic.min.y - layout_.softmax.max.y, top = layout_.softmax.min.y;
  const float cut = std::round(top + upper * (layout_.traffic.max.y - top - gap));
  layout_.softmax.max.y = cut;
  layout_.traffic.min.y = cut + gap;
  layout_.splitters[static_cast<std::size_t>(Splitter::softmax)] = {};
}

void AppFrame::say_missing_fonts() const {
  constexpr double seconds = 20;
  if (!options_.say_missing_fonts || !fonts_.built_in() || ImGui::GetTime() > seconds) return;
  // English in every language: the built-in font has no other letters.
  message_box(
      theme_, "##fonts", layout_.stage.min, std::round(420 * theme_.scale),
      "No font file was found (Debian: fonts-inter, fonts-jetbrains-mono). The built-in font shows a for alpha, b for beta, s for "
      "sigma, S for Sigma, t for tau.");
}

std::vector<AppFrame::Place> AppFrame::places_of(const View& view) const {
  if (!view.workspace->alone.empty()) return {{view.workspace->alone, layout_.alone, layout_.alone}};
  if (has_whole_window(view)) return {{"stage", layout_.alone, layout_.alone}};
  std::vector<Place> places;
  if (presents_lesson(view)) {
    if (layout_.stage.width() > 0) places.push_back({"stage", layout_.stage, layout_.stage});
    const Rect* at = &layout_.softmax;
    for (const std::string_view id : {side_panels[1], side_panels[2], side_panels[0]})
      if (looks_at(view, id)) places.push_back({id, *at, *std::exchange(at, &layout_.traffic)});
    return places;
  }
  places.push_back({"stage", layout_.stage, layout_.stage});
  if (presents_race(view)) return places;
  if (view.workspace->present && !in_column(view)) {
    if (layout_.softmax.height() > 0) places.push_back({"softmax", layout_.softmax, layout_.softmax});
    if (layout_.listing.height() > 0) places.push_back({"listing", layout_.listing, layout_.listing});
    return places;
  }
  if (in_column(view)) {
    std::vector<std::string_view> beside;  // of the listing, the row and the traffic: what the page looks at goes first
    for (const bool wanted : {true, false})
      for (const std::string_view id : {side_panels[1], side_panels[2], side_panels[0]})
        if (looks_at(view, id) == wanted) beside.push_back(id);
    if (!layout_.one_column) {
      if (layout_.traffic.height() <= 0) return {places.front(), {beside[0], layout_.softmax, layout_.softmax}};
      const bool upside_down = beside[0] == side_panels[2] && beside[1] == side_panels[1];
      if (upside_down || beside[1] == side_panels[0]) std::swap(beside[0], beside[1]);
      places.push_back({beside[0], layout_.softmax, layout_.softmax});
      places.push_back({beside[1], layout_.traffic, layout_.traffic});
    } else if (looks_at(view, beside[0]) && !looks_at(view, "stage")) {
      places.front().panel = beside[0];
    }
    return places;
  }
  if (layout_.one_column)
    places.push_back({view.workspace->side, {layout_.side_tabs.min, layout_.listing.max}, layout_.listing});
  else
    for (const auto& [id, rect] :
         {std::pair{side_panels[0], layout_.listing}, {side_panels[1], layout_.softmax}, {side_panels[2], layout_.traffic}})
      places.push_back({id, rect, rect});
  return places;
}

std::string_view AppFrame::panel_under_mouse(const View& view) const {
  const ImVec2 mouse = mouse_rests_ ? mouse_ : ImGui::GetIO().MousePos;
  if (!has_whole_window(view) && layout_.timeline.contains(mouse)) return "timeline";
  for (const Place& place : places_of(view))
    if (place.frame.contains(mouse)) return place.panel;
  return "stage";
}

void AppFrame::draw_frame(const Rect& rect) const {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(rect.min, rect.max, theme_.panel, theme_.rounding);
  list->AddRect(rect.min, rect.max, theme_.panel_border, theme_.rounding, 0, std::max(1.0F, std::round(theme_.scale)));
}

Theme AppFrame::presented_theme(const View& view, const PanelInfo& panel, float width) const {
  constexpr float wide = 420;
  const bool large = presents_lesson(view) && panel.reads_large && width >= wide * theme_.scale;
  return large ? reading_theme(theme_) : theme_;
}

void AppFrame::draw_place(const Place& place, const View& view, Commands& commands) {
  Rect content = place.content;
  if (place.panel == "stage") {
    if (!view.workspace->present) {
      draw_center_tabs({{layout_.stage.min.x, content.min.y}, content.max}, layout_.stage.width(), view, commands);
      content.min.y += center_tabs_height(theme_);
    }
  } else if (content.min.y > place.frame.min.y) {
    draw_side_tabs(layout_.side_tabs, view, commands);
  }
  const PanelInfo* panel = find_panel(place.panel == "stage" ? center_panel(view) : place.panel);
  if (panel == nullptr) return;
  const Theme theme = presented_theme(view, *panel, content.width());
  const View shown{view, &theme};
  if (place.panel == "stage" && is_withheld(view))
    draw_withheld(shown, content);
  else
    draw_panel(panel->id.data(), content, shown, commands);
  draw_look(view, place.panel, place.frame);
  const Rect title = {place.frame.min, {place.frame.max.x, place.frame.min.y + std::round(38 * theme_.scale)}};
  const bool free = !ImGui::IsAnyItemHovered() && !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  if (free && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && title.contains(ImGui::GetIO().MousePos))
    commands.push(SetAlone{view.workspace->alone.empty() ? std::string(place.panel) : std::string()});
}

void AppFrame::draw() {
  ImGui::SetCurrentContext(context_);
  const ImVec4 ground = ImGui::ColorConvertU32ToFloat4(theme_.background);
  glDisable(GL_SCISSOR_TEST);
  glClearColor(ground.x, ground.y, ground.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

SvgPicture AppFrame::draw_svg(const std::string& prefix) const {
  ImGui::SetCurrentContext(context_);
  return to_svg(*ImGui::GetDrawData(), *ImGui::GetIO().Fonts, fonts_, theme_.background, prefix);
}

Result<Picture> AppFrame::draw_picture() {
  ImGui::SetCurrentContext(context_);
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  const int width = static_cast<int>(size.x), height = static_cast<int>(size.y);
  if (!framebuffer_ || framebuffer_->width() != width || framebuffer_->height() != height) {
    Result<Framebuffer> made = Framebuffer::make(width, height);
    if (!made) return made.error();
    framebuffer_ = std::move(*made);
  }
  framebuffer_->bind();
  draw();
  return framebuffer_->read();
}

}  // namespace tilescope
