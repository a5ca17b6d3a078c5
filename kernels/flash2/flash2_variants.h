// Handles of the compiled flash2 kernels. Each type and head dimension has its own source file, so that they compile in parallel.
#pragma once

namespace tilescope {

struct Flash2Variant {
  const void* function = nullptr;
  int block_q = 0, block_kv = 0, threads = 0, shared_bytes = 0;
};

Flash2Variant flash2_fp16_d64(bool causal);
Flash2Variant flash2_fp16_d128(bool causal);
Flash2Variant flash2_bf16_d64(bool causal);
Flash2Variant flash2_bf16_d128(bool causal);
// With the probe compiled in.
Flash2Variant flash2_probed_fp16_d64(bool causal);
Flash2Variant flash2_probed_fp16_d128(bool causal);
Flash2Variant flash2_probed_bf16_d64(bool causal);
Flash2Variant flash2_probed_bf16_d128(bool causal);

}  // namespace tilescope
