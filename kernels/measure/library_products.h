// The two products of attention by NVIDIA's cuBLASLt, opened at run time, for the library baseline standard_cublas.
#pragma once

#include "kernels/device.h"

namespace tilescope {

/// Queues S = scale Q K^T. Query heads that share keys are adjacent in memory, so they form one tall matrix.
/// Errors   no libcublasLt on this machine; no algorithm for the shape
Status multiply_scores(const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream);
/// Queues O = P V.
/// Errors   those of multiply_scores()
Status multiply_output(const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream);

}  // namespace tilescope
