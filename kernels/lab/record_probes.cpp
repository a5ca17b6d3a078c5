// tilescope_record_probes: the probe of each case of a suite, as `tilescope measure --probe` records it. It needs no CMake and no
// window libraries: kernels/build_gpu_check.sh builds it.
//
//   tilescope_record_probes CASES.txt OUT_FOLDER COMMIT      writes OUT_FOLDER/<gpu>-probe-<kernel>-d<d>[-causal].json
//   Exit codes: 0 all recorded, 1 some not, 2 the request was wrong, 77 no CUDA device (skipped).
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "kernels/lab/read_suite.h"
#include "kernels/measure/date_now.h"
#include "kernels/measure/measure_case.h"
#include "kernels/measure/probe.h"
#include "kernels/measure/probe_json.h"
#include "sim/numerics/inputs.h"

using namespace tilescope;

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print("usage: tilescope_record_probes CASES.txt OUT_FOLDER COMMIT\n");
    return 2;
  }
  const Result<std::vector<SuiteCase>> suite = read_suite(argv[1]);
  if (!suite) {
    fmt::print("{}\n", suite.error().sentence.text());
    return 2;
  }
  const Result<DeviceInfo> device = find_device();
  if (!device) {
    fmt::print("skipped: {}\n", device.error().sentence.text());
    return 77;
  }
  int failed = 0;
  for (const SuiteCase& one : *suite) {
    InputSource source;
    const Result<AttentionProblem> problem = settled_problem(one);
    const auto inputs = [&](Tensor tensor, std::int64_t plane, std::int64_t row, std::span<float> values) {
      const TileRef tile = {tensor, static_cast<std::int32_t>(plane),        static_cast<std::int32_t>(row), 1,
                            0,      static_cast<std::int32_t>(values.size())};
      std::ranges::copy(input_tile(source, *problem, tile).values, values.begin());
    };
    Result<ProbeResult> probe = problem ? run_probe(**find_kernel(one.kernel), *problem, {}, inputs) : problem.error();
    if (!probe) {
      fmt::print("{}: {}\n", to_text(one), probe.error().sentence.text());
      ++failed;
      continue;
    }
    probe->seed = source.seed;
    probe->commit = argv[3];
    probe->date = date_now();
    const std::string name = fmt::format("{}/{}-probe-{}-d{}{}.json", argv[2], spec_id_of(device->name), one.kernel,
                                         one.problem.head_dim, one.problem.causal ? "-causal" : "");
    std::ofstream(name) << to_json(*probe);
    double last_end = 0;
    for (const ProbedBlock& block : probe->blocks) last_end = std::max(last_end, block.end_ns);
    fmt::print(
        "{:72} {:8.1f} us, with the probe {:8.1f} us, from the first block to the last {:8.1f} us at {:.3f} GHz, {} blocks seen\n",
        to_text(one), probe->plain_ns / 1e3, probe->probed_ns / 1e3, last_end / 1e3, probe->sm_clock_hz / 1e9,
        probe->sm_blocks.size());
  }
  return failed == 0 ? 0 : 1;
}
