// View and Command: what a panel may read, and what it may ask for. Panels never run the model.
//
//   Session ──View──► panels ──Command──► Session ──► worker (simulate, run_block) ──► Session
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/model/center_views.h"
#include "app/model/validation_run.h"
#include "app/ui/theme.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/reference.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

class TileHistory;
struct ProbeComparison;  // app/model/probe_comparison.h
struct StudyView;        // app/model/studies.h
struct TimelineData;     // app/model/timeline_data.h
struct SmLanes;          // app/model/sm_lanes.h
struct SmWorks;
enum class SweepQuantity : std::uint8_t;

/// One simulation on screen. There is one lane, or two in Race: standard attention and the chosen algorithm on one clock.
struct Lane {
  std::shared_ptr<const Simulation> simulation;
  TraceState state;                                 // at the shown clock
  TraceState rest;                                  // at the step itself, when state is on its way to it
  const BlockOperations* operations = nullptr;      // of the step's block; nullptr at step 0
  const Operation* operation = nullptr;             // the step's operation
  int values_op = -1;                               // the operation of the block up to which its values stand; -1: none is done yet
  std::shared_ptr<const BlockHistory> history;      // values of that block; null while they are being worked out
  std::shared_ptr<const ReferencePlane> reference;  // float64 attention of the block's plane; null where that is too large
  std::shared_ptr<const TileHistory> tile_history;  // when the plane's tiles were read and written; null while that is worked out
  std::shared_ptr<const TimelineData> timeline;     // lanes and labels of the SM in focus; null while they are laid out
  std::shared_ptr<const SmLanes> sm_lanes;  // where and when each block ran; null where lanes are units, and while it is sorted
  std::shared_ptr<const SmWorks> sm_works;  // what SMs did that were looked into; null where none was
  std::int64_t step = 0, step_count = 0;
  int focus_sm = 0;
};

/// The largest plane (keys x head_dim) that is held against float64: a row of it then costs a frame about a millisecond.
inline constexpr std::int64_t most_checked_elements = std::int64_t{1} << 20;

/// A sentence beside the control that caused it; the last good simulation stays.
struct ControlMessage {
  std::string control;  // "seq", "heads", "gpu", "block_q", …; empty for the window as a whole
  std::string sentence;
};

struct View {
  const Theme* theme = nullptr;
  std::span<const Lane> lanes;  // never empty once the first simulation is there
  bool race = false;

  bool playing = false;
  double speed = 1;   // 0.25 to 8 (0.05 is the crawl); 1 is steps_per_second(grain)
  double motion = 1;  // 0..1 within the step being animated; 1 at rest
  Grain grain = Grain::operation;
  double cycle = 0;         // the shown clock
  double time_seconds = 0;  // wall clock, for glow and easing only

  int row = 0;                           // the chosen row of the query tile
  std::optional<Tensor> hovered_tensor;  // lit everywhere

  SimulationRequest request;             // what the controls show; may be newer than the simulation
  std::span<const std::string> gpu_ids;  // for the menu
  std::optional<ControlMessage> message;
  double busy_seconds = 0;  // how long the worker has been at it; 0 when idle
  double busy_progress = 0;
  std::string_view busy_what;
  double background_seconds = 0;  // the same of the second worker: studies, validation, measurements
  double background_progress = 0;
  std::string_view background_what;
  const StudyView* studies = nullptr;  // what the views of many simulations are made of; never null
  const InputSource* inputs = nullptr;
  bool present = false;                   // large text, no controls but the transport
  std::string_view alone;                 // the panel that has the window for itself; empty: none
  std::string_view side;                  // the panel beside the middle where there is one column for three
  CenterView center = CenterView::stage;  // what the middle of the window shows
  bool by_sm = false;                     // the timeline's lanes are SMs
  bool help = false;                      // the sheet of keys is open
  const GpuSpec* gpu_base = nullptr;      // the GPU as its file has it, without overrides

  const Measurements* measurements = nullptr;   // every bundle that is known
  const FoundCase* measured = nullptr;          // the measured case of lane(); null where there is none
  const KnownProbe* probe = nullptr;            // what the real kernel of lane() recorded of itself; null where there is nothing
  const ProbeComparison* compared = nullptr;    // its row beside the tile machine's; null while that is worked out
  const KnownBandwidth* bandwidth = nullptr;    // HBM samples of the real kernel of lane(); null where there are none
  const ValidationState* validation = nullptr;  // how far the recorded bundle is held against the model

  const Lane& lane() const { return lanes.back(); }  // the chosen algorithm
};

// Commands. A panel pushes them; the session carries them out after the frame.
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
/// What these SMs did, once they have been simulated anew with them in focus: View::lanes[…].sm_works.
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
/// "seq=256:65536:x2"; an axis that cannot be is refused in View::message, control "sweep".
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
struct RunValidation {
  bool on = true;
};                    // stop it, go on with it
struct Measure {};    // what is shown, on this machine's GPU
struct ShowProbe {};  // the row that the real kernel recorded, on the numbers that it read

using Command =
    std::variant<SetAlgorithm, SetRace, SetGpu, SetSpecValue, ResetSpecValue, SetProblem, SetTile, SetBlocksPerSm, SetBlockOrder,
                 SetInputs, SetMatrix, SetFocusSm, Step, SeekStep, SeekCycle, SetLanes, LookIntoSms, FocusBlock, SetPlaying,
                 SetSpeed, SetGrain, SelectRow, HoverTensor, SetThemeKind, SetCenter, SetSweep, GoOnWithStudy, SetPresent, SetAlone,
                 SetSide, CancelWork, ShowHelp, SetLanguage, OpenCase, RunValidation, Measure, ShowProbe>;

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

/// A panel is one file: app/views/<id>/. It draws inside the ImGui child that the layout opened for it.
struct PanelInfo {
  std::string_view id;  // "listing", "stage", "softmax", "traffic", "timeline", "race"
  std::string_view title;
  void (*draw)(const View& view, Commands& commands);
};
std::span<const PanelInfo> panel_table();

/// Text a person reads, in the language in use; the English text is the key.
const char* tr(const char* english);

}  // namespace tilescope
