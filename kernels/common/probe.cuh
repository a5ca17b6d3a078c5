// Probe records when and where blocks run, and one row's statistics. In the plain kernel NoProbe takes its place and compiles to
// nothing. Layout of the records: probe_layout.h.
#pragma once

#include "kernels/common/no_probe.cuh"
#include "kernels/common/probe_numbers.h"

namespace tilescope::device {

__device__ __forceinline__ unsigned long long cycles() {
  unsigned long long value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}
__device__ __forceinline__ unsigned long long global_ns() {
  unsigned long long value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}
__device__ __forceinline__ unsigned sm_id() {
  unsigned value;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}
__device__ __forceinline__ long long block_id() {
  return (static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

/// Recorder of the probed kernel. It keeps its state in shared memory and recomputes addresses at each tick, because the kernels
/// have no registers to spare.
class Probe {
 public:
  using Arguments = ProbeArguments;
  template <class Own>
  using Launch = ProbeLaunch<Own>;
  static constexpr bool on = true;

  template <class Own>
  static Launch<Own> launch(const Own& own, const Arguments& probe) {
    return {own, probe};
  }

  /// Takes the first row of the block that this lane holds a part of. Synchronises the block.
  template <class Own>
  __device__ __forceinline__ Probe(const Launch<Own>& launched, int first_row, int warp, int lane)
      : arguments_(launched.probe), warp_(warp), lane_(lane) {
    const Arguments& arguments = arguments_;
    if (threadIdx.x == 0) {
      const unsigned sm = sm_id();
      BlockRecord& record = arguments.blocks[block_id()];
      record.sm_plus_1 = sm + 1;
      record.start_ns = global_ns();
      record.start_cycles = cycles();
      slot() = static_cast<int>(sm) == arguments.sm ? static_cast<int>(atomicAdd(arguments.slots_taken, 1u)) : -1;
    }
    __syncthreads();
    in_ = lane == 0 && slot() >= 0 && slot() < arguments.slots;
    if (in_) {
      const long long own = static_cast<long long>(slot()) * (blockDim.x >> 5) + warp;
      ticks() = arguments.ticks + own * (arguments.iterations + 1) * probe_events;
      *place(arguments.iterations, 4) = static_cast<unsigned long long>(block_id()) + 1;
    }
    if (block_id() == arguments.block) followed_ = arguments.row_of_block - first_row;
  }

  __device__ __forceinline__ void tick(int iteration, int event) const {
    if (in_) *place(iteration, event) = cycles();
  }
  /// Records one of the block's four events: entry, loop begins, loop ends, output stored.
  __device__ __forceinline__ void mark(int event) const { tick(arguments_.iterations, event); }
  /// Records m and alpha of row `first_row + index` after a key tile. Four lanes share a row; the first of them writes.
  __device__ __forceinline__ void statistics(int step, int index, float m, float alpha) const {
    if (index == followed_ && (lane_ & 3) == 0) {
      arguments_.row[step * probe_row_numbers] = m;
      arguments_.row[step * probe_row_numbers + 1] = alpha;
    }
  }
  __device__ __forceinline__ void sums(int step, int index, float part) const {
    if (index == followed_) arguments_.row[step * probe_row_numbers + 2 + (lane_ & 3)] = part;
  }
  __device__ __forceinline__ void end() const {
    __syncthreads();
    if (threadIdx.x == 0) {
      BlockRecord& record = arguments_.blocks[block_id()];
      record.end_ns = global_ns();
      record.end_cycles = cycles();
    }
  }

 protected:
  const Arguments& arguments_;

 private:
  __device__ __forceinline__ unsigned long long* place(int iteration, int event) const {
    return ticks() + iteration * probe_events + event;
  }
  /// Returns where this warp writes its ticks. Only lane 0 sets and reads it.
  __device__ __forceinline__ unsigned long long*& ticks() const {
    constexpr int most_warps = 8;
    __shared__ unsigned long long* of_warp[most_warps];
    return of_warp[warp_];
  }
  static __device__ __forceinline__ int& slot() {
    __shared__ int slot;
    return slot;
  }

  int warp_, lane_;
  int followed_ = -1;  // index of the followed row among this lane's rows; -1: none
  bool in_ = false;
};

}  // namespace tilescope::device
