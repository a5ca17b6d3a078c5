// StepIndex: what each operation of one SM is about — line, tensor, tile — found once per simulation for the listing and the
// timeline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// One entry an interval of the SM, in the intervals' order. Small, because there can be hundreds of thousands.
struct StepLabel {
  std::uint8_t line = 0;
  Tensor tensor;                                                        // whose colour it wears
  ChipTile chip_tile = ChipTile::none;                                  // what it writes; what a store reads
  bool moves = false;                                                   // a load or a store
  std::int32_t row = 0, col = 0;                                        // of the tile that moves
  std::int32_t waits_for = -1;                                          // of its own block, the operation whose signal it waits for
  std::int16_t wait_token = -1, signal_token = -1;                      // as of its Operation
  std::int16_t instructions = 0, shared_round_trips = 0, barriers = 0;  // what the kernel does beside the line, each warp
};

struct StepIndex {
  int sm = 0;
  std::vector<StepLabel> labels;
  std::vector<std::vector<std::int32_t>> on_line;  // by line: its steps, in order
};

StepIndex make_step_index(const Simulation& simulation, int sm);

/// The next step after `from` on `line`, from the beginning again when there is none later; -1 where no step is on that line.
std::int64_t next_step_on_line(const StepIndex& index, std::int64_t from, int line);

/// Whether what the kernel does beside a line's arithmetic (addresses, shuffles between threads) is so much that it must be told.
constexpr bool beside_is_telling(int instructions) {
  return instructions >= 32;
}

/// "K₂" for a step that moves a tile, "m′" for one that works an on-chip tile out; empty for one that only waits.
std::string step_name(const Simulation& simulation, const StepLabel& label);

}  // namespace tilescope
