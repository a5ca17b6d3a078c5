// Studies: what the views in the middle are made of — many simulations each, run by the background worker, shown while they arrive.
//
//   Session::tick() ── ask(view, simulation) ──► background worker ── one result after the other ──► Growing<T> ── view() ──►
//   panels
#pragma once

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/model/background/growing.h"
#include "app/model/background/worker.h"
#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/measurements.h"
#include "app/model/measurements/run_under_load.h"
#include "app/model/measurements/runs_at_clock.h"
#include "app/model/run_data/exactness.h"
#include "app/model/session/run_sweep.h"
#include "app/model/state/center_views.h"
#include "app/model/state/sweep_quantity.h"
#include "sim/analysis/fit.h"
#include "sim/analysis/next_limit.h"
#include "sim/analysis/roofline.h"
#include "sim/analysis/sweep.h"
#include "sim/analysis/tensor_bubbles.h"
#include "sim/analysis/what_if.h"

namespace tilescope {

struct RooflineStudy {
  GpuSpec gpu;
  AttentionProblem problem;
  Roofline roof;
  std::vector<RooflineKernel> kernels;  // the slower kind first
  bool complete = false;
};

/// One program of the ladder to Hopper on the problem that is shown.
struct LadderRung {
  std::string algorithm, over;                      // over: the program that it adds an idea to; empty: none
  double measured_hz = 0;                           // the clock of its measurement; 0: none
  std::optional<Outcome> outcome;                   // at the clock of the study; none: not simulated yet
  std::array<double, bubble_causes> tensor_idle{};  // at that clock, of SM 0: by BubbleCause, the share of its time; wgmma only
};

struct LadderStudy {
  SimulationRequest of;  // its algorithm and tile are those of each rung
  std::vector<LadderRung> rungs;
  std::optional<RankingClock> clock;  // of all rungs; none: not known yet
  std::size_t done() const {
    return static_cast<std::size_t>(std::ranges::count_if(rungs, [](const LadderRung& rung) { return rung.outcome.has_value(); }));
  }
};

/// A run and the same without its mask: both at the clock that the GPU holds under the run, or as they are drawn while a lesson
/// keeps that clock.
struct DenseRun {
  std::shared_ptr<const Simulation> masked, dense;
};
/// Returns the request of the same run without its mask; nullopt where it has none. Its change of scores stays.
std::optional<SimulationRequest> dense_request(const Simulation& masked);

/// What the Sweep view is asked to show.
struct SweepChoice {
  SweepAxis axis;
  std::vector<std::string> algorithms;
  SweepQuantity quantity = SweepQuantity::hbm;
  bool operator==(const SweepChoice&) const = default;
};

/// Ranges that are worth a look and done in seconds: the text that parse_sweep_axis() takes for `key` on this request.
std::string usual_range(std::string_view key, const SimulationRequest& request);
SweepChoice usual_sweep(const SimulationRequest& request);

/// What the panels read in one frame; null until the study's view has been opened.
struct StudyView {
  std::shared_ptr<const RooflineStudy> roofline;
  std::shared_ptr<const WhatIfTable> what_if;
  std::shared_ptr<const FitMaps> fit;
  std::shared_ptr<const LadderStudy> ladder;
  std::shared_ptr<const NextLimit> limit;  // of the simulation that is shown; null while it is worked out
  std::shared_ptr<const RunUnderLoad>
      under_load;  // of the simulation that is shown; null while it is worked out, or where no clock is known
  std::shared_ptr<const PredictionErrors> errors;      // of the simulation that is shown; never null once there is one
  Sentence gpu_file;                                   // clock_of_file_sentence() of the simulation that is shown
  std::shared_ptr<const Simulation> at_what_if_clock;  // what is shown, at the clock of what_if; null while it is simulated
  std::shared_ptr<const DenseRun> dense;       // of the simulation that is shown; null while it is worked out, or without a mask
  std::shared_ptr<const PairUnderLoad> race;   // both runs of the race that is shown, at one clock; null while they are simulated
  std::shared_ptr<const Exactness> exactness;  // of the race that is shown; null while it is worked out, or without one
  std::shared_ptr<const SweepResult> sweep;
  SweepErrors sweep_errors;
  SweepChoice sweep_choice;
  bool stopped = false;         // by the user, before it was complete
  bool chosen_by_user = false;  // the sweep choice
  bool given = false;           // the sweep was done elsewhere: there is nothing to choose
};

/// One thing that is worked out of a key, when nothing else is to be done: studies and measurements go first.
template <class Key, class T>
struct Single {
  Key of = {};
  std::shared_ptr<const T> result;
  bool given_up = false;  // there is none, or the user stopped it

  /// Returns whether `key` is another one, which takes the place of the old.
  bool take(Key key) {
    if (of == key) return false;
    *this = {std::move(key), nullptr, false};
    return true;
  }
  bool is_open() const { return result == nullptr && !given_up; }
};

class Studies {
 public:
  Studies(Worker& worker, int threads) : worker_(worker), threads_(threads) {}

  /// Sees to it that what `center` shows is there or under way. `asked` is the request as it was made, without a tile filled in;
  /// `known` has the clocks at which rungs of the ladder were measured, and `gpu_source` is what the GPU was loaded by.
  void ask(CenterView center, const std::shared_ptr<const Simulation>& shown, const SimulationRequest& asked, const GpuSpec& real,
           std::string_view gpu_source, const Measurements& known);
  /// Executes both programs of the race on screen and compares O. Null pointers: there is no race.
  void ask_exactness(const std::shared_ptr<const Simulation>& first, const std::shared_ptr<const Simulation>& second,
                     const InputSource& inputs);
  /// Simulates both programs of the race on screen at the clock under load of the second, the chosen one.
  void ask_race(const std::shared_ptr<const Simulation>& first, const std::shared_ptr<const Simulation>& second,
                const Measurements& known);
  /// A lesson says the times of the runs as they are drawn. While it is open, runs are not simulated again at the clock under load,
  /// so that its text and every view beside it have one time.
  void keep_clock(bool keeps);
  /// The user cancelled: nothing more is begun until something else is asked for.
  void stop();
  void go_on() { stopped_ = false; }
  void choose(SweepChoice choice);
  /// Back to the usual sweep of what is shown.
  void choose_usual();
  /// A sweep that was done before, so that it is not done again.
  void take(const SweepResult& done, SweepQuantity quantity);
  StudyView view() const;

 private:
  template <class T>
  struct Kept {
    SimulationRequest key;  // of a sweep: its base
    std::shared_ptr<Growing<T>> study;
  };
  template <class T>
  using Recent = std::list<Kept<T>>;  // newest first

  template <class T, class Make, class Same>
  std::shared_ptr<Growing<T>> find_or_make(Recent<T>& recent, const SimulationRequest& key, const Make& make, const Same& same);
  void begin(const void* what, WorkKind kind, Worker::Work work);
  /// Hands `work` to the worker where a single thing is still open. One that other work stopped is begun again when nothing else is
  /// to be done; one with another key begins at once. `work` returns the result, or an error.
  template <class Key, class T, class Work>
  void ask_for(Single<Key, T>& single, bool changed, int slot, WorkKind kind, Work work);
  void ask_roofline(const std::shared_ptr<const Simulation>& shown, const SimulationRequest& asked, const Measurements& known);
  void ask_what_if(SimulationRequest real, const Measurements& known);
  void ask_fit(const SimulationRequest& asked, const Measurements& known);
  void ask_ladder(SimulationRequest asked, const Measurements& known);
  void ask_sweep(const SimulationRequest& asked, const Measurements& known);
  void ask_limit(const std::shared_ptr<const Simulation>& shown);
  void ask_under_load(const std::shared_ptr<const Simulation>& shown, std::string_view gpu_source, const Measurements& known);
  void ask_at_what_if_clock(const std::shared_ptr<const Simulation>& shown);
  void ask_dense(const std::shared_ptr<const Simulation>& shown);

  Worker& worker_;
  int threads_;
  std::shared_ptr<int> turn_ = std::make_shared<int>(0);  // of the job that is under way
  const void* under_way_ = nullptr;                       // the study that a job works on
  bool stopped_ = false, given_ = false, keeps_clock_ = false;
  const void* shown_ = nullptr;  // the study that was asked for last
  SweepChoice choice_;
  bool choice_is_users_ = false;
  using Run = std::shared_ptr<const Simulation>;
  using Pair = std::pair<Run, Run>;
  /// Both runs of a race, and the inputs on which they are executed.
  struct Inputs {
    Pair runs;
    InputSource inputs;
    bool operator==(const Inputs& other) const { return runs == other.runs && same_numbers(inputs, other.inputs); }
  };
  Single<Run, NextLimit> limit_;
  Single<Run, RunUnderLoad> under_load_;
  std::shared_ptr<const PredictionErrors> errors_;       // of what is shown, as long as its run under load is not there
  Sentence gpu_file_;                                    // of what is shown
  Single<std::pair<Run, double>, Simulation> at_clock_;  // what is shown, at the clock of the table of changes
  Single<Pair, PairUnderLoad> race_{.given_up = true};   // nothing is asked for yet
  Single<Run, DenseRun> dense_;
  Single<Inputs, Exactness> exactness_{.given_up = true};
  Recent<RooflineStudy> rooflines_;
  Recent<WhatIfTable> what_ifs_;
  Recent<FitMaps> fits_;
  Recent<LadderStudy> ladders_;
  Recent<SweepResult> sweeps_;
  std::shared_ptr<Growing<RooflineStudy>> roofline_;
  std::shared_ptr<Growing<WhatIfTable>> what_if_;
  std::shared_ptr<Growing<FitMaps>> fit_;
  std::shared_ptr<Growing<LadderStudy>> ladder_;
  std::shared_ptr<Growing<SweepResult>> sweep_;
  const void* errors_of_sweep_ = nullptr;  // whose errors are these
  SweepErrors sweep_errors_;
};

}  // namespace tilescope
