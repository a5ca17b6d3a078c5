// The small parts of Session::State: files, the clock, and what is counted or waits between two simulations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/model/session/opening.h"
#include "app/model/session/session.h"
#include "app/model/state/undo_history.h"
#include "app/model/state/window_state.h"

namespace tilescope {

/// Reads and writes the files that commands name. Null functions do nothing.
struct Files {
  GpuLoader load_gpu = nullptr;
  TextLoader load_text = nullptr;
  TableLoader load_table = nullptr;
  TextSaver save_text = nullptr;
};

/// The time outside the simulation, where the session was given a clock.
struct WallClock {
  std::function<double()> seconds;           // may be empty
  std::function<std::string()> time_of_day;  // may be empty
  double ticked_at = 0;                      // by `seconds`

  double now(double without_clock = 0) const { return seconds ? seconds() : without_clock; }
  /// Returns the seconds since the last call; `frame_seconds` without a clock.
  double passed(double frame_seconds) {
    const double at = now();
    return seconds ? std::max(0.0, at - std::exchange(ticked_at, at)) : frame_seconds;
  }
};

/// The simulations that were asked for, numbered from 1.
struct SimulationCount {
  int asked = 0;      // the latest
  int cancelled = 0;  // the latest before the last CancelWork
  int over = 0;       // the latest that was delivered, refused or cancelled
  bool is_under_way() const { return asked > std::max(over, cancelled); }
};

/// Where the playhead goes when a simulation arrives.
struct NextPlace {
  /// A step that the run on screen does not have, and the one shown in its place. Only the gesture that took it away brings it
  /// back: a number may be half typed, or taken back by Esc.
  struct MissedStep {
    std::int64_t wanted = 0, shown = 0, gesture = 0;
  };
  bool opened = false;                          // a simulation is there whose place the next one may keep
  std::optional<std::int64_t> first_step = {};  // of the first simulation; absent: opening_step()
  Sentence said_first = {};                     // once a simulation is there: what Start::notice says
  std::optional<MissedStep> missed_step = {};
  std::optional<FocusBlock> block = {};           // once its SM is in focus
  bool probe = false;                             // the probe's row, once its SM is in focus
  decltype(WindowState::position) position = {};  // with simulation `position_from` or a later one
  int position_from = 0;
};

/// A state on its way: nothing of it shows until simulation `number` is there.
struct OpeningState {
  std::shared_ptr<const WindowState> state;
  StateRequest asked;
  int number = 0;
  bool interrupted = false;  // it replaced a simulation that the controls had asked for
  bool of_scene = false;
};

/// The undo history, and how much of what changes the state it has seen.
struct UndoNotes {
  UndoHistory history;
  std::uint64_t revision = 1, noted = 0;       // what may have changed the state, and the last of it that was noted
  bool unnoted_change = false;                 // of anything but the position
  std::int64_t openings = 0;                   // states that were opened: each is an entry of its own
  std::int64_t gesture = 0, last_gesture = 0;  // the present one, and that of the last change
};

/// How long the presenter has talked.
struct PresenterTimer {
  std::optional<double> since;  // by the wall clock; absent: it has not begun
  void start(double now) {
    if (!since) since = now;
  }
};

}  // namespace tilescope
