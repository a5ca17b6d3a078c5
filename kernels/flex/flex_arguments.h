// What the host passes to a flex kernel: one struct by value. NVRTC compiles this file too.
#pragma once

#include <cstdint>

namespace tilescope::device {

/// The most tables that one request may read, and the most constants that are arguments. Further constants are part of the text.
inline constexpr int flex_most_tables = 12, flex_most_scalars = 96;

struct FlexArguments {
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;
  // PyTorch's BlockMask; null without a mask.
  const std::int32_t* partial_count;  // kv_num_blocks       [list planes, list rows]
  const std::int32_t* partial;        // kv_indices          [list planes, list rows, list columns]
  const std::int32_t* full_count;     // full_kv_num_blocks
  const std::int32_t* full;           // full_kv_indices
  const void* tables[flex_most_tables];
  int seq_q, seq_kv;
  int heads, kv_heads;
  float scale;
  int batch, head_dim;
  int list_rows, list_columns;
  int list_planes_of_batch,
      list_planes_of_head;  // list planes from one batch element to the next, and from one head: 0, 1 or heads
  int query_tiles_of_block;
  int last_query_tile_first;                 // 1: blocks take the query tiles of a head from the last one down
  std::uint32_t scalars[flex_most_scalars];  // the constants of the expressions, as bits
};

/// K and V are pools of pages, [kv_heads, pool_rows, d]: see PageTable (sim/core/page_table.h).
struct FlexPages {
  const std::int32_t* table;  // [batch, pitch]
  int pitch, pool_rows;
};
struct FlexPagedArguments : FlexArguments {
  FlexPages pages;
};

}  // namespace tilescope::device
