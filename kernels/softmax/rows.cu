// The softmax by rows that stands between the two products of standard attention; see rows_kernel.cuh.
#include <algorithm>

#include "kernels/softmax/rows_kernel.cuh"
#include "kernels/softmax/rows_plan.h"

namespace tilescope {

namespace {

constexpr std::int64_t tile_rows = 128, tile_keys = 128;
constexpr std::int64_t most_rows = 4;
constexpr std::int64_t most_shared_bytes = 163 * 1024;  // of a block on sm_80, the least of what these kernels run on

}  // namespace

PlannedLaunch plan_rows(const AttentionProblem& problem, const DeviceTensors& tensors, ScoresMasked masked) {
  const std::int64_t fit = most_shared_bytes / (problem.seq_kv * 2);
  device::RowsArguments arguments{};
  arguments.s = tensors.s;
  arguments.p = tensors.p;
  arguments.seq_q = static_cast<int>(problem.seq_q);
  arguments.seq_kv = static_cast<int>(problem.seq_kv);
  arguments.tile_rows = tile_rows;
  arguments.tile_keys = tile_keys;
  arguments.kept = fit >= 1;
  arguments.group_rows = static_cast<int>(arguments.kept ? std::min(most_rows, fit) : most_rows);
  arguments.causal = problem.causal;
  arguments.mask = masked == ScoresMasked::no;
  const std::int64_t groups = (tile_rows + arguments.group_rows - 1) / arguments.group_rows;
  const std::int64_t tiles = (problem.seq_q + tile_rows - 1) / tile_rows;
  const void* const function = problem.dtype == DataType::fp16
                                   ? reinterpret_cast<const void*>(&device::rows_kernel<device::half_type>)
                                   : reinterpret_cast<const void*>(&device::rows_kernel<device::bfloat_type>);
  return planned("softmax", function, {tiles * groups, problem.query_planes(), 1}, 128,
                 arguments.kept ? arguments.group_rows * problem.seq_kv * 2 : 0, arguments);
}

PlannedLaunch plan_masked_softmax(const AttentionProblem& problem, const DeviceTensors& tensors) {
  return plan_rows(problem, tensors, ScoresMasked::no);
}

}  // namespace tilescope
