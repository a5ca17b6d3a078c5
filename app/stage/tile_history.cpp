// Collects the loads and stores of one plane's blocks, and sums them up by drawn cell.
#include "app/stage/tile_history.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

/// Looks at the blocks that concern one plane.
class Collector {
 public:
  Collector(const Simulation& simulation, std::int64_t plane)
      : simulation_(simulation), problem_(simulation.program->problem()), plane_(plane), kv_plane_(problem_.kv_plane_of(plane)) {
    const TileProgram& program = *simulation.program;
    for (int launch = 0; launch < static_cast<int>(program.launches().size()); ++launch) maps_.emplace_back(program, launch);
    for (Tensor tensor : all_tensors) layouts_[static_cast<std::size_t>(tensor)] = tensor_layout(problem_, program.tile(), tensor);
    for (auto& [run, block] : kept_) run = -1;
    for (int sm : simulation.trace->focused_sms()) {
      if (focused_.size() <= static_cast<std::size_t>(sm)) focused_.resize(static_cast<std::size_t>(sm) + 1);
      focused_[static_cast<std::size_t>(sm)] = true;
    }
  }

  std::vector<TileEvent> collect() {
    const auto runs = simulation_.trace->runs();
    for (const BlockRun& run : runs)
      if (!in_focus(run.sm) && concerns(run)) add_stores(run);
    for (int sm : simulation_.trace->focused_sms()) add_intervals(sm);
    std::stable_sort(events_.begin(), events_.end(), [](const TileEvent& a, const TileEvent& b) { return a.end < b.end; });
    mark_first();
    return std::move(events_);
  }

  bool in_focus(int sm) const { return static_cast<std::size_t>(sm) < focused_.size() && focused_[static_cast<std::size_t>(sm)]; }

 private:
  void mark_first() {
    std::array<std::array<std::vector<bool>, 2>, tensor_count> seen;  // by tensor and kind, then by tile
    for (TileEvent& event : events_) {
      const TensorLayout& layout = layouts_[static_cast<std::size_t>(event.tensor)];
      const auto across = static_cast<std::size_t>(std::max<std::int64_t>(ceil_div(layout.cols, layout.tile_cols), 1));
      const auto down = static_cast<std::size_t>(std::max<std::int64_t>(ceil_div(layout.rows, layout.tile_rows), 1));
      std::vector<bool>& tiles = seen[static_cast<std::size_t>(event.tensor)][event.store ? 1 : 0];
      if (tiles.empty()) tiles.resize(across * down);
      const std::size_t tile = static_cast<std::size_t>(event.row) * across + static_cast<std::size_t>(event.col);
      if (tile >= tiles.size()) continue;
      event.first = !tiles[tile];
      tiles[tile] = true;
    }
  }

  /// Whether a run can have anything to do with the plane. Out of focus only its stores count, and they are to its own plane.
  bool concerns(const BlockRun& run) const {
    const BlockMap& map = maps_[static_cast<std::size_t>(run.launch)];
    if (!map.known()) return true;
    const std::int64_t of_run = map.plane(run.block);
    return in_focus(run.sm) ? problem_.kv_plane_of(of_run) == kv_plane_ : of_run == plane_;
  }

  void add(const TileRef& tile, double end, bool store) {
    const bool of_keys = tile.tensor == Tensor::k || tile.tensor == Tensor::v;
    if (tile.plane != (of_keys ? kv_plane_ : plane_)) return;
    const TensorLayout& layout = layouts_[static_cast<std::size_t>(tile.tensor)];
    // A load may be more than one tile of the grid (a whole row of S), or a part of one.
    const auto last_row = (tile.row + std::max(tile.rows, 1) - 1) / layout.tile_rows;
    const auto last_col = (tile.col + std::max(tile.cols, 1) - 1) / layout.tile_cols;
    for (auto row = tile.row / layout.tile_rows; row <= last_row; ++row) {
      for (auto col = tile.col / layout.tile_cols; col <= last_col; ++col) {
        events_.push_back({end, tile.tensor, static_cast<std::int32_t>(row), static_cast<std::int32_t>(col), store, false});
      }
    }
  }

  /// Of a block out of focus only the end is known: that is when its stores are taken to land.
  void add_stores(const BlockRun& run) {
    block_.clear();
    simulation_.program->emit_block(run.launch, run.block, block_);
    for (const Operation& operation : block_.operations)
      if (operation.kind == OpKind::store) add(operation.tile, run.end, true);
  }

  void add_intervals(int sm) {
    const auto runs = simulation_.trace->runs();
    for (const Interval& interval : simulation_.trace->intervals(sm)) {
      if (interval.kind != OpKind::load && interval.kind != OpKind::store) continue;
      const BlockRun& run = runs[static_cast<std::size_t>(interval.run)];
      if (!concerns(run)) continue;
      const Operation& operation = operations_of(interval.run, run)[static_cast<std::size_t>(interval.op)];
      add(operation.tile, interval.end, interval.kind == OpKind::store);
    }
  }

  /// Blocks that are on an SM together take turns: the last few are kept.
  const std::vector<Operation>& operations_of(std::int32_t index, const BlockRun& run) {
    auto& [of_run, block] = kept_[static_cast<std::size_t>(index) % kept_.size()];
    if (of_run != index) {
      of_run = index;
      block.clear();
      simulation_.program->emit_block(run.launch, run.block, block);
    }
    return block.operations;
  }

  const Simulation& simulation_;
  const AttentionProblem& problem_;
  std::int64_t plane_, kv_plane_;
  std::vector<BlockMap> maps_;  // by launch
  std::array<TensorLayout, tensor_count> layouts_{};
  std::vector<bool> focused_;  // by SM
  BlockOperations block_;
  std::array<std::pair<std::int32_t, BlockOperations>, 61> kept_{};
  std::vector<TileEvent> events_;
};

}  // namespace

BlockMap::BlockMap(const TileProgram& program, int launch) {
  const LaunchSpec& spec = program.launches()[static_cast<std::size_t>(launch)];
  grid_x_ = spec.grid_x;
  grid_y_ = spec.grid_y;
  BlockOperations block;
  const auto probe = [&](std::int64_t index) {
    block.clear();
    program.emit_block(launch, index, block);
    return std::pair<std::int64_t, std::int64_t>(block.plane, block.first_row);
  };
  const auto [plane, row] = probe(0);
  plane_.origin = plane;
  row_.origin = row;
  const auto learn = [&, plane = plane, row = row](bool exists, std::int64_t index, std::int64_t Linear::*axis) {
    if (!exists) return;
    const auto [p, r] = probe(index);
    plane_.*axis = p - plane;
    row_.*axis = r - row;
  };
  learn(spec.grid_x > 1, 1, &Linear::x);
  learn(spec.grid_y > 1, grid_x_, &Linear::y);
  learn(spec.grid_z > 1, grid_x_ * grid_y_, &Linear::z);
  known_ = true;
  for (std::int64_t index : {spec.blocks() / 3, spec.blocks() / 2, spec.blocks() - 1}) {
    const auto [p, r] = probe(index);
    known_ = known_ && p == this->plane(index) && r == first_row(index);
  }
}

std::int64_t BlockMap::value(const Linear& linear, std::int64_t block) const {
  const std::int64_t x = block % grid_x_, y = block / grid_x_ % grid_y_, z = block / (grid_x_ * grid_y_);
  return linear.origin + linear.x * x + linear.y * y + linear.z * z;
}

std::optional<double> CellHistory::next_use(double cycle) const {
  std::optional<double> next, first;
  for (const std::vector<double>* times : {&reads, &writes}) {
    if (times->empty()) continue;
    first = std::min(first.value_or(times->front()), times->front());
    const auto after = std::upper_bound(times->begin(), times->end(), cycle);
    if (after != times->end()) next = std::min(next.value_or(*after), *after);
  }
  return next ? next : first;
}

std::int64_t CellHistory::count(const std::vector<double>& times, double cycle) {
  return std::upper_bound(times.begin(), times.end(), cycle) - times.begin();
}

double CellHistory::part(const std::vector<double>& times, double cycle) const {
  return tiles == 0 ? 0 : static_cast<double>(count(times, cycle)) / tiles;
}

TileHistory::TileHistory(const Simulation& simulation, std::int64_t plane) : plane_(plane) {
  Collector collector(simulation, plane);
  const auto runs = simulation.trace->runs();
  all_reads_ = std::all_of(runs.begin(), runs.end(), [&](const BlockRun& run) { return collector.in_focus(run.sm); });
  for (const TileEvent& event : collector.collect()) events_[static_cast<std::size_t>(event.tensor)].push_back(event);
}

std::vector<CellHistory> TileHistory::cells(const TensorBox& box) const {
  const auto shown_cols = static_cast<std::size_t>(box.shown_cols);
  std::vector<CellHistory> cells(static_cast<std::size_t>(box.shown_rows) * shown_cols);
  std::vector<std::size_t> cell_of_row, cell_of_col;
  std::vector<int> rows(static_cast<std::size_t>(box.shown_rows)), cols(shown_cols);  // tiles along the side of a cell
  for (int row = 0; row < box.grid_rows; ++row) {
    cell_of_row.push_back(static_cast<std::size_t>(cell_of(row, box.grid_rows, box.shown_rows)));
    ++rows[cell_of_row.back()];
  }
  for (int col = 0; col < box.grid_cols; ++col) {
    cell_of_col.push_back(static_cast<std::size_t>(cell_of(col, box.grid_cols, box.shown_cols)));
    ++cols[cell_of_col.back()];
  }
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i].tiles = rows[i / shown_cols] * cols[i % shown_cols];

  const auto each_event = [&](const auto& visit) {
    for (const TileEvent& event : events_[static_cast<std::size_t>(box.tensor)]) {
      if (event.row >= box.grid_rows || event.col >= box.grid_cols) continue;
      visit(event,
            cell_of_row[static_cast<std::size_t>(event.row)] * shown_cols + cell_of_col[static_cast<std::size_t>(event.col)]);
    }
  };
  struct Counts {
    std::array<std::uint32_t, 2> all{}, first{};
  };
  std::vector<Counts> counts(cells.size());  // so that no list has to grow
  each_event([&](const TileEvent& event, std::size_t cell) {
    ++counts[cell].all[event.store ? 1 : 0];
    counts[cell].first[event.store ? 1 : 0] += event.first ? 1 : 0;
  });
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].reads.reserve(counts[i].all[0]);
    cells[i].writes.reserve(counts[i].all[1]);
    cells[i].first_reads.reserve(counts[i].first[0]);
    cells[i].first_writes.reserve(counts[i].first[1]);
  }
  each_event([&](const TileEvent& event, std::size_t at) {
    CellHistory& cell = cells[at];
    (event.store ? cell.writes : cell.reads).push_back(event.end);
    if (event.first) (event.store ? cell.first_writes : cell.first_reads).push_back(event.end);
  });
  return cells;
}

}  // namespace tilescope
