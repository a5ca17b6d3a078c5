// The lesson panel: a page's text, its question, the answer beside the simulated one, its task, and the way to the next page.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <imgui_internal.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/lesson_task.h"
#include "app/model/lessons/page_figures.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/chrome.h"
#include "app/views/lesson/figure_words.h"
#include "app/views/lesson/lesson_clicker.h"
#include "app/views/lesson/lesson_keys.h"
#include "app/views/lesson/page_measures.h"
#include "app/views/lesson/prose_text.h"
#include "app/views/lesson/question.h"
#include "app/views/lesson/task_field.h"
#include "app/views/panels.h"
#include "sim/core/gpu_spec.h"

namespace tilescope {

namespace {

constexpr ImGuiWindowFlags page_flags = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav;

struct PanelState {
  const Lesson* lesson = nullptr;
  std::size_t page = 0;
  bool answered = false;
  bool showed_end = false;
  LessonFocus focus;
};

/// One segment a page, those behind filled.
void draw_progress(const Theme& theme, const LessonView& lesson, std::size_t page) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = PageMeasures(theme).progress, space = 2 * theme.scale;
  const auto pages = static_cast<float>(lesson.lesson->pages.size());
  const float each = (width - space * (pages - 1)) / pages;
  for (std::size_t i = 0; i < lesson.lesson->pages.size(); ++i) {
    const float x = at.x + static_cast<float>(i) * (each + space);
    const ImU32 color = i < page    ? mix(theme.accent, theme.panel, 0.45F)
                        : i == page ? theme.accent
                                    : mix(theme.inset, theme.inset_border, 0.6F);
    ImGui::GetWindowDrawList()->AddRectFilled({x, at.y}, {x + each, at.y + height}, color, 0.5F * height);
  }
  ImGui::Dummy({width, height});
}

/// Opens a box over what follows; end_box() draws it behind.
struct Box {
  ImVec2 at;
  float width = 0;
};
Box begin_box(const Theme& theme) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  Box box{ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail().x};
  list->ChannelsSplit(2);
  list->ChannelsSetCurrent(1);
  const float pad = PageMeasures(theme).pad;
  ImGui::SetCursorScreenPos({box.at.x + pad, box.at.y + pad});
  ImGui::BeginGroup();
  // What is inside asks for the room that is left: narrower by the padding on both sides.
  ImGuiWindow* window = ImGui::GetCurrentWindow();
  window->ContentRegionRect.Max.x -= pad;
  window->WorkRect.Max.x -= pad;
  return box;
}
void end_box(const Theme& theme, const Box& box, ImU32 border) {
  const float pad = PageMeasures(theme).pad;
  ImGuiWindow* window = ImGui::GetCurrentWindow();
  window->ContentRegionRect.Max.x += pad;
  window->WorkRect.Max.x += pad;
  ImGui::EndGroup();
  const float bottom = ImGui::GetItemRectMax().y + pad;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->ChannelsSetCurrent(0);
  list->AddRectFilled(box.at, {box.at.x + box.width, bottom}, theme.inset, 8 * theme.scale);
  list->AddRect(box.at, {box.at.x + box.width, bottom}, border, 8 * theme.scale, 0, std::max(1.0F, 1.5F * theme.scale));
  list->ChannelsMerge();
  ImGui::SetCursorScreenPos({box.at.x, bottom});
  ImGui::Dummy({1, 1});
}

void draw_problem(const View& view) {
  if (view.lesson.problem == nullptr) return;
  wrapped_text(view.theme->ui_small, view.theme->bad, say(view.lesson.problem->sentence));
}

void draw_reveal(const View& view, ProseTerms& terms) {
  const Theme& theme = *view.theme;
  const LessonPage& page = view.lesson.lesson->pages[view.lesson.page];
  const ExpressionValues* values = view.lesson.figures != nullptr ? &view.lesson.figures->revealed : nullptr;
  draw_prose(theme, page.reveal->say, values, ImGui::GetContentRegionAvail().x, theme.text, &terms);
  // Where a task stands below, the line keeps its room, so that no link moves under the mouse.
  const bool keeps_room = page.task && page.reveal->play != LessonReveal::Play::none;
  if (view.lesson.revealing || keeps_room)
    text_item(theme.ui_small, theme.text_faint, view.lesson.revealing ? tr("The run plays.") : " ");
}

/// Why the answer is wrong, quieter than what is so.
void draw_reason(const View& view, ProseTerms& terms) {
  const Theme& theme = *view.theme;
  const PageFigures* figures = view.lesson.figures;
  if (figures == nullptr) return;
  const LessonWrong* wrong = why_wrong(question_of(view), *view.lesson.answer, *figures);
  if (wrong == nullptr) return;
  gap(theme, 2);
  draw_prose(theme, reason_words(*wrong), &figures->revealed, ImGui::GetContentRegionAvail().x, theme.text_dim, &terms);
}

/// A control by the name that it has in the window; `key` is its key in links.
std::string control_of(std::string_view key) {
  for (int i = 0; i <= static_cast<int>(Setting::table_gradient); ++i)
    if (const auto setting = static_cast<Setting>(i); to_string(setting) == key) return control_name(setting);
  if (key == "algorithm") return tr("Algorithm");
  if (key == "block_order") return tr("Block order");
  const SpecKey* spec = find_spec_key(key);
  return spec == nullptr ? std::string(key) : fmt::format("{} → {}", tr("GPU"), spec_key_name(*spec));
}

/// A control that the task leaves free: its name and its field. One without a field is a link to the view that has it.
void draw_free_control(const View& view, Commands& commands, LessonKeys& keys, const std::string& key) {
  const Theme& theme = *view.theme;
  const bool has_field = has_task_field(view, key), opens = !has_field && can_open_control(key);
  const std::string name = control_of(key);
  const float width = ImGui::GetContentRegionAvail().x, wide = std::min(width, text_width(theme.ui, name));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool clicked = ImGui::InvisibleButton(key.c_str(), {wide, theme.ui->FontSize + 2 * theme.scale});
  const Rect rect = item_rect();
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, theme.ui, {at, {at.x + width, rect.max.y}}, opens ? theme.accent : theme.text_dim, name);
  if (opens) {
    const float line = std::max(1.0F, theme.scale);
    list->AddRectFilled({rect.min.x, rect.max.y - line}, rect.max, theme.accent);
    item_tooltip(theme, tr("Open its field"));
    keys.item(rect);
    if (clicked || keys.entered()) open_control(key, commands);
  }
  const bool fits = wide + theme.gap + text_width(theme.mono_small, key) <= width;
  if (find_spec_key(key) != nullptr && fits) {
    ImGui::SameLine(0, theme.gap);
    text_item(theme.mono_small, theme.text_faint, key);
  }
  if (has_field) draw_task_field(view, commands, keys, key);
}

/// Where a control has led to another view: back to the picture that the page is about.
void draw_way_to_scene(const View& view, Commands& commands, LessonKeys& keys) {
  const CenterView scene = view.lesson.scene->state.center;
  if (view.workspace->center == scene) return;
  const bool clicked = pill(*view.theme, tr("Back to the picture of this page"), false);
  keys.item(item_rect());
  if (clicked || keys.entered()) commands.push(SetCenter{scene});
}

/// Says what a change did that did not reach the goal, with what the goal counts.
void draw_effect(const View& view, const TaskFigures& task) {
  const Theme& theme = *view.theme;
  const char* words = tr("The goal is not reached yet.");
  if (task.effect == TaskEffect::unmoved) words = tr("This change does not serve the goal: what it counts is as before.");
  if (task.effect == TaskEffect::closer) words = tr("Closer, but the goal is not reached yet.");
  if (task.effect == TaskEffect::farther) words = tr("That is farther from the goal than before.");
  wrapped_text(theme.ui_bold, task.effect == TaskEffect::closer ? theme.text : theme.bad, words);
  for (const TaskMeasure& measure : task.measures)
    if (task.effect == TaskEffect::unmoved || measure.before != measure.now)
      wrapped_text(theme.ui_small, theme.text_dim, measure_words(measure));
  if (task.effect == TaskEffect::unmoved)
    wrapped_text(theme.ui_small, theme.text_dim, tr("Undo it (Ctrl+Z), and try another control or value."));
}

void draw_task(const View& view, Commands& commands, LessonKeys& keys) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  const LessonTry& task = *lesson.lesson->pages[lesson.page].task;
  const Box box = begin_box(theme);
  text_item(theme.ui_bold, theme.accent, tr("Try it"));
  const float width = ImGui::GetContentRegionAvail().x;
  draw_prose(theme, task.say, lesson.task != nullptr ? &lesson.task->shown : nullptr, width, theme.text);
  text_item(theme.ui_small, theme.text_dim, tr("You may change:"));
  for (const std::string& key : task.free) draw_free_control(view, commands, keys, key);
  draw_way_to_scene(view, commands, keys);
  // What a change did has its room before there is one: who clicks a field again and again has it and the words in sight.
  const float verdict = ImGui::GetCursorPosY(), room = PageMeasures(theme).verdict_lines * theme.ui->FontSize;
  if (lesson.reached != nullptr) {
    text_item(theme.ui_bold, theme.good, tr("Reached."));
    draw_prose(theme, task.done, &lesson.reached->shown, width, theme.text);
  } else if (lesson.task != nullptr && lesson.task->changed) {
    draw_effect(view, *lesson.task);
  } else {
    text_item(theme.ui_small, theme.text_faint, tr("The goal is not reached yet."));
  }
  if (const float left = room - (ImGui::GetCursorPosY() - verdict); left > 0) ImGui::Dummy({0, left});
  end_box(theme, box, lesson.reached != nullptr ? theme.good : theme.inset_border);
}

/// Where the box of a question stands on the screen: its upper edge, the question, the words after the answer, its lower edge.
struct AnsweredBox {
  float top = 0, question = 0, words = 0, bottom = 0;
};

/// The question with what came of the answer, over the upper edge of the text.
class PinnedVerdict {
 public:
  /// `panel` has the theme of the panels. `to_words` is the height down to the words after the answer: all of it is covered, so
  /// that no option is cut, and every option stands there again if there is room. 0: as little as tells what came of the answer.
  explicit PinnedVerdict(const View& panel, float to_words = 0) : panel_(panel) {
    at_ = {ImGui::GetCursorScreenPos().x, ImGui::GetWindowPos().y};
    width_ = ImGui::GetContentRegionAvail().x;
    constexpr float most_of_text = 0.45F;
    const float most = std::max(most_of_text * ImGui::GetWindowHeight(), to_words);
    if (to_words <= 0 || !choose(VerdictRows::all, to_words)) choose(VerdictRows::telling, most);
    height_ = std::max(height_, to_words);
  }
  float height() const { return height_; }
  void draw() const {
    const float line = std::max(1.0F, theme_.scale), bottom = at_.y + height_, pad = pad_of(theme_);
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at_, {at_.x + width_, bottom}, theme_.inset);
    list->AddRectFilled({at_.x, bottom - line}, {at_.x + width_, bottom}, theme_.inset_border);
    draw_verdict({panel_, &theme_}, {at_.x + pad, at_.y + pad}, width_ - 2 * pad, rows_);
  }

 private:
  static float pad_of(const Theme& theme) { return std::round(8 * theme.scale); }
  /// Takes the largest text that fits `room`, from that of the page on; the smallest where none does, and returns false.
  bool choose(VerdictRows rows, float room) {
    rows_ = rows;
    const ReadingSize largest = panel_.workspace->present ? lesson_place().size : ReadingSize::usual;
    for (auto size = static_cast<int>(largest); size >= 0; --size) {
      theme_ = reading_theme(*panel_.theme, static_cast<ReadingSize>(size));
      const float pad = pad_of(theme_);
      height_ = verdict_height({panel_, &theme_}, width_ - 2 * pad, rows_) + pad;
      if (height_ <= room) return true;
    }
    return false;
  }

  const View& panel_;
  Theme theme_;
  VerdictRows rows_ = VerdictRows::telling;
  ImVec2 at_;
  float width_ = 0, height_ = 0;
};

/// Scrolls an answer that has just come into sight, with its question. Where there is no room for both, the question and what came
/// of the answer are pinned, and the words after them follow.
void follow_answer(const View& panel, LessonPlace& place, const AnsweredBox& box) {
  const float margin = std::round(8 * panel.theme->scale), room = ImGui::GetWindowHeight(), scroll = ImGui::GetScrollY();
  const float to_screen = ImGui::GetWindowPos().y - scroll;
  const bool fits = box.bottom - box.top + 2 * margin <= room;
  const float top = fits ? box.top - margin : box.words - PinnedVerdict(panel).height();
  const float wanted = std::floor(std::min(top - to_screen, box.bottom - to_screen + margin - room));
  if (place.followed < 0 || wanted <= place.followed) return;
  place.followed = wanted;
  if (wanted > scroll) ImGui::SetScrollY(wanted);
}

/// Keeps the question and what came of the answer in sight while the words after them are read. Returns the height that it needs.
float keep_in_sight(const View& panel, LessonPlace& place, const AnsweredBox& box) {
  const PinnedVerdict least(panel);
  const float top = ImGui::GetWindowPos().y, bottom = top + least.height();
  if (box.bottom <= bottom) return 0;
  constexpr float rounding = 1;  // of a scroll
  const bool reads_words = box.words <= bottom + rounding;
  // A curve in the column is what the words speak of: it scrolls away as they come.
  const bool has_curve = question_of(panel).kind == QuestionKind::draw && !draws_curve_in_middle(panel);
  if (box.question >= top || (has_curve && !reads_words)) return least.height();
  const PinnedVerdict pinned = reads_words ? least : PinnedVerdict(panel, box.words - top);
  pinned.draw();
  place.pinned = pinned.height();
  return least.height();
}

void draw_retry(const Theme& theme, Commands& commands, LessonKeys& keys) {
  gap(theme, 4);
  const bool clicked = pill(theme, tr("Try again"), false, tr("Asks the question again, without the answer"));
  keys.item(item_rect());
  if (clicked || keys.entered()) commands.push(RetryLesson{});
}

/// Returns the height that the text keeps above its question, where the column has no room for both: the options come first. 0
/// where both fit, without a question that waits, and presented, where the column and its text are fitted.
float text_beside_question(const View& view, float width) {
  const Theme& theme = *view.theme;
  const LessonPage& page = view.lesson.lesson->pages[view.lesson.page];
  if (!page.ask || view.lesson.answer != nullptr || page.prose.empty() || view.workspace->present) return 0;
  const PageMeasures of(theme);
  const ExpressionValues* values = view.lesson.figures != nullptr ? &view.lesson.figures->shown : nullptr;
  constexpr float least_lines = 3;
  const float between = of.gap + 2 * of.between, question = question_height(view, width - 2 * of.pad) + 2 * of.pad + 1 + between;
  const float text = prose_height(theme, page.prose, values, width);
  const float room = ImGui::GetWindowHeight() - 2 * of.edge - between - question;
  return text <= room ? 0 : std::min(text, std::max(std::floor(room), std::round(least_lines * 1.34F * theme.ui->FontSize)));
}

/// Turns the window's scroll to where the page stands, and notes where that is.
void scroll_page(LessonPlace& place, bool turned) {
  constexpr float beyond_any_text = 1e6F;
  if (turned) {
    ImGui::SetScrollY(0);
    place.wanted.reset();
  }
  if (place.from_behind) ImGui::SetScrollY(beyond_any_text);  // in every frame: figures that come make the text longer
  if (const auto wanted = std::exchange(place.wanted, std::nullopt)) ImGui::SetScrollY(*wanted);
}

void note_scroll(LessonPlace& place, float blank, float covered) {
  place.scroll = ImGui::GetScrollY();
  place.most = ImGui::GetScrollMaxY();
  place.blank = blank;
  place.seen = ImGui::GetWindowHeight() - covered;
  place.frame = ImGui::GetFrameCount();
}

/// Lets the text fade where it goes on beyond the upper or the lower edge of its window, so that no line looks cut.
void draw_fading_edges(const Theme& theme, const LessonPlace& place) {
  constexpr float high = 12, solid = 0.4F;  // points; of these the part that covers all
  constexpr int steps = 6;
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const float edge = std::round(high * theme.scale), covered = std::round(solid * edge), step = (edge - covered) / steps;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto fade = [&](float from, float inwards) {
    const auto band = [&](float begin, float end, ImU32 color) {
      const float a = from + inwards * begin, b = from + inwards * end;
      list->AddRectFilled({at.x, std::min(a, b)}, {at.x + size.x, std::max(a, b)}, color);
    };
    band(0, covered, theme.panel);
    for (int i = 0; i < steps; ++i)
      band(covered + step * static_cast<float>(i), covered + step * static_cast<float>(i + 1),
           with_alpha(theme.panel, 1 - static_cast<float>(i + 1) / (steps + 1)));
  };
  if (place.scroll > 1 && place.pinned == 0) fade(at.y, 1);
  if (place.scroll + place.blank < place.most) fade(at.y + size.y, -1);
}

/// Returns the height that what is pinned over the text needs. `panel` is `view` with the theme of the panels.
/// `text`: that of the text, which scrolls by itself then, from its beginning where the page was just `turned` to; 0: all of it.
float draw_page(const View& view, const View& panel, Commands& commands, LessonKeys& keys, LessonPlace& place, float text,
                bool turned) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  const LessonPage& page = lesson.lesson->pages[lesson.page];
  const float width = ImGui::GetContentRegionAvail().x;
  ProseTerms terms{view};
  const ExpressionValues* values = lesson.figures != nullptr ? &lesson.figures->shown : nullptr;
  if (text > 0) {
    ImGui::BeginChild("text", {width, text}, ImGuiChildFlags_None, page_flags);
    scroll_page(place, turned);
    draw_prose(theme, page.prose, values, ImGui::GetContentRegionAvail().x, theme.text, &terms);
    note_scroll(place, 0, 0);
    draw_fading_edges(theme, place);
    ImGui::EndChild();
  } else if (!page.prose.empty()) {
    draw_prose(theme, page.prose, values, width, theme.text, &terms);
  }
  if (!page.prose.empty()) gap(theme, 4);
  draw_problem(view);
  std::optional<AnsweredBox> answered;
  if (page.ask) {
    const Box box = begin_box(theme);
    if (lesson.answer == nullptr) {
      draw_question(view, commands, question_draft(), keys);
    } else {
      const float question = ImGui::GetCursorScreenPos().y;
      draw_answered(view);
      answered.emplace(AnsweredBox{box.at.y, question, ImGui::GetCursorScreenPos().y, 0});
      draw_reason(view, terms);
      gap(theme, 2);
      divider(theme);
      draw_reveal(view, terms);
    }
    end_box(theme, box, lesson.answer == nullptr ? theme.accent : theme.inset_border);
    if (answered) answered->bottom = ImGui::GetCursorScreenPos().y;
    if (answered) follow_answer(panel, place, *answered);
    if (answered && !view.workspace->present) draw_retry(theme, commands, keys);
    gap(theme, 4);
  }
  if (page.task && !lesson.locked) draw_task(view, commands, keys);
  return answered ? keep_in_sight(panel, place, *answered) : 0;
}

/// A button of "the way" that cannot be used now is faint.
Theme faint(Theme theme, bool disabled) {
  if (disabled) theme.text = theme.text_faint;
  return theme;
}

/// Draws Back, how far one is, and Next below the page. Finish on the last page shows the end of the lesson. In a deck both turn
/// scenes, and scenes are what is counted.
void draw_way(const View& view, Commands& commands, LessonKeys& keys, LessonPlace& place, bool question_goes_on) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  const std::size_t pages = lesson.lesson->pages.size();
  const Lecture& lecture = *view.lecture;
  const bool scene = lecture.shows(lesson), last = !scene && lesson.page + 1 == pages;
  const bool first = scene ? lecture.at(lecture.scene() - 1) == nullptr : lesson.page == 0;
  const bool stays = lesson.locked || (scene && lecture.next() == nullptr);
  ImGui::BeginDisabled(first);
  bool back = pill(faint(theme, first), tr("Back"), false, scene ? tr("The scene before") : tr("The page before (Page Up)"));
  ImGui::EndDisabled();
  keys.item(item_rect());
  back = back || keys.entered();
  const char* next = last ? tr("Finish") : tr("Next");
  const float wide = button_width(theme, next);
  std::string where = scene ? scene_count(view) : say(tr("Page {}/{}"), lesson.page + 1, pages);
  // What the clicker does says it while presenting.
  if (!view.workspace->present && (place.scroll + 1 < place.most || question_goes_on)) where += fmt::format("   {}", tr("more ▾"));
  const Rect left = item_rect();
  const float right = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {{left.max.x, left.min.y}, {right - wide, left.max.y}}, theme.text_dim,
            where, Align::center);
  ImGui::SetCursorScreenPos({right - wide, left.min.y});
  const char* about = lesson.locked ? tr("Answer the question first")
                      : stays       ? tr("This is the last scene.")
                      : scene       ? tr("The next scene")
                      : last        ? tr("What you reached, and what comes next")
                                    : tr("The next page (Page Down)");
  ImGui::BeginDisabled(stays);
  bool forward = pill(faint(theme, stays), next, !stays, about, wide);
  ImGui::EndDisabled();
  keys.item(item_rect());
  forward = (forward || keys.entered()) && !stays;
  if (back && !first) turn_page(view, -1, commands);
  if (!forward) return;
  if (last)
    place.ended = lesson.lesson->id;
  else
    turn_page(view, 1, commands);
}

/// Draws a button with a page's number and title, and `state` beside it. Returns whether it was pressed.
bool page_button(const View& view, LessonKeys& keys, std::string_view list, std::size_t page, const char* state, ImU32 color) {
  const Theme& theme = *view.theme;
  const float width = ImGui::GetContentRegionAvail().x;
  const float room = width - text_width(theme.ui_small, state) - theme.gap;
  const std::string title = fmt::format("{}. {}", page + 1, view.lesson.lesson->pages[page].title);
  const std::string label = fmt::format("{}##{}{}", elide(theme.ui_bold, title, room - std::round(22 * theme.scale)), list, page);
  const bool pressed = pill(theme, label.c_str(), false, tr("Go to this page"));
  const Rect rect = item_rect();
  keys.item(rect);
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {{rect.max.x + theme.gap, rect.min.y}, {rect.min.x + width, rect.max.y}},
            color, state);
  return keys.entered() || pressed;
}

/// The pages whose question has no right answer, each a button that goes there.
void draw_missed(const View& view, Commands& commands, LessonKeys& keys, LessonPlace& place) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  if (lesson.missed.empty()) return;
  text_item(theme.ui_small, theme.text_dim, tr("Look at these pages again"));
  for (const LessonView::Missed& missed : lesson.missed) {
    const char* why = missed.answered ? tr("not right") : tr("not answered");
    const bool go = page_button(view, keys, "missed", missed.page, why, theme.text_faint);
    if (!go) continue;
    place.ended.clear();  // the last page may be one of them
    commands.push(TurnLessonPage{static_cast<int>(missed.page) - static_cast<int>(lesson.page)});
  }
  gap(theme, 4);
}

/// Every goal with its state and its page, a button that goes there.
void draw_goals(const View& view, Commands& commands, LessonKeys& keys, LessonPlace& place) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  if (lesson.goals.empty()) return;
  text_item(theme.ui_small, theme.text_dim, lesson.goals.size() == 1 ? tr("The goal to try") : tr("The goals to try"));
  for (const LessonView::Goal& goal : lesson.goals) {
    const float width = ImGui::GetContentRegionAvail().x;
    const char* how = goal.reached ? tr("reached") : tr("not reached");
    const bool go = page_button(view, keys, "goal", goal.page, how, goal.reached ? theme.good : theme.text_faint);
    // Figures of a page that is not open are not known: the title has to do.
    if (const Prose& task = lesson.lesson->pages[goal.page].task->say; is_known(task, nullptr))
      draw_prose(theme, task, nullptr, width, theme.text_dim);
    if (!go) continue;
    place.ended.clear();
    commands.push(TurnLessonPage{static_cast<int>(goal.page) - static_cast<int>(lesson.page)});
  }
  gap(theme, 4);
}

/// What was reached, what was not, and what comes next.
void draw_end(const View& view, Commands& commands, LessonKeys& keys, LessonPlace& place) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  const float width = ImGui::GetContentRegionAvail().x;
  text_item(theme.ui_small, theme.text_dim, tr("The goal of this lesson"));
  draw_prose(theme, lesson.lesson->goal, nullptr, width, theme.text);
  gap(theme, 4);
  if (!view.workspace->present) {  // a class answers aloud
    const Box box = begin_box(theme);
    const auto count = [&](int reached, int all, const char* words) {
      if (all > 0) wrapped_text(theme.ui, reached == all ? theme.good : theme.text, say(words, reached, all));
    };
    count(lesson.right, lesson.questions, tr("Right answers: {} of {}"));
    count(lesson.tasks_reached, lesson.tasks, tr("Goals reached: {} of {}"));
    end_box(theme, box, theme.inset_border);
    gap(theme, 4);
    draw_missed(view, commands, keys, place);
    draw_goals(view, commands, keys, place);
  }
  if (const LessonInfo* after = lesson_beside(lesson, 1)) {
    const LessonInfo::Text& text = after->text(view.workspace->language);
    wrapped_text(theme.ui, theme.text, say(tr("Next lesson: {}, {} minutes."), text.title, text.minutes));
  }
  if (lesson.returns) wrapped_text(theme.ui_small, theme.text_dim, tr("Close brings back what was open before the lesson."));
}

/// The buttons of the end: back to the last page, close, and the lesson after this one.
void draw_way_out(const View& view, Commands& commands, LessonKeys& keys, LessonPlace& place) {
  const Theme& theme = *view.theme;
  bool back = pill(theme, tr("Back"), false, tr("The last page"));
  keys.item(item_rect());
  if (back || keys.entered()) place.ended.clear();
  const LessonInfo* after = lesson_beside(view.lesson, 1);
  const float wide = after != nullptr ? button_width(theme, tr("Next lesson")) : 0;
  const float close_wide = button_width(theme, tr("Close"));
  const float top = item_rect().min.y, right = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
  ImGui::SetCursorScreenPos({right - close_wide - (after != nullptr ? wide + theme.gap : 0), top});
  const bool close = pill(theme, tr("Close"), after == nullptr, tr("Close the lesson"), close_wide);
  keys.item(item_rect());
  if (close || keys.entered()) commands.push(CloseLesson{});
  if (after == nullptr) return;
  ImGui::SetCursorScreenPos({right - wide, top});
  const bool next = pill(theme, tr("Next lesson"), true, after->text(view.workspace->language).title.c_str(), wide);
  keys.item(item_rect());
  if (next || keys.entered()) commands.push(OpenLesson{after->id, 0});
}

void draw_head(const View& view, Commands& commands, bool ended) {
  const Theme& theme = *view.theme;
  const LessonView& lesson = view.lesson;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, button = PageMeasures(theme).title;
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {at, {at.x + width - button, at.y + button}}, theme.text_faint,
            lesson.lesson->title);
  const Rect close = {{at.x + width - button, at.y}, {at.x + width, at.y + button}};
  const bool clicked = hit_area("close", close);
  if (tab_stop(theme, close, 4 * theme.scale) || clicked) commands.push(CloseLesson{});
  const bool hovered = ImGui::IsItemHovered();
  item_tooltip(theme, tr("Close the lesson"), lesson.returns ? tr("Brings back what was open before the lesson.") : "");
  draw_icon(ImGui::GetWindowDrawList(), Icon::close, close.center(), std::round(9 * theme.scale),
            hovered ? theme.text : theme.text_faint);
  ImGui::Dummy({width, button});
  draw_progress(theme, lesson, lesson.page + (ended ? 1 : 0));
  gap(theme, 2);
  wrapped_text(theme.heading, theme.text, ended ? tr("The end of the lesson") : lesson.lesson->pages[lesson.page].title.c_str());
}

/// What the next press of the clicker does, for the one who holds it.
void draw_told(const View& view, float height) {
  const Theme& theme = *view.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  draw_text(ImGui::GetWindowDrawList(), theme.ui_small, {at, {at.x + width, at.y + height}}, theme.text_dim,
            next_click_in_lesson(view), Align::center);
  ImGui::SetCursorScreenPos({at.x, at.y + height});
}

}  // namespace

void draw_lesson_panel(const View& shown, Commands& commands) {
  View view = shown;
  const Theme theme = shown.workspace->present ? reading_theme(*shown.theme, lesson_place().size) : *shown.theme;
  view.theme = &theme;
  const LessonView& lesson = view.lesson;
  if (lesson.lesson == nullptr) return text_item(theme.ui, theme.text_dim, tr("No lesson is open."));
  auto& state = panel_state<PanelState>("lesson");
  LessonPlace& place = lesson_place();
  const bool other = state.lesson != lesson.lesson || state.page != lesson.page;
  const bool answered = lesson.answer != nullptr;
  if (other || (state.answered && !answered)) question_draft() = {};
  // Another language is another lesson, with the same id.
  const bool at_end = lesson.page + 1 == lesson.lesson->pages.size() && !lesson.locked;
  if (state.page != lesson.page || !at_end || place.ended != lesson.lesson->id) place.ended.clear();
  const bool ended = !place.ended.empty();
  const bool turned = other || state.showed_end != ended;
  const bool opens = turned || state.answered != answered;
  if (opens) {
    // To the first option, or, once there is nothing to answer, to the last item: Next.
    constexpr int past_the_end = 1000;
    state.focus.item = lesson.locked ? 0 : past_the_end;
    state.focus.moved = true;
    state.focus.stays = view.workspace->present;
  }
  const bool by_hand = ImGui::GetIO().MouseWheel != 0 || ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  if (by_hand || (opens && !turned)) place.from_behind = false;
  if (opens || by_hand) place.followed = !turned && state.answered != answered && answered ? 0 : -1;
  state.lesson = lesson.lesson;
  state.page = lesson.page;
  state.answered = answered;
  state.showed_end = ended;

  ImGui::PushFont(theme.ui);
  const PageMeasures of(theme);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, of.between});
  draw_head(view, commands, ended);
  const bool popup = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  LessonKeys keys(state.focus, theme, !popup && !view.workspace->help && !view.lecture->asking, lesson.locked);
  const float told = view.workspace->present ? of.told : 0;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {of.side, of.edge});
  bool question_goes_on = false;
  if (ImGui::BeginChild("page", {0, std::max(40.0F, ImGui::GetContentRegionAvail().y - of.way - told)},
                        ImGuiChildFlags_AlwaysUseWindowPadding, page_flags)) {
    const float text = ended ? 0 : text_beside_question(view, ImGui::GetContentRegionAvail().x);
    if (text > 0 && turned) ImGui::SetScrollY(0);
    if (text == 0) scroll_page(place, turned);
    place.pinned = 0;
    float covered = 0;
    if (ended)
      draw_end(view, commands, keys, place);
    else
      covered = draw_page(view, shown, commands, keys, place, text, turned);
    // Where not even a few lines fit above the question, it scrolls too.
    LessonPlace question;
    LessonPlace& page = text > 0 ? question : place;
    note_scroll(page, of.edge + of.gap + of.between, covered);
    draw_fading_edges(theme, page);
    question_goes_on = text > 0 && question.scroll + question.blank < question.most;
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  if (told > 0) draw_told(view, told);
  ended ? draw_way_out(view, commands, keys, place) : draw_way(view, commands, keys, place, question_goes_on);
  ImGui::PopStyleVar();
  ImGui::PopFont();
}

}  // namespace tilescope
