// tilescope_record_tiles: measures flash2 in its own tile and in all of flash2_tiles.h, on the shapes of a suite. The cases are
// those of `tilescope measure`, in one bundle: kernel flash2, the tile, and the needs of the compiled function.
//
//   tilescope_record_tiles FILE.txt OUT.json COMMIT
//   Exit codes: 0 all measured and right, 1 some not, 2 the request was wrong, 77 no CUDA device (skipped).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include "kernels/kernel_traffic.h"
#include "kernels/lab/flash2_tiles.h"
#include "kernels/lab/read_suite.h"
#include "kernels/lab/recording.h"
#include "kernels/measure/bundle.h"
#include "kernels/measure/check_kernel.h"
#include "kernels/measure/measure_case.h"

using namespace tilescope;

namespace {

constexpr MeasureOptions options = {.time_repeats = 20, .counter_repeats = 2, .warm_repeats = 0};

struct Row {
  int head_dim = 0;
  KernelInfo kernel;
};

/// The kernel as it is shipped comes first in each head dimension.
std::vector<Row> rows_of_tiles() {
  const KernelInfo& own = **find_kernel("flash2");
  std::vector<Row> rows = {{64, own}, {128, own}};
  for (const Flash2Tile& tile : flash2_tiles()) {
    rows.push_back({tile.head_dim, own});
    rows.back().kernel.plan = tile.plan;
    rows.back().kernel.tile = tile.tile;
    rows.back().kernel.plan_probed = nullptr;
  }
  return rows;
}

/// Compares small shapes with float64: whole and ragged, one row, grouped heads, more keys than queries, with and without a mask.
bool is_right(const Row& row) {
  constexpr std::int64_t lengths[][2] = {{256, 256}, {200, 200}, {1, 129}, {129, 385}, {300, 130}};
  double worst = 0;
  for (const auto& [queries, keys] : lengths)
    for (const bool causal : {false, true}) {
      AttentionProblem problem;
      problem.batch = 1, problem.heads = 2, problem.kv_heads = 1;
      problem.seq_q = queries, problem.seq_kv = keys;
      problem.head_dim = row.head_dim;
      problem.dtype = DataType::fp16;
      problem.causal = causal;
      const Result<KernelCheck> check = check_kernel(row.kernel, problem, 1);
      if (!check || !check->holds) {
        fmt::print("d {} tile {}x{}, {}x{}{}: {}\n", row.head_dim, row.kernel.tile(problem).block_q,
                   row.kernel.tile(problem).block_kv, queries, keys, causal ? " causal" : "",
                   check ? check->sentence : check.error().sentence.text());
        return false;
      }
      for (const TensorError& error : check->errors) worst = std::max(worst, error.relative / error.bound);
    }
  const TileShape tile = row.kernel.tile({.head_dim = row.head_dim});
  fmt::print("d {} tile {}x{} agrees with float64; worst error {:.3f} of its bound\n", row.head_dim, tile.block_q, tile.block_kv,
             worst);
  return true;
}

void print(const SuiteCase& one, const KernelInfo& kernel, const MeasuredCase& measured, int sm_count) {
  const MeasuredLaunch& launch = measured.launches.front();
  const std::optional<KernelTraffic> form = kernel_traffic(kernel, measured.problem, sm_count);
  fmt::print("{:66} {:3}x{:<3} {:3} threads {:3} registers {} blocks {:9.0f} cycles {:9.1f} us", to_text(one),
             measured.tile.block_q, measured.tile.block_kv, launch.threads, launch.registers, launch.blocks_per_sm,
             measured.cycles.median, measured.time_cold_ns.median / 1e3);
  if (form && !measured.counters.empty())
    fmt::print("  L2->SM {:+.0f}", median_of(measured, "l2_to_sm_bytes") - static_cast<double>(form->l2_to_sm_bytes));
  fmt::print("  {}\n", measured.refused);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print("usage: tilescope_record_tiles FILE.txt OUT.json COMMIT\n");
    return 2;
  }
  const Result<std::vector<SuiteCase>> suite = read_suite(argv[1]);
  if (!suite) {
    fmt::print("{}\n", suite.error().sentence.text());
    return 2;
  }
  Result<MeasuringSession> session = MeasuringSession::open();
  if (!session) {
    fmt::print("skipped: {}\n", session.error().sentence.text());
    return 77;
  }
  const std::vector<Row> rows = rows_of_tiles();
  bool all_well = std::ranges::all_of(rows, is_right);
  MeasurementBundle bundle = begin_bundle(*session, "tilescope_record_tiles", argv[1], argv[3]);
  for (const SuiteCase& one : *suite)
    for (const Row& row : rows) {
      if (row.head_dim != one.problem.head_dim) continue;
      Result<MeasuredCase> measured = session->measure(row.kernel, one.problem, options, nullptr);
      if (!measured) {
        fmt::print("{}: {}\n", to_text(one), measured.error().sentence.text());
        all_well = false;
        continue;
      }
      measured->list = one.list;
      print(one, row.kernel, *measured, session->device().sm_count);
      bundle.cases.push_back(std::move(*measured));
      std::ofstream(argv[2]) << to_json(bundle);  // after every case, so that an interrupted run leaves what it has
    }
  fmt::print("{} cases\n", bundle.cases.size());
  return all_well ? 0 : 1;
}
