// The flex kernels: attention with a mask and a score change from expressions, compiled for the request at run time. flex has
// flash2's warps; hopper_flex has the roles of the Hopper kernels; flex_backward has the two kinds of block of
// flash2_backward_two_pass.
//
//   problem ─► flex_text()  ─► NVRTC ─► cubin, kept in memory and in a file ─► loaded kernel ─┐
//           └► block lists and tables, copied to the device once ────────────────────────────┴─► launch_flex()
//
//   Constants of the expressions, sizes and tables are arguments: another value, length or table needs no compilation. The size of
//   a page of K and V is part of the text; the page table is copied to the device with the lists. Files: TILESCOPE_CACHE, else
//   XDG_CACHE_HOME/tilescope, else ~/.cache/tilescope.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/common/probe_layout.h"
#include "kernels/device.h"
#include "sim/core/attention_problem.h"
#include "sim/masks/kernel_source.h"

namespace tilescope {

/// The kernel that carries the expressions. backward_probed: the same kernel as backward, with the probe compiled in. two_blocks:
/// another loop for hopper_flex, at D 64 without pages; kernels/lab alone runs it (docs/masks.md, "Do two blocks an SM pay at d
/// 64?").
enum class FlexBase : std::uint8_t { flash2, hopper, backward, backward_probed, two_blocks };
bool is_backward(FlexBase base);
std::string_view flex_kernel_id(FlexBase base);
TileShape flex_kernel_tile(FlexBase base, const AttentionProblem& problem);
int flex_threads(FlexBase base, const AttentionProblem& problem);  // of a block

/// Runs attention with the problem's mask and score change, or its gradients, after prepare_flex(). Does not wait for the stream.
/// Equation  O = softmax(f(scale Q K^T) + mask) V; a row that sees no key has O = 0 and L = -inf
///           backward: dS = P∘(dO V^T - D)∘f', and dQ, dK, dV as for flash2_backward
/// Shapes    q,o [B,Hq,Nq,D]   k,v [B,Hkv,Nk,D]   lse [B,Hq,Nq], all on the device; gradients as what they are gradients of
///           with pages k,v [Hkv, pages P, D]: the pool of PageTable (sim/core/page_table.h)
/// Types     q,k,v,o and their gradients fp16 or bf16; lse, D and all sums fp32
/// Limits    D is 64 or 128; Hq % Hkv == 0; 16-byte aligned; sm_80 or later, for hopper compute capability 9.0
/// Traffic   l2_to_sm = flash2's over the listed blocks (hopper: in boxes), plus lists and tables
/// Errors    those of prepare_flex() and of the device
/// Source    arXiv:2412.05496; the loops are arXiv:2307.08691, Algorithm 1, and arXiv:2407.08608, Algorithm 2
Status launch_flex(FlexBase base, const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream);

/// Compiles the kernel, unless it is cached, and copies lists and tables to the device, unless they are there. Takes about a second
/// for new expressions, and microseconds for known ones.
/// Errors  no NVRTC; a text that it does not take; more tables, or more blocks in a row, than the kernel holds; those of the device
Status prepare_flex(FlexBase base, const AttentionProblem& problem);

/// Returns the launches of a prepared problem. Without prepare_flex() they have grids, threads and shared memory, but the one that
/// is compiled has no function.
LaunchPlan plan_flex(FlexBase base, const AttentionProblem& problem, const DeviceTensors& tensors);

/// Returns the launches of FlexBase::backward_probed. `buffers` has one entry a launch.
LaunchPlan plan_flex_backward_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                     std::span<const ProbeBuffers> buffers);

/// What flex compiles for a problem.
struct FlexText {
  KernelSource source;  // the expressions' part, with the values of their constants
  std::string text;     // the whole translation unit
  bool ragged = false;
  int tiles_of_block = 1;
};
/// Errors  a mask that is no expression; a mask block that the tile does not divide; too many tables
Result<FlexText> flex_text(FlexBase base, const AttentionProblem& problem);

/// Returns the bytes of shared memory of a block whose longest list names `most_visits` tiles, and which reads up to `most_pages`
/// entries of a page table.
std::int64_t flex_shared_bytes(FlexBase base, const AttentionProblem& problem, const KernelSource& source, std::int64_t most_visits,
                               std::int64_t most_pages = 0);

/// Compiles a text for a compute capability, 9.0 with the instructions of sm_90a: a cubin.
/// Errors  no NVRTC: where it was searched; what NVRTC said
Result<std::string> compile_flex(const std::string& text, int compute_major, int compute_minor);

/// Returns whether NVRTC takes a text. It stops before machine code, which takes most of the time of compile_flex().
Status check_flex(const std::string& text);

/// Where the time of the last prepare_flex() went.
struct FlexCost {
  double compile_seconds = 0, lists_seconds = 0;
  bool from_memory = false, from_file = false;
};
FlexCost last_flex_cost();

}  // namespace tilescope
