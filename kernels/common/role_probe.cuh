// RoleProbe records what each role of a Hopper block does: one thread of the producer and one of each consumer group stamp the end
// of each stage, and the threads of one row write its statistics. Stamps stay in shared memory, behind what the kernel needs
// itself, until the role ends: a stamp in global memory takes its warp ten times as long. Layout of the records: probe_layout.h.
#pragma once

#include <cstring>

#include "kernels/common/hopper_arguments.h"
#include "kernels/common/hopper_attention.cuh"
#include "kernels/common/probe.cuh"
#include "kernels/common/probe_layout.h"

namespace tilescope::device {

struct RoleProbeArguments {
  BlockRecord* blocks;
  unsigned long long* words;
  float* row;
  unsigned* slots_taken;  // by role: counts those that ended on the observed SM
  int sm, slots, roles;
  int plane, query;  // the followed row
};

class RoleProbe {
 public:
  using Arguments = RoleProbeArguments;
  template <class Own>
  struct Launch : Own {
    Arguments probe;
  };
  static constexpr bool on = true;

  /// Called by the whole block before anything else.
  template <class Own>
  static __device__ __forceinline__ void block_begins(const Launch<Own>& launched) {
    if (threadIdx.x != 0) return;
    BlockRecord& record = launched.probe.blocks[block_id()];
    record.sm_plus_1 = sm_id() + 1;
    record.start_ns = global_ns();
    record.start_cycles = cycles();
  }

  /// Called by the threads of a role as it begins; `shared` is where the stamps may stand. The first thread of the warpgroup
  /// records.
  template <class Own>
  __device__ __forceinline__ RoleProbe(const Launch<Own>& launched, int role, std::uint32_t shared)
      : arguments_(launched.probe), role_(role), from_(shared + role * role_stamp_bytes) {
    const bool records = (threadIdx.x & 127) == 0 && static_cast<int>(sm_id()) == arguments_.sm;
    at_ = records ? from_ : nowhere;
    ended(ProbeStage::prologue);
  }

  /// Stamps the end of the stage that began at the stamp before.
  __device__ __forceinline__ void ended(ProbeStage stage) {
    std::uint32_t now;
    if (at_ >= from_ + role_stamp_bytes) return;
    if (stage == ProbeStage::wait_turn || stage == ProbeStage::wait_groups) after_barrier();
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at_), "r"(now << stage_bits | static_cast<unsigned>(stage)) : "memory");
    at_ += 4;
  }
  /// Records m, alpha and l of the followed row after a key tile. `first_row` is that of the thread's two rows, 8 apart; four lanes
  /// share a row.
  template <class Group>
  __device__ __forceinline__ void statistics(const Group& group, int plane, int first_row, int step, float scale_log2) const {
    if (plane != arguments_.plane) return;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (first_row + 8 * half == arguments_.query) {
        float* const row = arguments_.row + step * probe_row_numbers;
        row[0] = group.row_max[half] * scale_log2 * ln_2;
        row[1] = group.alpha[half];
        row[2 + (threadIdx.x & 3)] = group.row_sum[half];
      }
  }
  /// Called by the threads of a role at its end: writes its stamps to global memory. The last role to end ends the block.
  __device__ __forceinline__ void role_ends() const {
    if ((threadIdx.x & 127) != 0) return;
    const unsigned long long end_cycles = cycles();
    BlockRecord& record = arguments_.blocks[block_id()];
    atomicMax(&record.end_ns, global_ns());
    atomicMax(&record.end_cycles, end_cycles);
    if (at_ == nowhere) return;
    const int slot = static_cast<int>(atomicAdd(arguments_.slots_taken + role_, 1u));
    if (slot >= arguments_.slots) return;
    unsigned long long* const words = arguments_.words + (static_cast<long long>(slot) * arguments_.roles + role_) * role_words;
    words[0] = static_cast<unsigned long long>(block_id()) + 1;
    words[1] = end_cycles;
    const int count = static_cast<int>(at_ - from_) / 4;
#pragma unroll 8
    for (int i = 0; i < count; ++i) {
      std::uint32_t stamp;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(stamp) : "r"(from_ + 4 * i));
      words[2 + i] = stamp;
    }
  }

 private:
  static constexpr std::uint32_t nowhere = ~0u;

  /// A barrier lets the instructions behind it begin until one needs memory. This one does, and the next waits for its result.
  __device__ __forceinline__ void after_barrier() const {
    asm volatile(
        "{ .reg .u32 x; .reg .pred never; ld.volatile.shared.u32 x, [%0]; setp.eq.u32 never, x, 0xffffffff; @never trap; }" ::"r"(
            from_)
        : "memory");
  }

  const Arguments& arguments_;
  const int role_;
  const std::uint32_t from_;
  std::uint32_t at_;  // where this thread's next stamp goes
};

}  // namespace tilescope::device

namespace tilescope {

/// Plans the probed twin of a Hopper kernel: adds what it takes beside its own arguments and shared memory.
inline PlannedLaunch with_probe(const PlannedLaunch& launch, const ProbeBuffers& buffers) {
  const device::RoleProbeArguments probe{static_cast<device::BlockRecord*>(buffers.blocks),
                                         static_cast<unsigned long long*>(buffers.ticks),
                                         static_cast<float*>(buffers.row),
                                         static_cast<unsigned*>(buffers.slots_taken),
                                         buffers.sm,
                                         buffers.slots,
                                         buffers.roles,
                                         buffers.plane,
                                         buffers.query};
  device::HopperArguments own{};
  std::memcpy(&own, launch.arguments.data(), sizeof(own));
  return planned(launch.name, launch.function, launch.grid, launch.threads, launch.shared_bytes + buffers.roles * role_stamp_bytes,
                 device::RoleProbe::Launch<device::HopperArguments>{own, probe});
}

}  // namespace tilescope
