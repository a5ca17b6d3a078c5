// Runs the operations of one block and keeps the values of its on-chip tiles: all of them for a small block, checkpoints for a
// large one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "sim/core/result.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/block_machine.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// The largest history that keeps every value. A larger one keeps checkpoints and reruns an iteration when its values are read.
inline constexpr std::size_t values_budget_bytes = std::size_t{256} << 20;

/// Takes the values that operation `index` would add to HBM; null if the program is faulty.
using TakeAddition = std::function<void(const Operation& operation, std::int32_t index, MatrixPtr values)>;

/// Returns the error of a run of the tile machine that was cancelled.
Error run_cancelled();

/// Runs a block and keeps only its stores. If `additions` is given, it gets what the block adds to HBM, and `image` does not.
/// Errors  a faulty program, such as one that reads elements that nothing wrote; cancelled
Status run_operations(BlockMachine& machine, const BlockOperations& block, HbmImage& image, const Progress& progress = {},
                      const TakeAddition& additions = {});

/// Runs a block and keeps the values of its on-chip tiles. If they exceed `budget_bytes`, it keeps a checkpoint of every iteration;
/// if these exceed twice the budget, only of every 2nd, 4th, … iteration. `sums_are_known`: the image has what earlier blocks
/// added. Errors  those of run_operations()
Result<std::shared_ptr<const BlockValues>> record_block(std::unique_ptr<BlockMachine> machine, BlockOperations block,
                                                        HbmImage& image, std::size_t budget_bytes, const Progress& progress = {},
                                                        bool sums_are_known = false);

}  // namespace tilescope
