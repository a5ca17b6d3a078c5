// Commands: what a panel may ask for. The session carries them out after the frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/model/center_views.h"
#include "app/platform/theme_kind.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

enum class SweepQuantity : std::uint8_t;  // app/model/studies.h
struct WindowState;                       // app/model/window_state.h
struct LessonAnswer;                      // app/model/lesson_runs.h

struct SetAlgorithm {
  std::string id;
};
struct SetRace {
  bool on = false;
};
struct SetGpu {
  std::string id_or_path;
};
struct SetSpecValue {
  std::string assignment;
};  // "l2.capacity_bytes=0"
struct ResetSpecValue {
  std::string key;
};  // back to what the GPU's file says
struct SetProblem {
  AttentionProblem problem;
  std::string control;
};
struct SetTile {
  std::optional<ProgramTile> tile;
  std::string control;
};  // nullopt: the program's default
struct SetBlocksPerSm {
  std::optional<int> count;
};
struct SetBlockOrder {
  BlockOrder order = BlockOrder::launch;
};
struct SetKeyOrder {
  KeyOrder order = KeyOrder::ascending;
};
struct SetInputs {
  InputSource inputs;
};  // seed, spread, or a matrix the user typed or loaded
struct SetMatrix {
  Meaning tensor = Meaning::query;
  std::string text;
  bool is_path = false;
};  // CSV; empty: seeded values again
struct SetFocusSm {
  int sm = 0;
};
struct Step {
  int direction = 1;
  Grain grain = Grain::operation;
};
struct SeekStep {
  std::int64_t step = 0;
};
struct SeekCycle {
  double cycle = 0;
};  // from the timeline
struct SetLanes {
  bool by_sm = false;
};  // of the timeline
/// What these SMs did, once they have been simulated anew with them in focus: Lane::sm_works.
struct LookIntoSms {
  int first = 0, last = 0;
  std::size_t lane = 0;
  bool operator==(const LookIntoSms&) const = default;
};
struct FocusBlock {
  int sm = 0, launch = 0;
  std::int64_t block = 0;
  double start = 0;  // when the block began: its place among the runs of the trace
};                   // its SM into focus, and the clock to its first operation
struct SetPlaying {
  bool on = false;
};
struct SetSpeed {
  double speed = 1;
};
struct SetGrain {
  Grain grain = Grain::operation;
};
struct SelectRow {
  int row = 0;
};
struct HoverTensor {
  std::optional<Tensor> tensor;
};
struct SetThemeKind {
  ThemeKind kind = ThemeKind::dark;
};
struct SetCenter {
  CenterView view = CenterView::stage;
};
/// "seq=256:65536:x2"; an axis that cannot be is refused in the message of control "sweep".
struct SetSweep {
  std::string axis;
  std::vector<std::string> algorithms;
  SweepQuantity quantity{};
};
struct GoOnWithStudy {};  // after CancelWork
struct SetPresent {
  bool on = false;
};
struct SetAlone {
  std::string panel;
};  // empty: every panel again
struct SetSide {
  std::string panel;
};
struct CancelWork {};
struct ShowHelp {
  bool on = true;
};
struct SetLanguage {
  std::string id;
};
/// A measured case into the window, everything in one go.
struct OpenCase {
  std::string gpu, algorithm;
  AttentionProblem problem;
  TileShape tile;
};
/// Everything at once: a link, a file, a scene, a step of undo. The window keeps what it has until the state's simulation is there;
/// a state that cannot be is refused in the message of the window as a whole, and nothing changes. SessionView::opening says
/// whether one is on its way.
struct OpenState {
  std::shared_ptr<const WindowState> state;
};
struct OpenLesson {
  std::string id;  // number, name or file
  std::size_t page = 0;
};
struct TurnLessonPage {
  int direction = 1;
};
struct AnswerLesson {
  std::shared_ptr<const LessonAnswer> answer;
};  // the question of the page; then the run plays
struct CloseLesson {};
struct DeclineLessons {};  // the offer of the first start
struct RunValidation {
  bool on = true;
};                    // stop it, go on with it
struct Measure {};    // what is shown, on this machine's GPU
struct ShowProbe {};  // the row that the real kernel recorded, on the numbers that it read

using Command =
    std::variant<SetAlgorithm, SetRace, SetGpu, SetSpecValue, ResetSpecValue, SetProblem, SetTile, SetBlocksPerSm, SetBlockOrder,
                 SetKeyOrder, SetInputs, SetMatrix, SetFocusSm, Step, SeekStep, SeekCycle, SetLanes, LookIntoSms, FocusBlock,
                 SetPlaying, SetSpeed, SetGrain, SelectRow, HoverTensor, SetThemeKind, SetCenter, SetSweep, GoOnWithStudy,
                 SetPresent, SetAlone, SetSide, CancelWork, ShowHelp, SetLanguage, OpenCase, OpenState, OpenLesson, TurnLessonPage,
                 AnswerLesson, CloseLesson, DeclineLessons, RunValidation, Measure, ShowProbe>;

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
