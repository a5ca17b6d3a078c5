// Runs the operations of one block and remembers its slots: every value of a small block, checkpoints of a large one.
#pragma once

#include <cstddef>
#include <memory>

#include "sim/core/result.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/block_machine.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// Above this a block's history is checkpoints, from which one iteration is run again when its values are asked for.
inline constexpr std::size_t history_budget_bytes = std::size_t{256} << 20;

/// Runs a block without remembering anything but its stores.
/// Errors  a program that reads what nothing wrote; cancelled
Status run_operations(BlockMachine& machine, const BlockOperations& block, HbmImage& image, const Progress& progress = {});

/// Runs a block and remembers its slots. Where every value together is more than `budget_bytes`, checkpoints of all iterations are
/// kept; where these are more than twice the budget, of every 2nd, 4th … iteration.
/// Errors  as run_operations
Result<std::shared_ptr<const BlockHistory>> record_block(std::unique_ptr<BlockMachine> machine, BlockOperations block,
                                                         HbmImage& image, std::size_t budget_bytes, const Progress& progress = {});

}  // namespace tilescope
