// Backward passes whose blocks own keys and add their part of dQ in HBM: three launches, for D and the zeros of the sums, for the
// gradients, and for dQ from its sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/pair_gradients.h"
#include "sim/programs/row_dot.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// Returns the three launches. That of the gradients has `key_blocks` blocks a key plane. `Line` is the program's enumeration of
/// its lines.
template <class Line>
std::vector<LaunchSpec> added_gradient_launches(std::string_view id, const TileGrid& grid, const ProgramTile& tile,
                                                std::int64_t key_blocks, const KernelNeeds& needs) {
  const AttentionProblem& problem = grid.problem;
  const auto rows = [&](std::string_view name, const KernelNeeds& of, Line first, Line last) {
    return LaunchSpec{.name = name,
                      .grid_x = grid.query_tiles,
                      .grid_y = problem.heads,
                      .grid_z = problem.batch,
                      .needs = of,
                      .first_line = LineId(first).number,
                      .last_line = LineId(last).number};
  };
  LaunchSpec keys = rows("gradients", needs, Line::key_tiles, Line::store);
  keys.grid_x = key_blocks;
  keys.grid_y = problem.kv_heads;
  keys.axis = Axis::key;
  return {rows("row dots", row_dot_needs(id, problem, tile), Line::rows, Line::store_zero), keys,
          rows("convert dQ", convert_needs(id, problem, tile), Line::convert_rows, Line::store_d_q)};
}

/// Emits a block of the first or the last of added_gradient_launches(): D and the zeros of dQ_acc, or dQ from its sums.
/// `converting`: how the latter takes its rows.
template <class Line>
void emit_added_gradient_rows(BlockBuilder& b, bool converts, const AttentionProblem& problem, const KernelNeeds& needs,
                              std::int64_t rows, const RowSteps& converting) {
  if (!converts) {
    emit_row_dot(b, {Line::load_o, Line::load_d_o_once, Line::row_dot, Line::store_row_dot}, problem, needs, rows);
    b.fill(Line::zero, tiles::d_q_acc, 0.0F);
    b.store(Line::store_zero, tiles::d_q_acc);
    return;
  }
  b.load(Line::load_sum, tiles::d_q_acc);
  b.in_rounds(converting.rounds);
  b.copy(Line::convert, tiles::d_q, tiles::d_q_acc);
  b.overhead({.shared_round_trips = static_cast<int>(converting.round_trips)});
  b.store(Line::store_d_q, tiles::d_q);
}

/// Emits what one query tile adds to dK and dV of a block, and what the block adds to a sum of dQ: `part`.
template <class Line>
void emit_adding_pair(BlockBuilder& b, const BlockPlan& plan, const PairWork& pairs, bool masked, ChipTile part) {
  emit_key_gradients(b, key_gradient_lines<Line>(), pairs, masked, [&] {
    b.matmul(Line::d_q, part, tiles::d_s, tiles::k_kept, added_product(plan));
    b.reduce_add(Line::add, part);
  });
}

/// What blocks that own keys load of their tiles, in bytes and as formulas of the rows.
struct KeyBlockLoads {
  Bytes queries;                    // of Q, and as many of dO
  Bytes keys;                       // of K, and as many of V
  std::optional<Bytes> statistics;  // of L, and as many of D; none: those of whole tiles
  std::string query_rows, key_rows;
};
/// Returns the closed form of such a program, over all launches.
ClosedForm added_gradients_form(const AttentionProblem& problem, const TileShape& tile, const KeyBlockLoads& loads);

}  // namespace tilescope
