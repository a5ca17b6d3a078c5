// Derived: what is worked out of the simulations on screen, off the frame, and what of it each lane shows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/model/background/recent_cache.h"
#include "app/model/background/slots.h"
#include "app/model/background/worker.h"
#include "app/model/requests/requested.h"
#include "app/model/run_data/arrival.h"
#include "app/model/session/lane.h"
#include "app/model/state/playback.h"
#include "app/model/state/workspace.h"

namespace tilescope {

class SmFindings;

/// Values of a block: those after an operation, and what is looked at with them.
struct ValuesKey {
  std::shared_ptr<const BlockValues> history;
  std::vector<int> ops;
  bool operator==(const ValuesKey&) const = default;
};

/// Which plane (batch x head).
struct PlaneKey {
  std::shared_ptr<const Simulation> simulation;
  std::int64_t plane = 0;
  bool operator==(const PlaneKey&) const = default;
};

struct PlaneFacts {
  std::shared_ptr<const ReferencePlane> reference;  // null where it is too large
  std::shared_ptr<const TileAccesses> tile_accesses;
  void retire_into(Retired& retired) const {
    retired.add(reference);
    retired.add(tile_accesses);
  }
};

class Derived {
 public:
  Derived(Worker& worker, Retired& retired, const Playback& playback, const Requested& requested);

  /// As of the last publish(); never empty once the first simulation is there.
  std::span<const Lane> lanes() const { return published_; }
  /// Returns what the chosen runner shows by now, whether published or not. Limits  the playback is not empty
  const Lane& chosen() const { return shown_.back().lane; }

  /// Takes simulations in after the playback has; `left` are the runners that were on screen.
  void show(const std::vector<Arrival>& arrivals, std::vector<Runner> left);
  /// Moves each lane to its runner's step, unless the block or the values of that step are still on their way.
  void refresh(double clock_seconds);
  /// Shows what is there of values, planes and timelines, and begins what is missing. Chooses a row where nobody has.
  void ask(Workspace& workspace);
  void publish(const SmFindings& sms);

  /// Forgets every value: the inputs are others now.
  void forget_values();
  /// Lets everything be asked for again: what was under way is cancelled.
  void forget_requests();
  /// Frees off the frame what left the screen.
  void free_retired();

 private:
  /// What a runner shows. `lane` stays at the step before while the next one's block is written out and its values brought to hand.
  struct Shown {
    double cycle = -1;  // what `lane.state` was made for
    bool at_rest = false;
    std::vector<std::size_t> block_lengths;             // operations, by launch
    std::shared_ptr<const BlockOperations> operations;  // of the block of the step that `lane` shows
    double values_since = -1;                           // when the step began to wait for its values; -1: it does not
    Lane lane;
  };
  static constexpr std::size_t next = slots::lanes_and_next - 1;  // the slot of what comes after the chosen runner's step

  void refresh_lane(std::size_t i, double clock_seconds);
  std::shared_ptr<const BlockOperations> find_block(std::size_t slot, const Runner& runner, const BlockRun& run);
  void ask_for_block(std::size_t slot, const BlockKey& key);
  void ask_for_next_block(const BlockKey& key);
  void ask_for_history(std::size_t slot, const BlockKey& key);
  bool waits_for_values(std::size_t i, const BlockRun& run, const BlockOperations& block, const TraceState& rest, int values_op,
                        double clock_seconds);
  bool at_hand(std::size_t slot, const ValuesKey& values) const;
  void ask_for_values(std::size_t slot, const ValuesKey& values);
  void ask_for_next_values();
  void ask_for_plane(std::size_t slot, const PlaneKey& key);
  void show_values(std::size_t i);
  void show_plane(std::size_t i);
  void show_timeline(std::size_t i);
  std::optional<BlockKey> next_block() const;

  Worker& worker_;
  Retired& retired_;
  const Playback& playback_;
  const Requested& requested_;
  std::vector<Shown> shown_;  // by runner
  std::vector<Lane> published_;
  bool freeing_ = false;
  RecentCache<TimelineKey, std::shared_ptr<const TimelineData>> timelines_;
  RecentCache<PlaneKey, PlaneFacts> planes_;
  RecentCache<BlockKey, std::shared_ptr<const BlockValues>> histories_;
  RecentCache<BlockKey, std::shared_ptr<const BlockOperations>, 8> blocks_;  // one can be megabytes
  std::array<std::optional<TimelineKey>, slots::lanes> timelines_under_way_;
  std::array<std::optional<PlaneKey>, slots::lanes> planes_under_way_;
  std::array<std::optional<BlockKey>, slots::lanes_and_next> histories_under_way_, blocks_under_way_;
  std::array<std::optional<BlockKey>, slots::lanes_and_next> blocks_at_fault_;  // without values; not asked for again
  std::array<ValuesKey, slots::lanes_and_next> values_asked_, values_brought_;
  std::optional<Error> fault_;  // why the values of a block cannot be, until ask() says it
};

}  // namespace tilescope
