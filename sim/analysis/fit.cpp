// Builds the maps: sizes, needs and limits of every cell.
#include "sim/analysis/fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/core/refuse.h"
#include "sim/core/units.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

namespace {

/// Returns `usual` and the powers of two from usual / 8 to 4 usual that the sequence can fill.
std::vector<std::int64_t> sides(std::int64_t usual, std::int64_t sequence) {
  std::vector<std::int64_t> out = {usual};
  std::int64_t enough = 1;
  while (enough < sequence) enough *= 2;
  for (std::int64_t side = 1; side <= TileShape::most_rows; side *= 2)
    if (side * 8 >= usual && side <= usual * 4 && side <= std::max(enough, usual)) out.push_back(side);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  constexpr std::size_t most = 7;
  while (out.size() > most) out.erase(out.front() == usual ? std::prev(out.end()) : out.begin());
  return out;
}

FitCell::Stop stop_of(const KernelNeeds& needs, const GpuSpec& gpu) {
  if (static_cast<double>(needs.shared_bytes) > std::min(gpu.sm_shared_bytes, gpu.sm_shared_bytes_per_block))
    return FitCell::Stop::shared;
  if (needs.spills() || static_cast<double>(registers_of_block(needs)) > gpu.sm_registers) return FitCell::Stop::registers;
  return FitCell::Stop::threads;
}

/// Returns how many fp32 elements of S and O a thread holds.
double accumulators(const AttentionProblem& problem, const FitCell& cell) {
  return static_cast<double>(cell.tile.block_q * (cell.tile.block_kv + problem.head_dim)) / cell.needs.threads;
}

/// Marks the tiles with more sums a thread than the kernel's own, where that has no register left.
void mark_more_sums(FitMap& map, const FitCell& own) {
  const double room = own.needs.registers_per_thread >= most_registers ? accumulators(map.request.problem, own) : 0;
  for (FitCell& cell : map.cells) {
    const double more = accumulators(map.request.problem, cell) - room;
    if (!cell.fits() || cell.spills || cell.needs.registers_per_thread < most_registers || more <= 0) continue;
    cell.spills = true;
    cell.registers_wanted = cell.needs.registers_per_thread + static_cast<int>(std::ceil(more));
    cell.registers_limit = cell.needs.registers_limit;
  }
}

/// Refuses the tiles whose rows or keys wgmma cannot take, where it can take the kernel's own tile.
void refuse_odd_tiles(const ProgramInfo& info, FitMap& map) {
  const auto faults = [&](const ProgramTile& tile) {
    const auto program = info.make(map.request.problem, tile, map.request.gpu);
    return program ? wgmma_faults(**program) : std::vector<Sentence>();
  };
  if (info.instruction != ProductInstruction::wgmma || !faults(map.usual).empty()) return;
  for (FitCell& cell : map.cells) {
    std::vector<Sentence> found = cell.fits() ? faults(cell.tile) : std::vector<Sentence>();
    if (found.empty()) continue;
    cell.refusal = std::move(found.front());
    cell.stop = FitCell::Stop::other;
    cell.spills = false;
  }
}

FitCell make_cell(const ProgramInfo& info, const SimulationRequest& request, const ProgramTile& tile) {
  FitCell cell;
  cell.tile = tile;
  const auto program = info.make(request.problem, tile, request.gpu);
  if (!program) {
    cell.refusal = program.error().sentence;
    cell.stop = FitCell::Stop::other;
    return cell;
  }
  for (const LaunchSpec& launch : (*program)->launches()) {
    const auto fits = occupancy(**program, launch, request.gpu);
    if (launch.needs.spills() && !cell.spills) {
      cell.spills = true;
      cell.registers_wanted = launch.needs.registers_wanted;
      cell.registers_limit = launch.needs.registers_limit;
    }
    if (!fits) {
      cell.spills = false;
      cell.needs = launch.needs;
      cell.refusal = fits.error().sentence;
      cell.stop = stop_of(launch.needs, request.gpu);
      cell.blocks_per_sm = 0;
      return cell;
    }
    if (cell.blocks_per_sm != 0 && fits->blocks_per_sm >= cell.blocks_per_sm) continue;
    cell.needs = launch.needs;
    cell.blocks_per_sm = fits->blocks_per_sm;
    cell.limit = fits->limit;
  }
  return cell;
}

}  // namespace

const FitCell* FitMap::find(const ProgramTile& tile) const {
  const auto found = std::find_if(cells.begin(), cells.end(), [&](const FitCell& cell) { return cell.tile == tile; });
  return found == cells.end() ? nullptr : &*found;
}

const FitCell* FitMap::quickest() const {
  const FitCell* best = nullptr;
  for (const FitCell& cell : cells)
    if (cell.outcome && cell.outcome->done() && !cell.spills && (best == nullptr || cell.outcome->cycles < best->outcome->cycles))
      best = &cell;
  return best;
}

std::size_t FitMap::fitting() const {
  return static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [](const FitCell& cell) { return cell.fits(); }));
}

std::size_t FitMap::simulated() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const FitCell& cell) { return cell.outcome.has_value(); }));
}

namespace {

/// Fills in the cells of a map of which the rest is known.
void make_cells(const ProgramInfo& info, FitMap& map) {
  for (std::int64_t q : map.block_q)
    for (std::int64_t kv : map.block_kv) map.cells.push_back(make_cell(info, map.request, {q, kv, map.stages}));
  const FitCell* const own = map.find(map.usual);
  mark_more_sums(map, own != nullptr ? *own : make_cell(info, map.request, map.usual));
  refuse_odd_tiles(info, map);
}

FitMap make_map(const ProgramInfo& info, const SimulationRequest& request, const TileShape& usual, int stages) {
  FitMap map;
  map.request = request;
  map.stages = stages;
  map.usual = {usual.block_q, usual.block_kv, stages};
  // Br = 1 is part of the algorithm, not a choice: a softmax by rows, a product without tiles.
  map.q_matters = usual.block_q > 1;
  map.block_q = map.q_matters ? sides(usual.block_q, request.problem.seq_q) : std::vector<std::int64_t>{usual.block_q};
  map.block_kv = sides(usual.block_kv, request.problem.seq_kv);
  make_cells(info, map);
  return map;
}

/// Returns `side` and the multiples of `step` between half and twice of it.
std::vector<std::int64_t> sides_around(std::int64_t side, std::int64_t step) {
  std::vector<std::int64_t> out = {side};
  for (std::int64_t each = step; each < 2 * side && each <= TileShape::most_rows; each += step)
    if (2 * each > side && each != side) out.push_back(each);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<FitMaps> make_fit_maps(const SimulationRequest& request) {
  const auto info = find_program(request.algorithm, request.problem.pass);
  if (!info) return info.error();
  if (const Status good = check(request.problem); !good) return good.error();
  SimulationRequest half = request, full = request;
  if (request.problem.dtype == DataType::fp32) half.problem.dtype = DataType::fp16;
  full.problem.dtype = DataType::fp32;
  // All maps have the same sizes, around the 16-bit kernel's tile, so that they can be compared.
  const TileShape usual = (*info)->default_tile(half.problem, half.gpu);
  const auto program = (*info)->make(half.problem, usual, half.gpu);
  const int own = program ? own_ring(**program) : 0;
  std::vector<int> stages = {own};
  for (int count = 1; own > 0 && count <= 3; ++count)
    if (count != own) stages.push_back(count);
  FitMaps maps;
  for (const SimulationRequest& typed : {half, full})
    for (int count : stages) {
      maps.maps.push_back(make_map(**info, typed, usual, count));
      maps.maps.back().real_stages = own;
    }
  maps.maps.front().real = true;
  return maps;
}

Result<FitMap> make_fit_map_around(const SimulationRequest& request, const ProgramTile& tile, std::int64_t step) {
  const auto info = find_program(request.algorithm, request.problem.pass);
  if (!info) return info.error();
  if (const Status good = check(request.problem); !good) return good.error();
  const TileShape usual = (*info)->default_tile(request.problem, request.gpu);
  FitMap map;
  map.request = request;
  map.stages = static_cast<int>(tile.stages);
  map.usual = {usual.block_q, usual.block_kv, tile.stages};
  map.q_matters = usual.block_q > 1;
  map.block_q = map.q_matters ? sides_around(tile.block_q, step) : std::vector<std::int64_t>{tile.block_q};
  map.block_kv = sides_around(tile.block_kv, step);
  make_cells(**info, map);
  return map;
}

std::size_t FitMaps::fitting() const {
  return std::accumulate(maps.begin(), maps.end(), std::size_t{0},
                         [](std::size_t sum, const FitMap& map) { return sum + map.fitting(); });
}

std::size_t FitMaps::simulated() const {
  return std::accumulate(maps.begin(), maps.end(), std::size_t{0},
                         [](std::size_t sum, const FitMap& map) { return sum + map.simulated(); });
}

const FitMap* FitMaps::find(DataType type, std::int64_t stages) const {
  const FitMap* first = nullptr;
  for (const FitMap& map : maps) {
    if ((map.request.problem.dtype == DataType::fp32) != (type == DataType::fp32)) continue;
    if (map.stages == stages) return &map;
    if (first == nullptr) first = &map;
  }
  return first;
}

const FitMap* FitMaps::quickest() const {
  const FitMap* best = nullptr;
  for (const FitMap& map : maps) {
    const FitCell* cell = map.quickest();
    if (cell != nullptr && (best == nullptr || cell->outcome->cycles < best->quickest()->outcome->cycles)) best = &map;
  }
  return best;
}

SimulationRequest request_of(const FitMap& map, const FitCell& cell) {
  SimulationRequest request = map.request;
  request.tile = cell.tile;
  return request;
}

std::vector<FitPlace> fit_order(const FitMaps& maps) {
  std::vector<FitPlace> order;
  for (std::size_t m = 0; m < maps.maps.size(); ++m) {
    const auto& cells = maps.maps[m].cells;
    const auto first = static_cast<std::ptrdiff_t>(order.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells[i].fits()) order.push_back({m, i});
    const auto area = [&](const FitPlace& place) { return cells[place.cell].tile.block_q * cells[place.cell].tile.block_kv; };
    std::stable_sort(order.begin() + first, order.end(), [&](const FitPlace& a, const FitPlace& b) { return area(a) > area(b); });
  }
  return order;
}

}  // namespace tilescope
