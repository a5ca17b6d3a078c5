// The table of kernels: one row an id, the same ids as the tile programs, with what each takes, needs and writes.
//
//   kernel_table() ── find_kernel("flash2") ──► KernelInfo ── supports() ─► launch() on device tensors
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/common/probe_layout.h"
#include "kernels/device.h"
#include "sim/core/tensor.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

/// What one launch needs on chip, as the kernel was written; compiled_launches() says what the compiler made of it.
struct LaunchNeeds {
  std::string_view name;
  int threads = 0, registers = 0;  // registers as compiled for sm_90
  std::int64_t shared_bytes = 0;   // static and dynamic
  int stages = 1;                  // buffers of a ring
  int warps_sharing_rows = 1;      // warps that read the same right operand, each for its own rows
  std::int64_t local_bytes = 0;    // stack of a thread, where the compiler spills
};

struct KernelTraffic;  // kernels/kernel_traffic.h
struct ProbeShape;     // kernels/measure/probe_shape.h

struct KernelInfo {
  std::string_view id;
  std::string_view summary;                 // one sentence: the one new thing over the row before
  std::span<const Tensor> inputs, outputs;  // outputs include S and P where they pass through global memory
  bool takes_causal = true;
  bool is_library = false;  // its products are a library's: traffic and needs are not ours to say
  TileShape (*tile)(const AttentionProblem&);
  std::vector<LaunchNeeds> (*needs)(const AttentionProblem&);
  /// Closed form of one plane's traffic; null for a library's.
  KernelTraffic (*plane_traffic)(const AttentionProblem&, const TileShape&) = nullptr;
  LaunchPlan (*plan)(const AttentionProblem&, const DeviceTensors&) = nullptr;  // null for a library's
  /// The same launches with the probe compiled in (kernels/measure/probe.h), and what each of them records; null where a kernel has
  /// none.
  LaunchPlan (*plan_probed)(const AttentionProblem&, const DeviceTensors&, std::span<const ProbeBuffers>) = nullptr;
  std::vector<ProbeShape> (*probe_shapes)(const AttentionProblem&, const TileShape&) = nullptr;
  std::string_view variant_of = {};  // id of the tile program that it runs in another order; empty: the program of its own id
  KeyOrder key_order = KeyOrder::ascending;

  /// Id of the tile program whose blocks move the same tiles; a library's kernel has none.
  std::string_view program() const { return variant_of.empty() ? id : variant_of; }
  /// The tile as that program takes it.
  ProgramTile program_tile(const AttentionProblem& problem) const {
    ProgramTile shape = tile(problem);
    shape.key_order = key_order;
    return shape;
  }
};

std::span<const KernelInfo> kernel_table();
/// Errors  unknown id: names those there are, without the variants.
Result<const KernelInfo*> find_kernel(std::string_view id);
/// Returns the kernel that runs a program in this order: its own, or a variant.
/// Errors  those of find_kernel(); no kernel of this order.
Result<const KernelInfo*> find_kernel(std::string_view program, KeyOrder order);

/// Errors  type, head dimension, pass, mask, tile or size that the kernel does not take: each says what it takes.
Status supports(const KernelInfo& kernel, const AttentionProblem& problem);
Status supports(const KernelInfo& kernel, const AttentionProblem& problem, const TileShape& tile);

/// Launches every launch of the kernel on the stream; does not wait.
/// Errors  those of supports(); a tensor that it needs is missing; the device's.
Status launch(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream);

/// What the compiler made of each launch.
Result<std::vector<CompiledNeeds>> compiled_launches(const KernelInfo& kernel, const AttentionProblem& problem);

}  // namespace tilescope
