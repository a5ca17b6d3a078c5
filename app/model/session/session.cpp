// The session: its objects, what it does in a frame, and how simulations are asked for and taken in.
#include "app/model/session/session.h"

#include <algorithm>
#include <utility>

#include "app/model/background/parallel.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/session/session_state.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

using namespace std::chrono_literals;

/// A running simulation may still finish this long after it began although a newer one waits.
constexpr auto drag_grace = 250ms;

/// True where all that was asked for is another SM in focus.
bool only_focus_differs(const std::vector<Runner>& before, const Runner& now) {
  if (before.empty()) return false;
  const SimulationRequest &was = before.back().simulation->request, &is = now.simulation->request;
  return same_request(was, is) && was.focus_sm != is.focus_sm;
}

/// With a window to draw, one core is left to the frame and the shown simulation.
int background_threads(bool threads) {
  return threads ? std::max(1, core_count() - 1) : core_count();
}

}  // namespace

Session::State::State(Start start)
    : files{start.load_gpu, start.load_text, start.load_table, start.save_text},
      clock{std::move(start.clock), std::move(start.time_of_day)},
      glossary(start.glossary != nullptr ? std::move(start.glossary) : std::make_shared<const Glossary>()),
      next{.first_step = start.step, .said_first = std::move(start.notice)},
      counters_to_import(std::move(start.counters)),
      worker(
          {start.threads, std::move(start.wake), [this](const Error& error) { workspace.notify(error); }, std::move(start.told)}),
      measured({worker, requested, playback, derived, workspace}, std::move(start.measurements), start.load_gpu,
               background_threads(start.threads)),
      pinned(worker, start.load_gpu),
      calibration(worker, std::move(start.calibrator), std::move(start.own_gpus), start.save_text),
      export_job(std::move(start.program)),
      lessons({worker, playback, requested, workspace, measured}, std::move(start.lessons), std::move(start.lessons_done),
              std::move(start.lesson_scores), start.offer_lessons, start.load_gpu),
      studies(worker, background_threads(start.threads)) {
  requested.request = std::move(start.request);
  requested.gpu_base = requested.request.gpu;
  requested.gpu_source = start.gpu_source.empty() ? requested.request.gpu.id : std::move(start.gpu_source);
  requested.inputs = std::move(start.inputs);
  requested.race = start.race;
  requested.gpu_ids = std::move(start.gpu_ids);
  workspace.by_sm = start.by_sm;
  workspace.theme = start.theme;
  workspace.language = std::move(start.language);
  workspace.center = start.center;
  if (start.swept) studies.take(*start.swept, start.sweep_quantity);
  clock.ticked_at = clock.now();
  if (start.deck != nullptr) {
    lecture.take(*start.deck, std::move(start.deck_path));
    lecture.go(std::min(start.scene, lecture.count() - 1));
  }
  simulate_again({});
  open_state(start.state, lecture.shown() != nullptr);
  if (const Scene* scene = lecture.shown(); scene != nullptr && scene->lesson) open_scene(lecture.scene(), false);
}

Session::State::~State() {
  worker.stop();
}

// --- simulations ------------------------------------------------------------------------------------------------------------

void Session::State::simulate_again(std::string control, std::vector<std::shared_ptr<const Simulation>> known) {
  SimulationRequest& request = requested.request;
  if (request.focus_sm >= request.gpu.sm_count) request.focus_sm = 0;
  submit({request, requested.race, requested.gpu_source, requested.gpu_base, std::move(control)}, std::move(known));
}

void Session::State::submit(Asked wanted, std::vector<std::shared_ptr<const Simulation>> known) {
  wanted.number = ++counted.asked;
  wanted.gesture = undo.gesture;
  std::vector<std::int64_t> steps;  // that may be shown first
  if (!playback.empty()) steps.push_back(playback.chosen().step);
  if (!next.opened && next.first_step) steps.push_back(*next.first_step);
  const WindowState* const coming = opening_state && opening_state->number == counted.asked ? opening_state->state.get() : nullptr;
  if (coming != nullptr)
    if (const auto* step = std::get_if<WindowState::Step>(&coming->position)) steps = {step->number};
  worker.submit(
      Queue::shown, slots::simulate, WorkKind::simulation,
      [this, asked = std::make_shared<const Asked>(std::move(wanted)), steps,
       known = std::move(known)](const Progress& progress) -> Worker::Deliver {
        auto made = known.empty() ? simulate_lanes(asked->request, asked->race, progress)
                                  : Result<std::vector<std::shared_ptr<const Simulation>>>(known);
        const std::optional<Error> error = made ? std::nullopt : std::optional(made.error());
        const std::vector<Arrival> arrivals =
            made ? make_arrivals(std::move(*made), asked->request.focus_sm, steps) : std::vector<Arrival>{};
        return [this, asked, error, arrivals] { take_delivered(*asked, error, arrivals); };
      },
      drag_grace);
}

void Session::State::take_delivered(const Asked& asked, const std::optional<Error>& error, const std::vector<Arrival>& arrivals) {
  counted.over = std::max(counted.over, asked.number);
  ++undo.revision;
  // It had ended before the user cancelled: the picture stays, unless there is none.
  if (asked.number <= counted.cancelled && !playback.empty()) return;
  const bool opens = opening_state && opening_state->number == asked.number;
  // The race of an older request says nothing about a newer one that races.
  const bool newest = asked.race == requested.race && same_request(asked.request, requested.request);
  if (error && opens) return refuse_opening(*error);
  if (error && asked.control == "race" && !newest) return;
  if (error) return refused(*error, asked.control);
  bool of_scene = false;
  if (opens) {
    std::vector<std::shared_ptr<const Simulation>> simulations;
    for (const Arrival& arrival : arrivals) simulations.push_back(arrival.simulation);
    if (const Status there = check_position(*opening_state->state, simulations); !there) return refuse_opening(there.error());
    const OpeningState arrived = *std::exchange(opening_state, std::nullopt);
    of_scene = arrived.of_scene;
    take_state(*arrived.state, arrived.asked);
    next.position = arrived.state->position;
    next.position_from = arrived.number;
    next.opened = false;  // nothing of what was shown before says where to stand
    next.first_step.reset();
    next.missed_step.reset();
  }
  requested.keep_good(asked.request, asked.race, asked.gpu_source, asked.gpu_base);
  if (counted.asked == counted.cancelled) requested.back_to_good();
  workspace.settle();
  if (arrivals.back().mask_shows_nothing) workspace.notify(Notice::mask_shows_nothing);
  take_simulations(arrivals, asked.gesture);
  // A link keeps its SM; a control that leaves the SM in focus without a block moves the focus to one that has.
  const bool by_control = !opens && !asked.control.empty() && asked.control != "focus_sm";
  const auto runs = playback.chosen().simulation->trace->runs();
  if (by_control && newest && playback.last_step() == 0 && !runs.empty()) (*this)(SetFocusSm{runs.front().sm});
  if (asked.number >= next.position_from) take_position(std::exchange(next.position, {}));
  if (of_scene) say_missing_steps();
}

void Session::State::refused(const Error& error, const std::string& control) {
  // A cancelled one was either replaced, or stopped by the user: then the last good picture stays.
  if (error.kind == Error::Kind::cancelled) return;
  workspace.refuse(control, error);
  if (control == "race") requested.race = requested.good_race;  // a switch, unlike a number, shows what is
}

void Session::State::take_simulations(const std::vector<Arrival>& arrivals, std::int64_t asked_by) {
  const bool was_race = playback.race();
  const std::int64_t shown_step = playback.empty() ? 0 : playback.chosen().step;
  const bool was_last = !playback.empty() && shown_step == playback.last_step();
  // Unless the playhead was moved since, it goes back to the step that a shorter run of the same gesture did not have.
  const bool is_missed =
      next.missed_step && asked_by != 0 && next.missed_step->gesture == asked_by && next.missed_step->shown == shown_step;
  const std::int64_t old_step = is_missed ? next.missed_step->wanted : shown_step;
  const double old_cycle = playback.goal();
  std::vector<Runner> runners;
  for (const Arrival& arrival : arrivals)
    runners.push_back({arrival.simulation, timeline_key(arrival.simulation, requested.request.focus_sm).sm, 0});
  std::vector<Runner> left = playback.show(std::move(runners));
  const Runner& chosen = playback.chosen();
  const bool same_program = !left.empty() && left.back().simulation->request.algorithm == chosen.simulation->request.algorithm &&
                            left.back().simulation->request.gpu.id == chosen.simulation->request.gpu.id;
  const bool keep_clock = next.opened && same_program && ((was_race && playback.race()) || only_focus_differs(left, chosen));
  sms.show(left, playback.runners());
  derived.show(arrivals, std::move(left));

  std::int64_t step = arrivals.back().opening_step;
  if (!next.opened && next.first_step) step = *next.first_step;
  const std::int64_t last = playback.last_step();
  if (next.opened && same_program && (old_step <= last || was_last)) step = old_step;
  if (!next.opened && next.first_step && step > last) workspace.notify(no_such_step(step, last, requested.request.focus_sm));
  if (!next.said_first.empty()) workspace.notify(Error{std::exchange(next.said_first, {})});
  next.opened = true;
  keep_clock ? playback.set_cycle(std::min(old_cycle, playback.end_cycle()))
             : playback.set_step(std::clamp<std::int64_t>(step, 0, last), 0);
  next.missed_step.reset();
  if (same_program && !keep_clock && old_step > last) next.missed_step = {old_step, playback.chosen().step, asked_by};

  if (workspace.range && workspace.range->from >= playback.end_cycle()) workspace.range.reset();
  say_misfit();
  if (!counters_to_import.empty()) import_counters_of(std::exchange(counters_to_import, {}));
  if (next.probe) go_to_probe();
  if (next.block && next.block->sm == chosen.focus_sm) go_to_block();
}

void Session::State::say_misfit() {
  if (const Status fits = requested.inputs_fit(); !fits) workspace.refuse("inputs", fits.error());
}

// --- a frame ----------------------------------------------------------------------------------------------------------------

void Session::State::show_step() {
  derived.refresh(workspace.clock_seconds);
  // Without threads, what was just asked for is there at once.
  if (worker.take_finished(Queue::quick)) derived.refresh(workspace.clock_seconds);
  derived.ask(workspace);
  if (workspace.by_sm) sms.ask(playback.runners());
}

std::shared_ptr<const Simulation> Session::State::run_of_other_mask() const {
  const LessonView lesson = lessons.view();
  if (lesson.locked) return nullptr;
  if (lesson.figures != nullptr && lesson.answer != nullptr)
    for (std::size_t i = 1; i < lesson.figures->runs.size(); ++i)
      if (const auto& run = lesson.figures->runs[i].simulation; can_compare_masks(requested.request, *run)) return run;
  const BesideRun* const beside = pinned.view().beside;
  return beside != nullptr && can_compare_masks(requested.request, *beside->simulation) ? beside->simulation : nullptr;
}

void Session::State::tick(double seconds) {
  worker.take_finished();
  derived.free_retired();
  measured.take_finished();
  // A notice goes away while nothing moves, too.
  workspace.tick(clock.passed(seconds));
  export_job.tick();
  calibration.tick();
  if (std::string path = calibration.take_new_file(); !path.empty()) requested.add_gpu(std::move(path));
  lessons.tick(seconds, opening_state.has_value());
  if (!playback.empty()) {
    playback.tick(seconds);
    show_step();
    if (worker.take_finished(Queue::shown)) show_step();  // without threads, what was just asked for is there at once
  }
  if (workspace.center == CenterView::mask) {
    const std::shared_ptr<const Simulation> other = run_of_other_mask();
    masks.ask(requested.request, other);
    if (worker.take_finished(Queue::quick)) masks.ask(requested.request, other);
  }
  measured.ask();
  studies.keep_clock(lessons.view().lesson != nullptr);
  // What the controls show may not be there yet; the studies are of what is on screen.
  if (!playback.empty())
    studies.ask(workspace.center, playback.chosen().simulation, requested.good_request, requested.gpu_base,
                requested.good_gpu_source, *measured.view().known);
  const bool race = playback.race();
  const std::shared_ptr<const Simulation> none;
  const auto& baseline = race ? playback.runners().front().simulation : none;
  const auto& candidate = race ? playback.runners().back().simulation : none;
  const Measurements& known = *measured.view().known;
  if (!playback.empty()) pinned.ask(playback.chosen().simulation, workspace.center == CenterView::compare, known);
  studies.ask_exactness(baseline, candidate, race ? requested.fitting_inputs(candidate->request.problem) : InputSource{});
  studies.ask_race(baseline, candidate, known);
  study_view = studies.view();
  derived.publish(sms);
  if (playback.playing()) ++undo.revision;
  note_state();
  tick_lecture();
}

Session::Session(Start start) : state_(std::make_unique<State>(std::move(start))) {}

Session::~Session() = default;

void Session::apply(const Command& command) {
  if (const auto refusal = state_->lessons.refuses(command)) return state_->workspace.notify(*refusal);
  if (moves_playhead(command)) state_->lessons.stop_reveal();
  if (changes_of(command) != Changes::nothing) {
    if (state_->opening_state) state_->settle_opening();
    state_->undo.last_gesture = state_->undo.gesture;
    state_->undo.unnoted_change |= !moves_playhead(command);
  }
  ++state_->undo.revision;
  std::visit(*state_, command);
}

void Session::tick(double seconds) {
  state_->tick(seconds);
}

bool Session::animating() const {
  return state_->playback.playing() || state_->playback.moving() || state_->lessons.revealing() || !state_->worker.idle();
}

void Session::finish() {
  do {
    state_->worker.finish();
    tick(0);
  } while (!state_->worker.idle());
}

bool Session::end_within(std::chrono::milliseconds most) {
  return state_->worker.stop_within(most);
}

void Session::set_gesture(std::int64_t gesture) {
  state_->undo.gesture = gesture;
}

SessionView Session::view() const {
  return state_->view();
}

SessionView Session::State::view() const {
  SessionView view;
  view.requested = &requested;
  view.playback = playback.view();
  view.playback.race = requested.race && derived.lanes().size() == 2;
  view.lanes = derived.lanes();
  view.measured = measured.view();
  view.workspace = &workspace;
  view.studies = &study_view;
  view.exporting = &export_job.view();
  view.mask = masks.view();
  view.pinned = pinned.view();
  view.lesson = lessons.view();
  view.lesson.returns = before_lesson != nullptr;
  view.calibration = &calibration.view();
  view.glossary = glossary.get();
  view.work = worker.view(Queue::shown);
  view.background_work = worker.view(Queue::background);
  view.opening = opening_state.has_value();
  view.can_undo = undo.history.can_undo();
  view.can_redo = undo.history.can_redo();
  view.revision = undo.revision;
  view.lecture = &lecture;
  return view;
}

}  // namespace tilescope
