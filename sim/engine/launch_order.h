// The order in which a launch hands out its blocks, and the ticket that a persistent block draws for its next tile.
//
//   Each block that stays on its SM takes its own number as its first ticket. Later ones come from a counter that all blocks share:
//
//     ticket            0   1   2   3 │ 4   5   6 …   four blocks; those beyond the bar are drawn as blocks become free
//     tile (of a head)  9   9   9   9 │ 8   8   8 …   longest first, four heads
#pragma once

#include <cstdint>
#include <optional>

#include "sim/engine/block_order.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// Returns how many planes make a set of BlockOrder::grouped.
std::int64_t planes_of_set(const LaunchSpec& launch, const AttentionProblem& problem, const GpuSpec& gpu);

/// Returns the order of `blocks` blocks of a launch. `asked`: that of the request; `launch` leaves the kernel its own.
BlockSequence launch_order(const LaunchSpec& launch, const AttentionProblem& problem, const GpuSpec& gpu, BlockOrder asked,
                           std::int64_t blocks);

/// What the simulator knows of the ticket of one tile.
struct Ticket {
  std::int64_t number = 0;
  bool is_drawn = false;             // from the counter; otherwise the number of the block itself
  std::int64_t plane = 0, tile = 0;  // the query tile that it stands for; a plane is one head of one batch
};
/// Returns the ticket of a run of `simulation`; nullopt where its launch does not draw its tiles.
/// Leaves out  the time of a draw (docs/ladder.md)
std::optional<Ticket> ticket_of(const Simulation& simulation, const BlockRun& run);

}  // namespace tilescope
