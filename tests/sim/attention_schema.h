// Every tensor and on-chip tile that the attention programs share, for tests that need no program.
#pragma once

#include <vector>

#include "sim/programs/attention_tensors.h"

namespace tilescope {

inline const std::vector<Tensor>& attention_tensors() {
  using namespace tensors;
  static const std::vector<Tensor> all = {q, k, v, s, p, o, lse, m, l};
  return all;
}

inline const std::vector<ChipTile>& attention_tiles() {
  using namespace tiles;
  static const std::vector<ChipTile> all = {q, k, v, s, p, m, m_new, m_tile, l, l_new, l_tile, alpha, beta, o, pv, lse};
  return all;
}

/// Reads Q, K and V, writes O.
inline Schema attention_schema() {
  using namespace tensors;
  return {.tensors = attention_tensors(), .inputs = {q, k, v}, .outputs = {o}, .tiles = attention_tiles()};
}

}  // namespace tilescope
