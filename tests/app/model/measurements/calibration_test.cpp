// "My GPU": progress, cancel, what is kept, and what cannot be measured.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "app/model/measurements/calibration.h"
#include "app/model/requests/assets.h"
#include "app/model/state/window_state.h"
#include "app/platform/files.h"
#include "app/ui/say.h"
#include "sim/core/refuse.h"
#include "sim/core/spec_text.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

TEST_CASE("calibration: the full name of a device finds its shipped spec") {
  for (const auto& [name, id] : {std::pair("NVIDIA H100 80GB HBM3", "h100"), std::pair("NVIDIA H200", "h200"),
                                 std::pair("NVIDIA A100-SXM4-80GB", "a100"), std::pair("NVIDIA GeForce RTX 4090", "rtx4090")}) {
    CAPTURE(name);
    const auto spec = shipped_spec("", name);
    REQUIRE(spec);
    CHECK(spec->id == id);
  }
  CHECK_FALSE(shipped_spec("", "NVIDIA L4"));
  CHECK(shipped_spec("h200", "NVIDIA L4")->id == "h200");
}

namespace {

/// What a GPU would give: the shipped spec with a slower HBM.
Result<CalibratedGpu> slower_hbm(const CalibrationTold& told) {
  constexpr int steps = 3;
  for (int i = 0; i < steps; ++i)
    if (!told("HBM bandwidth", i, steps)) return Error{"cancelled", Error::Kind::cancelled};
  CalibratedGpu made;
  made.device = "NVIDIA Test";
  made.shipped = *load_gpu("h200");
  made.measured = made.shipped;
  made.measured.hbm_bytes_per_second *= 0.8;
  made.measured.provenance["hbm.bytes_per_second"] = {Source::measured, "a test"};
  made.file = spec_text(made.measured, "A test.");
  return made;
}

Session::Start start_measuring(Calibrator calibrator, const std::string& folder) {
  Session::Start start = opening_start();
  start.calibrator = std::move(calibrator);
  start.own_gpus = folder;
  start.save_text = [](const std::string& path, const std::string& text) { return write_file(path, text); };
  return start;
}

}  // namespace

TEST_CASE("calibration: what was measured is kept as a file, listed, and can be chosen") {
  const TemporaryFolder folder;
  Opened opened(start_measuring(&slower_hbm, folder.path("gpus")));
  const std::size_t before = opened.view().requested->gpu_ids.size();
  const CalibrationView& own = *opened.after(Calibrate{}).calibration;
  CHECK_FALSE(own.running);
  REQUIRE_FALSE(own.refusal);
  CHECK(own.device == "NVIDIA Test");
  REQUIRE_FALSE(own.rows.empty());
  CHECK(own.rows.front().key == "hbm.bytes_per_second");  // the farthest
  CHECK(own.rows.front().difference() == doctest::Approx(-0.2));
  REQUIRE(own.path == folder.path("gpus/my-h200.toml"));
  REQUIRE(opened.view().requested->gpu_ids.size() == before + 1);
  CHECK(opened.view().requested->gpu_ids.back() == own.path);

  const SessionView chosen = opened.after(SetGpu{own.path});
  CHECK(chosen.requested->request.gpu.hbm_bytes_per_second == doctest::Approx(0.8 * load_gpu("h200")->hbm_bytes_per_second));
  CHECK(window_state_of(chosen).gpu == own.path);
  opened.after(Calibrate{});
  CHECK(opened.view().requested->gpu_ids.size() == before + 1);  // the same file again
}

TEST_CASE("calibration: without a GPU the window says why, in one sentence, and keeps what it has") {
  const TemporaryFolder folder;
  Opened opened(start_measuring(
      [](const CalibrationTold&) -> Result<CalibratedGpu> {
        return Error{"calibrate needs an NVIDIA GPU: no driver", Error::Kind::machine_lacks};
      },
      folder.path("gpus")));
  const CalibrationView& own = *opened.after(Calibrate{}).calibration;
  REQUIRE(own.refusal);
  CHECK(own.refusal->sentence == "calibrate needs an NVIDIA GPU: no driver");
  CHECK(own.rows.empty());
  CHECK_FALSE(opened.view().lanes.empty());
}

TEST_CASE("calibration: it says what it measures, in the window's language, and ends soon after it is cancelled") {
  Session::Start start = start_measuring(
      [](const CalibrationTold& told) -> Result<CalibratedGpu> {
        for (int i = 0; told(phrase("latencies"), i % 100, 100); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return Error{"cancelled", Error::Kind::cancelled};
      },
      {});
  start.threads = true;
  Session session(std::move(start));
  session.finish();
  session.apply(Calibrate{});
  for (int i = 0; i < 2000 && session.view().calibration->step.empty(); ++i) {
    session.tick(1.0 / 60);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(session.view().calibration->running);
  CHECK(session.view().calibration->step == "latencies");
  use_language(*load_language("ko"));
  CHECK(say(session.view().calibration->step) == "지연 시간");
  use_language(nullptr);
  CHECK(session.view().calibration->of == 100);
  session.apply(Calibrate{false});
  CHECK_FALSE(session.view().calibration->running);
  session.finish();  // it would never end by itself
  CHECK_FALSE(session.view().calibration->refusal);
}

TEST_CASE("calibration: a folder that cannot be written is said beside the values") {
  const TemporaryFolder folder;
  Opened opened(start_measuring(&slower_hbm, folder.file("a file", "") + "/gpus"));
  const CalibrationView& own = *opened.after(Calibrate{}).calibration;
  CHECK(own.path.empty());
  CHECK_FALSE(own.unsaved.empty());
  CHECK_FALSE(own.rows.empty());
}
