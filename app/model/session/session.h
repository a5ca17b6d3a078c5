// Session: the state of the window, apart from anything that draws.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/model/measurements/calibration.h"
#include "app/model/session/session_view.h"
#include "app/model/state/commands.h"

namespace tilescope {

class Glossary;
struct Deck;
struct LessonList;
struct SweepResult;

/// Reads a text file whole.
using TextLoader = Result<std::string> (*)(const std::string& path);
/// Reads a table that expressions may read.
using TableLoader = Result<CapturedTable> (*)(const std::string& name, const std::string& path);

/// Writes a text file whole.
using TextSaver = Status (*)(const std::string& path, const std::string& text);

class Session {
 public:
  struct Start {
    SimulationRequest request;
    InputSource inputs;
    std::string gpu_source;            // what the GPU was loaded by; empty: its id
    std::optional<std::int64_t> step;  // absent: opening_step()
    /// A whole state, as OpenState opens it; its request is `request`. Null: none.
    std::shared_ptr<const WindowState> state;
    std::shared_ptr<const Deck> deck;  // that is open; null: none
    std::string deck_path;
    int scene = 0;  // of the deck, 0 first
    Race race;
    bool by_sm = false;    // lanes of the timeline
    std::string counters;  // a CSV of Nsight Compute beside the first simulation; empty: none
    ThemeKind theme = ThemeKind::dark;
    CenterView center = CenterView::stage;
    std::shared_ptr<const SweepResult> swept;  // what the Sweep view shows first; absent: its usual one, when it is opened
    SweepQuantity sweep_quantity{};
    std::string language = "en";
    std::vector<std::string> gpu_ids;
    GpuLoader load_gpu = nullptr;
    TextLoader load_text = nullptr;
    TableLoader load_table = nullptr;
    Measurements measurements;  // recorded ones
    std::string program;        // what draws exports, a path; empty: nothing does
    std::shared_ptr<const LessonList> lessons;
    std::shared_ptr<const Glossary> glossary;  // null: an empty one
    Calibrator calibrator;                     // of this machine's GPU; empty: nothing measures it
    std::string own_gpus;                      // the folder that keeps what it measures; empty: none
    std::set<std::string> lessons_done;        // ids
    std::map<std::string, LessonScore> lesson_scores;
    bool offer_lessons = false;  // until one is opened, or the offer is declined
    Sentence notice;             // about what was left by the last window; empty: none
    /// Without threads every piece of work is done inside tick(); tests and `render` use it so.
    bool threads = true;
    /// Called from the worker's thread when a result is there; may be empty.
    std::function<void()> wake;
    /// Writes a text file, whole or not at all; may be empty.
    TextSaver save_text = nullptr;
    /// Seconds by a clock that goes on while nothing moves, and the time of day as text; may be empty.
    std::function<double()> clock;
    std::function<std::string()> time_of_day;
    /// Hears how far the work is where there are no threads; may be empty.
    WorkTold told;
  };

  explicit Session(Start start);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void apply(const Command& command);
  /// Names the gesture that causes what is applied from now on: what one drag of the mouse or
  /// the typing of one number changes is undone at once. 0: none.
  void set_gesture(std::int64_t gesture);
  /// Takes finished work in and moves the playhead by `seconds` of wall time. Never blocks when there are threads.
  void tick(double seconds);
  /// Returns whether something moves, so that the window need not redraw at rest.
  bool animating() const;
  /// Waits until no work is under way.
  void finish();
  /// Cancels all work and waits at most `most` for it to end. Returns whether it has.
  bool end_within(std::chrono::milliseconds most);

  /// Returns what the panels read until the next tick() or apply().
  SessionView view() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope
