// WindowState: everything a person has set in the window, as one value with one text form.
//
//   SessionView ──window_state_of()──► WindowState ──to_link()──► "heads=8&seq=1024&view=sweep" ──from_link()──► WindowState
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/model/requests/racers.h"
#include "app/model/run_data/time_range.h"
#include "app/model/state/bank_choice.h"
#include "app/model/state/center_views.h"
#include "app/model/state/compared_runs.h"
#include "app/model/state/link_choice.h"
#include "app/model/state/shared_matrix.h"
#include "app/model/state/sweep_quantity.h"
#include "app/model/state/view_choices.h"
#include "app/model/state/workspace.h"
#include "app/platform/theme_kind.h"
#include "sim/engine/block_order.h"
#include "sim/engine/trace.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// What the Sweep view was asked to show.
struct SweepState {
  std::string axis;  // as to_string(SweepAxis) writes it
  std::vector<std::string> algorithms;
  SweepQuantity quantity{};
  bool operator==(const SweepState&) const = default;
};

/// Whether a link gave a value. It is no part of what is shown, so states are equal with and without.
struct GivenByLink {
  bool given = false;
  bool operator==(const GivenByLink&) const { return true; }
};

struct WindowState {
  // the request
  std::string algorithm{default_algorithm};
  GivenByLink algorithm_named;
  std::string gpu = "toy";                                 // an id, or the path of a file
  std::map<std::string, double, std::less<>> spec_values;  // by key: those that a person changed
  AttentionProblem problem;
  std::vector<std::string> masks, presets, tables;  // as the flags of these names write them; tables by path
  std::vector<std::string> table_gradients;
  std::string score;
  std::optional<ProgramTile> tile;  // absent: the program's own
  std::optional<int> blocks_per_sm;
  BlockOrder block_order = BlockOrder::launch;
  KeyOrder key_order = KeyOrder::ascending;
  Race race;

  // its values
  std::uint64_t seed = 1;
  double spread = 1;
  SharedMatrix q, k, v;  // a user's own

  // where one stands: a step, a clock between steps, or wherever the window opens
  struct Step {
    std::int64_t number = 0;
    bool operator==(const Step&) const = default;
  };
  struct Cycle {
    double at = 0;
    bool operator==(const Cycle&) const = default;
  };
  std::variant<std::monostate, Step, Cycle> position;
  double speed = 1;
  Grain grain = Grain::operation;

  // what is shown
  int focus_sm = 0;
  std::optional<int> row;  // absent: the one that shows most
  CenterView center = CenterView::stage;
  BankChoice banks;                // what the Banks view shows
  std::string rung;                // of the ladder, whose code the Ladder view shows; empty: none
  ViewChoices views;               // what each view shows of its subject
  std::string alone;               // the zoomed panel; empty: none
  std::string side = "listing";    // the panel beside the middle where there is one column for three
  LinkChoice traffic{};            // the link whose bytes the Traffic panel shows
  bool by_sm = false;              // the timeline's lanes are SMs
  std::optional<TimeRange> range;  // that is chosen on the timeline; absent: none
  bool present = false;
  ThemeKind theme = ThemeKind::dark;
  std::string language = "en";
  std::optional<SweepState> sweep;  // absent: its usual one

  /// The links of the pinned runs, without pinned runs of their own, and the two of Compare.
  std::vector<std::string> pinned;
  ComparedRuns compared;

  bool operator==(const WindowState&) const = default;
};

/// Returns whether two states ask for the same simulation, or the same race, whatever they show of it.
bool same_run(const WindowState& a, const WindowState& b);

/// Gives a state the theme and the language of the window, and whether it presents: they are the room's, and not the scene's.
void keep_room(WindowState& state, const Workspace& workspace);

/// The numbers of a GPU that a person changed, by key.
std::map<std::string, double, std::less<>> changed_values(const GpuSpec& gpu);

/// Writes a state as one line: key=value pairs with & between, in a fixed order, percent-encoded, without what is as by default.
std::string to_link(const WindowState& state);
/// Reads what to_link() wrote; the keys may come in any order.
/// Errors  no key=value, an unknown key (with the nearest), a key given twice, a value out of its range, encoding that is broken,
/// and
///         sizes that check() refuses. What needs the GPU's file is left to whoever loads it.
Result<WindowState> from_link(std::string_view link);

/// Reads a link as a person hands it on: with spaces around it, with `tilescope:` or ? before it.
Result<WindowState> read_link(std::string_view text);

/// Returns the keys of a link by which two states differ, in the order of a link.
std::vector<std::string_view> changed_keys(const WindowState& a, const WindowState& b);

}  // namespace tilescope
