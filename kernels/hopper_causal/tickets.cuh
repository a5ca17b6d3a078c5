// Tickets: query tiles drawn one at a time, so that an SM with short tiles takes more of them.
#pragma once

#include "kernels/hopper_ping_pong/ping_pong.cuh"

namespace tilescope::device {

inline constexpr int ticket_bytes = 2 * 8 + 2 * 8 + 2 * 4;  // barriers full and empty, slots

/// Shape of a persistent block that draws its tiles.
template <class Base>
struct TicketShape : RolesShape<Base, true> {
  static constexpr int shared_bytes = RolesShape<Base, true>::shared_bytes + ticket_bytes;
};

/// The producer draws a ticket from a counter in global memory and tells the consumers through two slots in shared memory.
template <int consumer_warps>
struct Tickets {
  std::uint32_t start;
  int round = 0;

  __device__ __forceinline__ explicit Tickets(std::uint32_t address) : start(address) {}

  __device__ __forceinline__ void start_barriers() const {
    for (int i = 0; i < 2; ++i) barrier_start(start + 8 * i, 1), barrier_start(start + 16 + 8 * i, consumer_warps);
  }
  /// Producer: hands `index` to the consumers.
  __device__ __forceinline__ void tell(int index) {
    const int slot = round & 1;
    barrier_wait(start + 16 + 8 * slot, (round >> 1 & 1) ^ 1);
    asm volatile("st.shared.s32 [%0], %1;" ::"r"(start + 32 + 4 * slot), "r"(index) : "memory");
    barrier_arrive(start + 8 * slot);
    ++round;
  }
  /// Consumer: returns the next index.
  __device__ __forceinline__ int hear(int lane) {
    const int slot = round & 1;
    int index;
    barrier_wait(start + 8 * slot, round >> 1 & 1);
    asm volatile("ld.shared.s32 %0, [%1];" : "=r"(index) : "r"(start + 32 + 4 * slot) : "memory");
    __syncwarp();
    if (lane == 0) barrier_arrive(start + 16 + 8 * slot);
    ++round;
    return index;
  }
};

/// Draws a ticket: the first of a block is its own number, later ones come from the counter.
__device__ __forceinline__ int draw_ticket(unsigned* tickets) {
  return static_cast<int>(gridDim.x + atomicAdd(tickets, 1u));
}
/// The last block to come here resets the counters for the next launch. No block draws after it.
__device__ __forceinline__ void return_tickets(unsigned* tickets) {
  if (atomicAdd(tickets + 1, 1u) == gridDim.x - 1) tickets[0] = 0, tickets[1] = 0;
}

}  // namespace tilescope::device
