// Session::State: the session's objects, and what takes more than one of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/lessons/glossary.h"
#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_player.h"
#include "app/model/measurements/calibration.h"
#include "app/model/session/export_job.h"
#include "app/model/session/opening.h"
#include "app/model/session/session.h"
#include "app/model/session/session_parts.h"
#include "app/model/session/sm_findings.h"

namespace tilescope {

struct Session::State {
  explicit State(Start start);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // What a person has asked for and how it is shown.
  Requested requested;
  Workspace workspace;
  Playback playback;

  // What the session reaches of the machine.
  Files files;
  WallClock clock;
  std::shared_ptr<const Glossary> glossary;

  // Simulations and states on their way.
  SimulationCount counted;
  NextPlace next;
  std::optional<OpeningState> opening_state;
  std::string counters_to_import;  // a file that waits for the first simulation

  // Undo, and what a lecture or a lesson goes back to.
  UndoNotes undo;
  Lecture lecture;
  PresenterTimer timer;
  std::shared_ptr<const WindowState> before_lesson;  // what was shown; null where nothing was

  // What works on the worker, and what comes of it.
  Retired retired;
  Worker worker;
  SmFindings sms{worker, retired};
  Derived derived{worker, retired, playback, requested};
  Measured measured;
  Pinned pinned;
  Calibration calibration;
  ExportJob export_job;
  LessonPlayer lessons;
  Studies studies;
  MaskStudy masks{worker};
  StudyView study_view;  // of this frame

  // session.cpp
  SessionView view() const;
  /// `known`, one a lane, are shown as they are; without them the request is simulated.
  void simulate_again(std::string control, std::vector<std::shared_ptr<const Simulation>> known = {});
  /// What a simulation was asked for with.
  struct Asked {
    SimulationRequest request;
    Race race;
    std::string gpu_source;
    GpuSpec gpu_base;
    std::string control;
    int number = 0;
    std::int64_t gesture = 0;
  };
  void submit(Asked wanted, std::vector<std::shared_ptr<const Simulation>> known);
  void take_delivered(const Asked& asked, const std::optional<Error>& error, const std::vector<Arrival>& arrivals);
  void refused(const Error& error, const std::string& control);
  void take_simulations(const std::vector<Arrival>& arrivals, std::int64_t asked_by);  // a gesture
  void say_misfit();
  /// The run whose mask is compared with that of the controls: after the question of a lesson's page another run of the page, else
  /// the pinned one. Null where there is none with another mask.
  std::shared_ptr<const Simulation> run_of_other_mask() const;
  void show_step();
  void tick(double seconds);

  // session_opening.cpp
  void refuse_opening(const Error& error);
  /// Everything of the state but its position.
  void take_state(const WindowState& state, StateRequest asked);
  void take_position(const decltype(WindowState::position)& position);
  /// Something else was asked for meanwhile: it comes on top of the state, whatever becomes of its simulation.
  void settle_opening();
  /// `of_scene`: the state is that of the scene that is shown.
  void open_state(const std::shared_ptr<const WindowState>& opened, bool of_scene);
  void operator()(const OpenState& command);
  void operator()(const OpenLink& command);
  void operator()(const Undo& command);
  void operator()(const Redo& command);
  /// Opens the state that undo or redo came to, with its deck.
  void open_entry(std::shared_ptr<const WindowState> state);
  /// Lets the history see what is shown, where it is at rest.
  void note_state();

  // session_lecture.cpp
  void open_scene(int index, bool from_behind);
  /// Says that the scene walks through steps which its run does not have. They are known once it is simulated.
  void say_missing_steps();
  void tick_lecture();
  void operator()(const SetBlank& command);
  void operator()(const OpenDeck& command);
  void operator()(const SaveDeck& command);
  void operator()(const ShowScenes& command);
  void operator()(const ShowPresenter& command);
  void operator()(const RestartTimer& command);
  void operator()(const BookmarkState& command);
  void operator()(const GoToScene& command);
  void operator()(const TurnPage& command);
  void operator()(const NameDeck& command);
  void operator()(const EditScene& command);
  void operator()(const MoveScene& command);
  void operator()(const DeleteScene& command);
  void operator()(const AskClass& command);
  void operator()(const CountAnswer& command);
  void operator()(const WriteQuestion& command);

  // session_lessons.cpp
  std::shared_ptr<WindowState> settled_state() const;
  void show_scene(std::shared_ptr<const WindowState> scene);
  void ask_of_page();
  void operator()(const OpenLesson& command);
  void operator()(const TurnLessonPage& command);
  void operator()(const AnswerLesson& command);
  void operator()(const RetryLesson& command);
  void operator()(const CloseLesson& command);
  void operator()(const DeclineLessons& command);

  // session_commands.cpp
  /// Returns which metrics the file lacks.
  std::optional<Sentence> import_counters_of(const std::string& path);
  void set_inputs(InputSource inputs);
  void go_to_block();
  void go_to_probe();
  void operator()(const SetAlgorithm& command);
  void operator()(const SetRace& command);
  void operator()(const SetGpu& command);
  void operator()(const SetSpecValue& command);
  void operator()(const ResetSpecValue& command);
  void operator()(const SetProblem& command);
  void operator()(const SetTile& command);
  void operator()(const SetBlocksPerSm& command);
  void operator()(const SetBlockOrder& command);
  void operator()(const SetKeyOrder& command);
  void operator()(const SetMasking& command);
  void operator()(const SetMaskTable& command);
  void operator()(const LookAtMask& command);
  void operator()(const AskVisit& command);
  void operator()(const SetInputs& command);
  void operator()(const SetMatrix& command);
  void operator()(const SetFocusSm& command);
  void operator()(const Step& command);
  void operator()(const SeekStep& command);
  void operator()(const SeekCycle& command);
  void operator()(const SetLanes& command);
  void operator()(const LookIntoSms& command);
  void operator()(const FocusBlock& command);
  void operator()(const SetPlaying& command);
  void operator()(const SetSpeed& command);
  void operator()(const SetGrain& command);
  void operator()(const SelectRow& command);
  void operator()(const HoverTensor& command);
  void operator()(const SetThemeKind& command);
  void operator()(const SetCenter& command);
  void operator()(const SetSweep& command);
  void operator()(const SetBanks& command);
  void operator()(const SetRung& command);
  void operator()(const SetViews& command);
  void operator()(const GoOnWithStudy& command);
  void operator()(const SetPresent& command);
  void operator()(const SetAlone& command);
  void operator()(const SetSide& command);
  void operator()(const SetTrafficLink& command);
  void operator()(const SetTimeRange& command);
  void operator()(const CancelWork& command);
  void operator()(const ShowHelp& command);
  void operator()(const ShowFind& command);
  void operator()(const ShowNotice& command);
  void operator()(const SetLanguage& command);
  void operator()(const OpenCase& command);
  void operator()(const PinRun& command);
  void operator()(const UnpinRun& command);
  void operator()(const CompareRuns& command);
  void operator()(const ImportCounters& command);
  void operator()(const StartExport& command);
  void operator()(const StopExport& command);
  void operator()(const RunValidation& command);
  void operator()(const SetValidation& command);
  void operator()(const Calibrate& command);
  void operator()(const Measure& command);
  void operator()(const ShowProbe& command);
};

}  // namespace tilescope
