// TensorRun: a run of an algorithm on given tensors, on the tile machine or on the GPU, and what it leaves.
#pragma once

#include <string>
#include <vector>

#include "sim/core/result.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

struct TensorRun {
  SimulationRequest request;  // with settled masks; pass `both` also gives the gradients
  InputSource inputs;         // every matrix holds all planes, [B*H*N, d]
};

/// A tensor as a run leaves it.
/// Shapes  O, dQ [B,H,N,d]   dK, dV [B,Hkv,Nk,d]   L [B,H,N]   S, P [B,H,N,Nk]
struct LeftTensor {
  Tensor tensor;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Returns the tensors that a run leaves: O and L, of a part of attention S or P instead, and with pass `both` dQ, dK and dV.
/// L is what the program stores, or follows from the m and l, or the S, that it stores.
/// Errors  a tile or a type that the program does not take
Result<std::vector<Tensor>> tensors_left(const TensorRun& run);

/// Runs every block on the tile machine.
/// Errors  those of tensors_left(); cancelled
Result<std::vector<LeftTensor>> run_on_tile_machine(const TensorRun& run, const Progress& progress = {});

/// Runs the CUDA kernel of the same id, and with pass `both` its backward kernel on what the forward kernel left.
/// Errors  no such kernel; what the kernel does not take; no GPU
Result<std::vector<LeftTensor>> run_on_gpu(const TensorRun& run);

/// Returns the same tensors from the float64 reference.
/// Errors  those of tensors_left()
Result<std::vector<LeftTensor>> run_reference(const TensorRun& run);

}  // namespace tilescope
