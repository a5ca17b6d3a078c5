// Session::State: what a session remembers; shared by the files that implement it.
#pragma once

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/model/playhead.h"
#include "app/model/probe_comparison.h"
#include "app/model/session.h"
#include "app/model/studies.h"
#include "app/model/worker.h"

namespace tilescope {

/// Which block: a simulation, a launch and a block of it.
struct BlockKey {
  std::shared_ptr<const Simulation> simulation;
  int launch = 0;
  std::int64_t block = 0;
  bool operator==(const BlockKey&) const = default;
};

/// Values of a block: those after an operation, and what is looked at with them.
struct ValuesKey {
  std::shared_ptr<const BlockHistory> history;
  std::vector<int> ops;
  bool operator==(const ValuesKey&) const = default;
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

/// A simulation and what is worked out of it, off the frame, before it is shown.
struct Arrival {
  std::shared_ptr<const Simulation> simulation;
  TimelineKey timeline_key;
  std::shared_ptr<const TimelineData> timeline;
  std::int64_t telling_step = 0;
  std::vector<std::pair<BlockKey, std::shared_ptr<const BlockOperations>>> blocks;  // of the steps that may be shown first
};
/// `steps` are those of the last simulation that may be shown first, besides its telling one; the others stand at the same moments.
std::vector<Arrival> make_arrivals(std::vector<std::shared_ptr<const Simulation>> simulations, int focus_sm,
                                   const std::vector<std::int64_t>& steps);

/// What left the screen: whoever lets go of a simulation last frees it, which takes longer than a frame may.
class Retired {
 public:
  template <class T>
  void add(std::shared_ptr<T> thing) {
    if (thing != nullptr) things_.push_back(std::move(thing));
  }
  void add(const PlaneFacts& facts) {
    add(facts.reference);
    add(facts.tile_history);
  }
  /// Those that nobody else holds any more.
  std::vector<std::shared_ptr<const void>> take_free();

 private:
  std::vector<std::shared_ptr<const void>> things_;
};

/// What was worked out, newest first; the oldest go when there are too many, into `retired`.
template <class Key, class Value, std::size_t most = 24>
class RecentCache {
 public:
  explicit RecentCache(Retired& retired) : retired_(retired) {}
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
    if (entries_.size() <= most) return;
    retire(entries_.back());
    entries_.pop_back();
  }
  template <class Gone>
  void erase_if(Gone gone) {
    std::erase_if(entries_, [&](const auto& e) { return gone(e.first) && retire(e); });
  }
  void clear() {
    erase_if([](const Key&) { return true; });
  }

 private:
  bool retire(const std::pair<Key, Value>& entry) {
    retired_.add(entry.first.simulation);
    retired_.add(entry.second);
    return true;
  }

  Retired& retired_;
  std::list<std::pair<Key, Value>> entries_;
};

/// A simulation on screen and where one stands in it.
struct LaneState {
  std::shared_ptr<const Simulation> simulation;
  int focus_sm = 0;
  std::int64_t step = 0;
  double shown_cycle = -1;  // what `lane.state` was made for
  bool shown_at_rest = false;
  std::vector<std::size_t> block_lengths;             // operations, by launch
  std::shared_ptr<const BlockOperations> operations;  // of the block of the step that `lane` shows
  bool sm_lanes_asked = false;
  double values_since = -1;  // when the step began to wait for its values; -1: it does not
  /// As shown. It stays at the step before while the block of the next one is written out and its values are brought to hand.
  Lane lane;
};

struct Session::State {
  // what the controls show
  SimulationRequest request;
  GpuSpec gpu_base;
  InputSource inputs;  // as the user gave them
  bool race = false;
  SimulationRequest good_request;  // of the simulation on screen, as it was asked for
  bool good_race = false;
  std::optional<ControlMessage> message;
  std::string pending_control;  // the control whose change is being simulated

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
  std::string alone, side = "listing";  // panels
  bool by_sm = false;
  std::array<std::optional<LookIntoSms>, 2> sms_wanted, sms_looked_for;  // by lane: by the panel; what was asked of the worker
  int looks = 0;                                                         // cancelled ones are not asked for again
  std::optional<FocusBlock> going_to_block;                              // once its SM is in focus
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

  static constexpr int plane_slots = 2;     // one a lane
  static constexpr int history_slots = 3;   // one a lane, and one for the block that comes next
  static constexpr int timeline_slots = 2;  // one a lane
  static constexpr int block_slots = 3;     // one a lane, and one for the block that comes next
  static constexpr int values_slots = 3;    // one a lane, and one for the iteration that comes next
  Retired retired;
  bool freeing = false;
  std::vector<std::shared_ptr<const Simulation>> other_focus;  // shown before with other SMs in focus, the last one last
  RecentCache<TimelineKey, std::shared_ptr<const TimelineData>> timelines{retired};
  std::array<std::optional<TimelineKey>, timeline_slots> timelines_under_way;
  RecentCache<PlaneKey, PlaneFacts> planes{retired};
  RecentCache<BlockKey, std::shared_ptr<const BlockHistory>> histories{retired};
  RecentCache<BlockKey, std::shared_ptr<const BlockOperations>, 8> blocks{retired};  // one can be megabytes
  std::array<std::optional<PlaneKey>, plane_slots> planes_under_way;
  std::array<std::optional<BlockKey>, history_slots> histories_under_way;
  std::array<std::optional<BlockKey>, block_slots> blocks_under_way;
  std::array<ValuesKey, values_slots> values_asked, values_brought;
  std::vector<Lane> shown;
  std::unique_ptr<Worker> worker;  // last, with `background`: their threads end before the rest goes
  /// What must not keep the shown simulation waiting: studies of many simulations, validation, measurements.
  std::unique_ptr<Worker> background;
  /// What takes milliseconds and must wait for neither: writing blocks out, and freeing what left the screen.
  std::unique_ptr<Worker> errands;
  std::unique_ptr<Studies> studies;  // they refer to `background`, whose thread is stopped first: see ~State
  StudyView study_view;              // of this frame
  ~State() {
    background.reset();
    errands.reset();
  }

  // measurements
  Measurements measurements;
  std::shared_ptr<const Simulation> measured_for;  // whose case `measured` is
  std::optional<FoundCase> measured;
  std::vector<std::shared_ptr<const KnownProbe>> probes;  // of the same
  std::shared_ptr<const KnownProbe> probe, compare_asked;
  std::shared_ptr<const ProbeComparison> compared;  // of `probe`
  std::shared_ptr<const KnownBandwidth> bandwidth;
  bool going_to_probe = false;  // once its SM is in focus
  ValidationState validation;
  bool threads = true;
  double notice_until = 0;  // a notice without a control goes away by itself
  struct Background;        // session_measured.cpp
  std::shared_ptr<Background> shelf;
  static std::shared_ptr<Background> make_background();

  static constexpr int measure_slot = 0, compare_slot = 14, validation_slot = 15;  // of `background`
  // Of `errands`, after the blocks.
  static constexpr int first_values_slot = block_slots, freeing_slot = first_values_slot + values_slots;
  static constexpr int simulate_slot = 0, first_timeline_slot = 1, first_plane_slot = first_timeline_slot + timeline_slots,
                       first_history_slot = first_plane_slot + plane_slots, first_sm_slot = first_history_slot + history_slots,
                       look_slot = first_sm_slot + 2;

  // session.cpp
  /// `known`, one a lane, are shown as they are; without them the request is simulated.
  void simulate_again(std::string control, std::vector<std::shared_ptr<const Simulation>> known = {});
  void take_simulations(const std::vector<Arrival>& arrivals, bool same_program);

  // session_blocks.cpp
  std::shared_ptr<const BlockOperations> find_block(std::size_t slot, const LaneState& lane, const BlockRun& run);
  void ask_for_block(std::size_t slot, const BlockKey& key);
  void ask_for_next_block(const LaneState& lane, const BlockKey& key);
  void free_retired();

  // session_values.cpp
  void ask_for_histories();
  void ask_for_history(int slot, const BlockKey& key);
  bool waits_for_values(std::size_t i, const BlockRun& run, const BlockOperations& block, const TraceState& rest, int values_op);
  bool at_hand(std::size_t slot, const ValuesKey& values) const;
  void ask_for_values(std::size_t slot, const ValuesKey& values);
  void ask_for_next_values(const LaneState& lane);
  void ask_for_plane(int slot, const PlaneKey& key);
  void show_plane(int slot, LaneState& lane);
  void show_timeline(int slot, LaneState& lane);
  void forget_values();
  void forget_values_of_others();
  void nothing_under_way();
  InputSource fitting_inputs(const AttentionProblem& problem, std::string* misfit) const;
  void choose_row(const Schema& schema, const BlockHistory& history, int op);

  // session_sms.cpp: SMs out of focus, and lanes by SM
  void keep_focus(const std::shared_ptr<const Simulation>& left);
  std::vector<std::shared_ptr<const Simulation>> known_with_focus(int sm) const;
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
  void glide_to(double cycle, double seconds);
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

  // session_commands.cpp
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
  void operator()(const SetAlone& command);
  void operator()(const SetSide& command);
  void operator()(const CancelWork& command);
  void operator()(const ShowHelp& command);
  void operator()(const SetLanguage& command);
};

}  // namespace tilescope
