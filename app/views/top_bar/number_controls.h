// NumberControl: a number of the GPU, the problem or the tile, as a field of any panel shows and sets it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "app/ui/typed_limits.h"
#include "app/views/view.h"

namespace tilescope {

struct NumberControl {
  double value = 0;
  NumberLimits limits;
  std::function<void(double, Commands&)> ask_for;
};

/// Returns the control with this key of links; nullopt where it is no number.
std::optional<NumberControl> number_control(const View& view, std::string_view key);

/// The tile that was asked for; else that of the run.
ProgramTile tile_in_use(const View& view);
/// Buffers of the ring of K and V.
std::int64_t stages_in_use(const View& view);

/// Groups of query heads stay whole where their size divides the new count; else every head has its own K and V.
AttentionProblem with_heads(AttentionProblem problem, std::int64_t heads);
/// The keys follow while there are as many as queries.
AttentionProblem with_queries(AttentionProblem problem, std::int64_t queries);

/// Limits of the fields of the problem.
inline constexpr std::int64_t most_rows = std::int64_t{1} << 20, most_heads = 4096;

}  // namespace tilescope
