// TokenLights: what the tokens of one block say at a moment. A kernel has them as mbarriers and named barriers.
//
//   full token    set when the copy has landed                        ┌ load ┐
//   empty token   signalled by each group that has read the buffer    K₁ ■ ●○   full; group 1 has read it, group 2 has not
//   turn          the group that may issue its products
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "app/model/run_data/step_index.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Who has read a buffer since its last copy landed, or finds it never filled.
struct GroupLight {
  int group = 0;  // of KernelNeeds::groups
  bool is_free = true;
  bool operator==(const GroupLight&) const = default;
};
struct BufferLights {
  bool is_full = false;            // a copy has landed that not all groups have read
  std::vector<GroupLight> groups;  // those that signal the empty token
};

class TokenLights {
 public:
  /// Collects the signals of a run on the SM of `steps`. `block`: the operations of that run.
  TokenLights(const Simulation& simulation, const StepIndex& steps, std::int32_t run, const BlockOperations& block);

  /// Returns the lights of a buffer of a ring; nullopt if no load waits for an empty token of it.
  std::optional<BufferLights> buffer(ChipTile chip_tile, int ring, double cycle) const;
  /// Returns the groups that take turns to issue products, in their order; empty if none do.
  const std::vector<int>& taking_turns() const { return taking_turns_; }
  /// Returns the group whose turn it is; -1 if groups take none.
  int turn(double cycle) const;

 private:
  struct Signal {
    double time = 0;
    int group = 0;
  };
  std::map<std::int16_t, std::vector<Signal>> signals_;                               // by token, in order of time
  std::map<std::pair<ChipTile, int>, std::pair<std::int16_t, std::int16_t>> tokens_;  // of a buffer: full, empty
  std::map<std::int16_t, int> turns_;  // by token of a turn: the group that waits for it
  std::vector<int> taking_turns_;
};

}  // namespace tilescope
