// Whether the time between two events around a short kernel holds what the GPU's front end does before it: fetching the commands
// and the parameters of the launch.
//
//   bash kernels/build_gpu_check.sh, then, with its flags and objects (all but those with a main):
//   nvcc ... -o pauses kernels/lab/pauses.cu build/gpu_check/*.o
//   ./pauses SUITE.txt      a line a case, as in assets/suites
//
// Three orders: flush, event, kernel, event; flush, pause, event, kernel, event, where one block waits before the event; and flush,
// marks, event, kernel, event, marks, as `tilescope measure` times with its clock gauge. Empty kernels between the repeats shift
// the commands in memory. Prints, for 0 to 7 of them, the median ns of 21 repeats.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/lab/cold_start.cuh"
#include "kernels/lab/read_suite.h"
#include "kernels/measure/clock_gauge.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/timing.h"

namespace tilescope {
namespace {

constexpr int repeats = 21, most_shifts = 8;
constexpr long long pause_cycles = 40000;
enum class Before { flush, pause, marks };

__global__ void pause_kernel() {
  const long long start = cycle_counter();
  while (cycle_counter() - start < pause_cycles) {}
}

double time_once(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors,
                 const DeviceMemory& scratch, ClockGauge& gauge, Stopwatch& watch, Before before, int shifts) {
  for (int i = 0; i < shifts; ++i) (void)launch(plan_empty(), nullptr);
  (void)launch(plan_flush(scratch), nullptr);
  if (before == Before::pause) pause_kernel<<<1, 32>>>();
  if (before == Before::marks) (void)gauge.begin();
  (void)watch.start(nullptr);
  (void)launch(kernel, problem, tensors, nullptr);
  (void)watch.end(nullptr);
  if (before == Before::marks) (void)gauge.end();
  const Result<double> ms = watch.elapsed();
  return ms ? *ms * 1e6 : 0;
}

void print_case(const SuiteCase& one, const DeviceInfo& device, const DeviceMemory& scratch) {
  const Result<const KernelInfo*> kernel = find_kernel(one.kernel);
  const Result<AttentionProblem> problem = settled_problem(one);
  if (!kernel || !problem) return fmt::print("{}: refused\n", one.kernel);
  const Result<DeviceProblem> on_device = DeviceProblem::make_seeded(**kernel, *problem, 1);
  Result<ClockGauge> gauge = ClockGauge::make(device);
  Result<Stopwatch> watch = Stopwatch::make();
  if (!on_device || !gauge || !watch) return fmt::print("{}: no memory\n", one.kernel);
  const DeviceTensors tensors = on_device->tensors();
  for (int i = 0; i < 3; ++i) (void)launch(**kernel, *problem, tensors, nullptr);
  for (const Before before : {Before::flush, Before::pause, Before::marks}) {
    fmt::print("{:52} {:6}", to_text(one), before == Before::flush ? "flush" : before == Before::pause ? "pause" : "marks");
    for (int shifts = 0; shifts < most_shifts; ++shifts) {
      std::vector<double> found;
      for (int i = 0; i < repeats; ++i)
        found.push_back(time_once(**kernel, *problem, tensors, scratch, *gauge, *watch, before, shifts));
      std::ranges::sort(found);
      fmt::print(" {:6.0f}", found[repeats / 2]);
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace tilescope

int main(int argc, char** argv) {
  using namespace tilescope;
  if (argc != 2) return fmt::print("usage: pauses SUITE.txt\n"), 2;
  const Result<std::vector<SuiteCase>> suite = read_suite(argv[1]);
  const Result<DeviceInfo> device = find_device();
  if (!suite || !device) return fmt::print("{}\n", (!suite ? suite.error() : device.error()).sentence.text()), 2;
  const Result<DeviceMemory> scratch = flush_scratch(*device);
  if (!scratch) return 1;
  fmt::print("# kernels/lab/pauses.cu on {}\n", device->name);
  for (const SuiteCase& one : *suite) print_case(one, *device, *scratch);
  return 0;
}
