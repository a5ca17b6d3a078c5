// OpenState: a whole state of the window into a session that runs.
//
//   OpenState ─► request_of() ─► same simulation on screen? ─► yes: everything at once
//                                                          └► no:  simulate; once it is there and has the position: everything
#include <algorithm>
#include <utility>

#include "app/model/session/session_state.h"
#include "sim/analysis/outcome.h"
#include "sim/core/refuse.h"

namespace tilescope {

void Session::State::operator()(const OpenState& command) {
  open_state(command.state, false);
}

void Session::State::open_state(const std::shared_ptr<const WindowState>& opened, bool of_scene) {
  if (opened == nullptr) return;
  undo.last_gesture = -++undo.openings;  // one entry of the history, whatever came a moment before
  const WindowState& state = *opened;
  Result<StateRequest> asked = request_of(state, files.load_gpu);
  if (!asked) return workspace.notify(asked.error());
  const bool interrupts = counted.is_under_way() && !opening_state, interrupted = opening_state && opening_state->interrupted;
  const bool on_screen =
      !playback.empty() && state.race == requested.good_race && same_request(asked->request, requested.good_request);
  opening_state.reset();
  next.block.reset();
  next.probe = false;
  next.position = {};

  std::vector<std::shared_ptr<const Simulation>> known;
  if (on_screen) {
    std::vector<std::shared_ptr<const Simulation>> shown;
    for (const Runner& runner : playback.runners()) shown.push_back(runner.simulation);
    const auto focused = shown.back()->trace->focused_sms();
    const bool in_focus = std::find(focused.begin(), focused.end(), state.focus_sm) != focused.end();
    if (in_focus && !counted.is_under_way()) {
      if (const Status there = check_position(state, shown); !there) return workspace.notify(there.error());
      take_state(state, std::move(*asked));
      requested.keep_good(requested.request, state.race, requested.gpu_source, requested.gpu_base);
      playback.focus(state.focus_sm);
      playback.set_step(opening_step(*shown.back(), state.focus_sm), 0);
      workspace.message.reset();
      take_position(state.position);
      if (of_scene) say_missing_steps();
      return say_misfit();
    }
    // Through the worker, so that it replaces what the controls asked for.
    known = in_focus ? std::move(shown) : sms.known_with_focus(playback.runners(), state.focus_sm);
  }

  // The controls may have asked for the same: a session that was started on the state.
  const bool under_way = counted.is_under_way() && state.race == requested.race && state.focus_sm == requested.request.focus_sm &&
                         same_request(asked->request, requested.request) && interrupts;
  opening_state = OpeningState{opened, std::move(*asked), under_way ? counted.asked : counted.asked + 1,
                               interrupted || (interrupts && !under_way), of_scene};
  const StateRequest& wanted = opening_state->asked;
  if (!under_way) submit({wanted.request, state.race, state.gpu, wanted.gpu_base, {}}, std::move(known));
}

void Session::State::refuse_opening(const Error& error) {
  const bool interrupted = std::exchange(opening_state, std::nullopt)->interrupted;
  if (error.kind == Error::Kind::cancelled) return;
  if (interrupted || playback.empty()) simulate_again({});
  workspace.notify(error);
}

void Session::State::take_state(const WindowState& state, StateRequest asked) {
  requested.request = std::move(asked.request);
  requested.gpu_base = std::move(asked.gpu_base);
  requested.gpu_source = state.gpu;
  requested.race = state.race;
  if (!same_numbers(requested.inputs, asked.inputs)) {
    requested.inputs = std::move(asked.inputs);
    derived.forget_values();
    measured.forget_requests();
  }
  playback.stop();
  playback.set_speed(state.speed);
  playback.set_grain(state.grain);
  workspace.row = state.row.value_or(0);
  workspace.row_chosen = workspace.row_by_user = state.row.has_value();
  workspace.center = state.center;
  workspace.banks = state.banks;
  workspace.rung = state.rung;
  workspace.views = state.views;
  workspace.alone = state.alone;
  workspace.side = state.side;
  workspace.traffic = state.traffic;
  workspace.by_sm = state.by_sm;
  workspace.range = state.range;
  workspace.present = state.present;
  workspace.theme = state.theme;
  workspace.language = state.language;
  pinned.take(state.pinned, state.compared);
  if (!state.sweep) return studies.choose_usual();
  if (Result<SweepAxis> axis = parse_sweep_axis(state.sweep->axis))
    studies.choose({std::move(*axis), state.sweep->algorithms, state.sweep->quantity});
}

void Session::State::take_position(const decltype(WindowState::position)& position) {
  if (const auto* step = std::get_if<WindowState::Step>(&position)) playback.seek_step(step->number);
  if (const auto* cycle = std::get_if<WindowState::Cycle>(&position))
    playback.set_cycle(std::clamp(cycle->at, 0.0, playback.end_cycle()));
}

void Session::State::settle_opening() {
  const OpeningState settled = *std::exchange(opening_state, std::nullopt);
  take_state(*settled.state, settled.asked);
  next.position = settled.state->position;
  next.position_from = settled.number;
}

void Session::State::operator()(const OpenLink& command) {
  Result<WindowState> state = read_link(command.text);
  if (!state) return workspace.notify(state.error());
  (*this)(OpenState{std::make_shared<const WindowState>(std::move(*state))});
}

void Session::State::note_state() {
  if (undo.noted == undo.revision || opening_state || counted.is_under_way() || playback.empty()) return;
  if (playback.playing() && !undo.unnoted_change) return;  // the motion is one entry, at its end
  undo.noted = undo.revision;
  undo.unnoted_change = false;
  undo.history.note(window_state_of(view()), {clock.now(workspace.clock_seconds), std::exchange(undo.last_gesture, 0)},
                    lecture.edition());
}

void Session::State::open_entry(std::shared_ptr<const WindowState> state) {
  if (state == nullptr) return;
  lecture.restore(undo.history.deck());
  (*this)(OpenState{std::move(state)});
}

void Session::State::operator()(const Undo&) {
  playback.stop();
  // A request that was refused is no entry: the first undo takes the controls back to what is on screen.
  const bool refused = !opening_state && !counted.is_under_way() && undo.history.now() != nullptr &&
                       (!same_request(requested.request, requested.good_request) || requested.race != requested.good_race);
  open_entry(refused ? undo.history.now() : undo.history.undo());
}

void Session::State::operator()(const Redo&) {
  playback.stop();
  open_entry(undo.history.redo());
}

}  // namespace tilescope
