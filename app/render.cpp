// render_picture(): one step of one simulation as a PNG, without a display and without a clock.
#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "app/model/assets.h"
#include "app/model/lesson.h"
#include "app/model/lesson_list.h"
#include "app/model/lesson_runs.h"
#include "app/platform/headless_context.h"
#include "app/platform/png.h"
#include "app/platform/quiet_libraries.h"
#include "app/ui/language.h"
#include "app/views/app_frame.h"
#include "app/views/panel_table.h"
#include "app/views/work_words.h"
#include "app/window.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

Status check_panel(const std::string& id) {
  if (id.empty()) return Done{};
  std::string known;
  for (const PanelInfo& panel : panel_table()) {
    if (panel.id == id) return Done{};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", panel.id);
  }
  return Error{fmt::format("there is no panel '{}': choose one of {}, or leave --panel out for the whole window", id, known)};
}

Session::Start start_of(const RenderOptions& options) {
  Session::Start start;
  start.request = options.request;
  start.inputs = options.inputs;
  start.step = options.step;
  start.race = options.race || options.panel == "race";
  start.center = center_view_from(options.panel).value_or(options.center);  // a single panel needs its view's study
  start.by_sm = options.by_sm;
  start.swept = options.swept;
  start.sweep_quantity = options.sweep_quantity;
  start.theme = options.theme;
  start.language = options.language;
  start.load_gpu = &load_gpu;
  start.measurements = load_measurements();
  if (!options.lesson.empty()) start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  start.threads = false;
  if (options.told) start.told = [told = options.told](WorkKind kind, double fraction) { told(words_of(kind), fraction); };
  return start;
}

/// Errors  those of simulate(); a step out of range
Status check_opened(Session& session, std::optional<std::int64_t> step) {
  const SessionView view = session.view();
  if (view.workspace->message) return view.workspace->message->error;
  if (view.lanes.empty()) return Error{"nothing was simulated"};
  const std::int64_t last = view.lane().step_count;
  if (step && (*step < 0 || *step > last))
    return Error{fmt::format("there is no step {}: {} has steps 0 to {}", *step, view.requested->request.algorithm, last)};
  return Done{};
}

/// "ID:PAGE:answered" in its pieces.
struct WantedPage {
  std::string id;
  std::size_t page = 0;
  bool answered = false;
};

Result<WantedPage> wanted_page(const std::string& text) {
  WantedPage wanted;
  wanted.id = text.substr(0, text.find(':'));
  std::string_view rest = std::string_view(text).substr(std::min(text.size(), wanted.id.size() + 1));
  if (rest.ends_with(":answered")) {
    wanted.answered = true;
    rest.remove_suffix(std::string_view(":answered").size());
  }
  if (rest.empty()) return wanted;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), wanted.page);
  if (code != std::errc() || end != rest.data() + rest.size() || wanted.page == 0)
    return Error{fmt::format("--lesson is '{}': write ID, ID:PAGE or ID:PAGE:answered", printable(text))};
  --wanted.page;
  return wanted;
}

/// Some answer, so that a picture shows one beside the simulated number.
LessonAnswer any_answer(const LessonQuestion& ask, const PageFigures& figures) {
  constexpr double too_much = 1.6;
  LessonAnswer answer;
  answer.number = too_much * figures.answer;
  answer.order.resize(ask.options.size());
  std::iota(answer.order.begin(), answer.order.end(), 0);
  answer.drawn.assign(figures.curve.size(), figures.curve.empty() ? 0 : 0.5 * (figures.curve.front() + figures.curve.back()));
  return answer;
}

Status open_lesson(Session& session, const std::string& text) {
  const Result<WantedPage> wanted = wanted_page(text);
  if (!wanted) return wanted.error();
  session.apply(OpenLesson{wanted->id, wanted->page});
  session.finish();
  const SessionView view = session.view();
  if (view.workspace->message) return view.workspace->message->error;
  if (view.lesson.problem != nullptr) return *view.lesson.problem;
  if (!wanted->answered || !view.lesson.locked || view.lesson.figures == nullptr) return Done{};
  const LessonQuestion& ask = *view.lesson.lesson->pages[view.lesson.page].ask;
  session.apply(AnswerLesson{std::make_shared<const LessonAnswer>(any_answer(ask, *view.lesson.figures))});
  constexpr double longer_than_a_reveal = 60;
  session.tick(longer_than_a_reveal);
  session.finish();
  return Done{};
}

}  // namespace

Result<RenderedPicture> render_picture(const RenderOptions& options) {
  if (const Status status = check_panel(options.panel); !status) return status.error();
  const Result<std::shared_ptr<const Language>> language = load_language(options.language);
  if (!language) return language.error();
  use_language(*language);
  Session session(start_of(options));
  session.finish();
  if (const Status status = check_opened(session, options.step); !status) return status.error();

  if (!options.lesson.empty())
    if (const Status opened = open_lesson(session, options.lesson); !opened) return opened.error();
  const QuietLibraries quiet;
  const Result<std::unique_ptr<HeadlessContext>> context = HeadlessContext::make();
  if (!context) return context.error();
  AppFrame::Options frame_options;
  frame_options.scale = options.scale;
  frame_options.panel = options.panel;
  Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(session, frame_options);
  if (!frame) return frame.error();
  // Sizes, scroll positions and highlights settle within a few frames, without session time.
  constexpr int frames = 12;
  for (int i = 0; i < frames; ++i) (*frame)->build(options.width, options.height, 0);
  const Result<Picture> picture = (*frame)->draw_picture();
  if (!picture) return picture.error();
  return RenderedPicture{encode_png(*picture), (*frame)->fonts().notice()};
}

}  // namespace tilescope
