// One page after the other.
#include "app/model/lessons/lesson_player.h"

#include <algorithm>
#include <utility>

#include "app/model/background/slots.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_expression.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr double seconds_per_step = 0.12, least_seconds = 1, most_seconds = 8;  // of a reveal

/// The setting that a command changes, by the key of links; empty where it changes none.
struct ChangedSetting {
  std::string operator()(const SetAlgorithm&) const { return "algorithm"; }
  std::string operator()(const SetGpu&) const { return "gpu"; }
  std::string operator()(const SetSpecValue& command) const { return command.assignment.substr(0, command.assignment.find('=')); }
  std::string operator()(const ResetSpecValue& command) const {
    return command.key.empty() ? "every value of the GPU" : command.key;
  }
  std::string operator()(const SetProblem& command) const { return command.control; }
  std::string operator()(const SetTile& command) const { return command.control; }
  std::string operator()(const SetBlocksPerSm&) const { return "blocks_per_sm"; }
  std::string operator()(const SetBlockOrder&) const { return "block_order"; }
  std::string operator()(const SetKeyOrder&) const { return "key_order"; }
  std::string operator()(const SetInputs&) const { return "seed"; }
  std::string operator()(const SetMatrix&) const { return "inputs"; }
  std::string operator()(const SetMasking&) const { return "mask"; }  // presets and the score change too
  std::string operator()(const SetMaskTable&) const { return "table"; }
  std::string operator()(const OpenCase&) const { return "everything"; }
  std::string operator()(const OpenState&) const { return "everything"; }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

}  // namespace

LessonPlayer::LessonPlayer(const Sources& sources, std::shared_ptr<const LessonList> list, std::set<std::string> done,
                           std::map<std::string, LessonScore> scores, bool offered, GpuLoader load_gpu)
    : from_(sources),
      list_(std::move(list)),
      done_(std::move(done)),
      scores_(std::move(scores)),
      offered_(offered),
      load_gpu_(load_gpu) {}

LessonView LessonPlayer::view() const {
  LessonView view;
  view.list = list_ != nullptr && !list_->lessons.empty() ? list_.get() : nullptr;
  view.done = &done_;
  view.scores = &scores_;
  view.offered = offered_ && view.list != nullptr;
  if (lesson_ == nullptr) return view;
  view.lesson = lesson_.get();
  view.page = page_;
  view.scene = &scene();
  if (const auto given = attempt_.answers.find(page_); given != attempt_.answers.end()) view.answer = &given->second;
  view.figures = figures_.get();
  view.problem = problem_ ? &*problem_ : nullptr;
  view.task = task_ ? &*task_ : nullptr;
  if (const auto reached = attempt_.reached.find(page_); reached != attempt_.reached.end()) view.reached = &reached->second;
  view.locked = locked();
  view.asks_later = asks_later();
  view.covers = covers();
  view.time_page = time_page();
  view.covers_error = covers_error();
  view.revealing = revealing();
  for (std::size_t i = 0; i < lesson_->pages.size(); ++i) {
    const LessonPage& page = lesson_->pages[i];
    view.questions += page.ask ? 1 : 0;
    view.tasks += page.task ? 1 : 0;
    if (page.task) view.goals.push_back({i, attempt_.reached.contains(i)});
    if (!page.ask || attempt_.right.contains(i)) continue;
    const auto given = attempt_.answers.find(i);
    view.missed.push_back({i, given != attempt_.answers.end() && given->second.given});
  }
  view.right = static_cast<int>(attempt_.right.size());
  view.tasks_reached = static_cast<int>(attempt_.reached.size());
  return view;
}

// --- pages ------------------------------------------------------------------------------------------------------------------

namespace {

/// Whether answers fit the questions of a lesson: its file may have changed since they were given.
bool fit(const std::map<std::size_t, LessonAnswer>& answers, const Lesson& lesson) {
  return std::ranges::all_of(answers, [&](const auto& given) {
    const auto& [page, answer] = given;
    return page < lesson.pages.size() && lesson.pages[page].ask && is_complete(*lesson.pages[page].ask, answer);
  });
}

}  // namespace

Result<std::shared_ptr<const WindowState>> LessonPlayer::open(const std::string& id, std::size_t page,
                                                              std::shared_ptr<WindowState> left) {
  const LessonList none;
  auto loaded = load_lesson(list_ != nullptr ? *list_ : none, id, from_.workspace.language);
  if (!loaded) return loaded.error();
  if (page == last_lesson_page) page = (*loaded)->pages.size() - 1;
  if (page >= (*loaded)->pages.size()) return refuse("there is no page {}: the lesson has {}", page + 1, (*loaded)->pages.size());
  if (lesson_ != nullptr && lesson_->id != (*loaded)->id) set_aside(std::move(left));
  attempt_ = {};
  if (auto before = attempts_.extract((*loaded)->id); !before.empty() && fit(before.mapped().answers, **loaded))
    attempt_ = std::move(before.mapped());
  lesson_ = std::move(*loaded);
  path_ = id;
  offered_ = false;
  show_page(page);
  return state_of_page();
}

/// Keeps what the page shows, for whoever comes back to it. A reveal that is under way has come to its end meanwhile.
void LessonPlayer::keep_left(std::shared_ptr<WindowState> left) {
  if (left == nullptr || locked()) return;
  if (reveal_) {
    if (reveal_->to_end)
      left->position = WindowState::Cycle{reveal_->to};
    else
      left->position = WindowState::Step{reveal_->step};
  }
  attempt_.left[page_] = std::move(left);
}

std::shared_ptr<const WindowState> LessonPlayer::turn_page(int pages, std::shared_ptr<WindowState> left) {
  if (lesson_ == nullptr) return nullptr;
  keep_left(std::move(left));
  const auto before = static_cast<int>(page_), last = static_cast<int>(lesson_->pages.size()) - 1;
  const int wanted = std::clamp(before + std::clamp(pages, -last, last), 0, last);
  while (static_cast<int>(page_) < wanted && !locked()) ++page_;
  if (wanted < before) page_ = static_cast<std::size_t>(wanted);
  if (static_cast<int>(page_) == before) return nullptr;
  show_page(page_);
  return state_of_page();
}

void LessonPlayer::show_page(std::size_t page) {
  page_ = page;
  ++shown_;
  reveal_.reset();
  reveal_waits_ = false;
  figures_.reset();
  problem_.reset();
  task_.reset();
  task_of_.reset();
  under_way_ = task_under_way_ = false;
  mark_done();
}

/// The page's scene, and once its question is answered that of its reveal.
const LessonScene& LessonPlayer::scene() const {
  const std::optional<LessonReveal>& reveal = lesson_->pages[page_].reveal;
  return reveal && reveal->scene && attempt_.answers.contains(page_) ? *reveal->scene : lesson_->scene_of(page_);
}

/// The scene, or what it has become, in the window's own room.
std::shared_ptr<const WindowState> LessonPlayer::state_of_page() const {
  const auto left = attempt_.left.find(page_);
  auto state = std::make_shared<WindowState>(left != attempt_.left.end() ? *left->second : scene().state);
  keep_room(*state, from_.workspace);
  return state;
}

std::shared_ptr<const WindowState> LessonPlayer::retry() {
  if (lesson_ == nullptr || attempt_.answers.erase(page_) == 0) return nullptr;
  attempt_.right.erase(page_);
  attempt_.left.erase(page_);
  show_page(page_);
  return state_of_page();
}

void LessonPlayer::set_aside(std::shared_ptr<WindowState> left) {
  if (lesson_ == nullptr) return;
  keep_left(std::move(left));
  attempts_.insert_or_assign(lesson_->id, std::exchange(attempt_, {}));
  lesson_.reset();
  runs_.reset();
  show_page(0);
}

void LessonPlayer::close() {
  lesson_.reset();
  attempt_ = {};
  attempts_.clear();
  runs_.reset();
  show_page(0);
}

void LessonPlayer::follow_language() {
  if (lesson_ == nullptr) return;
  const LessonList none;
  auto loaded = load_lesson(list_ != nullptr ? *list_ : none, path_, from_.workspace.language);
  if (!loaded || (*loaded)->pages.size() != lesson_->pages.size()) return;
  lesson_ = std::move(*loaded);
  // The figures are by expression, and the task's are of another text.
  ++shown_;
  figures_.reset();
  problem_.reset();
  under_way_ = task_under_way_ = false;
  task_of_.reset();
}

/// A lesson is done on its last page once that asks nothing any more.
void LessonPlayer::mark_done() {
  if (lesson_ != nullptr && page_ + 1 == lesson_->pages.size() && !locked()) done_.insert(lesson_->id);
}

// --- the question -----------------------------------------------------------------------------------------------------------

bool LessonPlayer::locked() const {
  return lesson_ != nullptr && lesson_->pages[page_].ask && !attempt_.answers.contains(page_);
}

bool LessonPlayer::asks_later() const {
  const WindowState& shown = scene().state;
  for (std::size_t i = page_ + 1; i < lesson_->pages.size(); ++i)
    if (lesson_->pages[i].ask && !attempt_.answers.contains(i) && same_run(lesson_->scene_of(i).state, shown)) return true;
  return false;
}

namespace {

bool reads_time(const std::string& expression) {
  const auto names = names_in(expression);
  return names && std::ranges::any_of(*names, [](std::string_view name) {
           const std::string_view figure = name.substr(name.find('.') + 1);
           return figure == "us" || figure == "cycles";
         });
}

bool reads_error(const std::string& expression) {
  const auto names = names_in(expression);
  return names && std::ranges::any_of(*names, [](std::string_view name) {
           return name.starts_with("error.") || name.find(".error.") != std::string_view::npos;
         });
}

/// Whether the answer is a figure that `reads` finds in an expression, or is found from one.
bool asks_for(const LessonQuestion& ask, bool (*reads)(const std::string& expression)) {
  std::vector<LessonExpression> read = ask.values;
  read.insert(read.end(), {ask.answer, ask.curve});
  return std::ranges::any_of(read, [&](const LessonExpression& expression) { return reads(expression.text); });
}

bool says_time(const Prose& prose) {
  return std::ranges::any_of(prose, [](const ProseBlock& block) {
    return std::ranges::any_of(block.runs, [](const ProseRun& run) { return run.figure && reads_time(run.figure->expression); });
  });
}

}  // namespace

std::optional<std::size_t> LessonPlayer::page_that_asks(std::size_t page, bool (*reads)(const std::string& expression)) const {
  const WindowState& shown = scene().state;
  for (std::size_t i = page; i < lesson_->pages.size(); ++i) {
    const auto& ask = lesson_->pages[i].ask;
    if (ask && !attempt_.answers.contains(i) && asks_for(*ask, reads) && same_run(lesson_->scene_of(i).state, shown)) return i;
  }
  return std::nullopt;
}

/// A page that does not play its run leaves it to the next question.
bool LessonPlayer::covers() const {
  if (lesson_ != nullptr && scene().shown) return false;
  if (locked()) return true;
  const auto& reveal = lesson_->pages[page_].reveal;
  return reveal && reveal->play == LessonReveal::Play::none && asks_later() && !from_.playback.empty() &&
         from_.playback.cycle() < from_.playback.end_cycle();
}

std::optional<std::size_t> LessonPlayer::time_page() const {
  if (lesson_ == nullptr || !lesson_->pages[page_].ask || asks_for(*lesson_->pages[page_].ask, &reads_time)) return std::nullopt;
  if (!locked() && says_time(lesson_->pages[page_].reveal->say)) return std::nullopt;  // its own answer says it
  return page_that_asks(page_ + 1, &reads_time);
}

bool LessonPlayer::covers_error() const {
  return lesson_ != nullptr && page_that_asks(page_, &reads_error).has_value();
}

std::shared_ptr<const WindowState> LessonPlayer::answer(const LessonAnswer& answer) {
  if (!locked() || !is_complete(*lesson_->pages[page_].ask, answer)) return nullptr;
  attempt_.answers.emplace(page_, answer);
  reveal_waits_ = true;
  mark_done();
  return lesson_->pages[page_].reveal->scene ? state_of_page() : nullptr;
}

/// Once the page's figures are there.
void LessonPlayer::mark_right() {
  const auto given = attempt_.answers.find(page_);
  if (given == attempt_.answers.end() || figures_ == nullptr || !given->second.given) return;
  if (is_right(*lesson_->pages[page_].ask, given->second, *figures_)) attempt_.right.insert(page_);
  count_score();
}

void LessonPlayer::count_score() {
  LessonScore& score = scores_[lesson_->id];
  score.questions =
      static_cast<int>(std::ranges::count_if(lesson_->pages, [](const LessonPage& page) { return page.ask.has_value(); }));
  score.right = std::min(score.questions, std::max(score.right, static_cast<int>(attempt_.right.size())));
}

void LessonPlayer::begin_reveal() {
  reveal_waits_ = false;
  const LessonReveal& reveal = *lesson_->pages[page_].reveal;
  const Playback& playback = from_.playback;
  if (reveal.play == LessonReveal::Play::none || playback.empty()) return;
  Reveal motion;
  motion.step = reveal.play == LessonReveal::Play::end ? playback.last_step() : std::min(reveal.step, playback.last_step());
  const Runner& runner = playback.chosen();
  motion.from = playback.cycle();
  motion.to = runner.simulation->trace->state_at(runner.focus_sm, motion.step).cycle;
  motion.to_end = reveal.play == LessonReveal::Play::end;
  if (motion.to_end) motion.to = playback.end_cycle();
  const double steps = std::abs(static_cast<double>(motion.step - runner.step));
  motion.duration = std::clamp(steps * seconds_per_step, least_seconds, most_seconds);
  reveal_ = motion;
}

bool LessonPlayer::is_free(std::string_view key) const {
  const auto& task = lesson_->pages[page_].task;
  return task && !locked() && std::find(task->free.begin(), task->free.end(), key) != task->free.end();
}

std::optional<Notice> LessonPlayer::refuses(const Command& command) const {
  if (lesson_ == nullptr) return std::nullopt;
  const auto* turned = std::get_if<TurnLessonPage>(&command);
  const bool ahead = std::holds_alternative<SetRace>(command) || (turned != nullptr && turned->direction > 0);
  if (locked() && (ahead || moves_playhead(command))) return Notice::lesson_waits;
  // Another access, or the other layout of the tile, is what questions about banks ask for.
  if (const auto* banks = std::get_if<SetBanks>(&command); banks != nullptr && locked()) {
    const BankChoice &now = from_.workspace.banks, &then = banks->choice;
    if (then.pattern != now.pattern || then.swizzled != now.swizzled) return Notice::lesson_waits;
  }
  const std::string changed = std::visit(ChangedSetting{}, command);
  if (!changed.empty() && !is_free(changed)) return locked() ? Notice::lesson_waits : Notice::lesson_holds;
  return std::nullopt;
}

// --- work -------------------------------------------------------------------------------------------------------------------

void LessonPlayer::tick(double seconds, bool opening) {
  if (lesson_ == nullptr) return;
  // What gave way to other work is asked for again.
  if (from_.worker.idle(Queue::background)) under_way_ = task_under_way_ = false;
  if (opening || from_.playback.empty()) return;
  if (reveal_waits_) begin_reveal();
  if (reveal_) {
    Reveal& motion = *reveal_;
    motion.elapsed += seconds;
    const double part = std::min(1.0, motion.elapsed / motion.duration);
    if (part < 1) {
      from_.playback.set_cycle(motion.from + (motion.to - motion.from) * part);
    } else {
      // The SM in focus may be done before the run is.
      motion.to_end ? from_.playback.set_cycle(motion.to) : from_.playback.seek_step(motion.step);
      reveal_.reset();
    }
  }
  ask_figures();
  ask_task();
  mark_right();
}

void LessonPlayer::ask_figures() {
  if (figures_ != nullptr || problem_ || under_way_) return;
  under_way_ = true;
  // The runs of the page before are freed by the job, for that takes longer than a frame may.
  auto old = std::exchange(runs_, std::make_shared<StateRuns>(load_gpu_));
  runs_->know(from_.requested.good_request, from_.playback.chosen().simulation);
  from_.worker.submit(Queue::background, slots::lesson, WorkKind::lesson,
                      [this, shown = shown_, lesson = lesson_, page = page_, runs = runs_,
                       freed = std::make_shared<std::shared_ptr<StateRuns>>(std::move(old)),
                       measured = *from_.measured.view().known](const Progress& progress) -> Worker::Deliver {
                        freed->reset();
                        auto made = page_figures(*lesson, page, *runs, measured, progress);
                        if (!made && made.error().kind == Error::Kind::cancelled) return {};
                        std::shared_ptr<const PageFigures> figures;
                        if (made) figures = std::make_shared<const PageFigures>(std::move(*made));
                        return [this, shown, figures, error = made ? std::nullopt : std::optional(made.error())] {
                          if (shown != shown_) return;
                          under_way_ = false;
                          figures_ = figures;
                          problem_ = error;
                        };
                      });
}

/// After every simulation, once the question is answered.
void LessonPlayer::ask_task() {
  const Runner& chosen = from_.playback.chosen();
  if (!lesson_->pages[page_].task || locked() || figures_ == nullptr || task_under_way_ || task_of_ == chosen.simulation) return;
  task_under_way_ = true;
  FigureRun live;
  live.simulation = chosen.simulation;
  live.inputs = from_.requested.fitting_inputs(chosen.simulation->request.problem);
  live.focus_sm = chosen.focus_sm;
  live.step = chosen.step;
  live.row = from_.workspace.row;
  live.banks = from_.workspace.banks;
  from_.worker.submit(Queue::background, slots::lesson_task, WorkKind::lesson,
                      [this, shown = shown_, lesson = lesson_, page = page_, runs = runs_, live,
                       measured = *from_.measured.view().known](const Progress& progress) -> Worker::Deliver {
                        auto made = task_figures(*lesson, page, live, *runs, measured, progress);
                        if (!made && made.error().kind == Error::Kind::cancelled) return {};
                        return [this, shown, page, live, made] {
                          if (shown != shown_) return;
                          task_under_way_ = false;
                          task_of_ = live.simulation;
                          if (!made) {
                            problem_ = made.error();
                            return;
                          }
                          problem_.reset();
                          task_ = *made;
                          if (made->reached) attempt_.reached.insert_or_assign(page, *made);
                        };
                      });
}

}  // namespace tilescope
