// The launch that computes D: each thread reads 16 bytes of dO and of O, and the threads of a row add their products up.
#include "sim/programs/row_dot.h"

#include <bit>
#include <utility>

#include "sim/programs/backward_tensors.h"

namespace tilescope {

namespace {

constexpr std::int64_t lane_bytes = 16;

}  // namespace

RowSteps row_steps(std::int64_t rows, std::int64_t row_bytes, const KernelNeeds& needs, std::int64_t shuffles) {
  const std::int64_t steps = ceil_div(rows * row_bytes, lane_bytes * needs.threads);
  return {steps, steps * shuffles};
}

void emit_row_dot(BlockBuilder& b, const RowDotLines& lines, const AttentionProblem& problem, const KernelNeeds& needs,
                  std::int64_t rows) {
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  const auto lanes = static_cast<std::uint64_t>(ceil_div(row_bytes, lane_bytes));  // of a row, which add in a tree
  const RowSteps steps = row_steps(rows, row_bytes, needs, std::bit_width(lanes - 1));
  constexpr std::int64_t tensors_at_once = 2;
  for (const auto& [line, tile] : {std::pair{lines.load_o, tiles::o}, std::pair{lines.load_d_o, tiles::d_o}}) {
    b.load(line, tile);
    b.in_rounds(steps.rounds);
    b.asked_at_once(tensors_at_once * warp_lanes * lane_bytes / element_bytes(problem.dtype));
  }
  b.copy(lines.dot, tiles::d_o_o, tiles::d_o);
  b.multiply(lines.dot, tiles::d_o_o, tiles::o);
  b.row_sum(lines.dot, tiles::row_dot, ChipTile::none, tiles::d_o_o, ChipTile::none);
  b.overhead({.shared_round_trips = static_cast<int>(steps.round_trips)});
  b.store(lines.store, tiles::row_dot);
}

}  // namespace tilescope
