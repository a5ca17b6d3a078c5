// Finds the kernel, its tile and its spills.
#include "app/model/measurements/compiled_kernel.h"

#include "sim/analysis/format.h"
#include "sim/core/refuse.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"

namespace tilescope {

namespace {

/// Returns the bytes that a thread of all launches together stores to local memory.
std::int64_t spilled_bytes(const KernelInfo& kernel, const AttentionProblem& problem) {
  std::int64_t bytes = 0;
  for (const KernelProfile& profile : kernel_profiles()) {
    if (profile.id != launched_kernel(kernel, problem).id) continue;
    for (const KernelBuild& build : profile.builds)
      if (build.dtype == problem.dtype && (build.head_dim == 0 || build.head_dim == problem.head_dim) &&
          build.causal.value_or(problem.causal) == problem.causal)
        bytes += build.spill_store_bytes;
  }
  return bytes;
}

}  // namespace

std::vector<Sentence> CompiledKernel::warnings() const {
  std::vector<Sentence> sentences;
  if (!takes_problem)
    sentences.push_back(
        phrase("no kernel of {} takes {}: a formula gives the registers of this tile, and the overheads are those of the nearest "
               "kernel",
               program, untaken));
  else if (!has_tile)
    sentences.push_back(phrase(
        "no kernel is compiled for this tile, only for {}x{}: a formula gives its registers, and its overheads are those of {}x{}",
        tile.block_q, tile.block_kv, tile.block_q, tile.block_kv));
  if (wanted > limit)
    sentences.push_back(
        phrase("a thread needs {} registers with this tile, and the limit is {}: it would spill, which the model leaves out",
               wanted, limit));
  for (const Sentence& fault : wgmma_faults) sentences.push_back(phrase("no kernel can have this tile: {}", fault));
  if (spilled > 0)
    sentences.push_back(
        phrase("a thread spills {} to local memory, which the model leaves out", format_exact_bytes(Bytes(spilled))));
  return sentences;
}

std::optional<CompiledKernel> compiled_kernel(const SimulationRequest& request) {
  const auto info = find_program(request.algorithm, request.problem.pass);
  const auto tile = chosen_tile(request);
  const auto kernel = info ? find_kernel((*info)->id, request.key_order) : info.error();
  if (!kernel || !tile) return std::nullopt;
  AttentionProblem taken = request.problem;  // with a type and a head dimension that a kernel has
  taken.head_dim = compiled_head_dim(taken);
  if (taken.dtype == DataType::fp32) taken.dtype = DataType::fp16;
  if (!supports(**kernel, taken)) return std::nullopt;
  const TileShape own = (*kernel)->tile(taken);
  if ((*info)->default_tile(taken, request.gpu) != own) return std::nullopt;
  CompiledKernel compiled{*kernel, (*info)->id, own, TileShape(*tile) == own};
  compiled.takes_problem = taken == request.problem;
  if (!compiled.takes_problem) {
    compiled.has_tile = false;
    compiled.untaken = taken.dtype != request.problem.dtype ? Sentence(std::string(to_string(request.problem.dtype)))
                                                            : phrase("head dimension {}", request.problem.head_dim);
  }
  if (compiled.has_tile) {
    compiled.spilled = spilled_bytes(**kernel, request.problem);
  } else if (const auto program = (*info)->make(request.problem, *tile, request.gpu)) {
    compiled.wgmma_faults = wgmma_faults(**program);
    for (const LaunchSpec& launch : (*program)->launches())
      if (launch.needs.spills() && launch.needs.registers_wanted > compiled.wanted)
        compiled.wanted = launch.needs.registers_wanted, compiled.limit = launch.needs.registers_limit;
  }
  return compiled;
}

}  // namespace tilescope
