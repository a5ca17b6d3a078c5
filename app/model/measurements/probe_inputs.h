// What a probed kernel reads: the rows that the program itself makes, so that the tile machine can be held beside it.
#pragma once

#include <algorithm>

#include "kernels/measure/probe.h"
#include "sim/numerics/inputs.h"

namespace tilescope {

inline ProbeInputs probe_inputs(InputSource source, const AttentionProblem& problem) {
  return [source = std::move(source), problem](Tensor tensor, std::int64_t plane, std::int64_t row, std::span<float> values) {
    const TileRef tile = {tensor, static_cast<std::int32_t>(plane),        static_cast<std::int32_t>(row), 1,
                          0,      static_cast<std::int32_t>(values.size())};
    std::ranges::copy(input_tile(source, problem, tile).values, values.begin());
  };
}

}  // namespace tilescope
