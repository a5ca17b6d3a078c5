// What the fields of problem, tile and GPU show, and what they ask for.
#include "app/views/top_bar/number_controls.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/views/chrome.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

ProgramTile tile_in_use(const View& view) {
  const ProgramTile settled = view.lanes.empty() ? ProgramTile{} : view.lane().simulation->request.tile.value_or(ProgramTile{});
  return view.requested->request.tile.value_or(settled);
}

std::int64_t stages_in_use(const View& view) {
  const std::int64_t asked = tile_in_use(view).stages;
  return asked > 0 || view.lanes.empty() ? std::max<std::int64_t>(1, asked) : ring_buffers(*view.lane().simulation->program);
}

AttentionProblem with_heads(AttentionProblem problem, std::int64_t heads) {
  const std::int64_t group = std::max<std::int64_t>(1, problem.heads / std::max<std::int64_t>(1, problem.kv_heads));
  problem.heads = heads;
  problem.kv_heads = heads % group == 0 ? heads / group : heads;
  return problem;
}

AttentionProblem with_queries(AttentionProblem problem, std::int64_t queries) {
  if (problem.seq_kv == problem.seq_q) problem.seq_kv = queries;
  problem.seq_q = queries;
  return problem;
}

std::optional<NumberControl> number_control(const View& view, std::string_view key) {
  if (const SpecKey* spec = find_spec_key(key))
    return NumberControl{
        view.requested->request.gpu.*spec->member, spec_limits(*spec),
        [name = spec->key](double value, Commands& to) { to.push(SetSpecValue{fmt::format("{}={}", name, value)}); }};
  const auto whole = [](std::int64_t value, std::int64_t most, auto ask) {
    return NumberControl{static_cast<double>(value), {1, static_cast<double>(most), true}, [ask](double number, Commands& to) {
                           to.push(ask(static_cast<std::int64_t>(number)));
                         }};
  };
  const AttentionProblem& problem = view.requested->request.problem;
  const ProgramTile tile = tile_in_use(view);
  const auto of_tile = [&](std::int64_t ProgramTile::*member, std::int64_t value, std::int64_t most) {
    return whole(value, most, [=, control = std::string(key)](std::int64_t number) {
      ProgramTile changed = tile;
      changed.*member = number;
      return SetTile{changed, control};
    });
  };
  if (key == "heads")
    return whole(problem.heads, most_heads, [=](std::int64_t n) { return SetProblem{with_heads(problem, n), "heads"}; });
  if (key == "seq")
    return whole(problem.seq_q, most_rows, [=](std::int64_t n) { return SetProblem{with_queries(problem, n), "seq"}; });
  if (key == "block_q") return of_tile(&ProgramTile::block_q, tile.block_q, TileShape::most_rows);
  if (key == "block_kv") return of_tile(&ProgramTile::block_kv, tile.block_kv, TileShape::most_rows);
  if (key == "stages") return of_tile(&ProgramTile::stages, stages_in_use(view), ProgramTile::most_stages);
  return std::nullopt;
}

}  // namespace tilescope
