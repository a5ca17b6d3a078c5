// How fast a mask becomes lists of tiles: N 131,072, a mask of its own for each of 32 heads. Run with `bench_sim
// --benchmark_filter=mask`.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "sim/masks/block_mask.h"
#include "sim/masks/expression_mask.h"

using namespace tilescope;

namespace {

constexpr std::int64_t heads = 32;

AttentionProblem problem_of(std::int64_t n) {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = heads;
  problem.seq_q = problem.seq_kv = n;
  problem.head_dim = 64;
  return problem;
}

/// Documents of 500 to 5000 tokens.
TableList documents(std::int64_t n) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  std::uint32_t random = 1;
  std::int32_t id = 0;
  for (std::int64_t at = 0; at < n; ++id) {
    random = random * 1664525U + 1013904223U;
    for (std::int64_t left = 500 + (random >> 8U) % 4500; left > 0 && at < n; --left) ids[static_cast<std::size_t>(at++)] = id;
  }
  return {std::make_shared<const CapturedTable>(make_table("doc", ids))};
}

void block_lists(benchmark::State& state, const std::string& text, std::int64_t n) {
  const AttentionProblem problem = problem_of(n);
  auto expression = parse_mask_expression(text, sizes_of(problem), documents(n));
  if (!expression) return state.SkipWithError(expression.error().sentence.text().c_str());
  const auto mask = ExpressionMask::make(std::move(*expression));
  if (!mask) return state.SkipWithError(mask.error().sentence.text().c_str());
  BlockMask lists;
  while (state.KeepRunning()) lists = block_mask_of(**mask, problem, {128, 128});
  state.counters["partial"] = static_cast<double>(lists.partial_blocks);
  state.counters["full"] = static_cast<double>(lists.full_blocks);
  state.counters["evaluated"] = static_cast<double>(lists.by_evaluation);
}

/// From text to a mask that was checked whole.
void make_mask(benchmark::State& state, const std::string& text, std::int64_t n) {
  const AttentionProblem problem = problem_of(n);
  const TableList tables = documents(n);
  while (state.KeepRunning()) {
    auto expression = parse_mask_expression(text, sizes_of(problem), tables);
    benchmark::DoNotOptimize(ExpressionMask::make(std::move(*expression)));
  }
}

constexpr const char* causal_window_document = "q >= kv && q - kv < 64 * (h + 1) && doc[q] == doc[kv]";

BENCHMARK_CAPTURE(block_lists, smoke_mask_N4096, causal_window_document, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(block_lists, mask_lists_causal_window_document_H32_N131072, causal_window_document, 131072)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_mask, mask_make_causal_window_document_H32_N131072, causal_window_document, 131072)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(block_lists, mask_lists_causal_per_head_H32_N131072, "q >= kv + h", 131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(block_lists, mask_lists_dilated_H32_N16384, "(q - kv) % (h + 2) == 0 && q >= kv", 16384)
    ->Unit(benchmark::kMillisecond);

}  // namespace
