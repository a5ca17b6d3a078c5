// Collects the loads and stores of one plane's blocks, and sums them up by drawn cell.
#include "app/stage/tile_history.h"

#include <algorithm>
#include <array>

namespace tilescope {

/// The work under way: which runs are still to be looked at, and what was found so far.
struct TileHistory::Builder {
  std::shared_ptr<const Simulation> simulation;
  const AttentionProblem& problem;
  std::int64_t plane, kv_plane;
  std::vector<BlockMap> maps;  // by launch
  std::array<TensorLayout, tensor_count> layouts{};
  std::vector<bool> focused;                                // by SM
  std::vector<std::vector<std::int32_t>> intervals_of_run;  // indices into the intervals of the run's SM
  std::size_t next_run = 0;
  BlockOperations block;
  std::vector<TileEvent> events;

  Builder(std::shared_ptr<const Simulation> s, std::int64_t p)
      : simulation(std::move(s)), problem(simulation->program->problem()), plane(p), kv_plane(problem.kv_plane_of(p)) {
    const TileProgram& program = *simulation->program;
    for (int launch = 0; launch < static_cast<int>(program.launches().size()); ++launch) maps.emplace_back(program, launch);
    for (Tensor tensor : all_tensors) layouts[static_cast<std::size_t>(tensor)] = tensor_layout(problem, program.tile(), tensor);
    intervals_of_run.resize(simulation->trace->runs().size());
    for (int sm : simulation->trace->focused_sms()) {
      if (focused.size() <= static_cast<std::size_t>(sm)) focused.resize(static_cast<std::size_t>(sm) + 1);
      focused[static_cast<std::size_t>(sm)] = true;
      const auto intervals = simulation->trace->intervals(sm);
      for (std::size_t i = 0; i < intervals.size(); ++i) {
        if (intervals[i].kind != OpKind::load && intervals[i].kind != OpKind::store) continue;
        intervals_of_run[static_cast<std::size_t>(intervals[i].run)].push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  bool in_focus(int sm) const { return static_cast<std::size_t>(sm) < focused.size() && focused[static_cast<std::size_t>(sm)]; }

  /// Whether a run can have anything to do with the plane. Out of focus only its stores count, and they are to its own plane.
  bool concerns(const BlockRun& run) const {
    const BlockMap& map = maps[static_cast<std::size_t>(run.launch)];
    if (!map.known()) return true;
    const std::int64_t of_run = map.plane(run.block);
    return in_focus(run.sm) ? problem.kv_plane_of(of_run) == kv_plane : of_run == plane;
  }

  void add(const TileRef& tile, double end, bool store) {
    const bool of_keys = tile.tensor == Tensor::k || tile.tensor == Tensor::v;
    if (tile.plane != (of_keys ? kv_plane : plane)) return;
    const TensorLayout& layout = layouts[static_cast<std::size_t>(tile.tensor)];
    // A load may be more than one tile of the grid (a whole row of S), or a part of one.
    const auto last_row = (tile.row + std::max(tile.rows, 1) - 1) / layout.tile_rows;
    const auto last_col = (tile.col + std::max(tile.cols, 1) - 1) / layout.tile_cols;
    for (auto row = tile.row / layout.tile_rows; row <= last_row; ++row) {
      for (auto col = tile.col / layout.tile_cols; col <= last_col; ++col) {
        events.push_back({end, tile.tensor, static_cast<std::int32_t>(row), static_cast<std::int32_t>(col), store});
      }
    }
  }

  void add_run(const BlockRun& run, std::size_t index) {
    block.clear();
    simulation->program->emit_block(run.launch, run.block, block);
    if (in_focus(run.sm)) {
      const auto intervals = simulation->trace->intervals(run.sm);
      for (std::int32_t i : intervals_of_run[index]) {
        const Interval& interval = intervals[static_cast<std::size_t>(i)];
        add(block.operations[static_cast<std::size_t>(interval.op)].tile, interval.end, interval.kind == OpKind::store);
      }
      return;
    }
    for (const Operation& operation : block.operations) {
      if (operation.kind == OpKind::store) add(operation.tile, run.end, true);
    }
  }
};

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

std::int64_t CellHistory::count(const std::vector<double>& times, double cycle) {
  return std::upper_bound(times.begin(), times.end(), cycle) - times.begin();
}

double CellHistory::part(const std::vector<double>& times, double cycle) const {
  return tiles == 0 ? 0 : static_cast<double>(count(times, cycle)) / tiles;
}

TileHistory::TileHistory(std::shared_ptr<const Simulation> simulation, std::int64_t plane)
    : plane_(plane), builder_(std::make_unique<Builder>(std::move(simulation), plane)) {
  for (const BlockRun& run : builder_->simulation->trace->runs()) all_reads_ = all_reads_ && builder_->in_focus(run.sm);
}

TileHistory::~TileHistory() = default;

bool TileHistory::advance(std::int64_t operations) {
  if (!builder_) return true;
  const auto runs = builder_->simulation->trace->runs();
  for (std::int64_t seen = 0; builder_->next_run < runs.size() && seen < operations; ++builder_->next_run) {
    const BlockRun& run = runs[builder_->next_run];
    if (!builder_->concerns(run)) continue;
    builder_->add_run(run, builder_->next_run);
    seen += static_cast<std::int64_t>(builder_->block.operations.size());
  }
  if (builder_->next_run < runs.size()) return false;
  events_ = std::move(builder_->events);
  std::stable_sort(events_.begin(), events_.end(), [](const TileEvent& a, const TileEvent& b) { return a.end < b.end; });
  builder_.reset();
  return true;
}

std::vector<CellHistory> TileHistory::cells(const TensorBox& box) const {
  std::vector<CellHistory> cells(static_cast<std::size_t>(box.shown_rows) * static_cast<std::size_t>(box.shown_cols));
  const auto index_of = [&](int row, int col) {
    const int r = cell_of(row, box.grid_rows, box.shown_rows), c = cell_of(col, box.grid_cols, box.shown_cols);
    return static_cast<std::size_t>(r) * static_cast<std::size_t>(box.shown_cols) + static_cast<std::size_t>(c);
  };
  for (int row = 0; row < box.grid_rows; ++row) {
    for (int col = 0; col < box.grid_cols; ++col) ++cells[index_of(row, col)].tiles;
  }
  const auto tiles = static_cast<std::size_t>(box.grid_rows) * static_cast<std::size_t>(box.grid_cols);
  std::vector<bool> was_read(tiles), was_written(tiles);
  for (const TileEvent& event : events_) {
    if (event.tensor != box.tensor || event.row >= box.grid_rows || event.col >= box.grid_cols) continue;
    CellHistory& cell = cells[index_of(event.row, event.col)];
    const auto tile =
        static_cast<std::size_t>(event.row) * static_cast<std::size_t>(box.grid_cols) + static_cast<std::size_t>(event.col);
    std::vector<bool>& seen = event.store ? was_written : was_read;
    if (!seen[tile]) (event.store ? cell.first_writes : cell.first_reads).push_back(event.end);
    seen[tile] = true;
    (event.store ? cell.writes : cell.reads).push_back(event.end);
  }
  return cells;
}

}  // namespace tilescope
