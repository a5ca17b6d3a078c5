// The session: it opens, ticks and shows; and its simulations, made off the frame and taken in.
#include "app/model/session.h"

#include <algorithm>
#include <utility>

#include "app/model/parallel.h"
#include "app/model/racers.h"
#include "app/model/session_state.h"
#include "app/model/stage_facts.h"
#include "app/model/timeline_data.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

namespace {

using namespace std::chrono_literals;

/// A running simulation may still finish this long after it began although a newer one waits.
constexpr auto drag_grace = 250ms;

using Simulations = Result<std::vector<std::shared_ptr<const Simulation>>>;

Simulations simulate_lanes(const SimulationRequest& request, bool race, const Progress& progress) {
  std::vector<std::shared_ptr<const Simulation>> out;
  if (!race) {
    Result<std::shared_ptr<const Simulation>> one = simulate(request, progress);
    if (!one) return one.error();
    out.push_back(std::move(*one));
    return out;
  }
  const auto [first, second] = racers(request.algorithm);
  for (const std::string& algorithm : {first, second}) {
    SimulationRequest lane = request;
    lane.algorithm = algorithm;
    const double done = static_cast<double>(out.size()) / 2;
    const auto run = [&] { return simulate(lane, [&progress, done](double fraction) { return progress(done + fraction / 2); }); };
    Result<std::shared_ptr<const Simulation>> one = run();
    // A tile that was chosen for one of them need not fit the other, which then takes its own.
    if (!one && one.error().kind == Error::Kind::wrong_request && lane.tile && algorithm != request.algorithm) {
      lane.tile.reset();
      one = run();
    }
    if (!one) return one.error();
    out.push_back(std::move(*one));
  }
  return out;
}

/// True where all that was asked for is another SM in focus.
bool only_focus_differs(const std::vector<Lane>& before, const LaneState& now) {
  if (before.empty() || before.back().simulation == nullptr) return false;
  const SimulationRequest &was = before.back().simulation->request, &is = now.simulation->request;
  return same_request(was, is) && was.focus_sm != is.focus_sm;
}

}  // namespace

// --- simulations ------------------------------------------------------------------------------------------------------------

void Session::State::simulate_again(std::string control, std::vector<std::shared_ptr<const Simulation>> known) {
  pending_control = std::move(control);
  if (request.focus_sm >= request.gpu.sm_count) request.focus_sm = 0;
  std::vector<std::int64_t> steps;  // that may be shown first
  if (!lanes.empty()) steps.push_back(lanes.back().step);
  if (!opened && first_step) steps.push_back(*first_step);
  worker->submit(
      simulate_slot, tr("simulating"),
      [this, asked = request, racing = race, cause = pending_control, steps,
       known = std::move(known)](const Progress& progress) -> Worker::Deliver {
        Simulations made = known.empty() ? simulate_lanes(asked, racing, progress) : Simulations(known);
        const std::optional<Error> error = made ? std::nullopt : std::optional(made.error());
        const std::vector<Arrival> arrivals =
            made ? make_arrivals(std::move(*made), asked.focus_sm, steps) : std::vector<Arrival>{};
        return [this, error, cause, asked, racing, arrivals] {
          if (error) {
            // A cancelled one was either replaced, or stopped by the user: then the last good picture stays.
            if (error->kind == Error::Kind::cancelled) return;
            message = ControlMessage{cause, error->sentence};
            if (cause == "race") race = good_race;  // a switch, unlike a number, shows what is
            return;
          }
          const bool same = !lanes.empty() &&
                            lanes.back().simulation->request.algorithm == arrivals.back().simulation->request.algorithm &&
                            lanes.back().simulation->request.gpu.id == asked.gpu.id;
          good_request = asked;
          good_race = racing;
          message.reset();
          take_simulations(arrivals, same);
        };
      },
      drag_grace);
}

void Session::State::take_simulations(const std::vector<Arrival>& arrivals, bool same_program) {
  const bool was_race = lanes.size() == 2, is_race = arrivals.size() == 2;
  const std::int64_t old_step = lanes.empty() ? 0 : lanes.back().step;
  const bool was_last = !lanes.empty() && old_step == lanes.back().simulation->trace->step_count(lanes.back().focus_sm);
  const double old_cycle = playhead.goal();
  // Another SM in focus changes no number: what was found out about the SMs still holds.
  std::vector<Lane> old;
  for (const LaneState& lane : lanes) old.push_back(lane.lane);
  std::vector<std::shared_ptr<const Simulation>> left;
  for (LaneState& lane : lanes) {
    left.push_back(std::move(lane.simulation));
    retired.add(std::move(lane.operations));
  }
  lanes.clear();
  for (const Arrival& arrival : arrivals) {
    LaneState& lane = lanes.emplace_back();
    lane.simulation = arrival.simulation;
    lane.focus_sm = timeline_key(lane.simulation, request.focus_sm).sm;
    for (const ProgramShape& shape : arrival.timeline->stage_facts->shapes) lane.block_lengths.push_back(shape.longest_block);
  }
  bool all_known = old.size() == lanes.size();
  for (std::size_t i = 0; all_known && i < lanes.size(); ++i) {
    all_known = old[i].sm_lanes != nullptr && same_request(old[i].simulation->request, lanes[i].simulation->request);
    if (!all_known) break;
    lanes[i].lane.sm_lanes = old[i].sm_lanes;
    lanes[i].lane.sm_works = old[i].sm_works;
  }
  if (!all_known) forget_looks();
  for (const auto& simulation : left) keep_focus(simulation);
  for (auto& simulation : left) retired.add(std::move(simulation));
  forget_values_of_others();
  for (const Arrival& arrival : arrivals) {
    timelines.put(arrival.timeline_key, arrival.timeline);
    for (const auto& [key, block] : arrival.blocks) blocks.put(key, block);
  }

  LaneState& chosen = lanes.back();
  const std::int64_t last = chosen.simulation->trace->step_count(chosen.focus_sm);
  std::int64_t step = arrivals.back().telling_step;
  if (!opened && first_step) step = *first_step;
  if (opened && same_program && (old_step <= last || was_last)) step = old_step;
  const bool keep_clock = opened && same_program && ((was_race && is_race) || only_focus_differs(old, chosen));
  opened = true;
  keep_clock ? set_cycle(std::min(old_cycle, end_cycle())) : set_step(std::clamp<std::int64_t>(step, 0, last), 0);

  std::string misfit;
  fitting_inputs(request.problem, &misfit);
  if (!misfit.empty()) message = ControlMessage{"inputs", misfit};
  if (going_to_probe) go_to_probe();
  if (going_to_block) go_to_block();
}

// --- the session itself -----------------------------------------------------------------------------------------------------

Session::Session(Start start) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.request = std::move(start.request);
  s.gpu_base = s.request.gpu;
  s.inputs = std::move(start.inputs);
  s.first_step = start.step;
  s.race = start.race;
  s.by_sm = start.by_sm;
  s.theme = start.theme;
  s.language = std::move(start.language);
  s.gpu_ids = std::move(start.gpu_ids);
  s.load_gpu = start.load_gpu;
  s.load_text = start.load_text;
  s.center = start.center;
  s.measurements = std::move(start.measurements);
  s.validation.problem = s.measurements.problem;
  if (!s.measurements.bundles.empty()) {
    s.validation.bundle = s.measurements.bundles.front();
    s.validation.results.resize(s.validation.bundle->bundle.cases.size());
  }
  s.threads = start.threads;
  s.shelf = State::make_background();
  s.worker = std::make_unique<Worker>(start.threads, start.wake, start.told);
  s.background = std::make_unique<Worker>(start.threads, start.wake, start.told);
  s.errands = std::make_unique<Worker>(start.threads, std::move(start.wake));
  // With a window to draw, one core is left to the frame and the worker.
  s.studies = std::make_unique<Studies>(*s.background, start.threads ? std::max(1, core_count() - 1) : core_count());
  if (start.swept) s.studies->take(std::move(start.swept), start.sweep_quantity);
  s.simulate_again({});
}

Session::~Session() = default;

void Session::apply(const Command& command) {
  std::visit(*state_, command);
}

void Session::tick(double seconds) {
  State& s = *state_;
  s.worker->take_finished();
  s.background->take_finished();
  s.errands->take_finished();
  s.free_retired();
  s.take_validated();
  s.take_measured();
  s.clock_seconds += seconds;
  if (!s.lanes.empty()) {
    s.play(seconds);
    s.refresh_lanes();
    // Without threads, what was just asked for is there at once.
    if (s.errands->take_finished()) s.refresh_lanes();
    s.ask_for_histories();
    s.ask_for_sms();
    if (s.worker->take_finished()) {  // without threads, what was just asked for is there at once
      s.refresh_lanes();
      s.ask_for_histories();
      s.ask_for_sms();
    }
  }
  s.find_measured();
  if (!s.lanes.empty()) s.ask_for_comparison();
  s.ask_for_validation();
  if (s.message && s.message->control.empty() && s.notice_until > 0 && s.clock_seconds > s.notice_until) {
    s.message.reset();
    s.notice_until = 0;
  }
  // What the controls show may not be there yet; the studies are of what is on screen.
  if (!s.lanes.empty()) s.studies->ask(s.center, s.lanes.back().simulation, s.good_request, s.gpu_base);
  s.study_view = s.studies->view();
  s.busy_what = s.worker->what();
  s.background_what = s.background->what();
  s.shown.clear();
  for (const LaneState& lane : s.lanes) s.shown.push_back(lane.lane);
}

bool Session::animating() const {
  return state_->playing || state_->playhead.moving() || !state_->worker->idle() || !state_->background->idle() ||
         !state_->errands->idle();
}

void Session::finish() {
  do {
    state_->worker->finish();
    state_->background->finish();
    state_->errands->finish();
    tick(0);
  } while (!state_->worker->idle() || !state_->background->idle() || !state_->errands->idle());
}

View Session::view(const Theme& theme) const {
  const State& s = *state_;
  View view;
  view.theme = &theme;
  view.lanes = s.shown;
  view.race = s.race && s.shown.size() == 2;
  view.playing = s.playing;
  view.speed = s.speed;
  view.motion = s.playhead.motion();
  view.grain = s.grain;
  view.cycle = s.playhead.cycle();
  view.time_seconds = s.clock_seconds;
  view.row = s.row;
  view.hovered_tensor = s.hovered;
  view.request = s.request;
  view.gpu_ids = s.gpu_ids;
  view.message = s.message;
  view.busy_seconds = s.worker->busy_seconds();
  view.busy_progress = s.worker->progress();
  view.busy_what = s.busy_what;
  view.background_seconds = s.background->busy_seconds();
  view.background_progress = s.background->progress();
  view.background_what = s.background_what;
  view.studies = &s.study_view;
  view.inputs = &s.inputs;
  view.present = s.present;
  view.alone = s.alone;
  view.side = s.side;
  view.help = s.help;
  view.by_sm = s.by_sm;
  view.center = s.center;
  view.gpu_base = &s.gpu_base;
  view.measurements = &s.measurements;
  view.measured = s.measured ? &*s.measured : nullptr;
  view.probe = s.probe.get();
  view.compared = s.compared.get();
  view.bandwidth = s.bandwidth.get();
  view.validation = &s.validation;
  return view;
}

ThemeKind Session::theme_kind() const {
  return state_->theme;
}
const std::string& Session::language() const {
  return state_->language;
}
bool Session::help_shown() const {
  return state_->help;
}
bool Session::present() const {
  return state_->present;
}
bool Session::by_sm() const {
  return state_->by_sm;
}

}  // namespace tilescope
