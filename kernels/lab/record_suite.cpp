// tilescope_record_suite: measures the cases of one pass of the suite, as `tilescope measure --suite` does. It needs no CMake and
// no window libraries: kernels/build_gpu_check.sh builds it.
//
//   tilescope_record_suite default|forward|backward|FILE.txt OUT.json COMMIT
//   Exit codes: 0 all measured, 1 some not, 2 the request was wrong, 77 no CUDA device (skipped).
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "kernels/kernel_traffic.h"
#include "kernels/lab/read_suite.h"
#include "kernels/lab/recording.h"
#include "kernels/measure/bundle.h"
#include "kernels/measure/measure_case.h"

using namespace tilescope;

namespace {

constexpr MeasureOptions options = {
    .time_repeats = 20, .counter_repeats = 3, .warm_repeats = 3, .placements = 4};  // as the program's

/// Prints the time, and each counter between the L2 and the SMs less its closed form.
void print(const SuiteCase& one, const MeasuredCase& measured, int sm_count) {
  const std::optional<KernelTraffic> form = kernel_traffic(**find_kernel(one.kernel), measured.problem, sm_count);
  fmt::print("{:72} {:9.1f} us at {:.3f} GHz", to_text(one), measured.time_cold_ns.median / 1e3, measured.sm_clock_hz / 1e9);
  if (form && !measured.counters.empty())
    fmt::print("  L2->SM {:+.0f} SM->L2 {:+.0f} added {:+.0f}",
               median_of(measured, "l2_to_sm_bytes") - static_cast<double>(form->l2_to_sm_bytes),
               median_of(measured, "sm_to_l2_bytes") - static_cast<double>(form->sm_to_l2_bytes),
               median_of(measured, "sm_to_l2_reduce_bytes") - static_cast<double>(form->reduce_bytes));
  fmt::print("  {}\n", measured.refused);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print("usage: tilescope_record_suite default|forward|backward|FILE.txt OUT.json COMMIT\n");
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
  MeasurementBundle bundle = begin_bundle(*session, "tilescope_record_suite", argv[1], argv[3]);
  int failed = 0;
  for (const SuiteCase& one : *suite) {
    const KernelInfo& kernel = **find_kernel(one.kernel);
    const Result<AttentionProblem> problem = settled_problem(one);
    Result<MeasuredCase> measured = problem ? session->measure(kernel, *problem, options, nullptr) : problem.error();
    if (!measured) {
      MeasuredCase refused;
      refused.kernel = one.kernel;
      refused.problem = problem ? *problem : one.problem;
      refused.tile = kernel.tile(refused.problem);
      refused.refused = measured.error().sentence;
      measured = std::move(refused);
    }
    measured->list = one.list;
    measured->presets = one.presets;
    failed += !measured->refused.empty();
    print(one, *measured, session->device().sm_count);
    bundle.cases.push_back(std::move(*measured));
    std::ofstream(argv[2]) << to_json(bundle);  // after every case, so that an interrupted run leaves what it has
  }
  fmt::print("{} cases, {} not whole\n", bundle.cases.size(), failed);
  return failed == 0 ? 0 : 1;
}
