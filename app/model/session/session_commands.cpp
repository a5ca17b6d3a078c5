// The session's commands: what a panel asks for changes the request, the playback or the workspace.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/model/measurements/imported_counters.h"
#include "app/model/requests/assets.h"
#include "app/model/session/rung_code.h"
#include "app/model/session/session_state.h"
#include "app/model/state/window_state.h"
#include "sim/core/refuse.h"
#include "sim/masks/mask_choice.h"

namespace tilescope {

namespace {

/// The letter under which a person gives a matrix.
const char* name_of(Meaning given) {
  return given == Meaning::key ? "K" : given == Meaning::value ? "V" : "Q";
}

/// The run of a block that starts at `start`; runs are in order of start.
std::optional<std::size_t> find_run(const Trace& trace, int launch, std::int64_t block, double start) {
  const auto runs = trace.runs();
  const auto from = std::lower_bound(runs.begin(), runs.end(), start, [](const BlockRun& run, double t) { return run.start < t; });
  for (auto run = from; run != runs.end() && run->start == start; ++run)
    if (run->launch == launch && run->block == block) return static_cast<std::size_t>(run - runs.begin());
  return std::nullopt;
}

/// The interval of a run's operation, or its first for -1, where the SM's intervals were kept so far.
std::optional<std::size_t> interval_of_run(const Trace& trace, int sm, std::size_t run, int op) {
  const auto intervals = trace.intervals(sm);
  const BlockRun& block = trace.runs()[run];
  auto at = std::lower_bound(intervals.begin(), intervals.end(), block.start,
                             [](const Interval& interval, double t) { return interval.start < t; });
  for (; at != intervals.end() && at->start <= block.end; ++at)
    if (at->run == static_cast<std::int32_t>(run) && (op < 0 || at->op == op))
      return static_cast<std::size_t>(at - intervals.begin());
  return std::nullopt;
}

/// The first step at which the block of a compared row has m, l and alpha.
std::optional<std::size_t> interval_of(const Trace& trace, int sm, const ProbeComparison& compared) {
  const auto intervals = trace.intervals(sm);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const BlockRun& run = trace.runs()[static_cast<std::size_t>(intervals[i].run)];
    if (intervals[i].op == compared.telling_op && run.launch == compared.launch && run.block == compared.block) return i;
  }
  return std::nullopt;
}

}  // namespace

// --- the request ------------------------------------------------------------------------------------------------------------

void Session::State::operator()(const SetAlgorithm& command) {
  const auto row = find_program(command.id);
  const Pass pass = row ? (*row)->pass : requested.request.problem.pass;
  if (requested.request.algorithm == command.id && requested.request.problem.pass == pass) return;
  requested.request.algorithm = command.id;
  requested.request.problem.pass = pass;
  workspace.row_chosen = workspace.row_by_user = false;
  simulate_again("algorithm");
}

void Session::State::operator()(const SetRace& command) {
  const Race wanted(command.on, command.with.empty() ? requested.race.with : command.with);
  if (requested.race == wanted) return;
  requested.race = wanted;
  simulate_again("race");
}

void Session::State::operator()(const SetGpu& command) {
  if (files.load_gpu == nullptr) return;
  Result<GpuSpec> loaded = files.load_gpu(command.id_or_path);
  if (!loaded) return workspace.refuse("gpu", loaded.error());
  requested.set_gpu(command.id_or_path, std::move(*loaded));
  simulate_again("gpu");
}

void Session::State::operator()(const SetSpecValue& command) {
  const std::string key = command.assignment.substr(0, command.assignment.find('='));
  if (const Status status = requested.set_spec_value(command.assignment); !status) return workspace.refuse(key, status.error());
  simulate_again(key);
}

void Session::State::operator()(const ResetSpecValue& command) {
  requested.reset_spec_value(command.key);
  simulate_again(command.key);
}

void Session::State::operator()(const SetProblem& command) {
  if (requested.request.problem == command.problem) return;
  const std::string before = requested.request.algorithm;
  requested.set_problem(command.problem);
  if (requested.request.algorithm != before) workspace.notify(Notice::program_for_pages, requested.request.algorithm);
  simulate_again(command.control);
}

void Session::State::operator()(const SetTile& command) {
  if (requested.request.tile == command.tile) return;
  requested.request.tile = command.tile;
  simulate_again(command.control);
}

void Session::State::operator()(const SetBlocksPerSm& command) {
  if (requested.request.blocks_per_sm == command.count) return;
  requested.request.blocks_per_sm = command.count;
  simulate_again("blocks_per_sm");
}

void Session::State::operator()(const SetBlockOrder& command) {
  if (requested.request.block_order == command.order) return;
  requested.request.block_order = command.order;
  simulate_again("block_order");
}

void Session::State::operator()(const SetKeyOrder& command) {
  if (requested.request.key_order == command.order) return;
  requested.request.key_order = command.order;
  simulate_again("key_order");
}

void Session::State::operator()(const OpenCase& command) {
  std::optional<GpuSpec> other;
  if (command.gpu != requested.request.gpu.id || !unchanged(requested.request.gpu)) {
    if (files.load_gpu == nullptr) return;
    Result<GpuSpec> loaded = files.load_gpu(command.gpu);
    if (!loaded) return workspace.refuse("gpu", loaded.error());
    other = std::move(*loaded);
  }
  requested.open_case(std::move(other), command.program, command.problem, command.tile);
  workspace.row_chosen = workspace.row_by_user = false;
  simulate_again("algorithm");
}

void Session::State::operator()(const SetMasking& command) {
  const bool refused = workspace.message && is_mask_control(workspace.message->control);
  if (requested.request.masking == command.choice) {
    // The text that was refused is given up. What the simulation refused still holds.
    if (refused && same_request(requested.request, requested.good_request)) workspace.message.reset();
    return;
  }
  if (const auto fault = find_mask_fault(command.choice, requested.request.problem))
    return workspace.refuse(mask_control(fault->where, fault->index), fault->error);
  if (refused) workspace.message.reset();
  const std::string before = requested.request.algorithm;
  requested.set_masking(command.choice);
  if (requested.request.algorithm != before) {
    workspace.row_chosen = workspace.row_by_user = false;
    workspace.notify(Notice::program_for_mask, requested.request.algorithm);
  }
  simulate_again("mask");
}

void Session::State::operator()(const SetMaskTable& command) {
  MaskChoice choice = requested.request.masking;
  std::erase_if(choice.tables, [&](const auto& table) { return table->name == command.name; });
  if (!command.path.empty() && files.load_table != nullptr) {
    Result<CapturedTable> table = files.load_table(command.name, command.path);
    if (!table) return workspace.refuse("table", table.error());
    choice.tables.push_back(std::make_shared<const CapturedTable>(std::move(*table)));
  }
  if (workspace.message && is_mask_control(workspace.message->control)) workspace.message.reset();
  (*this)(SetMasking{std::move(choice)});
}

void Session::State::operator()(const LookAtMask& command) {
  masks.look(command);
}

void Session::State::operator()(const AskVisit& command) {
  if (playback.empty()) return;
  const Runner& runner = playback.chosen();
  masks.set_visit(command, find_visit(*runner.simulation, runner.focus_sm, command));
}

// --- values -----------------------------------------------------------------------------------------------------------------

void Session::State::set_inputs(InputSource inputs) {
  requested.inputs = std::move(inputs);
  derived.forget_values();
  measured.forget_requests();
  // What another control was refused for still holds.
  if (workspace.message && workspace.message->control.starts_with("inputs")) workspace.message.reset();
  say_misfit();
}

void Session::State::operator()(const SetInputs& command) {
  set_inputs(command.inputs);
}

void Session::State::operator()(const SetMatrix& command) {
  const std::string control = fmt::format("inputs.{}", name_of(command.tensor));
  std::string text = command.text;
  Sentence origin = phrase("the matrix typed for {}", name_of(command.tensor));
  if (!text.empty() && command.is_path && files.load_text != nullptr) {
    Result<std::string> read = files.load_text(command.text);
    if (!read) return workspace.refuse(control, read.error());
    origin = command.text;
    text = std::move(*read);
    if (text.empty()) text.assign(1, '\n');  // a file without numbers is refused; only an empty field means seeded values
  }
  Result<InputSource> changed = requested.with_matrix(command.tensor, text, origin);
  if (!changed) return workspace.refuse(control, changed.error());
  set_inputs(std::move(*changed));
}

// --- where one stands -------------------------------------------------------------------------------------------------------

void Session::State::operator()(const SetFocusSm& command) {
  requested.request.focus_sm = command.sm;
  if (playback.empty()) return;
  const auto focused = playback.chosen().simulation->trace->focused_sms();
  if (std::find(focused.begin(), focused.end(), command.sm) != focused.end()) return playback.focus(command.sm);
  const bool nothing_else = same_request(requested.request, requested.good_request) && requested.race == requested.good_race;
  simulate_again("focus_sm", nothing_else ? sms.known_with_focus(playback.runners(), command.sm)
                                          : std::vector<std::shared_ptr<const Simulation>>{});
}

void Session::State::operator()(const Step& command) {
  if (playback.empty()) return;
  playback.stop();
  constexpr double seconds = 0.32;
  playback.step_by(command.direction, command.grain, seconds);
}

void Session::State::operator()(const SeekStep& command) {
  if (playback.empty()) return;
  playback.stop();
  playback.seek_step(command.step);
}

void Session::State::operator()(const SeekCycle& command) {
  if (playback.empty()) return;
  playback.stop();
  playback.set_cycle(std::clamp(command.cycle, 0.0, playback.end_cycle()));
}

void Session::State::operator()(const SetPlaying& command) {
  playback.set_playing(command.on);
}
void Session::State::operator()(const SetSpeed& command) {
  playback.set_speed(command.speed);
}
void Session::State::operator()(const SetGrain& command) {
  playback.set_grain(command.grain);
}

void Session::State::operator()(const FocusBlock& command) {
  if (playback.empty()) return;
  playback.stop();
  next.block = command;
  if (command.sm != playback.chosen().focus_sm) (*this)(SetFocusSm{command.sm});
  if (playback.chosen().focus_sm == command.sm) go_to_block();
}

/// Only what that SM kept in focus has steps; of a block beyond what the trace could keep the clock goes to its start.
void Session::State::go_to_block() {
  const FocusBlock goal = *std::exchange(next.block, std::nullopt);
  const Runner& runner = playback.chosen();
  const Trace& trace = *runner.simulation->trace;
  const auto run = find_run(trace, goal.launch, goal.block, goal.start);
  if (!run) return;
  const auto first = interval_of_run(trace, runner.focus_sm, *run, goal.op);
  if (!first || playback.race()) return playback.set_cycle(trace.runs()[*run].start);
  playback.set_step(trace.step_of_interval(runner.focus_sm, *first), 0);
}

/// Where the probe's row is in the simulation; its SM comes into focus first.
void Session::State::operator()(const ShowProbe&) {
  const ProbeComparison* const compared = measured.view().compared;
  if (compared == nullptr || playback.empty()) return;
  if (!same_numbers(requested.inputs, compared->probe->inputs)) set_inputs(compared->probe->inputs);
  const auto runs = playback.chosen().simulation->trace->runs();
  const auto run = std::find_if(runs.begin(), runs.end(),
                                [&](const BlockRun& r) { return r.launch == compared->launch && r.block == compared->block; });
  if (run == runs.end()) return workspace.notify(Notice::block_not_in_trace);
  playback.stop();
  workspace.choose_row(compared->row);
  next.probe = true;
  const int sm = run->sm;
  if (sm != playback.chosen().focus_sm) (*this)(SetFocusSm{sm});
  if (playback.chosen().focus_sm == sm) go_to_probe();
}

/// To the first step of the row at which m, l and alpha are there, past the first tile where there is one.
void Session::State::go_to_probe() {
  next.probe = false;
  const ProbeComparison* const compared = measured.view().compared;
  if (compared == nullptr) return;
  const Runner& runner = playback.chosen();
  const Trace& trace = *runner.simulation->trace;
  const auto found = interval_of(trace, runner.focus_sm, *compared);
  if (!found) return workspace.notify(Notice::block_not_in_trace);
  playback.set_step(trace.step_of_interval(runner.focus_sm, *found), 0);
}

// --- what is shown ----------------------------------------------------------------------------------------------------------

void Session::State::operator()(const SelectRow& command) {
  workspace.choose_row(command.row);
}
void Session::State::operator()(const HoverTensor& command) {
  workspace.hovered_tensor = command.tensor;
}
void Session::State::operator()(const SetThemeKind& command) {
  workspace.theme = command.kind;
}
void Session::State::operator()(const SetCenter& command) {
  workspace.center = command.view;
}
void Session::State::operator()(const SetLanes& command) {
  workspace.by_sm = command.by_sm;
}
void Session::State::operator()(const LookIntoSms& command) {
  sms.want(command);
}
void Session::State::operator()(const SetPresent& command) {
  workspace.present = command.on;
}
void Session::State::operator()(const SetAlone& command) {
  workspace.alone = command.panel;
}
void Session::State::operator()(const SetSide& command) {
  workspace.side = command.panel;
}
void Session::State::operator()(const SetTrafficLink& command) {
  workspace.traffic = command.link;
}
void Session::State::operator()(const ShowHelp& command) {
  workspace.help = command.on;
}
void Session::State::operator()(const ShowFind& command) {
  workspace.find = command.on ? std::optional(command.text) : std::nullopt;
}
void Session::State::operator()(const SetTimeRange& command) {
  workspace.range = command.range;
}
void Session::State::operator()(const ShowNotice& command) {
  workspace.notify(command.notice);
}
void Session::State::operator()(const SetLanguage& command) {
  workspace.language = command.id;
  lessons.follow_language();
}

// --- work -------------------------------------------------------------------------------------------------------------------

void Session::State::operator()(const SetSweep& command) {
  Result<SweepAxis> axis = parse_sweep_axis(command.axis);
  if (!axis) return workspace.refuse("sweep", axis.error());
  if (workspace.message && workspace.message->control == "sweep") workspace.message.reset();
  studies.choose({std::move(*axis), command.algorithms, command.quantity});
}

void Session::State::operator()(const SetBanks& command) {
  if (const Status good = check(command.choice); !good) return workspace.refuse("banks", good.error());
  if (workspace.message && workspace.message->control == "banks") workspace.message.reset();
  workspace.banks = command.choice;
}

void Session::State::operator()(const SetRung& command) {
  if (command.id.empty() || is_rung(command.id)) workspace.rung = command.id;
}

void Session::State::operator()(const SetViews& command) {
  workspace.views = command.choices;
}

void Session::State::operator()(const GoOnWithStudy&) {
  studies.go_on();
}
void Session::State::operator()(const PinRun&) {
  if (playback.empty()) return;
  pinned.pin(window_state_of(view()), playback.chosen().simulation);
  workspace.notify(pinned.view().runs.size() > 1 ? Notice::pinned_again : Notice::run_pinned);
}
void Session::State::operator()(const UnpinRun& command) {
  pinned.unpin(command.place);
}
void Session::State::operator()(const CompareRuns& command) {
  pinned.compare(command.runs);
}
void Session::State::operator()(const ImportCounters& command) {
  if (playback.empty()) {
    counters_to_import = command.path;
    return;
  }
  if (const auto missing = import_counters_of(command.path)) workspace.notify(Error{*missing});
}

std::optional<Sentence> Session::State::import_counters_of(const std::string& path) {
  if (files.load_text == nullptr) return std::nullopt;
  const Result<std::string> text = files.load_text(path);
  if (!text) {
    workspace.notify(text.error());
    return std::nullopt;
  }
  Result<ImportedCounters> imported = import_counters(*text, path, *playback.chosen().simulation);
  if (!imported) {
    workspace.notify(imported.error());
    return std::nullopt;
  }
  std::optional<Sentence> missing = missing_metrics(*imported);
  measured.keep_imported(std::move(*imported));
  return missing;
}
void Session::State::operator()(const StartExport& command) {
  if (playback.empty() || command.choice == nullptr) return;
  export_job.start(window_state_of(view()), *command.choice);
}
void Session::State::operator()(const StopExport&) {
  export_job.stop();
}
void Session::State::operator()(const RunValidation& command) {
  measured.run_validation(command.on);
}
void Session::State::operator()(const SetValidation& command) {
  measured.validate_with(command.bundle);
}
void Session::State::operator()(const Calibrate& command) {
  command.on ? calibration.start() : calibration.stop();
}
void Session::State::operator()(const Measure&) {
  measured.measure();
}

void Session::State::operator()(const CancelWork&) {
  worker.cancel(Queue::shown);
  worker.cancel(Queue::background);
  studies.stop();
  measured.cancel();
  calibration.stop();
  pinned.cancel();
  derived.forget_requests();
  measured.forget_requests();
  sms.cancel();
  next.block.reset();
  opening_state.reset();
  next.position = {};
  counted.cancelled = counted.asked;
  if (playback.empty()) return workspace.refuse("", refuse("Nothing is simulated: change a setting to begin again"));
  requested.back_to_good();
  workspace.message.reset();
}

}  // namespace tilescope
