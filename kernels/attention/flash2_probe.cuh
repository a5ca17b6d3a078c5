// What flash2 records about itself when it is probed, laid out as flash2_probe_layout.h says; in the plain kernel all of this is
// nothing.
#pragma once

#include "kernels/attention/flash2_probe_layout.h"

namespace tilescope::device {

struct BlockRecord {
  unsigned long long sm_plus_1, start_ns, end_ns, start_cycles, end_cycles;
};
static_assert(sizeof(BlockRecord) == probe_block_numbers * sizeof(unsigned long long));

/// The plain kernel's: every call is nothing, and takes no register.
struct NoProbe {
  struct Arguments {};
  static constexpr bool on = false;
  __device__ __forceinline__ NoProbe(const Arguments&, int, int, int) {}
  __device__ __forceinline__ void tick(int, int) const {}
  __device__ __forceinline__ void mark(int) const {}
  __device__ __forceinline__ void statistics(int, int, float, float) const {}
  __device__ __forceinline__ void sums(int, int, float) const {}
  __device__ __forceinline__ void end() const {}
};

struct ProbeArguments {
  BlockRecord* blocks;
  unsigned long long* ticks;
  float* row;
  unsigned* slots_taken;  // by blocks on the SM looked into
  int sm, tiles;
  int block, row_of_tile;
};

/// Addresses are worked out anew at each tick, from the arguments and a slot in shared memory: registers are what the kernel is
/// short of.
class Probe {
 public:
  using Arguments = ProbeArguments;
  static constexpr bool on = true;

  /// Synchronises the block.
  __device__ __forceinline__ Probe(const Arguments& arguments, int rows_per_warp, int warp, int lane)
      : arguments_(arguments), warp_(warp), lane_(lane) {
    if (threadIdx.x == 0) {
      const unsigned sm = sm_id();
      BlockRecord& record = arguments.blocks[block_id()];
      record.sm_plus_1 = sm + 1;
      record.start_ns = global_ns();
      record.start_cycles = cycles();
      slot() = static_cast<int>(sm) == arguments.sm ? static_cast<int>(atomicAdd(arguments.slots_taken, 1u)) : -1;
    }
    __syncthreads();
    in_ = lane == 0 && slot() >= 0 && slot() < probe_slots;
    if (in_) *place(arguments.tiles, 4) = static_cast<unsigned long long>(block_id()) + 1;
    if (block_id() == arguments.block) followed_ = arguments.row_of_tile - warp * rows_per_warp - lane / 4;
  }

  __device__ __forceinline__ void tick(int tile, int event) const {
    if (in_) *place(tile, event) = cycles();
  }
  /// One of the block's own four moments.
  __device__ __forceinline__ void mark(int event) const { tick(arguments_.tiles, event); }
  /// m and alpha of the row `index` (of those this lane has a part of: 16 mt + 8 half) of the warp, after a tile.
  __device__ __forceinline__ void statistics(int tile, int index, float m, float alpha) const {
    if (index == followed_ && (lane_ & 3) == 0) {
      arguments_.row[tile * probe_row_numbers] = m;
      arguments_.row[tile * probe_row_numbers + 1] = alpha;
    }
  }
  __device__ __forceinline__ void sums(int tile, int index, float part) const {
    if (index == followed_) arguments_.row[tile * probe_row_numbers + 2 + (lane_ & 3)] = part;
  }
  __device__ __forceinline__ void end() const {
    __syncthreads();
    if (threadIdx.x == 0) {
      BlockRecord& record = arguments_.blocks[block_id()];
      record.end_ns = global_ns();
      record.end_cycles = cycles();
    }
  }

 private:
  __device__ __forceinline__ unsigned long long* place(int tile, int event) const {
    const long long warp = static_cast<long long>(slot()) * probe_warps + warp_;
    return arguments_.ticks + (warp * (arguments_.tiles + 1) + tile) * probe_events + event;
  }
  static __device__ __forceinline__ int& slot() {
    __shared__ int slot;
    return slot;
  }
  static __device__ __forceinline__ unsigned long long cycles() {
    unsigned long long value;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
    return value;
  }
  static __device__ __forceinline__ unsigned long long global_ns() {
    unsigned long long value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
    return value;
  }
  static __device__ __forceinline__ unsigned sm_id() {
    unsigned value;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
    return value;
  }
  static __device__ __forceinline__ long long block_id() {
    return (static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }

  const Arguments& arguments_;
  int warp_, lane_;
  int followed_ = -1;  // which of the rows that this lane has a part of, if any
  bool in_ = false;
};

}  // namespace tilescope::device
