// CompiledKernel: the kernel that was compiled for what is simulated, and how it differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_table.h"
#include "sim/engine/simulation.h"

namespace tilescope {

struct CompiledKernel {
  const KernelInfo* kernel = nullptr;
  std::string_view program;
  TileShape tile;
  bool has_tile = false;               // it is the requested one
  std::int64_t spilled = 0;            // bytes that a thread stores to local memory, by its profile; 0 with another tile
  std::vector<Sentence> wgmma_faults;  // why wgmma cannot compute another tile

  bool takes_problem = true;  // false: it has no such type or head dimension
  Sentence untaken;           // which one: "head dimension 96", "fp32"
  int wanted = 0, limit = 0;  // registers of a thread that would spill with another tile; 0: none

  /// Whether a kernel could be compiled for the requested tile: no thread would spill, and wgmma takes its rows and keys.
  bool tile_is_possible() const { return wanted <= limit && wgmma_faults.empty(); }
  /// Returns what is wrong with it, a sentence each.
  std::vector<Sentence> warnings() const;
};

/// Returns nullopt where no kernel takes the mask, the pass or the size of the problem, or where the GPU is too small for the
/// kernel's tile. A request without a tile has that of the program.
std::optional<CompiledKernel> compiled_kernel(const SimulationRequest& request);

}  // namespace tilescope
