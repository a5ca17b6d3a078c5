// tilescope_stall_cycles: what the warps of short kernels wait for, from a flushed L2.
// kernels/build_gpu_check.sh builds it.
//
//   tilescope_stall_cycles SUITE.txt      a line a case, as in assets/suites
//   Prints for each case the cycles in which an SM had a block (of the longest), and the cycles that a warp spends on average for
//   each cause. Exit codes: 0 all measured, 1 some not, 2 the request was wrong.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/lab/read_suite.h"
#include "kernels/measure/counters.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/timing.h"

using namespace tilescope;

namespace {

constexpr int repeats = 3;
constexpr std::string_view causes[] = {"no_instruction",
                                       "imc_miss",
                                       "branch_resolving",
                                       "drain",
                                       "long_scoreboard",
                                       "short_scoreboard",
                                       "barrier",
                                       "wait",
                                       "selected",
                                       "not_selected",
                                       "math_pipe_throttle",
                                       "mio_throttle",
                                       "dispatch_stall",
                                       "lg_throttle",
                                       "membar",
                                       "sleeping",
                                       "gmma",
                                       "warpgroup_arrive"};

std::string stall_metric(std::string_view cause) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", cause);
}

Status print_case(CounterSession& session, const SuiteCase& one, const DeviceMemory& scratch, std::vector<std::string> metrics) {
  const Result<const KernelInfo*> kernel = find_kernel(one.kernel);
  if (!kernel) return kernel.error();
  const Result<AttentionProblem> problem = settled_problem(one);
  if (!problem) return problem.error();
  const Result<DeviceProblem> on_device = DeviceProblem::make_seeded(**kernel, *problem, 1);
  if (!on_device) return on_device.error();
  const DeviceTensors tensors = on_device->tensors();
  std::vector<double> found;  // of the last repeat: the first ones warm up
  for (int i = 0; i < repeats; ++i) {
    const Result<std::vector<double>> read = session.read_metrics(
        metrics, [&] { return launch(plan_flush(scratch), nullptr); },
        [&] { return launch(**kernel, *problem, tensors, nullptr); });
    if (!read) return read.error();
    found = *read;
  }
  const double active = found[0], elapsed = found[1], instructions = found[2], warps = found[3];
  fmt::print("{:56} active {:6.0f}  elapsed {:6.0f}  instructions a warp {:5.0f} |", to_text(one), active, elapsed,
             instructions / warps);
  for (std::size_t i = 4; i < found.size(); ++i) {
    std::string_view name = metrics[i];
    name.remove_prefix(name.find("stalled_") + 8);
    fmt::print(" {} {:.0f}", name.substr(0, name.find("_per_issue")), found[i] * instructions / warps);
  }
  fmt::print("\n");
  std::fflush(stdout);
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print("usage: tilescope_stall_cycles SUITE.txt\n");
    return 2;
  }
  const Result<std::vector<SuiteCase>> suite = read_suite(argv[1]);
  Result<CounterSession> session = CounterSession::open();
  const Result<DeviceInfo> device = find_device();
  if (!suite || !session || !device) {
    fmt::print("{}\n", (!suite ? suite.error() : !session ? session.error() : device.error()).sentence.text());
    return 2;
  }
  const Result<DeviceMemory> scratch = flush_scratch(*device);
  std::vector<std::string> metrics = {"sm__cycles_active.max", "gpc__cycles_elapsed.max", "smsp__inst_executed.sum",
                                      "smsp__warps_launched.sum"};
  for (const std::string_view cause : causes) metrics.push_back(stall_metric(cause));
  if (const Result<CounterPlan> plan = plan_counters(session->chip(), metrics))
    std::erase_if(metrics,
                  [&](const std::string& metric) { return std::ranges::find(plan->unknown, metric) != plan->unknown.end(); });
  fmt::print("# kernels/lab/stall_cycles.cpp on {}\n", device->name);
  bool all = true;
  for (const SuiteCase& one : *suite)
    if (const Status printed = print_case(*session, one, *scratch, metrics); !printed) {
      fmt::print("{}: {}\n", to_text(one), printed.error().sentence.text());
      all = false;
    }
  return all ? 0 : 1;
}
