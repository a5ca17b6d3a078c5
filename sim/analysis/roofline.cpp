// Computes ceilings from a GPU's numbers and points from a simulation's ledger.
#include "sim/analysis/roofline.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "sim/analysis/link_bins.h"
#include "sim/numerics/producers.h"

namespace tilescope {

namespace {

struct Level {
  Ceiling ceiling;
  std::array<Link, 2> links;
  Bound bound;
};

constexpr std::array<Level, 3> levels = {{{Ceiling::hbm, {Link::hbm_read, Link::hbm_write}, Bound::hbm},
                                          {Ceiling::l2, {Link::l2_to_sm, Link::sm_to_l2}, Bound::l2},
                                          {Ceiling::shared_memory, {Link::smem_read, Link::smem_write}, Bound::smem}}};

struct Work {
  double flops = 0, exps = 0, scalar = 0;
};

/// Counts the work of a launch: that of one plane times the number of planes, since all planes do the same.
Work work_of(const TileProgram& program, int launch) {
  const AttentionProblem& p = program.problem();
  Work work;
  BlockOperations block;
  for (const Axis axis : axes_of(program.launches()[static_cast<std::size_t>(launch)])) {
    const auto planes = static_cast<double>(axis == Axis::key ? p.kv_planes() : p.query_planes());
    for (std::int64_t number : blocks_of(program, launch, {axis, 0, 0, axis == Axis::key ? p.seq_kv : p.seq_q})) {
      program.emit_block(launch, number, block);
      for (const Operation& op : block.operations) {
        (op.kind == OpKind::matmul ? work.flops : work.scalar) += planes * static_cast<double>(op.flops);
        work.exps += planes * static_cast<double>(op.exps);
      }
    }
  }
  return work;
}

double ledger_bytes(const Simulation& simulation, int launch, Tensor tensor, Link link) {
  return static_cast<double>(simulation.ledger.total(launch, tensor, link).value);
}

/// Counts the bytes at a level while the launch ran.
void count_bytes(RooflinePoint& point, const Simulation& simulation, int launch, const Level& level) {
  for (Tensor tensor : simulation.program->tensors()) {
    TensorShare share{tensor, 0};
    for (Link link : level.links) share.bytes += ledger_bytes(simulation, launch, tensor, link);
    if (share.bytes <= 0) continue;
    point.bytes += share.bytes;
    point.tensors.push_back(share);
  }
  std::stable_sort(point.tensors.begin(), point.tensors.end(),
                   [](const TensorShare& a, const TensorShare& b) { return a.bytes > b.bytes; });
  if (level.links[0] != Link::hbm_read) return;
  const double entered = point.bytes;
  point.bytes = simulation.launches[static_cast<std::size_t>(launch)].hbm_bytes;
  point.queued_bytes = point.bytes - entered;
  for (Tensor tensor : simulation.program->tensors()) {
    const bool own = ledger_bytes(simulation, launch, tensor, Link::sm_to_l2) > 0;
    if (!own) point.earlier_bytes += ledger_bytes(simulation, launch, tensor, Link::hbm_write);
    for (int later = launch + 1; own && later < static_cast<int>(simulation.launches.size()); ++later)
      if (ledger_bytes(simulation, later, tensor, Link::sm_to_l2) == 0)
        point.later_bytes += ledger_bytes(simulation, later, tensor, Link::hbm_write);
  }
}

/// Returns the ceiling of a run's products: that of wgmma where it is another than the tensor cores', which every roofline has.
const RooflineCeiling& product_ceiling(const Roofline& roofline, const Simulation& simulation) {
  const bool wgmma = product_instruction(simulation) == ProductInstruction::wgmma;
  const RooflineCeiling* const found = wgmma ? roofline.find(Ceiling::wgmma) : nullptr;
  return found != nullptr ? *found : *roofline.find(Ceiling::tensor_cores);
}

}  // namespace

Roofline roofline_of(const GpuSpec& gpu, double flops_per_exp) {
  const double per_flop = gpu.sm_count * gpu.sm_clock_hz;
  const double tensor = per_flop * gpu.product_flops_per_cycle();
  Roofline roofline;
  const auto add = [&](Ceiling of, double rate) {
    RooflineCeiling ceiling{.of = of, .rate = rate};
    if (is_memory(of)) ceiling.ridge = tensor / rate;
    if (rate > 0) roofline.ceilings.push_back(ceiling);
  };
  add(Ceiling::hbm, gpu.hbm_read_rate().value * gpu.sm_clock_hz);
  if (!roofline.ceilings.empty()) roofline.ceilings.back().copy_rate = gpu.hbm_rate().value * gpu.sm_clock_hz;
  if (gpu.has_l2()) {
    const double rate = std::min(gpu.l2_bytes_per_cycle, gpu.sm_count * gpu.sm_l2_bytes_per_cycle) * gpu.sm_clock_hz;
    add(Ceiling::l2, rate);
    if (rate > 0 && l2_peak(gpu) * gpu.sm_clock_hz > rate) roofline.ceilings.back().shared_rate = l2_peak(gpu) * gpu.sm_clock_hz;
  }
  add(Ceiling::shared_memory, gpu.sm_count * gpu.sm_shared_bytes_per_cycle * gpu.sm_clock_hz);
  roofline.ceilings.push_back({.of = Ceiling::tensor_cores, .rate = tensor});
  if (gpu.sm_wgmma_flops_per_cycle != gpu.product_flops_per_cycle()) add(Ceiling::wgmma, per_flop * gpu.sm_wgmma_flops_per_cycle);
  add(Ceiling::exponentials, gpu.sm_count * gpu.sm_exps_per_cycle * gpu.sm_clock_hz * flops_per_exp);
  return roofline;
}

namespace {

/// Computes the rates and limits of a point from its work, bytes and time. `busy_seconds` is the level's busy time, 0 if unknown.
void place(RooflinePoint& point, double seconds, double busy_seconds, const RooflineCeiling& ceiling,
           const RooflineCeiling& products) {
  point.products = products.of;
  point.ridge = products.rate / ceiling.rate;
  point.intensity = point.flops / point.bytes;
  point.flops_per_second = point.flops / seconds;
  point.bytes_per_second = point.bytes / seconds;
  point.level_rate = busy_seconds > 0 ? point.bytes / busy_seconds : ceiling.rate;
  point.ceiling = std::min(point.level_rate * point.intensity, products.rate);
  point.fraction = std::max(point.of_bandwidth(), point.flops_per_second / products.rate);
}

}  // namespace

const RooflineCeiling* Roofline::find(Ceiling ceiling) const {
  const auto found = std::ranges::find(ceilings, ceiling, &RooflineCeiling::of);
  return found == ceilings.end() ? nullptr : &*found;
}

NearestCeiling nearest_ceiling(const Roofline& roofline, std::span<const RooflinePoint> points, std::string_view launch,
                               double flops_per_exp) {
  NearestCeiling best;
  for (const RooflinePoint& point : points) {
    if (point.launch != launch) continue;
    const auto take = [&](Ceiling of, double rate) {
      const RooflineCeiling* const ceiling = roofline.find(of);
      if (ceiling != nullptr && rate / ceiling->rate > best.share) best = {of, rate / ceiling->rate};
    };
    if (point.of_bandwidth() > best.share) best = {point.level, point.of_bandwidth()};
    take(point.products, point.flops / point.seconds());
    take(Ceiling::exponentials, point.exps / point.seconds() * flops_per_exp);
  }
  return best;
}

std::optional<BusierUnit> busier_without_line(const LaunchResult& launch, const NearestCeiling& nearest) {
  const auto most = std::ranges::max_element(launch.utilisation);
  const auto bound = static_cast<Bound>(most - launch.utilisation.begin());
  if (bound != Bound::fp32 || *most <= nearest.share) return std::nullopt;
  return BusierUnit{bound, std::min(*most, 1.0)};
}

RooflineKernel roofline_kernel(const Simulation& simulation, bool chosen) {
  RooflineKernel kernel;
  kernel.algorithm = simulation.request.algorithm;
  kernel.chosen = chosen;
  kernel.launches = roofline_points(simulation);
  kernel.whole = whole_kernel_points(simulation, kernel.launches);
  kernel.results = simulation.launches;
  kernel.outcome = outcome_of(simulation);
  return kernel;
}

double share_if_far_below(std::span<const RooflineKernel> kernels) {
  constexpr double far = 0.1;
  double best = 0;
  for (const RooflineKernel& kernel : kernels) {
    if (kernel.outcome.bound != Bound::latency) return 0;
    for (const RooflinePoint& point : kernel.launches) best = std::max(best, point.fraction);
  }
  return best < far ? best : 0;
}

std::vector<RooflinePoint> roofline_points(const Simulation& simulation) {
  std::vector<RooflinePoint> points;
  const GpuSpec& gpu = simulation.request.gpu;
  const Roofline roofline = roofline_of(gpu, 0);
  const RooflineCeiling& products = product_ceiling(roofline, simulation);
  for (std::size_t launch = 0; launch < simulation.launches.size(); ++launch) {
    const double seconds = simulation.launches[launch].cycles.value / gpu.sm_clock_hz;
    const Work work = work_of(*simulation.program, static_cast<int>(launch));
    for (const Level& level : levels) {
      const RooflineCeiling* ceiling = roofline.find(level.ceiling);
      RooflinePoint point;
      count_bytes(point, simulation, static_cast<int>(launch), level);
      if (ceiling == nullptr || point.bytes <= 0) continue;
      point.launch = simulation.launches[launch].name;
      point.level = level.ceiling;
      point.flops = work.flops;
      point.exps = work.exps;
      point.scalar_flops = work.scalar;
      const LaunchResult& of = simulation.launches[launch];
      const double busy = level.bound == Bound::hbm ? of.hbm_busy_cycles : level.bound == Bound::l2 ? of.l2_busy_cycles : 0;
      place(point, seconds, busy / gpu.sm_clock_hz, *ceiling, products);
      points.push_back(std::move(point));
    }
  }
  return points;
}

ProductInstruction product_instruction(const Simulation& simulation) {
  const auto most = std::max_element(simulation.launches.begin(), simulation.launches.end(),
                                     [](const LaunchResult& a, const LaunchResult& b) { return a.flops < b.flops; });
  return simulation.program->launches()[static_cast<std::size_t>(most - simulation.launches.begin())].needs.instruction;
}

double product_share(const Simulation& simulation) {
  const GpuSpec& gpu = simulation.request.gpu;
  if (simulation.request.problem.dtype == DataType::fp32) return 0;  // its products run on the FP32 units
  const double rate = gpu.product_flops_per_cycle(product_instruction(simulation)) * simulation.cycles.value;
  double share = 0;
  for (const LaunchResult& launch : simulation.launches)
    if (launch.sm_cycles > 0 && rate > 0)
      share += static_cast<double>(launch.flops) / launch.sm_cycles * launch.cycles.value / rate;
  return share;
}

std::vector<RooflinePoint> whole_kernel_points(const Simulation& simulation, const std::vector<RooflinePoint>& launches) {
  const GpuSpec& gpu = simulation.request.gpu;
  const Roofline roofline = roofline_of(gpu, 0);
  const double seconds = simulation.cycles.value / gpu.sm_clock_hz;
  std::vector<RooflinePoint> points;
  // A launch has one point per level: count its work once. It counts at every level, even if the launch moves no bytes there.
  double flops = 0, exps = 0, scalar = 0;
  std::set<std::string_view> counted;
  for (const RooflinePoint& point : launches) {
    if (!counted.insert(point.launch).second) continue;
    flops += point.flops;
    exps += point.exps;
    scalar += point.scalar_flops;
  }
  for (const Level& level : levels) {
    const RooflineCeiling* ceiling = roofline.find(level.ceiling);
    RooflinePoint point;
    point.level = level.ceiling;
    point.flops = flops;
    point.exps = exps;
    point.scalar_flops = scalar;
    // From the ledger: HBM also writes between two launches, and no launch has those bytes.
    for (const Link link : level.links) point.bytes += static_cast<double>(simulation.ledger.total(link).value);
    if (ceiling == nullptr || point.bytes <= 0) continue;
    const double busy_seconds =
        level.bound == Bound::smem ? 0 : simulation.utilisation[static_cast<std::size_t>(level.bound)] * seconds;
    place(point, seconds, busy_seconds, *ceiling, product_ceiling(roofline, simulation));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace tilescope
