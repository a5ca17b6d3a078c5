// The on-chip needs of the kernels as functions of the tile, and their default tiles. kernel_profile.h has the compiler's numbers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/programs/tile_program.h"

namespace tilescope {

inline constexpr std::int64_t most_registers = 255;  // of a thread, on every GPU modelled; a kernel that needs more spills

/// Needs of a product S = QKᵀ with one tile pair per block: the tiled matrix product, and the first launch of standard attention.
KernelNeeds scores_needs(const AttentionProblem& problem, const TileShape& tile);
/// Needs of a matrix product that holds one row of Q at a time.
KernelNeeds untiled_needs(const AttentionProblem& problem, const TileShape& tile);

/// The rows of a block of a launch that goes over them in two passes, and whether they stay in shared memory in between.
struct KeptRows {
  std::int64_t rows = 4;
  bool kept = true;
  std::int64_t bytes = 0;  // of shared memory; 0 if they are not kept
};
/// Returns the rows of S of the softmax launch.
KeptRows softmax_rows(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds softmax_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds output_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
KernelNeeds flash1_needs(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu);
KernelNeeds flash2_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// Sets what the problem's score change and mask expression cost an element. `is_forward`: see element_cost().
void set_element_costs(KernelNeeds& needs, const AttentionProblem& problem, const GpuSpec& gpu, bool is_forward);
/// Needs of flex's launch: flash2's, as its own profile has them.
KernelNeeds flex_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);
/// Needs of a softmax whose rows pass through registers: softmax_safe or softmax_online.
KernelNeeds row_softmax_needs(std::string_view id, const AttentionProblem& problem);
KernelNeeds fused_softmax_needs(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu);

/// Elements of a row of S or P that a warp of a softmax kernel fetches at a time: eight per lane.
inline constexpr std::int64_t elements_per_warp_fetch = 32 * 8;

/// Returns how many tiles of a row the threads of a block hold in registers: each thread fetches 8 neighbouring elements at a time.
std::int64_t tiles_in_registers(const KernelNeeds& needs, const TileShape& tile);
/// Returns whether a row of `elements` ends inside a warp's fetch. The warp's lanes then diverge, and reconverge one by one.
bool ends_inside_warp_fetch(std::int64_t elements);

// The tiles that the kernels are compiled for.
TileShape scores_kernel_tile(const AttentionProblem& problem);
TileShape flash1_kernel_tile(const AttentionProblem& problem);
TileShape flash2_kernel_tile(const AttentionProblem& problem);
TileShape hopper_flex_kernel_tile(const AttentionProblem& problem);
TileShape row_kernel_tile(const AttentionProblem& problem);

// Default tiles: the kernel's own, halved until it fits the GPU.
TileShape standard_tile(const AttentionProblem& problem, const GpuSpec& gpu);
/// On a GPU without an L2: the paper's tile for M elements of shared memory, Bc = ⌈M/4d⌉, Br = min(Bc, d), cut to the sequence.
/// Source  arXiv:2205.14135, Algorithm 1, line 1
TileShape flash1_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape flash2_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape row_softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape fused_softmax_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape tiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu);
TileShape untiled_matmul_tile(const AttentionProblem& problem, const GpuSpec& gpu);

/// Returns the buffers of the program's ring of key tiles: the maximum over its launches.
int ring_buffers(const TileProgram& program);
inline constexpr std::int64_t wgmma_rows = 64;  // of its left operand, in a warp group
/// The least part of a product: the tensor cores take the right operand in eights of columns, and sum over sixteen elements at a
/// time. S = QKᵀ and O = PV make both of a tile's keys, and a backward pass of its queries too.
inline constexpr std::int64_t product_elements = 16;
/// Returns why wgmma cannot compute the tile: the rows of a warp group, and the elements to sum over, where they are no multiple of
/// what it takes.
std::vector<Sentence> wgmma_faults(const TileProgram& program);
/// Returns the buffers of the first launch whose number can be chosen; 0: there is none.
int own_ring(const TileProgram& program);
/// Returns whether nobody chose a number of buffers, and two do not fit the shared memory.
bool drops_to_one_buffer(const TileProgram& program);

}  // namespace tilescope
