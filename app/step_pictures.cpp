// Sessions without threads: what is asked for is there in the same frame.
#include "app/step_pictures.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "app/model/lessons/glossary.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/typed_quantity.h"
#include "app/model/requests/assets.h"
#include "app/model/requests/mask_tables.h"
#include "app/model/state/window_state.h"
#include "app/platform/files.h"
#include "app/platform/quiet_libraries.h"
#include "app/ui/language.h"
#include "app/views/lecture/small_picture.h"
#include "app/views/panel_table.h"
#include "app/views/work_words.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

/// Sizes, scroll positions and highlights settle within a few frames, without session time.
constexpr int frames_to_open = 12, frames_to_settle = 3;

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
  start.deck = options.deck;
  start.deck_path = options.deck_path;
  start.scene = options.scene;
  start.step = options.step;
  start.race = options.race;
  start.race.on |= options.panel == "race";
  start.center = center_view_from(options.panel).value_or(options.center);  // a single panel needs its view's study
  if (options.state != nullptr) {
    WindowState state = *options.state;
    state.race = start.race;
    state.center = start.center;
    start.state = std::make_shared<const WindowState>(std::move(state));
  }
  start.by_sm = options.by_sm;
  start.counters = options.ncu;
  start.swept = options.swept;
  start.sweep_quantity = options.sweep_quantity;
  start.theme = options.theme;
  start.language = options.language;
  start.load_gpu = &load_gpu;
  start.glossary = std::make_shared<const Glossary>(load_glossary());
  start.load_table = &load_table;
  start.load_text = [](const std::string& path) { return read_text_file(path); };
  start.measurements = load_measurements();
  const bool has_pages = options.deck != nullptr &&
                         std::ranges::any_of(options.deck->scenes, [](const Scene& scene) { return scene.lesson.has_value(); });
  if (has_pages || !options.lesson.empty()) start.lessons = std::make_shared<const LessonList>(load_lesson_list());
  start.threads = false;
  if (options.told) start.told = [told = options.told](WorkKind kind, double fraction) { told(words_of(kind), fraction); };
  return start;
}

/// Errors  those of simulate(); a step that the run does not have
Status check_opened(const SessionView& view) {
  if (const Error* const refused = view.workspace->refused()) return *refused;
  if (view.lanes.empty()) return Error{"nothing was simulated"};
  return Done{};
}

/// "ID:PAGE:answered=ANSWER" in its pieces.
struct WantedPage {
  std::string id, answer;
  std::size_t page = 0;
  bool answered = false;
};

Result<WantedPage> wanted_page(const std::string& text) {
  WantedPage wanted;
  const auto malformed = [&] {
    return Error{fmt::format("--lesson is '{}': write ID, ID:PAGE, ID:PAGE:answered or ID:PAGE:answered=ANSWER", printable(text))};
  };
  wanted.id = text.substr(0, text.find(':'));
  if (wanted.id.empty() || text.ends_with(':') || text.ends_with('=')) return malformed();
  std::string_view rest = std::string_view(text).substr(std::min(text.size(), wanted.id.size() + 1));
  constexpr std::string_view answered = ":answered";
  if (const std::size_t at = rest.find(answered); at != std::string_view::npos) {
    std::string_view answer = rest.substr(at + answered.size());
    wanted.answered = answer.empty() || answer.starts_with('=');
    wanted.answer = std::string(answer.substr(std::min<std::size_t>(1, answer.size())));
    if (wanted.answered) rest = rest.substr(0, at);
  }
  if (rest.empty()) return wanted;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), wanted.page);
  if (code != std::errc() || end != rest.data() + rest.size() || wanted.page == 0) return malformed();
  --wanted.page;
  return wanted;
}

/// The answer that was asked for: the place of an option, or a number in the question's unit. Without one the picture shows the
/// right answer alone.
Result<LessonAnswer> wanted_answer(const std::string& text, const LessonQuestion& ask) {
  LessonAnswer answer;
  answer.given = !text.empty();
  if (!answer.given) return answer;
  const bool number = ask.kind == QuestionKind::number;
  if (!number && ask.kind != QuestionKind::choice && ask.kind != QuestionKind::point)
    return Error{fmt::format("the question is of kind {}: write :answered without an answer", to_string(ask.kind))};
  const std::optional<double> typed = typed_quantity(text, number ? ask.unit : FigureUnit::number);
  if (typed && number) answer.number = *typed;
  if (typed && !number) answer.option = static_cast<int>(std::clamp(*typed, 0.0, 99.0)) - 1;
  if (!typed || !is_complete(ask, answer))
    return Error{fmt::format("the answer '{}' is not possible: write {}", printable(text),
                             number ? "a number, such as 12" : "the place of an option, such as 1")};
  return answer;
}

Status open_lesson(Session& session, const WantedPage& wanted) {
  session.apply(OpenLesson{wanted.id, wanted.page});
  session.finish();
  const SessionView view = session.view();
  if (const Error* const refused = view.workspace->refused()) return *refused;
  if (view.lesson.problem != nullptr) return *view.lesson.problem;
  return Done{};
}

/// The answer that the open page is to have; nullopt for none.
Result<std::optional<LessonAnswer>> answer_to_page(const SessionView& view, const WantedPage& wanted) {
  if (!wanted.answered || !view.lesson.locked || view.lesson.figures == nullptr) return std::optional<LessonAnswer>();
  const LessonQuestion& ask = *view.lesson.lesson->pages[view.lesson.page].ask;
  const Result<LessonAnswer> answer = wanted_answer(wanted.answer, ask);
  if (!answer) return answer.error();
  return std::optional(*answer);
}

}  // namespace

Result<std::unique_ptr<StepPictures>> StepPictures::make(const RenderOptions& options, bool caption) {
  if (const Status status = check_panel(options.panel); !status) return status.error();
  const Result<std::shared_ptr<const Language>> language = load_language(options.language);
  if (!language) return language.error();
  use_language(*language);
  std::unique_ptr<StepPictures> out(new StepPictures(options, start_of(options)));
  out->session_.finish();
  if (const Status status = check_opened(out->session_.view()); !status) return status.error();
  std::optional<LessonAnswer> answer;
  if (!options.lesson.empty()) {
    const Result<WantedPage> wanted = wanted_page(options.lesson);
    if (!wanted) return wanted.error();
    if (const Status opened = open_lesson(out->session_, *wanted); !opened) return opened.error();
    Result<std::optional<LessonAnswer>> given = answer_to_page(out->session_.view(), *wanted);
    if (!given) return given.error();
    answer = std::move(*given);
  }
  if (options.present) out->session_.apply(SetPresent{true});

  const QuietLibraries quiet;
  Result<std::unique_ptr<HeadlessContext>> context = HeadlessContext::make();
  if (!context) return context.error();
  out->context_ = std::move(*context);
  AppFrame::Options frame_options;
  frame_options.scale = options.scale;
  frame_options.panel = options.panel;
  frame_options.caption = caption;
  frame_options.lesson_column = !options.lesson_beside;
  Result<std::unique_ptr<AppFrame>> frame = AppFrame::make(out->session_, frame_options);
  if (!frame) return frame.error();
  out->frame_ = std::move(*frame);
  out->build(frames_to_open);
  // As in the window, where the question was on screen: the page then goes on to the answer.
  if (answer) out->carry_out(AnswerLesson{std::make_shared<const LessonAnswer>(std::move(*answer))});
  // The first picture compiles shaders, and drivers print then.
  if (const Result<Picture> first = out->draw(); !first) return first.error();
  return out;
}

void StepPictures::build(int frames, double seconds) {
  for (int i = 0; i < frames; ++i) frame_->build(options_.width, options_.height, i == 0 ? seconds : 0);
}

void StepPictures::carry_out(const Command& command) {
  constexpr double longer_than_a_reveal = 60;
  session_.apply(command);
  session_.finish();
  session_.tick(longer_than_a_reveal);
  session_.finish();
  build(frames_to_open);
}

void StepPictures::add_small_pictures(const Picture& now, const Picture* next) {
  frame_->select();
  class_picture().take(now);
  if (next != nullptr) next_picture().take(*next);
  build(frames_to_settle);
}

void StepPictures::seek(std::int64_t step) {
  session_.apply(SeekStep{step});
  session_.finish();
  build(frames_to_settle);
}

void StepPictures::set_vector(bool on) {
  frame_->set_vector(on);
  build(1);
}

bool StepPictures::set_out(Grain grain) {
  const PlaybackView before = view().playback;
  session_.apply(Step{1, grain});
  const PlaybackView after = view().playback;
  return after.step != before.step || after.goal != before.goal;
}

bool StepPictures::moving() const {
  return session_.view().playback.motion < 1;
}

void StepPictures::pass(double seconds) {
  build(1, seconds);
  if (moving()) return;
  session_.finish();
  build(frames_to_settle);
}

Result<Picture> StepPictures::draw() {
  return frame_->draw_picture();
}

}  // namespace tilescope
