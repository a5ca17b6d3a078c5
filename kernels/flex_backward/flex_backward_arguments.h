// What the host passes to the gradient launch of flex_backward: one struct by value. NVRTC compiles this file too.
#pragma once

#include "kernels/common/gradient_arguments.h"
#include "kernels/flex/flex_arguments.h"

namespace tilescope::device {

/// The most captured tables with a gradient, and the most places at which an expression reads them.
inline constexpr int flex_most_table_gradients = 4, flex_most_table_reads = 8;

/// Of the first launch: with the gradients of tables, or the parts of those that are added in order, which it fills with zeros.
struct FlexRowArguments {
  GradientArguments gradients;
  float* zeros[flex_most_table_gradients + flex_most_table_reads];
  int rows[flex_most_table_gradients + flex_most_table_reads], cols[flex_most_table_gradients + flex_most_table_reads];
  int count;
};

/// Of the last launch, which adds the parts up.
struct FlexTableSums {
  struct Read {
    const float* parts;
    const std::int32_t* origins;  // row and column of the element that query 0 and key 0 of a plane would read
    int reach, step;              // TableReach; +1 or -1: how the index moves with the query, or the key
  };
  struct Table {
    float* gradient;
    int rows, cols, first_block;
    int first_read, reads;
  };
  Read reads[flex_most_table_reads];
  Table tables[flex_most_table_gradients];
  int count, planes, seq_q, seq_kv;
};

struct FlexBackwardArguments {
  GradientArguments gradients;
  FlexArguments flex;  // lists of key blocks, tables, constants; its tensors stay null
  // The lists by column: which query blocks see a key block.
  const std::int32_t* query_partial_count;  // q_num_blocks       [list planes, list columns]
  const std::int32_t* query_partial;        // q_indices          [list planes, list columns, list rows]
  const std::int32_t* query_full_count;     // full_q_num_blocks
  const std::int32_t* query_full;           // full_q_indices
  int key_tiles_of_block;
  float* tables[flex_most_table_gradients];  // gradients of captured tables, fp32
  float* parts[flex_most_table_reads];       // of reads that are added in order: sim/masks/table_gradient.h, TableParts
};

}  // namespace tilescope::device
