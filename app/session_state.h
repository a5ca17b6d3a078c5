// Session::State: what a session remembers; shared by the files that implement it.
#pragma once

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/playhead.h"
#include "app/probe_comparison.h"
#include "app/session.h"
#include "app/studies.h"
#include "app/worker.h"

namespace tilescope {

/// Which values: a simulation, a launch and a block of it.
struct HistoryKey {
  std::shared_ptr<const Simulation> simulation;
  int launch = 0;
  std::int64_t block = 0;
  bool operator==(const HistoryKey&) const = default;
};

/// Which plane (batch x head).
struct PlaneKey {
  std::shared_ptr<const Simulation> simulation;
  std::int64_t plane = 0;
  bool operator==(const PlaneKey&) const = default;
};

/// Which SM of which simulation.
struct TimelineKey {
  std::shared_ptr<const Simulation> simulation;
  int sm = 0;
  bool operator==(const TimelineKey&) const = default;
};

/// Lanes and labels of an SM; of its first SM in focus where `sm` is not.
TimelineKey timeline_key(const std::shared_ptr<const Simulation>& simulation, int sm);
std::shared_ptr<const TimelineData> lay_out_timeline_of(const TimelineKey& key);

struct PlaneFacts {
  std::shared_ptr<const ReferencePlane> reference;  // null where it is too large
  std::shared_ptr<const TileHistory> tile_history;
};

/// What was worked out, newest first; the oldest go when there are too many.
template <class Key, class Value>
class RecentCache {
 public:
  const Value* find(const Key& key) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return &found->second;
  }
  bool holds(const Key& key) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
  }
  void put(const Key& key, Value value) {
    entries_.emplace_front(key, std::move(value));
    constexpr std::size_t most = 24;
    if (entries_.size() > most) entries_.pop_back();
  }
  template <class Gone>
  void erase_if(Gone gone) {
    std::erase_if(entries_, [&](const auto& e) { return gone(e.first); });
  }
  void clear() { entries_.clear(); }

 private:
  std::list<std::pair<Key, Value>> entries_;
};

/// A simulation on screen and where one stands in it.
struct LaneState {
  std::shared_ptr<const Simulation> simulation;
  int focus_sm = 0;
  std::int64_t step = 0;
  double shown_cycle = -1;                      // what `lane.state` was made for
  bool shown_at_rest = false;
  std::shared_ptr<BlockOperations> operations;  // of the step's block
  bool sm_lanes_asked = false;
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
  bool by_sm = false;
  std::optional<LookIntoSms> sms_wanted, sms_looked_for;  // by the panel; what was asked of the worker
  int looks = 0;                                          // cancelled ones are not asked for again
  std::optional<FocusBlock> going_to_block;               // once its SM is in focus
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

  static constexpr int plane_slots = 2;         // one a lane
  static constexpr int history_slots = 3;       // one a lane, and one for the block that comes next
  static constexpr int timeline_slots = 2;      // one a lane
  RecentCache<TimelineKey, std::shared_ptr<const TimelineData>> timelines;
  std::array<std::optional<TimelineKey>, timeline_slots> timelines_under_way;
  RecentCache<PlaneKey, PlaneFacts> planes;
  RecentCache<HistoryKey, std::shared_ptr<const BlockHistory>> histories;
  std::array<std::optional<PlaneKey>, plane_slots> planes_under_way;
  std::array<std::optional<HistoryKey>, history_slots> histories_under_way;
  std::vector<Lane> shown;
  std::unique_ptr<Worker> worker;               // last, with `background`: their threads end before the rest goes
  /// What must not keep the shown simulation waiting: studies of many simulations, validation, measurements.
  std::unique_ptr<Worker> background;
  std::unique_ptr<Studies> studies;             // they refer to `background`, whose thread is stopped first: see ~State
  StudyView study_view;                         // of this frame
  ~State() { background.reset(); }

  // measurements
  Measurements measurements;
  std::shared_ptr<const Simulation> measured_for;  // whose case `measured` is
  std::optional<FoundCase> measured;
  std::vector<std::shared_ptr<const KnownProbe>> probes;       // of the same
  std::shared_ptr<const KnownProbe> probe, compare_asked;
  std::shared_ptr<const ProbeComparison> compared;             // of `probe`
  std::shared_ptr<const KnownBandwidth> bandwidth;
  bool going_to_probe = false;                                 // once its SM is in focus
  ValidationState validation;
  bool threads = true;
  double notice_until = 0;                      // a notice without a control goes away by itself
  struct Background;                            // session_measured.cpp
  std::shared_ptr<Background> shelf;
  static std::shared_ptr<Background> make_background();

  static constexpr int measure_slot = 0, compare_slot = 14, validation_slot = 15;  // of `background`
  static constexpr int simulate_slot = 0, first_timeline_slot = 1, first_plane_slot = first_timeline_slot + timeline_slots,
                       first_history_slot = first_plane_slot + plane_slots, first_sm_slot = first_history_slot + history_slots,
                       look_slot = first_sm_slot + 2;

  // session.cpp: work
  void simulate_again(std::string control);
  void take_simulations(std::vector<std::shared_ptr<const Simulation>> simulations, bool same_program);

  // session_values.cpp
  void ask_for_histories();
  void ask_for_history(int slot, const HistoryKey& key, int shown_op);
  void ask_for_plane(int slot, const PlaneKey& key);
  void show_plane(int slot, LaneState& lane);
  void show_timeline(int slot, LaneState& lane);
  void forget_values();
  void forget_values_of_others();
  void nothing_under_way();
  InputSource fitting_inputs(const AttentionProblem& problem, std::string* misfit) const;
  void choose_row(const BlockHistory& history, int op);

  // session_sms.cpp: lanes by SM
  void ask_for_sms();
  void look_into(const LookIntoSms& wanted);
  void forget_looks();
  void go_to_block();
  void operator()(const SetLanes& command);
  void operator()(const LookIntoSms& command);
  void operator()(const FocusBlock& command);

  // session_motion.cpp: the playhead
  void set_step(std::int64_t step, double glide_seconds);
  void set_cycle(double cycle);
  void step_by(int direction, Grain by, double glide_seconds);
  void race_by(int direction, Grain by, double glide_seconds);
  void play(double seconds);
  double end_cycle() const;
  void refresh_lanes();

  // session_measured.cpp
  void find_measured();
  void choose_probe();
  void ask_for_comparison();
  void go_to_probe();
  void ask_for_validation();
  void take_validated();
  void notice(std::string sentence);
  void take_measured();
  void keep_bandwidth(BandwidthRecord record);
  void keep_live(const MeasurementBundle& device, MeasuredCase measured_now);
  void operator()(const OpenCase& command);
  void operator()(const RunValidation& command);
  void operator()(const Measure& command);
  void operator()(const ShowProbe& command);

  // session.cpp: commands
  void operator()(const SetAlgorithm& command);
  void operator()(const SetRace& command);
  void operator()(const SetGpu& command);
  void operator()(const SetSpecValue& command);
  void operator()(const ResetSpecValue& command);
  void operator()(const SetProblem& command);
  void operator()(const SetTile& command);
  void operator()(const SetBlocksPerSm& command);
  void operator()(const SetBlockOrder& command);
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
  void operator()(const SetSweep& command);
  void operator()(const GoOnWithStudy& command);
  void operator()(const SetPresent& command);
  void operator()(const CancelWork& command);
  void operator()(const ShowHelp& command);
  void operator()(const SetLanguage& command);
};

}  // namespace tilescope
