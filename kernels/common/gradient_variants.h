// Handles of the compiled launches of a backward kernel. Each kernel and type has its own source file, so that they compile in
// parallel.
#pragma once

namespace tilescope {

struct GradientVariant {
  const void* row_dots = nullptr;
  const void* gradients = nullptr;
  const void* convert = nullptr;  // null: nothing to convert
  int block_q = 0, block_kv = 0;
  int row_threads = 0, threads = 0, shared_bytes = 0;  // of the rows, of the gradients
};

GradientVariant flash2_backward_fp16(int head_dim, bool causal);
GradientVariant flash2_backward_bf16(int head_dim, bool causal);
// With the probe compiled in.
GradientVariant flash2_backward_probed_fp16(int head_dim, bool causal);
GradientVariant flash2_backward_probed_bf16(int head_dim, bool causal);
GradientVariant flash2_backward_two_pass_probed_fp16(int head_dim, bool causal);
GradientVariant flash2_backward_two_pass_probed_bf16(int head_dim, bool causal);
GradientVariant flash2_backward_deterministic_probed_fp16(int head_dim, bool causal);
GradientVariant flash2_backward_deterministic_probed_bf16(int head_dim, bool causal);
GradientVariant flash2_backward_deterministic_fp16(int head_dim, bool causal);
GradientVariant flash2_backward_deterministic_bf16(int head_dim, bool causal);
GradientVariant flash2_backward_two_pass_fp16(int head_dim, bool causal);
GradientVariant flash2_backward_two_pass_bf16(int head_dim, bool causal);
/// Returns the first launch of flex_backward, which also zeroes the gradients of tables; query tiles have 64 rows.
const void* flex_backward_row_dots(bool fp16, int head_dim);
/// Returns its last launch, of 32 threads for 32 elements of a table that is added in order.
const void* flex_backward_table_sums();

}  // namespace tilescope
