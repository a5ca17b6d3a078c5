// Roofline: the ceilings of a GPU, and the point of each launch of a simulation under them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/outcome.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// The memory levels, and the arithmetic rates: mma.sync, wgmma, and the products that go with the exponentials.
enum class Ceiling : std::uint8_t { hbm, l2, shared_memory, tensor_cores, wgmma, exponentials };
constexpr bool is_memory(Ceiling ceiling) {
  return ceiling <= Ceiling::shared_memory;
}

/// A ceiling: a bandwidth (a slope) or an arithmetic rate (a flat line).
struct RooflineCeiling {
  Ceiling of = Ceiling::hbm;
  double rate = 0;         // bytes per second, or FLOP per second
  double ridge = 0;        // bandwidth: the intensity, in FLOP per byte, at which it meets the ceiling of mma.sync
  double copy_rate = 0;    // HBM: rate with equal reads and writes; `rate` is that of reads alone, the highest
  double shared_rate = 0;  // L2: the most that SMs take in where their reads share lookups; 0: they share none
  /// Returns the FLOP per second that this ceiling allows at `intensity` FLOP per byte.
  double at(double intensity) const { return is_memory(of) ? rate * intensity : rate; }
};

struct Roofline {
  std::vector<RooflineCeiling> ceilings;  // without those that the GPU lacks
  /// Returns a ceiling; null if the GPU lacks it.
  const RooflineCeiling* find(Ceiling ceiling) const;
};

/// Returns the ceilings of a GPU; that of wgmma if the GPU has another rate for it. `flops_per_exp` converts the exponential rate
/// to FLOP per second: flops_per_score() for attention. 0 leaves that ceiling out.
Roofline roofline_of(const GpuSpec& gpu, double flops_per_exp);

/// A tensor's bytes at a level during a launch, both directions together.
struct TensorShare {
  Tensor tensor;
  double bytes = 0;
};

/// One launch at one memory level, with the bytes that moved between its start and its end. At HBM they are not all its own: the L2
/// writes back data of earlier launches, and keeps some of this launch's data until a later one.
struct RooflinePoint {
  std::string launch;
  Ceiling level = Ceiling::hbm;
  Ceiling products = Ceiling::tensor_cores;  // wgmma for a kernel that uses it
  double flops = 0, bytes = 0, exps = 0;
  double scalar_flops = 0;  // fp32 operations outside the products: maxima, sums, rescaling
  /// Counts all operations. A launch without products is placed under the roofline by this number.
  double operations() const { return flops + scalar_flops + exps; }
  /// Returns the time of the launch; 0 if it has none.
  double seconds() const { return bytes_per_second > 0 ? bytes / bytes_per_second : 0; }
  double operations_per_byte() const { return operations() / bytes; }
  double operations_per_second() const { return seconds() > 0 ? operations() / seconds() : 0; }
  double intensity = 0;         // FLOP of the products per byte
  double flops_per_second = 0;  // reached in simulated time
  double bytes_per_second = 0;  // reached in simulated time
  double level_rate = 0;        // bytes while the level is busy: its bandwidth at this mix of reads, writes and shared lookups
  double ridge = 0;             // intensity at which the level's ceiling meets that of the products
  double ceiling = 0;           // FLOP per second that this level and the tensor cores allow at this intensity
  double fraction = 0;          // share used of the level's bandwidth or of the tensor cores, whichever is larger
  /// Returns the share of its level's bandwidth. At HBM and the L2 it is also the busy share of the time, as utilisation has it.
  double of_bandwidth() const { return level_rate > 0 ? bytes_per_second / level_rate : 0; }
  double earlier_bytes = 0;          // HBM: bytes written back for earlier launches
  double later_bytes = 0;            // HBM: bytes of this launch that are written back during later ones; not in `bytes`
  double queued_bytes = 0;           // HBM: write-backs queued when it starts, less those queued when it ends
  std::vector<TensorShare> tensors;  // from the ledger, most bytes first; with queued_bytes they are `bytes`
};

/// Returns a point for each launch and each level that carries bytes. It emits the blocks of one plane to count the work.
std::vector<RooflinePoint> roofline_points(const Simulation& simulation);

/// The ceiling that a launch comes closest to, and the share of it that it reaches.
struct NearestCeiling {
  Ceiling of = Ceiling::hbm;
  double share = 0;
};
/// Finds it among all levels and rates. `points` are those of roofline_points(); `flops_per_exp` is that of the roofline.
NearestCeiling nearest_ceiling(const Roofline& roofline, std::span<const RooflinePoint> points, std::string_view launch,
                               double flops_per_exp);

/// A resource that has no line in the roofline, and its busy share of a launch.
struct BusierUnit {
  Bound of = Bound::latency;
  double share = 0;
};
/// Returns the busiest resource of a launch if it has no ceiling and is busier than `nearest`; nullopt otherwise.
std::optional<BusierUnit> busier_without_line(const LaunchResult& launch, const NearestCeiling& nearest);

/// A program under the roofline.
struct RooflineKernel {
  std::string algorithm;
  bool chosen = false;                  // the one on the stage; the other stands beside it for comparison
  std::vector<RooflinePoint> launches;  // by launch and level
  std::vector<RooflinePoint> whole;     // all launches together, by level
  std::vector<LaunchResult> results;    // one a launch
  Outcome outcome;
};
/// `chosen`: whether it is the one on the stage.
RooflineKernel roofline_kernel(const Simulation& simulation, bool chosen);
/// Returns the highest share of a ceiling that any launch reaches if every run is limited by latency and far below; otherwise 0.
double share_if_far_below(std::span<const RooflineKernel> kernels);

/// Returns the instruction of most of the run's products: a backward pass has launches without any.
ProductInstruction product_instruction(const Simulation& simulation);

/// Returns the products of a run over the peak of their instruction (mma.sync or wgmma) on the SMs with a block, 0 … 1; 0 in fp32.
/// It is at most utilisation[tensor], which includes the time that other instructions block the tensor cores.
double product_share(const Simulation& simulation);

/// Returns a point for each level, summed over `launches`. The time is that of the whole run, gaps between launches included.
std::vector<RooflinePoint> whole_kernel_points(const Simulation& simulation, const std::vector<RooflinePoint>& launches);

}  // namespace tilescope
