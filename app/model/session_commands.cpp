// The session's commands: what a panel asks for changes the request or what is shown. Those of measurements and of lanes by SM are
// with the rest of these.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/model/session_state.h"
#include "sim/numerics/inputs.h"

namespace tilescope {

namespace {

/// The letter under which a person gives a matrix.
const char* name_of(Meaning given) {
  return given == Meaning::key ? "K" : given == Meaning::value ? "V" : "Q";
}

}  // namespace

void Session::State::operator()(const SetAlgorithm& command) {
  if (request.algorithm == command.id) return;
  request.algorithm = command.id;
  row_chosen = false;
  simulate_again("algorithm");
}

void Session::State::operator()(const SetRace& command) {
  if (race == command.on) return;
  race = command.on;
  simulate_again("race");
}

void Session::State::operator()(const SetGpu& command) {
  if (load_gpu == nullptr) return;
  Result<GpuSpec> loaded = load_gpu(command.id_or_path);
  if (!loaded) {
    message = ControlMessage{"gpu", loaded.error().sentence};
    return;
  }
  gpu_base = request.gpu = std::move(*loaded);
  request.tile.reset();  // those of the kernel on that GPU: what suits a toy suits no H200
  request.blocks_per_sm.reset();
  request.focus_sm = 0;
  simulate_again("gpu");
}

void Session::State::operator()(const SetSpecValue& command) {
  const std::string key = command.assignment.substr(0, command.assignment.find('='));
  if (const Status status = set_spec_value(request.gpu, command.assignment); !status) {
    message = ControlMessage{key, status.error().sentence};
    return;
  }
  simulate_again(key);
}

void Session::State::operator()(const ResetSpecValue& command) {
  for (const SpecKey& key : spec_keys()) {
    if (!command.key.empty() && key.key != command.key) continue;
    request.gpu.*key.member = gpu_base.*key.member;
    if (const auto from = gpu_base.provenance.find(key.key); from != gpu_base.provenance.end())
      request.gpu.provenance[std::string(key.key)] = from->second;
  }
  simulate_again(command.key);
}

void Session::State::operator()(const SetProblem& command) {
  if (request.problem == command.problem) return;
  request.problem = command.problem;
  simulate_again(command.control);
}

void Session::State::operator()(const SetTile& command) {
  if (request.tile == command.tile) return;
  request.tile = command.tile;
  simulate_again(command.control);
}

void Session::State::operator()(const SetBlocksPerSm& command) {
  if (request.blocks_per_sm == command.count) return;
  request.blocks_per_sm = command.count;
  simulate_again("blocks_per_sm");
}

void Session::State::operator()(const SetBlockOrder& command) {
  if (request.block_order == command.order) return;
  request.block_order = command.order;
  simulate_again("block_order");
}

void Session::State::operator()(const SetInputs& command) {
  inputs = command.inputs;
  forget_values();
  message.reset();
  std::string misfit;
  fitting_inputs(request.problem, &misfit);
  if (!misfit.empty()) message = ControlMessage{"inputs", misfit};
}

void Session::State::operator()(const SetMatrix& command) {
  const std::string control = fmt::format("inputs.{}", name_of(command.tensor));
  InputSource changed = inputs;
  auto& slot = command.tensor == Meaning::key ? changed.k : command.tensor == Meaning::value ? changed.v : changed.q;
  slot = nullptr;
  if (!command.text.empty()) {
    std::string text = command.text, origin = fmt::format("the matrix typed for {}", name_of(command.tensor));
    if (command.is_path && load_text != nullptr) {
      Result<std::string> read = load_text(command.text);
      if (!read) {
        message = ControlMessage{control, read.error().sentence};
        return;
      }
      origin = command.text;
      text = std::move(*read);
    }
    Result<Matrix> matrix = parse_csv_matrix(text, origin);
    if (!matrix) {
      message = ControlMessage{control, matrix.error().sentence};
      return;
    }
    slot = std::make_shared<const Matrix>(std::move(*matrix));
    InputSource only;
    (command.tensor == Meaning::key ? only.k : command.tensor == Meaning::value ? only.v : only.q) = slot;
    if (const Status status = check(only, request.problem); !status) {
      message = ControlMessage{control, status.error().sentence};
      return;
    }
  }
  (*this)(SetInputs{changed});
}

void Session::State::operator()(const SetFocusSm& command) {
  request.focus_sm = command.sm;
  if (lanes.empty()) return;
  const auto focused = lanes.back().simulation->trace->focused_sms();
  if (std::find(focused.begin(), focused.end(), command.sm) == focused.end())
    return simulate_again("focus_sm", known_with_focus(command.sm));
  for (LaneState& lane : lanes) {
    const auto sms = lane.simulation->trace->focused_sms();
    if (std::find(sms.begin(), sms.end(), command.sm) != sms.end()) lane.focus_sm = command.sm;
  }
  set_cycle(playhead.goal());
}

void Session::State::operator()(const Step& command) {
  if (lanes.empty()) return;
  playing = false;
  constexpr double seconds = 0.32;
  race ? race_by(command.direction, command.grain, seconds) : step_by(command.direction, command.grain, seconds);
}

void Session::State::operator()(const SeekStep& command) {
  if (lanes.empty()) return;
  playing = false;
  const LaneState& lane = lanes.back();
  const std::int64_t last = lane.simulation->trace->step_count(lane.focus_sm);
  // In a race the other lane may end later: the last step is the end of both.
  if (race && command.step >= last) return set_cycle(end_cycle());
  set_step(std::clamp<std::int64_t>(command.step, 0, last), 0);
}

void Session::State::operator()(const SeekCycle& command) {
  if (lanes.empty()) return;
  playing = false;
  set_cycle(std::clamp(command.cycle, 0.0, end_cycle()));
}

void Session::State::operator()(const SetPlaying& command) {
  playing = command.on && !lanes.empty();
  const bool at_end = !lanes.empty() && playhead.goal() >= end_cycle();
  if (playing && at_end && !playhead.moving()) set_step(0, 0);  // play again from the beginning
}

void Session::State::operator()(const SetSpeed& command) {
  speed = std::clamp(command.speed, playing_speeds.front(), playing_speeds.back());
}
void Session::State::operator()(const SetGrain& command) {
  grain = command.grain;
}

void Session::State::operator()(const SelectRow& command) {
  row = std::max(0, command.row);
  row_chosen = true;
}

void Session::State::operator()(const HoverTensor& command) {
  hovered = command.tensor;
}
void Session::State::operator()(const SetThemeKind& command) {
  theme = command.kind;
}
void Session::State::operator()(const SetCenter& command) {
  center = command.view;
}

void Session::State::operator()(const SetSweep& command) {
  Result<SweepAxis> axis = parse_sweep_axis(command.axis);
  if (!axis) {
    message = ControlMessage{"sweep", axis.error().sentence};
    return;
  }
  if (message && message->control == "sweep") message.reset();
  studies->choose({std::move(*axis), command.algorithms, command.quantity});
}

void Session::State::operator()(const GoOnWithStudy&) {
  studies->go_on();
}
void Session::State::operator()(const SetPresent& command) {
  present = command.on;
}
void Session::State::operator()(const SetAlone& command) {
  alone = command.panel;
}
void Session::State::operator()(const SetSide& command) {
  side = command.panel;
}

void Session::State::operator()(const CancelWork&) {
  worker->cancel_all();
  background->cancel_all();
  studies->stop();
  validation.stopped = center == CenterView::validate && !validation.complete();
  nothing_under_way();
  ++looks;
  going_to_block.reset();
  if (lanes.empty()) return;
  request = good_request;
  race = good_race;
  message.reset();
}

void Session::State::operator()(const ShowHelp& command) {
  help = command.on;
}
void Session::State::operator()(const SetLanguage& command) {
  language = command.id;
}

}  // namespace tilescope
