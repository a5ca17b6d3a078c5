// The recorder of a plain Hopper kernel: every call is empty and takes no register. RoleProbe (role_probe.cuh) is the one that
// records.
#pragma once

#include "sim/core/probe_stage.h"

namespace tilescope::device {

struct NoRoleProbe {
  template <class Own>
  using Launch = Own;
  static constexpr bool on = false;

  NoRoleProbe() = default;
  template <class Own>
  __device__ __forceinline__ NoRoleProbe(const Own&, int, unsigned) {}
  template <class Own>
  static __device__ __forceinline__ void block_begins(const Own&) {}
  __device__ __forceinline__ void ended(ProbeStage) const {}
  template <class Group>
  __device__ __forceinline__ void statistics(const Group&, int, int, int, float) const {}
  __device__ __forceinline__ void role_ends() const {}
};

}  // namespace tilescope::device
