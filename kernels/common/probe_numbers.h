// How many numbers a probe records, and what a launch tells it. Device code includes this file too, and NVRTC: it includes nothing.
#pragma once

namespace tilescope {

inline constexpr int probe_block_numbers = 5, probe_events = 8, probe_row_numbers = 6;

/// What a backward kernel records of one key of the followed row, in the order of the records. The product of dO and V starts from
/// -D, so the registers hold dP - D.
enum class PairNumber { score, probability, d_p_minus_d, d_s, minus_d };
inline constexpr int probe_pair_numbers = 5;

namespace device {

struct BlockRecord {
  unsigned long long sm_plus_1, start_ns, end_ns, start_cycles, end_cycles;
};
static_assert(sizeof(BlockRecord) == probe_block_numbers * sizeof(unsigned long long));

struct ProbeArguments {
  BlockRecord* blocks;
  unsigned long long* ticks;
  float* row;
  unsigned* slots_taken;  // counts the blocks that started on the observed SM
  int sm, iterations, slots;
  int block, row_of_block;
  long long followed_row;  // of a backward kernel, of all rows
};

/// The arguments of a kernel with the probe compiled in.
template <class Own>
struct ProbeLaunch : Own {
  ProbeArguments probe;
};

}  // namespace device

}  // namespace tilescope
