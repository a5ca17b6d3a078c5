// Commands: what a panel may ask for. The session carries them out after the frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/model/run_data/time_range.h"
#include "app/model/state/bank_choice.h"
#include "app/model/state/center_views.h"
#include "app/model/state/compared_runs.h"
#include "app/model/state/link_choice.h"
#include "app/model/state/sweep_quantity.h"
#include "app/model/state/view_choices.h"
#include "app/platform/theme_kind.h"
#include "sim/analysis/validation.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

enum class Notice;     // app/model/state/workspace.h
struct WindowState;    // app/model/state/window_state.h
struct Scene;          // app/model/state/deck.h
struct ClassQuestion;  // app/model/state/deck.h
struct KnownBundle;    // app/model/measurements/measurements.h
struct ExportChoice;   // app/model/session/export_job.h
struct LessonAnswer;   // app/model/lessons/lesson_answer.h

/// What a command changes of that which links, files and undo keep.
enum class Changes : std::uint8_t {
  nothing,   // or it opens another state in its place
  playhead,  // the position; many of these together are one step of undo
  state
};

struct SetAlgorithm {
  static constexpr Changes changes = Changes::state;
  std::string id;
};
struct SetRace {
  static constexpr Changes changes = Changes::state;
  bool on = false;
  std::string with = {};  // the program to race against; empty: the one before
};
struct SetGpu {
  static constexpr Changes changes = Changes::state;
  std::string id_or_path;
};
struct SetSpecValue {
  static constexpr Changes changes = Changes::state;
  std::string assignment;  // "l2.capacity_bytes=0"
};
struct ResetSpecValue {
  static constexpr Changes changes = Changes::state;
  std::string key;  // back to what the GPU's file says
};
struct SetProblem {
  static constexpr Changes changes = Changes::state;
  AttentionProblem problem;
  std::string control;
};
/// Sets the tile; nullopt: that of the program.
struct SetTile {
  static constexpr Changes changes = Changes::state;
  std::optional<ProgramTile> tile;
  std::string control;
};
struct SetBlocksPerSm {
  static constexpr Changes changes = Changes::state;
  std::optional<int> count;
};
struct SetBlockOrder {
  static constexpr Changes changes = Changes::state;
  BlockOrder order = BlockOrder::launch;
};
struct SetKeyOrder {
  static constexpr Changes changes = Changes::state;
  KeyOrder order = KeyOrder::ascending;
};
/// Masks and a change of scores. What cannot be parsed is refused and leaves those before.
struct SetMasking {
  static constexpr Changes changes = Changes::state;
  MaskChoice choice;
};
struct SetMaskTable {
  static constexpr Changes changes = Changes::state;
  std::string name, path;  // from .csv or .npy; an empty path takes it away
};
/// What the Mask view looks at: a plane, and the elements of a rectangle of it.
struct LookAtMask {
  static constexpr Changes changes = Changes::nothing;
  std::int64_t plane = 0;
  TileRange queries, keys;  // empty: no elements
  bool operator==(const LookAtMask&) const = default;
};
/// Asks who visits the tile of this query and key.
struct AskVisit {
  static constexpr Changes changes = Changes::nothing;
  std::int64_t plane = 0, query = 0, key = 0;
  bool operator==(const AskVisit&) const = default;
};
struct SetInputs {
  static constexpr Changes changes = Changes::state;
  InputSource inputs;  // seed, spread, or a matrix the user typed or loaded
};
/// Sets a matrix from CSV; empty: seeded values again.
struct SetMatrix {
  static constexpr Changes changes = Changes::state;
  Meaning tensor = Meaning::query;
  std::string text;
  bool is_path = false;
};
struct SetFocusSm {
  static constexpr Changes changes = Changes::playhead;
  int sm = 0;
};
struct Step {
  static constexpr Changes changes = Changes::playhead;
  int direction = 1;
  Grain grain = Grain::operation;
};
struct SeekStep {
  static constexpr Changes changes = Changes::playhead;
  std::int64_t step = 0;
};
struct SeekCycle {
  static constexpr Changes changes = Changes::playhead;
  double cycle = 0;  // from the timeline
};
struct SetLanes {
  static constexpr Changes changes = Changes::state;
  bool by_sm = false;  // of the timeline
};
/// What these SMs did, once they have been simulated anew with them in focus: Lane::sm_works.
struct LookIntoSms {
  static constexpr Changes changes = Changes::nothing;
  int first = 0, last = 0;
  std::size_t lane = 0;
  bool operator==(const LookIntoSms&) const = default;
};
/// Brings its SM into focus, and the clock to its first operation.
struct FocusBlock {
  static constexpr Changes changes = Changes::playhead;
  int sm = 0, launch = 0;
  std::int64_t block = 0;
  double start = 0;  // when the block began: its place among the runs of the trace
  int op = -1;       // of the block's operations the one to go to; -1: its first
};
struct SetPlaying {
  static constexpr Changes changes = Changes::playhead;
  bool on = false;
};
struct SetSpeed {
  static constexpr Changes changes = Changes::state;
  double speed = 1;
};
struct SetGrain {
  static constexpr Changes changes = Changes::state;
  Grain grain = Grain::operation;
};
struct SelectRow {
  static constexpr Changes changes = Changes::state;
  int row = 0;
};
struct HoverTensor {
  static constexpr Changes changes = Changes::nothing;
  std::optional<Tensor> tensor;
};
struct SetThemeKind {
  static constexpr Changes changes = Changes::state;
  ThemeKind kind = ThemeKind::dark;
};
struct SetCenter {
  static constexpr Changes changes = Changes::state;
  CenterView view = CenterView::stage;
};
/// "seq=256:65536:x2"; an axis that cannot be is refused in the message of control "sweep".
struct SetSweep {
  static constexpr Changes changes = Changes::state;
  std::string axis;
  std::vector<std::string> algorithms;
  SweepQuantity quantity{};
};
/// Shows an access pattern in the Banks view; one that cannot be is refused in the message of control "banks".
struct SetBanks {
  static constexpr Changes changes = Changes::state;
  BankChoice choice;
};
/// Shows the code of a rung in the Ladder view.
struct SetRung {
  static constexpr Changes changes = Changes::state;
  std::string id;  // empty: of none
};
/// Zooms, chooses a column, and so on, in the views.
struct SetViews {
  static constexpr Changes changes = Changes::state;
  ViewChoices choices;
};
/// After CancelWork.
struct GoOnWithStudy {
  static constexpr Changes changes = Changes::nothing;
};
struct SetPresent {
  static constexpr Changes changes = Changes::state;
  bool on = false;
};
struct SetAlone {
  static constexpr Changes changes = Changes::state;
  std::string panel;  // empty: every panel again
};
struct SetSide {
  static constexpr Changes changes = Changes::state;
  std::string panel;
};
/// Shows the bytes of another link in the Traffic panel.
struct SetTrafficLink {
  static constexpr Changes changes = Changes::state;
  LinkChoice link{};
};
/// Chooses a stretch of the timeline; nullopt: none.
struct SetTimeRange {
  static constexpr Changes changes = Changes::state;
  std::optional<TimeRange> range;
};
struct CancelWork {
  static constexpr Changes changes = Changes::nothing;
};
struct ShowHelp {
  static constexpr Changes changes = Changes::nothing;
  bool on = true;
};
struct SetLanguage {
  static constexpr Changes changes = Changes::state;
  std::string id;
};
/// Opens the search over operations and words with a text in its field, or closes it.
struct ShowFind {
  static constexpr Changes changes = Changes::nothing;
  bool on = true;
  std::string text;
};
/// A measured case into the window, everything in one go.
struct OpenCase {
  static constexpr Changes changes = Changes::state;
  std::string gpu;
  Counterpart program;
  AttentionProblem problem;
  TileShape tile;
};
/// Everything at once: a link, a file, a scene, a step of undo. The window keeps what it has until the state's simulation is there;
/// a state that cannot be is refused in the message of the window as a whole, and nothing changes. SessionView::opening says
/// whether one is on its way.
struct OpenState {
  static constexpr Changes changes = Changes::nothing;
  std::shared_ptr<const WindowState> state;
};
/// A link that a person pasted; one that cannot be read is refused like a state.
struct OpenLink {
  static constexpr Changes changes = Changes::nothing;
  std::string text;
};
struct Undo {
  static constexpr Changes changes = Changes::nothing;
};
struct Redo {
  static constexpr Changes changes = Changes::nothing;
};
struct ShowNotice {
  static constexpr Changes changes = Changes::nothing;
  Notice notice{};
};
struct SetBlank {
  static constexpr Changes changes = Changes::nothing;
  bool on = false;  // nothing but black, while somebody talks
};
struct OpenDeck {
  static constexpr Changes changes = Changes::nothing;
  std::string path;
};
struct SaveDeck {
  static constexpr Changes changes = Changes::nothing;
  std::string path;
};
struct ShowScenes {
  static constexpr Changes changes = Changes::nothing;
  bool on = true;  // the list of them
};
struct ShowPresenter {
  static constexpr Changes changes = Changes::nothing;
  bool on = true;  // the presenter's own window
};
/// Of the presenter: it counts from zero.
struct RestartTimer {
  static constexpr Changes changes = Changes::nothing;
};
/// The state as a scene behind the one that is shown.
struct BookmarkState {
  static constexpr Changes changes = Changes::nothing;
};
struct GoToScene {
  static constexpr Changes changes = Changes::nothing;
  int scene = 0;
};
struct TurnPage {
  static constexpr Changes changes = Changes::nothing;
  int direction = 1;  // a step within the scene, or another scene; without a deck a step
};
struct NameDeck {
  static constexpr Changes changes = Changes::nothing;
  std::string title;
};
struct EditScene {
  static constexpr Changes changes = Changes::nothing;
  int scene = 0;
  std::shared_ptr<const Scene> to;
};
struct MoveScene {
  static constexpr Changes changes = Changes::nothing;
  int scene = 0, to = 0;
};
struct DeleteScene {
  static constexpr Changes changes = Changes::nothing;
  int scene = 0;
};
struct AskClass {
  static constexpr Changes changes = Changes::nothing;
  bool on = true, answered = false;
};
struct CountAnswer {
  static constexpr Changes changes = Changes::nothing;
  int choice = 0, count = 0;
};
/// Asks a question that no scene or page has; null: letters to choose from.
struct WriteQuestion {
  static constexpr Changes changes = Changes::nothing;
  std::shared_ptr<const ClassQuestion> question;
};
/// Keeps the run on screen, to be compared.
struct PinRun {
  static constexpr Changes changes = Changes::nothing;
};
/// Forgets a pinned run by its place, from 1; every one for 0.
struct UnpinRun {
  static constexpr Changes changes = Changes::nothing;
  int place = 0;
};
/// Which two runs the Compare view shows.
struct CompareRuns {
  static constexpr Changes changes = Changes::nothing;
  ComparedRuns runs;
};
/// Counters that Nsight Compute wrote, beside the run on screen: read_ncu_csv().
struct ImportCounters {
  static constexpr Changes changes = Changes::nothing;
  std::string path;
};
/// What is shown, as a file; SessionView::exporting says how far it is.
struct StartExport {
  static constexpr Changes changes = Changes::nothing;
  std::shared_ptr<const ExportChoice> choice;
};
/// The file is then what it was before.
struct StopExport {
  static constexpr Changes changes = Changes::nothing;
};
struct OpenLesson {
  static constexpr Changes changes = Changes::nothing;
  std::string id;  // number, name or file
  std::size_t page = 0;
};
struct TurnLessonPage {
  static constexpr Changes changes = Changes::nothing;
  int direction = 1;
};
struct AnswerLesson {
  static constexpr Changes changes = Changes::nothing;
  std::shared_ptr<const LessonAnswer> answer;  // the question of the page; then the run plays
};
/// The page as it was before its question was answered.
struct RetryLesson {
  static constexpr Changes changes = Changes::nothing;
};
/// What was open before the lesson comes back.
struct CloseLesson {
  static constexpr Changes changes = Changes::nothing;
};
/// The offer of the first start.
struct DeclineLessons {
  static constexpr Changes changes = Changes::nothing;
};
struct RunValidation {
  static constexpr Changes changes = Changes::nothing;
  bool on = true;  // stop it, go on with it
};
struct SetValidation {
  static constexpr Changes changes = Changes::nothing;
  std::shared_ptr<const KnownBundle> bundle;  // of the chosen GPU; null: the largest
};
/// Measures a spec of this machine's GPU; false stops that.
struct Calibrate {
  static constexpr Changes changes = Changes::nothing;
  bool on = true;
};
/// What is shown, on this machine's GPU.
struct Measure {
  static constexpr Changes changes = Changes::nothing;
};
/// The row that the real kernel recorded, on the numbers that it read.
struct ShowProbe {
  static constexpr Changes changes = Changes::playhead;
};

using Command =
    std::variant<SetAlgorithm, SetRace, SetGpu, SetSpecValue, ResetSpecValue, SetProblem, SetTile, SetBlocksPerSm, SetBlockOrder,
                 SetKeyOrder, SetMasking, SetMaskTable, LookAtMask, AskVisit, SetInputs, SetMatrix, SetFocusSm, Step, SeekStep,
                 SeekCycle, SetLanes, LookIntoSms, FocusBlock, SetPlaying, SetSpeed, SetGrain, SelectRow, HoverTensor, SetThemeKind,
                 SetCenter, SetSweep, SetBanks, SetRung, SetViews, GoOnWithStudy, SetPresent, SetAlone, SetSide, SetTrafficLink,
                 SetTimeRange, CancelWork, ShowHelp, ShowFind, SetLanguage, OpenCase, OpenState, OpenLink, Undo, Redo, ShowNotice,
                 SetBlank, OpenDeck, SaveDeck, ShowScenes, ShowPresenter, RestartTimer, BookmarkState, GoToScene, TurnPage,
                 NameDeck, EditScene, MoveScene, DeleteScene, AskClass, CountAnswer, WriteQuestion, OpenLesson, TurnLessonPage,
                 AnswerLesson, RetryLesson, CloseLesson, DeclineLessons, PinRun, UnpinRun, CompareRuns, ImportCounters, StartExport,
                 StopExport, RunValidation, SetValidation, Calibrate, Measure, ShowProbe>;

Changes changes_of(const Command& command);
/// Whether a command moves the playhead, or lets it move.
bool moves_playhead(const Command& command);

/// Everything in it is compiled in commands.cpp: what a variant of so many needs is much for the forty files that push.
class Commands {
 public:
  Commands();
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  template <class T>
  void push(T command);
  std::vector<Command> take();

 private:
  std::vector<Command> queue_;
};

}  // namespace tilescope
