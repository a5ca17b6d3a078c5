// Measuring on a real GPU, through the session as the window uses it; nothing to see where there is no GPU with a shipped spec.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "app/model/measurements/probe_comparison.h"
#include "app/model/requests/assets.h"
#include "app/model/session/session.h"
#include "app/views/softmax/softmax_kernel.h"
#include "kernels/measure/measure_case.h"
#include "tests/skip.h"

using namespace tilescope;

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Lets the session work as a window does, until `there`; how long that took.
template <class There>
double seconds_until(Session& session, There there) {
  const auto start = Clock::now();
  while (!there() && seconds_since(start) < 30) {
    session.tick(0.004);
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  return seconds_since(start);
}

}  // namespace

TEST_CASE("measure live: Measure shows live figures, row and samples within a second once set up") {
  const Result<DeviceInfo> device = find_device();
  if (!device) {
    skip_test(device.error().sentence);
    return;
  }
  const Result<GpuSpec> gpu = load_gpu(spec_id_of(device->name));
  if (!gpu) {
    skip_test(gpu.error().sentence);
    return;
  }
  for (const std::string algorithm : {"flash2", "standard", "flash1"}) {
    Session::Start start;
    start.request.algorithm = algorithm;
    start.request.problem.heads = start.request.problem.kv_heads = 16;
    start.request.problem.seq_q = start.request.problem.seq_kv = algorithm == "flash1" ? 1024 : 4096;
    start.request.problem.head_dim = 64;
    start.request.gpu = *gpu;
    start.inputs.seed = 5;
    Session session(std::move(start));
    session.finish();
    double worst = 0;
    for (int press = 0; press < 3; ++press) {
      session.apply(Measure{});
      const auto measured = [&] { return !session.animating(); };
      std::string times;
      const auto begun = Clock::now();
      bool figures = false;
      seconds_until(session, [&] {
        const SessionView view = session.view();
        if (!figures && view.measured.found != nullptr && view.measured.found->bundle->live && press == 0) {
          figures = true;
          times = "figures after " + std::to_string(seconds_since(begun)) + " s, ";
        }
        return seconds_since(begun) > 0.05 && measured();
      });
      const double all = seconds_since(begun);
      MESSAGE(algorithm << ", press " << press + 1 << ": " << times << "all after " << all << " s");
      if (press > 0) worst = std::max(worst, all);
    }
    session.finish();
    const SessionView view = session.view();
    REQUIRE(view.measured.found != nullptr);
    CHECK(view.measured.found->bundle->live);
    CHECK(view.measured.found->measured().refused == "");
    REQUIRE(view.measured.probe != nullptr);
    CHECK(view.measured.probe->live);
    REQUIRE(view.measured.compared != nullptr);
    const ProbedStep off = view.measured.compared->worst();
    CHECK(off.l < (algorithm == "standard" ? 1e-3 : 1e-5));
    CHECK(off.m < (algorithm == "standard" ? 1e-3 : 1e-5));
    CHECK(shown_beside(view).inputs);
    REQUIRE(view.measured.bandwidth != nullptr);
    CHECK(view.measured.bandwidth->live);
    MESSAGE(algorithm << ": m off by " << off.m << ", l by " << off.l << ", alpha by " << off.alpha << "; "
                      << view.measured.bandwidth->record.samples.size() << " samples");
    CHECK(worst < 1.0);
  }
}
