// SmFindings: what is known of the SMs out of focus, for lanes by SM and for bringing another SM into focus.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "app/model/background/recent_cache.h"
#include "app/model/background/worker.h"
#include "app/model/run_data/sm_lanes.h"
#include "app/model/state/commands.h"
#include "app/model/state/playback.h"

namespace tilescope {

class SmFindings {
 public:
  SmFindings(Worker& worker, Retired& retired) : worker_(worker), retired_(retired) {}

  /// Returns where and when each block of a runner ran; null until it is sorted.
  std::shared_ptr<const SmLanes> lanes_of(std::size_t runner) const { return found_[runner].lanes; }
  /// Returns what SMs did that were looked into; null where none was.
  std::shared_ptr<const SmWorks> works_of(std::size_t runner) const { return found_[runner].works; }

  /// Takes new runners in: another SM in focus changes no number, so what was found out about the SMs then still holds. Keeps the
  /// simulations that left, if only the SM in focus is another now, and lets go of those of other requests.
  void show(const std::vector<Runner>& left, std::span<const Runner> now);
  /// Returns each runner's simulation with `sm` in focus, where all of them were shown before or looked into; else nothing.
  std::vector<std::shared_ptr<const Simulation>> known_with_focus(std::span<const Runner> runners, int sm) const;
  /// Asks for what SMs did; it is looked for while lanes are SMs.
  void want(const LookIntoSms& wanted);
  /// Begins what is wanted and not there.
  void ask(std::span<const Runner> runners);
  /// Drops the answers of looks under way: cancelled ones are not asked for again.
  void cancel() { ++looks_; }

 private:
  struct Found {
    std::shared_ptr<const Simulation> simulation;  // whose
    std::shared_ptr<const SmLanes> lanes;
    std::shared_ptr<const SmWorks> works;
    bool lanes_asked = false;
    std::optional<LookIntoSms> wanted, looked_for;  // by the panel; what was asked of the worker
  };
  void keep(const std::shared_ptr<const Simulation>& left, std::span<const Runner> now);
  void ask_for_lanes(std::size_t i);
  void look_into(const LookIntoSms& wanted);

  Worker& worker_;
  Retired& retired_;
  std::array<Found, 2> found_;
  int looks_ = 0;
  std::vector<std::shared_ptr<const Simulation>> other_focus_;  // shown before with other SMs in focus, the last one last
};

}  // namespace tilescope
