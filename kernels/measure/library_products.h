// The two products of attention by NVIDIA's cuBLASLt, opened at run time: the library baseline of standard_cublas.
#pragma once

#include "kernels/device.h"

namespace tilescope {

/// S = scale Q K^T. Query heads that share keys are one tall matrix, because they are neighbours.
/// Errors  no libcublasLt on this machine; a shape for which it has no algorithm.
Status multiply_scores(const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream);
/// O = P V.
Status multiply_output(const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream);

}  // namespace tilescope
