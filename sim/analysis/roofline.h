// Roofline: the ceilings of a GPU, and where each launch of a simulation stands under them.
#pragma once

#include <string>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// A bandwidth (a slope) or a rate of arithmetic (a flat line).
struct RooflineCeiling {
  enum class Kind : std::uint8_t { bandwidth, compute };
  Kind kind = Kind::bandwidth;
  std::string name;      // "HBM", "L2", "shared memory"; "tensor cores", "wgmma", "exponentials"
  double rate = 0;       // bytes a second, or floating-point operations a second
  double ridge = 0;      // of a bandwidth: operations a byte from which on the tensor cores are the limit
  double copy_rate = 0;  // of HBM: where as much is written as is read; `rate` is for reading alone, the most there is
  /// What this ceiling lets through at `intensity` operations a byte.
  double at(double intensity) const { return kind == Kind::bandwidth ? rate * intensity : rate; }
};

struct Roofline {
  std::vector<RooflineCeiling> ceilings;  // levels that the GPU lacks are left out
};

/// "tensor cores" is what mma.sync reaches, which every kernel here uses; "wgmma" is there where the GPU has it.
/// `flops_per_exp`: the operations that go with one exponential, 4d for attention; it turns the rate of the exponential unit into
/// operations a second. 0 leaves that ceiling out.
Roofline roofline_of(const GpuSpec& gpu, double flops_per_exp);

/// What a tensor has of a launch's bytes at a level, both directions.
struct TensorShare {
  Tensor tensor;
  double bytes = 0;
};

/// One launch at one level of memory, with the bytes that moved from its start to its end. At HBM these are not all its own: an L2
/// writes back what earlier launches left in it, and keeps some of what this one writes for later ones.
struct RooflinePoint {
  std::string launch;
  std::string level;  // name of the bandwidth ceiling it stands under
  double flops = 0, bytes = 0, exps = 0;
  double scalar_flops = 0;  // fp32 operations outside the products: maxima, sums, rescaling
  /// Everything counted once: a launch without products has its place under the roofline by this.
  double operations() const { return flops + scalar_flops + exps; }
  double intensity = 0;         // operations a byte
  double flops_per_second = 0;  // reached, in simulated time
  double bytes_per_second = 0;  // the height of a launch without products is its bandwidth
  double level_rate = 0;        // bytes a second of the level at this mix of reads and writes: never more than its ceiling
  double ceiling = 0;           // what this level and the tensor cores let through at this intensity, in operations a second
  double fraction = 0;          // of the level's bandwidth or of the tensor cores, whichever is nearer to its limit
  double busy() const { return level_rate > 0 ? bytes_per_second / level_rate : 0; }
  double earlier_bytes = 0;          // of HBM: written back for earlier launches
  double later_bytes = 0;            // not in `bytes`: what this launch wrote and a later one's time sees written back
  std::vector<TensorShare> tensors;  // of the ledger, most bytes first
};

/// A point for each launch and level that carries bytes. Emits the blocks of one plane to learn what each launch computes.
std::vector<RooflinePoint> roofline_points(const Simulation& simulation);

/// The products of a run over what mma.sync could multiply on all SMs in its time, 0 … 1. Less than utilisation[tensor], which also
/// has the time that other instructions take from the tensor cores.
double product_share(const Simulation& simulation);

/// A point for each level with the launches of `launches` added up, over the time of the whole run, gaps between launches too.
std::vector<RooflinePoint> whole_kernel_points(const Simulation& simulation, const std::vector<RooflinePoint>& launches);

}  // namespace tilescope
