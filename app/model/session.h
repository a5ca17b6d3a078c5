// Session: the state of the window, apart from anything that draws.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/model/commands.h"
#include "app/model/session_view.h"

namespace tilescope {

struct LessonList;
struct SweepResult;

/// Reads a text file whole.
using TextLoader = Result<std::string> (*)(const std::string& path);

class Session {
 public:
  struct Start {
    SimulationRequest request;
    InputSource inputs;
    std::string gpu_source;            // what the GPU was loaded by; empty: its id
    std::optional<std::int64_t> step;  // absent: opening_step()
    bool race = false;
    bool by_sm = false;  // lanes of the timeline
    ThemeKind theme = ThemeKind::dark;
    CenterView center = CenterView::stage;
    std::shared_ptr<const SweepResult> swept;  // what the Sweep view shows first; absent: its usual one, when it is opened
    SweepQuantity sweep_quantity{};
    std::string language = "en";
    std::vector<std::string> gpu_ids;
    GpuLoader load_gpu = nullptr;
    TextLoader load_text = nullptr;
    Measurements measurements;  // recorded ones
    std::shared_ptr<const LessonList> lessons;
    std::set<std::string> lessons_done;  // ids
    bool offer_lessons = false;          // until one is opened, or the offer is declined
    /// Without threads every piece of work is done inside tick(); tests and `render` use it so.
    bool threads = true;
    /// Called from the worker's thread when a result is there; may be empty.
    std::function<void()> wake;
    /// Hears how far the work is where there are no threads; may be empty.
    WorkTold told;
  };

  explicit Session(Start start);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void apply(const Command& command);
  /// Takes finished work in and moves the playhead by `seconds` of wall time. Never blocks when there are threads.
  void tick(double seconds);
  /// True when something moves, so that the window need not redraw at rest.
  bool animating() const;
  /// Waits until no work is under way.
  void finish();

  /// What the panels read until the next tick() or apply().
  SessionView view() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope
