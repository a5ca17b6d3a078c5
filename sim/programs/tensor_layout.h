// The layouts of tensors: how a problem and a tile decide the planes, rows and columns of each.
#pragma once

#include <span>

#include "sim/core/tensor.h"

namespace tilescope {

/// Returns the layout of a tensor, with K and V as planes of [seq_kv, head_dim] if they have pages too.
TensorLayout tensor_layout(const AttentionProblem& problem, const TileShape& tile, Tensor tensor);
TensorLayouts tensor_layouts(const AttentionProblem& problem, const TileShape& tile, std::span<const Tensor> tensors);

/// Return the layouts of tensors as they lie in HBM: those of tensor_layouts(), but the pool of K and V in pages.
TensorLayout memory_layout(const AttentionProblem& problem, const TileShape& tile, Tensor tensor);
TensorLayouts memory_layouts(const AttentionProblem& problem, const TileShape& tile, std::span<const Tensor> tensors);

}  // namespace tilescope
