// Session::State: what a session remembers; shared by the two files that implement it.
#pragma once

#include <array>
#include <list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "app/playhead.h"
#include "app/session.h"
#include "app/worker.h"

namespace tilescope {

/// Which values: a simulation, a launch and a block of it.
struct HistoryKey {
  const Simulation* simulation = nullptr;
  int launch = 0;
  std::int64_t block = 0;
  bool operator==(const HistoryKey&) const = default;
};

/// Values that were worked out, newest first; the oldest go when there are too many.
struct HistoryCache {
  struct Entry {
    HistoryKey key;
    std::shared_ptr<const Simulation> simulation;  // whose program the history reads
    std::shared_ptr<const BlockHistory> history;
    std::int64_t plane = 0;
    std::shared_ptr<const ReferencePlane> reference;  // of the plane; null where it is too large
  };
  std::list<Entry> entries;
  const Entry* find(const HistoryKey& key);
  bool holds(const HistoryKey& key) const;
  void put(Entry entry);
};

/// A simulation on screen and where one stands in it.
struct LaneState {
  std::shared_ptr<const Simulation> simulation;
  int focus_sm = 0;
  std::int64_t step = 0;
  double shown_cycle = -1;                      // what `lane.state` was made for
  bool shown_at_rest = false;
  std::shared_ptr<BlockOperations> operations;  // of the step's block
  Lane lane;
};

struct Session::State {
  // what the controls show
  SimulationRequest request;
  GpuSpec gpu_base;
  InputSource inputs;                           // as the user gave them
  bool race = false;
  SimulationRequest good_request;               // of the simulation on screen, as it was asked for
  bool good_race = false;
  std::optional<ControlMessage> message;
  std::string pending_control;                  // the control whose change is being simulated

  // where the playhead stands
  std::vector<LaneState> lanes;
  Playhead playhead;
  bool playing = false, exactly_at_step = true;
  double speed = 1;
  Grain grain = Grain::operation;

  // what is chosen
  int row = 0;
  bool row_chosen = false;
  std::optional<Tensor> hovered;
  ThemeKind theme = ThemeKind::dark;
  std::string language = "en";
  bool present = false, help = false;
  CenterView center = CenterView::stage;
  double clock_seconds = 0;

  // first picture
  std::optional<std::int64_t> first_step;
  bool opened = false;

  // others
  std::vector<std::string> gpu_ids;
  GpuLoader load_gpu = nullptr;
  TextLoader load_text = nullptr;
  std::string busy_what, background_what;

  HistoryCache histories;
  static constexpr int history_slots = 3;       // one a lane, and one for the block that comes next
  std::array<std::optional<HistoryKey>, history_slots> histories_under_way;
  std::vector<Lane> shown;
  std::unique_ptr<Worker> worker;               // last, with `background`: their threads end before the rest goes
  /// What must not keep the shown simulation waiting: studies of many simulations, validation, measurements.
  std::unique_ptr<Worker> background;

  static constexpr int simulate_slot = 0, first_history_slot = 1;

  // session.cpp: work
  void simulate_again(std::string control);
  void take_simulations(std::vector<std::shared_ptr<const Simulation>> simulations, bool same_program);
  void ask_for_histories();
  void ask_for_history(int slot, const LaneState& lane, const HistoryKey& key);
  InputSource fitting_inputs(const AttentionProblem& problem, std::string* misfit) const;
  void choose_row(const BlockHistory& history, int op);

  // session_motion.cpp: the playhead
  void set_step(std::int64_t step, double glide_seconds);
  void set_cycle(double cycle);
  void step_by(int direction, Grain by, double glide_seconds);
  void race_by(int direction, Grain by, double glide_seconds);
  void play(double seconds);
  double end_cycle() const;
  void refresh_lanes();

  // session.cpp: commands
  void operator()(const SetAlgorithm& command);
  void operator()(const SetRace& command);
  void operator()(const SetGpu& command);
  void operator()(const SetSpecValue& command);
  void operator()(const ResetSpecValue& command);
  void operator()(const SetProblem& command);
  void operator()(const SetTile& command);
  void operator()(const SetBlocksPerSm& command);
  void operator()(const SetInputs& command);
  void operator()(const SetMatrix& command);
  void operator()(const SetFocusSm& command);
  void operator()(const Step& command);
  void operator()(const SeekStep& command);
  void operator()(const SeekCycle& command);
  void operator()(const SetPlaying& command);
  void operator()(const SetSpeed& command);
  void operator()(const SetGrain& command);
  void operator()(const SelectRow& command);
  void operator()(const HoverTensor& command);
  void operator()(const SetThemeKind& command);
  void operator()(const SetCenter& command);
  void operator()(const SetPresent& command);
  void operator()(const CancelWork& command);
  void operator()(const ShowHelp& command);
  void operator()(const SetLanguage& command);
};

}  // namespace tilescope
