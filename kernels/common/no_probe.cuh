// NoProbe: the recorder of a plain kernel. Probe (probe.cuh) and PairProbe (pair_probe.cuh) are those that record.
#pragma once

#include "kernels/common/probe_numbers.h"

namespace tilescope::device {

/// Recorder of the plain kernel: every call is empty and takes no register. launch() passes the kernel's arguments unwrapped:
/// wrapped in another struct, they make flash1 compile to different machine code.
struct NoProbe {
  struct Arguments {};
  template <class Own>
  using Launch = Own;
  static constexpr bool on = false;

  template <class Own>
  static Own launch(const Own& own, const Arguments&) {
    return own;
  }
  NoProbe() = default;
  template <class Own>
  __device__ __forceinline__ NoProbe(const Own&, int, int, int) {}
  __device__ __forceinline__ void tick(int, int) const {}
  __device__ __forceinline__ void mark(int) const {}
  __device__ __forceinline__ void statistics(int, int, float, float) const {}
  __device__ __forceinline__ void sums(int, int, float) const {}
  __device__ __forceinline__ NoProbe of_tile(long long, int, int, int) const { return {}; }
  template <class Values>
  __device__ __forceinline__ void record(PairNumber, const Values&, int, int) const {}
  __device__ __forceinline__ void end() const {}
};

}  // namespace tilescope::device
