// The map of tiles: sizes, needs and limits of every cell.
#include "sim/analysis/fit.h"

#include <algorithm>
#include <numeric>

#include "sim/core/units.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

namespace {

constexpr std::int64_t largest_side = 4096;
constexpr int most_registers = 255;  // of a thread, on every GPU modelled

/// Powers of two from an eighth of `usual` to four times as much, no longer than the sequence needs; `usual` itself among them.
std::vector<std::int64_t> sides(std::int64_t usual, std::int64_t sequence) {
  std::vector<std::int64_t> out = {usual};
  std::int64_t enough = 1;
  while (enough < sequence) enough *= 2;
  for (std::int64_t side = 1; side <= largest_side; side *= 2)
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

/// fp32 numbers of S and O that a thread keeps.
double accumulators(const AttentionProblem& problem, const TileShape& tile, const KernelNeeds& needs) {
  return static_cast<double>(tile.block_q * (tile.block_kv + problem.head_dim)) / needs.threads;
}

FitCell make_cell(const ProgramInfo& info, const SimulationRequest& request, const TileShape& tile) {
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

const FitCell* FitMap::find(const TileShape& tile) const {
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

Result<FitMap> make_fit_map(const SimulationRequest& request) {
  const auto info = find_program(request.algorithm);
  if (!info) return info.error();
  if (const Status good = check(request.problem); !good) return good.error();
  FitMap map;
  map.request = request;
  map.usual = (*info)->default_tile(request.problem, request.gpu);
  // A side of 1 is what the algorithm is, not a choice: a softmax of one row, a product without tiles.
  map.q_matters = map.usual.block_q > 1;
  map.block_q = map.q_matters ? sides(map.usual.block_q, request.problem.seq_q) : std::vector<std::int64_t>{map.usual.block_q};
  map.block_kv = sides(map.usual.block_kv, request.problem.seq_kv);
  for (std::int64_t q : map.block_q)
    for (std::int64_t kv : map.block_kv) map.cells.push_back(make_cell(**info, request, {q, kv}));
  const FitCell* usual = map.find(map.usual);
  const double room = usual != nullptr && usual->needs.registers_per_thread >= most_registers
                          ? accumulators(request.problem, usual->tile, usual->needs)
                          : 0;
  for (FitCell& cell : map.cells)
    cell.spills = cell.fits() && cell.needs.registers_per_thread >= most_registers &&
                  accumulators(request.problem, cell.tile, cell.needs) > room;
  return map;
}

SimulationRequest request_of(const FitMap& map, const FitCell& cell) {
  SimulationRequest request = map.request;
  request.tile = cell.tile;
  return request;
}

std::vector<std::size_t> fit_order(const FitMap& map) {
  std::vector<std::size_t> order(map.cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return !map.cells[i].fits(); });
  const auto area = [&](std::size_t i) { return map.cells[i].tile.block_q * map.cells[i].tile.block_kv; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return area(a) > area(b); });
  return order;
}

}  // namespace tilescope
