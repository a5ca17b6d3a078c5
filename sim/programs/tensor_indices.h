// The indices of every tensor and on-chip tile that programs declare. This is the only place that hands them out.
//
// An enumerator without a value is one more than the one before it, so two of a set never coincide. Sets that meet in a run follow
// one another. Sets that no run has together may begin at one index: the test "schema: …" (schema_test.cpp) holds every program,
// every run of both passes and all masks against that.
#pragma once

#include <cstdint>

#include "sim/core/tensor.h"
#include "sim/masks/table_gradient.h"
#include "sim/programs/operation.h"

namespace tilescope {

namespace tensor_index {

/// Attention, its parts and its gradients.
enum : std::uint8_t { q, k, v, s, p, o, lse, m, l, d_o, d_q, d_k, d_v, d_s, d_p, row_dot, d_q_acc, after_attention };

/// The mask matrix of standard attention.
enum : std::uint8_t { mask = after_attention };

/// The further copies of dQ's sums in flash2_backward_deterministic.
enum : std::uint8_t { d_q_acc_2 = after_attention, d_q_acc_3, d_q_acc_4 };

/// The block lists of a mask and the page table of flex, hopper_flex and flex_backward.
enum : std::uint8_t {
  kv_num_blocks = after_attention,
  kv_indices,
  full_kv_num_blocks,
  full_kv_indices,
  q_num_blocks,
  q_indices,
  full_q_num_blocks,
  full_q_indices,
  page_table,
  after_lists
};

/// The counters from which blocks of the ladder draw their tiles.
enum : std::uint8_t { tickets = after_lists };

/// The spilled registers of flex.
enum : std::uint8_t { spills = after_lists };

/// The gradients of captured tables in flex_backward, and their parts, by read.
enum : std::uint8_t {
  table_gradients = after_lists,
  table_parts = table_gradients + most_table_gradients,
  after_tables = table_parts + most_table_reads
};
static_assert(after_tables <= most_tensors);

}  // namespace tensor_index

namespace tile_index {

/// Of attention and its gradients, shared by most programs. 0 is ChipTile::none.
enum : std::uint8_t {
  q = 1,
  k,
  v,
  s,
  p,
  m,
  m_new,
  m_tile,
  l,
  l_new,
  l_tile,
  alpha,
  beta,
  o,
  pv,
  lse,
  q_ring,
  k_kept,
  v_kept,
  d_o,
  d_o_ring,
  row_dot,
  d_p,
  d_s,
  d_q,
  d_k,
  d_v,
  d_q_part,
  d_q_acc,
  d_o_o,
  p_kept,
  after_attention
};

/// Of standard_backward, which reads P and dP from HBM.
enum : std::uint8_t { p_d_p = after_attention, d_s_ring, d_p_ring };

/// Of flash2_backward_deterministic: what its further copies of dQ's sums get from a tile.
enum : std::uint8_t { d_q_part_2 = after_attention, d_q_part_3, d_q_part_4 };

/// Of flash3_backward: the ring of L and D, and what a group of warps keeps in registers.
enum : std::uint8_t { lse_ring = after_attention, row_dot_ring, half_d_q_part, half_p_kept, half_d_s_kept, half_s, half_p };

/// Of the block lists.
enum : std::uint8_t {
  kv_num_blocks = after_attention,
  kv_indices,
  full_kv_num_blocks,
  full_kv_indices,
  q_num_blocks,
  q_indices,
  full_q_num_blocks,
  full_q_indices,
  after_lists
};

/// The entries of the page table of a forward program, and the derivative of a score change in a backward program.
enum : std::uint8_t { pages = after_lists };
enum : std::uint8_t { slope = after_lists, after_slope };

/// The mask matrix of standard attention.
enum : std::uint8_t { mask = after_slope };

/// Of the gradients of captured tables: by read, but for the product and for the zeros of each table.
enum : std::uint8_t {
  table_factors = after_slope,
  table_product = table_factors + most_table_reads,
  table_sums,
  table_zeros = table_sums + most_table_reads,
  after_tables = table_zeros + most_table_gradients
};

/// O of the ladder to Hopper, in the registers of its groups: the backward pass of its runs has an O of its own.
enum : std::uint8_t { o_strips = after_tables, after_strips };
static_assert(after_strips <= most_chip_tiles);

}  // namespace tile_index

}  // namespace tilescope
