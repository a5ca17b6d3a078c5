// Builds the maps: sizes, needs and limits of every cell.
#include "sim/analysis/fit.h"

#include <algorithm>
#include <numeric>

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
  if (static_cast<double>(registers_of_block(needs)) > gpu.sm_registers) return FitCell::Stop::registers;
  return FitCell::Stop::threads;
}

/// Returns how many fp32 elements of S and O a thread holds.
double accumulators(const AttentionProblem& problem, const TileShape& tile, const KernelNeeds& needs) {
  return static_cast<double>(tile.block_q * (tile.block_kv + problem.head_dim)) / needs.threads;
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
    if (!fits) {
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

/// Returns the buffers of the kernel's ring with its usual tile; 0 if no launch has a ring.
int own_stages(const ProgramInfo& info, const SimulationRequest& request, const TileShape& usual) {
  // A launch has a ring if it accepts another number of buffers.
  ProgramTile other = usual;
  other.stages = 3;
  const auto program = info.make(request.problem, usual, request.gpu), changed = info.make(request.problem, other, request.gpu);
  if (!program || !changed) return 0;
  for (std::size_t i = 0; i < (*program)->launches().size(); ++i)
    if ((*changed)->launches()[i].needs.stages == 3) return (*program)->launches()[i].needs.stages;
  return 0;
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
  for (std::int64_t q : map.block_q)
    for (std::int64_t kv : map.block_kv) map.cells.push_back(make_cell(info, request, {q, kv, stages}));
  const FitCell* own = map.find(map.usual);
  const double room = own != nullptr && own->needs.registers_per_thread >= most_registers
                          ? accumulators(request.problem, own->tile, own->needs)
                          : 0;
  for (FitCell& cell : map.cells)
    cell.spills = cell.fits() && cell.needs.registers_per_thread >= most_registers &&
                  accumulators(request.problem, cell.tile, cell.needs) > room;
  return map;
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
  const int own = own_stages(**info, half, usual);
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
