// StretchRecording: the stretch that an SM is passing through and that is noted down, so that it can be replayed later.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/engine/running_sm.h"
#include "sim/engine/stretches.h"

namespace tilescope {

/// Fills in the state of an SM relative to `time`. Returns false if a key cannot describe it.
bool describe(const RunningSm& sm, double time, StretchKey& key);

class StretchRecording {
 public:
  bool is_on() const { return is_on_; }
  /// Begins at the load of `sm` at `time`, in the state `key`.
  void begin(const RunningSm& sm, double time, const StretchKey& key);
  /// Notes an operation that occupies its pipe from `from` to `to`.
  void note_operation(const ResidentGroup& group, ScheduledOp op, double from, double to);
  /// Ends at the next event of `sm`, at `next`. Returns the stretch; nullopt if it cannot be replayed, for example because it
  /// depends on when data landed, or reaches past `latest_end`.
  std::optional<Stretch> end(const RunningSm& sm, double next, double latest_end);

 private:
  void note_wait(std::uint32_t slot, const ResidentGroup& group, ScheduledOp op);

  Stretch stretch_;
  double from_ = 0;
  std::array<const double*, most_stretch_slots> signals_at_start_{};
  bool is_on_ = false, is_kept_ = false;
};

}  // namespace tilescope
