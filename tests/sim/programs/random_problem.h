// Random problems, tiles and GPUs for property tests, from a seed that the test prints when it fails.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

#include "sim/core/attention_problem.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {

struct RandomCase {
  AttentionProblem problem;
  TileShape tile;
  GpuSpec gpu;
  std::string text;  // what to print
};

/// Small enough that every element can be counted: ragged, tiny, one row, one column, shared heads, masks either way.
inline RandomCase random_case(std::uint64_t seed, bool may_be_causal) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto one_of = [&](std::initializer_list<std::int64_t> values) {
    return values.begin()[pick(0, static_cast<std::int64_t>(values.size()) - 1)];
  };
  RandomCase drawn;
  AttentionProblem& p = drawn.problem;
  p.batch = pick(1, 2);
  p.kv_heads = pick(1, 2);
  p.heads = p.kv_heads * pick(1, 3);
  p.seq_q = pick(0, 3) == 0 ? one_of({1, 2, 16, 32, 48}) : pick(1, 40);
  p.seq_kv = pick(0, 2) == 0 ? one_of({1, 16, 32, 64}) : pick(1, 50);
  p.head_dim = pick(0, 2) == 0 ? pick(1, 40) : one_of({8, 16, 32, 64});
  p.dtype = static_cast<DataType>(pick(0, 2));
  p.causal = may_be_causal && pick(0, 1) == 1;
  drawn.tile = pick(0, 1) == 0 ? TileShape{one_of({1, 4, 8, 16, 32}), one_of({8, 16, 32})} : TileShape{pick(1, 50), pick(1, 60)};
  switch (pick(0, 3)) {
    case 0:
      drawn.gpu = toy_gpu();
      break;
    case 1:
      drawn.gpu = h200_gpu();
      break;
    case 2:
      drawn.gpu = textbook_gpu();
      break;
    default:  // so small that rings have one buffer and a row of S may not fit
      drawn.gpu = toy_gpu();
      drawn.gpu.sm_shared_bytes = drawn.gpu.sm_shared_bytes_per_block = static_cast<double>(one_of({32, 64, 128, 1024, 4096}));
  }
  drawn.text = fmt::format(
      "seed {}: batch {} heads {} kv_heads {} seq_q {} seq_kv {} head_dim {} {} {} tile {}x{} on {} with {} bytes shared", seed,
      p.batch, p.heads, p.kv_heads, p.seq_q, p.seq_kv, p.head_dim, to_string(p.dtype), p.causal ? "causal" : "full",
      drawn.tile.block_q, drawn.tile.block_kv, drawn.gpu.id, drawn.gpu.sm_shared_bytes_per_block);
  return drawn;
}

}  // namespace tilescope
