// Collects the loads and stores of one plane's blocks, and groups them by tile and by drawn cell.
#include "app/model/run_data/tile_accesses.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "sim/core/mask.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// Returns how much of a range lies in [begin, begin + size), and how much of that exists, of `all`.
std::pair<std::int64_t, std::int64_t> shared(std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t size,
                                             std::int64_t all) {
  const std::int64_t end = std::min(begin + size, all), from = std::max(first, begin), to = std::min(first + count, end);
  return {std::max<std::int64_t>(0, to - from), std::max<std::int64_t>(0, end - begin)};
}

/// Looks at the blocks that concern one plane.
class Collector {
 public:
  Collector(const Simulation& simulation, std::int64_t plane)
      : simulation_(simulation), problem_(simulation.program->problem()), plane_(plane), kv_plane_(problem_.kv_plane_of(plane)) {
    const TileProgram& program = *simulation.program;
    for (int launch = 0; launch < static_cast<int>(program.launches().size()); ++launch) maps_.emplace_back(program, launch);
    layouts_ = tensor_layouts(problem_, program.tile(), program.tensors());
    for (auto& [run, block] : kept_) run = -1;
  }

  std::array<TileTimes, most_tensors> collect() {
    for (int sm : simulation_.trace->focused_sms()) add_intervals(sm);
    std::array<TileTimes, most_tensors> times;
    for (Tensor tensor : simulation_.program->tensors()) times[tensor.index()] = times_of(tensor);
    return times;
  }

 private:
  TileTimes times_of(Tensor tensor) {
    std::vector<TileEvent>& events = events_[tensor.index()];
    std::stable_sort(events.begin(), events.end(), [](const TileEvent& a, const TileEvent& b) { return a.end < b.end; });
    const TensorLayout& layout = layouts_[tensor.index()];
    return {static_cast<int>(ceil_div(layout.rows, layout.tile_rows)), static_cast<int>(ceil_div(layout.cols, layout.tile_cols)),
            events};
  }

  /// Whether a run can have anything to do with the plane.
  bool concerns(const BlockRun& run) const {
    const BlockMap& map = maps_[static_cast<std::size_t>(run.launch)];
    if (!map.known()) return true;
    return problem_.kv_plane_of(map.plane(run.block)) == kv_plane_;
  }

  void add(const TileRef& tile, double end, bool store) {
    if (tile.plane != plane_of(problem_, tile.tensor->planes, plane_)) return;
    const TensorLayout& layout = layouts_[tile.tensor.index()];
    // A load may be more than one tile of the grid (a whole row of S), or a part of one.
    const auto last_row = (tile.row + std::max(tile.rows, 1) - 1) / layout.tile_rows;
    const auto last_col = (tile.col + std::max(tile.cols, 1) - 1) / layout.tile_cols;
    for (auto row = tile.row / layout.tile_rows; row <= last_row; ++row) {
      for (auto col = tile.col / layout.tile_cols; col <= last_col; ++col) {
        const auto [own_rows, rows] = shared(tile.row, tile.rows, row * layout.tile_rows, layout.tile_rows, layout.rows);
        const auto [own_cols, cols] = shared(tile.col, tile.cols, col * layout.tile_cols, layout.tile_cols, layout.cols);
        events_[tile.tensor.index()].push_back(
            {end, static_cast<std::int32_t>(row), static_cast<std::int32_t>(col), store, own_rows * own_cols, rows * cols});
      }
    }
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
  TensorLayouts layouts_{};
  std::array<std::pair<std::int32_t, BlockOperations>, 61> kept_{};
  std::array<std::vector<TileEvent>, most_tensors> events_;  // by tensor
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
    return std::pair<std::int64_t, std::int64_t>(block.domain.plane, block.domain.first);
  };
  const auto [plane, row] = probe(0);
  plane_.origin = plane;
  row_.origin = row;
  rows_ = block.domain.count;
  const auto learn = [&, plane = plane, row = row](bool exists, std::int64_t index, std::int64_t Linear::*axis) {
    if (!exists) return;
    const auto [p, r] = probe(index);
    plane_.*axis = p - plane;
    row_.*axis = r - row;
  };
  learn(spec.grid_x > 1, 1, &Linear::x);
  learn(spec.grid_y > 1, grid_x_, &Linear::y);
  learn(spec.grid_z > 1, grid_x_ * grid_y_, &Linear::z);
  known_ = block.domain.count > 0;  // a block that owns no rows has no place among them
  for (std::int64_t index : {spec.blocks() / 3, spec.blocks() / 2, spec.blocks() - 1}) {
    const auto [p, r] = probe(index);
    known_ = known_ && p == this->plane(index) && r == first_row(index);
  }
}

std::int64_t BlockMap::value(const Linear& linear, std::int64_t block) const {
  const std::int64_t x = block % grid_x_, y = block / grid_x_ % grid_y_, z = block / (grid_x_ * grid_y_);
  return linear.origin + linear.x * x + linear.y * y + linear.z * z;
}

template <class Each>
GroupedTimes::GroupedTimes(std::size_t groups, const Each& each) : begin_(groups + 2) {
  each([&](std::size_t group, double) { ++begin_[group + 2]; });
  for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  times_.resize(begin_.back());
  // begin_[group + 1] is where the group's next time goes, which in the end is where the group ends.
  each([&](std::size_t group, double time) { times_[begin_[group + 1]++] = time; });
  begin_.pop_back();
}

std::span<const double> GroupedTimes::of(std::size_t group) const {
  if (group + 1 >= begin_.size()) return {};
  return std::span(times_).subspan(begin_[group], begin_[group + 1] - begin_[group]);
}

TileTimes::TileTimes(int rows, int cols, std::span<const TileEvent> events) : rows_(rows), cols_(cols) {
  const std::size_t tiles = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  const auto tile_of = [&](const TileEvent& event) {
    return static_cast<std::size_t>(event.row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(event.col);
  };
  for (const bool store : {false, true}) {
    const auto each_event = [&](const auto& visit) {
      for (const TileEvent& event : events)
        if (event.store == store && event.row < rows && event.col < cols) visit(event);
    };
    all_[store ? 1 : 0] = GroupedTimes(tiles, [&](const auto& put) {
      std::unordered_map<std::size_t, std::int64_t> parts;  // elements of tiles of which only parts have come so far
      each_event([&](const TileEvent& event) {
        if (event.moved < event.of) {
          std::int64_t& moved = parts[tile_of(event)];
          moved += event.moved;
          if (moved < event.of) return;
          moved -= event.of;
        }
        put(tile_of(event), event.end);
      });
    });
    std::vector<double>& firsts = firsts_[store ? 1 : 0];
    each_event([&](const TileEvent& event) {
      if (firsts.empty()) firsts.resize(tiles, std::numeric_limits<double>::infinity());
      double& first = firsts[tile_of(event)];
      first = std::min(first, event.end);
    });
  }
}

std::int64_t TileTimes::used(bool store, int row, TileSpan cols, double cycle) const {
  const std::vector<double>& firsts = firsts_[store ? 1 : 0];
  if (firsts.empty() || row >= rows_) return 0;
  const double* const of_row = firsts.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(cols_);
  std::int64_t count = 0;
  for (int col = cols.begin; col < std::min(cols.end, cols_); ++col) count += of_row[col] <= cycle ? 1 : 0;
  return count;
}

std::span<const double> TileTimes::of(bool store, int row, int col) const {
  if (row >= rows_ || col >= cols_) return {};
  return all_[store ? 1 : 0].of(static_cast<std::size_t>(row) * static_cast<std::size_t>(cols_) + static_cast<std::size_t>(col));
}

namespace {

constexpr int most_counted = 256;  // tiles of a cell, about: its fill is a few dozen pixels high

std::int64_t count_until(std::span<const double> times, double cycle) {
  return std::upper_bound(times.begin(), times.end(), cycle) - times.begin();
}

}  // namespace

std::optional<double> CellAccesses::next_use(double cycle) const {
  std::optional<double> next, first;
  for (const bool store : {false, true})
    for (int row = rows.begin; row < rows.end; ++row)
      for (int col = cols.begin; col < cols.end; ++col) {
        const std::span<const double> used = times->of(store, row, col);
        if (used.empty()) continue;
        first = std::min(first.value_or(used.front()), used.front());
        const auto after = std::upper_bound(used.begin(), used.end(), cycle);
        if (after != used.end()) next = std::min(next.value_or(*after), *after);
      }
  return next ? next : first;
}

std::int64_t CellAccesses::count(bool store, double cycle) const {
  std::int64_t sum = 0;
  for (int row = rows.begin; row < rows.end; ++row)
    for (int col = cols.begin; col < cols.end; ++col) sum += count_until(times->of(store, row, col), cycle);
  return sum;
}

double CellAccesses::part(bool store, double cycle) const {
  const int across = cols.end - cols.begin, tiles = (rows.end - rows.begin) * across;
  if (tiles <= 0) return 0;
  const int step = std::max(1, tiles / most_counted);
  std::int64_t used = 0, counted = 0;
  for (int row = rows.begin; row < rows.end; row += step) used += times->used(store, row, cols, cycle), counted += across;
  return static_cast<double>(used) / static_cast<double>(counted);
}

TileAccesses::TileAccesses(const Simulation& simulation, std::int64_t plane) : plane_(plane) {
  const auto focused = simulation.trace->focused_sms();
  of_all_sms_ = std::ranges::all_of(simulation.trace->runs(),
                                    [&](const BlockRun& run) { return std::ranges::find(focused, run.sm) != focused.end(); });
  times_ = Collector(simulation, plane).collect();
}

}  // namespace tilescope
