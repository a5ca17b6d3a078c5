// A C interface to the kernels for beside_pytorch.py: device addresses in, an error sentence or null out.
#include <string>

#include "kernels/kernel_table.h"

extern "C" {

/// Runs a kernel; sizes as in AttentionProblem, addresses as in DeviceTensors. Returns null or the error sentence.
const char* tilescope_run(const char* id, const long long* sizes, int is_bf16, int causal, void* const* addresses, void* stream) {
  using namespace tilescope;
  static thread_local std::string sentence;
  AttentionProblem problem;
  problem.batch = sizes[0];
  problem.heads = sizes[1];
  problem.kv_heads = sizes[2];
  problem.seq_q = sizes[3];
  problem.seq_kv = sizes[4];
  problem.head_dim = sizes[5];
  problem.dtype = is_bf16 != 0 ? DataType::bf16 : DataType::fp16;
  problem.causal = causal != 0;
  DeviceTensors tensors{addresses[0],
                        addresses[1],
                        addresses[2],
                        addresses[3],
                        addresses[4],
                        addresses[5],
                        static_cast<float*>(addresses[6]),
                        static_cast<float*>(addresses[7]),
                        static_cast<float*>(addresses[8])};
  const Result<const KernelInfo*> kernel = find_kernel(id);
  const Status launched = kernel ? launch(**kernel, problem, tensors, stream) : Status(kernel.error());
  if (launched) return nullptr;
  sentence = launched.error().sentence;
  return sentence.c_str();
}
}
