// The table of kernels: id, inputs, outputs, on-chip needs and launches. A kernel and the tile program it runs share an id.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/common/probe_layout.h"
#include "kernels/device.h"
#include "sim/core/tensor.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// What one launch needs on chip, as the model assumes it. compiled_launches() returns what the compiler reports.
struct LaunchNeeds {
  std::string_view name;
  int threads = 0, registers = 0;  // registers a thread, compiled for sm_90
  std::int64_t shared_bytes = 0;   // static and dynamic
  int stages = 1;                  // buffers of the shared-memory ring
  int warps_sharing_rows = 1;      // warps that read the same right operand, each for its own rows
  std::int64_t local_bytes = 0;    // local memory a thread: spilled registers
};

struct KernelTraffic;  // kernels/kernel_traffic.h
struct ProbeShape;     // kernels/measure/probe_shape.h

struct KernelInfo {
  std::string_view id;
  std::string_view summary;                 // one sentence: what it adds over the row before
  std::span<const Tensor> inputs, outputs;  // outputs include S and P where they pass through global memory
  std::span<const Tensor> scratch = {};     // also written, in a layout of the kernel's own
  bool takes_causal = true;
  bool is_library = false;   // the products are cuBLASLt's: traffic and needs are unknown
  bool is_hopper = false;    // compiled for compute capability 9.0 alone
  bool takes_masks = false;  // any mask and score change: compiled for the request
  bool takes_pages = false;  // K and V in pages, forward
  TileShape (*tile)(const AttentionProblem&);
  std::vector<LaunchNeeds> (*needs)(const AttentionProblem&);
  /// Returns the traffic of one plane (one head of one batch) in closed form; null for a library kernel.
  KernelTraffic (*plane_traffic)(const AttentionProblem&, const TileShape&) = nullptr;
  /// Returns what a block moves once for all query heads of a group: the traffic of one key plane; null: nothing.
  KernelTraffic (*key_plane_traffic)(const AttentionProblem&, const TileShape&) = nullptr;
  /// Returns what the blocks move beside their planes, on a device with so many SMs; null: nothing.
  KernelTraffic (*block_traffic)(const AttentionProblem&, const TileShape&, int sm_count) = nullptr;
  LaunchPlan (*plan)(const AttentionProblem&, const DeviceTensors&) = nullptr;  // null for a library kernel
  /// Compiles and copies what the plan of a problem needs; null: nothing.
  Status (*prepare)(const AttentionProblem&) = nullptr;
  /// The same launches with the probe compiled in (kernels/measure/probe.h), and what each of them records; null without a probe.
  LaunchPlan (*plan_probed)(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) = nullptr;
  std::vector<ProbeShape> (*probe_shapes)(const AttentionProblem&, const TileShape&) = nullptr;
  Status (*prepare_probed)(const AttentionProblem&) = nullptr;  // as `prepare`, of plan_probed
  Pass pass = Pass::forward;
  /// The forward kernel whose results are inputs of this backward kernel; its own outputs hold the scratch of that run.
  std::string_view forward = {};
  /// Returns the copies of dQ_acc that a device with so many SMs needs; null: one.
  int (*sum_copies)(const AttentionProblem&, int sm_count) = nullptr;
  std::string_view variant_of = {};  // the tile program it runs with another key order; empty: the program of its own id
  KeyOrder key_order = KeyOrder::ascending;

  /// Returns the id of the row that the kernel launches for a problem; null: its own. Such a row has no device code.
  std::string_view (*choice)(const AttentionProblem&) = nullptr;

  /// Returns the id of the tile program whose blocks move the same tiles. A library kernel has none.
  std::string_view program() const { return variant_of.empty() ? id : variant_of; }
  bool has_probe() const { return plan_probed != nullptr; }
  /// Returns the tile and the key order, as that program takes them.
  ProgramTile program_tile(const AttentionProblem& problem) const {
    ProgramTile shape = tile(problem);
    shape.key_order = key_order;
    return shape;
  }
};

std::span<const KernelInfo> kernel_table();
/// Finds a kernel by its id.
/// Errors   unknown id: lists the known ones, without variants
Result<const KernelInfo*> find_kernel(std::string_view id);
/// Returns the kernel that runs a program in the given key order: the program's own kernel or a variant.
/// Errors   those of find_kernel(id); no kernel visits the keys in this order
Result<const KernelInfo*> find_kernel(std::string_view program, KeyOrder order);

/// Return what the kernel writes for a problem: outputs with the gradients of captured tables, and scratch with their parts.
std::vector<Tensor> outputs_of(const KernelInfo& kernel, const AttentionProblem& problem);
std::vector<Tensor> scratch_of(const KernelInfo& kernel, const AttentionProblem& problem);

/// Returns the row whose device code runs: the kernel itself, or the one that it chooses for the problem.
const KernelInfo& launched_kernel(const KernelInfo& kernel, const AttentionProblem& problem);

/// Checks that the kernel takes the problem (and the tile).
/// Errors   type, head dimension, pass, mask, tile or size that the kernel does not take: each names what it takes
Status supports(const KernelInfo& kernel, const AttentionProblem& problem);
Status supports(const KernelInfo& kernel, const AttentionProblem& problem, const TileShape& tile);
/// Checks only the pages of K and V.
/// Errors   a kernel without a page table; a page that does not suit its key tile, or is too small
Status supports_pages(const KernelInfo& kernel, const AttentionProblem& problem);

/// Checks that the first GPU runs the kernel's machine code: of the Hopper kernels, only compute capability 9.0 does.
/// Errors   the GPU's name and capability, and a kernel that runs there; those of find_device()
Status runs_on_this_device(const KernelInfo& kernel);

/// Queues all launches of the kernel on the stream and returns without waiting.
/// Errors   those of supports() and runs_on_this_device(); a missing tensor; those of the device
Status launch(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream);

/// Returns registers, shared memory and occupancy of each launch, as compiled.
/// Errors   those of supports(), runs_on_this_device() and the device
Result<std::vector<CompiledNeeds>> compiled_launches(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace tilescope
