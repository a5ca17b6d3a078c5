// What becomes of measured values; and what is said without a GPU.
#include "kernels/calibrate/calibrate.h"

#include <string>

#include <doctest/doctest.h>

#include "kernels/calibrate/asynchronous.h"
#include "sim/core/spec_text.h"
#include "tests/kernels/shipped_spec.h"

using namespace tilescope;

TEST_CASE("calibrate: a measured value is marked so, with its note, and all others keep their source") {
  const GpuSpec before = shipped_spec("a100");
  const Result<GpuSpec> after = calibrated_spec(before, {{"hbm.latency_cycles", 601.5, "a chain of addresses"}});
  REQUIRE(after);
  CHECK(after->hbm_latency_cycles == 601.5);
  CHECK(after->provenance.at("hbm.latency_cycles").source == Source::measured);
  CHECK(after->provenance.at("hbm.latency_cycles").note == "a chain of addresses");
  CHECK(after->sm_exps_per_cycle == before.sm_exps_per_cycle);
  CHECK(after->provenance.at("sm.exps_per_cycle").source == before.provenance.at("sm.exps_per_cycle").source);
}

TEST_CASE("calibrate: a GPU of another number of SMs than the base gets halves for groups, so that its file can be read") {
  const Result<GpuSpec> same = calibrated_spec(shipped_spec("h200"), {{"sm.count", 132, "read from the device"}});
  REQUIRE(same);
  CHECK(same->sm_groups == shipped_spec("h200").sm_groups);
  const Result<GpuSpec> other = calibrated_spec(shipped_spec("h200"), {{"sm.count", 114, "read from the device"}});
  REQUIRE(other);
  CHECK(other->sm_groups == std::vector<SmGroup>{{57, 0}, {57, 1}});
  CHECK(other->provenance.at("sm.groups").source == Source::estimated);
  CHECK(parse_gpu_spec(spec_text(*other, "written"), "written"));
  const Result<GpuSpec> one_side = calibrated_spec(shipped_spec("rtx4090"), {{"sm.count", 76, "read from the device"}});
  REQUIRE(one_side);
  CHECK(parse_gpu_spec(spec_text(*one_side, "written"), "written"));
}

TEST_CASE("calibrate: a value that no GPU has is an error and not a spec") {
  const Result<GpuSpec> spec = calibrated_spec(shipped_spec("a100"), {{"sm.exps_per_cycle", -1, "broken"}});
  REQUIRE_FALSE(spec);
  CHECK(spec.error().sentence.text().find("sm.exps_per_cycle is -1") != std::string::npos);
}

TEST_CASE("calibrate: without CUDA it says so") {
  if (built_with_cuda()) return;
  const auto values = calibrate(DeviceInfo{}, shipped_spec("h200"));
  REQUIRE_FALSE(values);
  CHECK(values.error().kind == Error::Kind::machine_lacks);
}

namespace {

/// What kernels/lab/measured/h200-hopper-units-2026-11-24.txt has of an H200.
microbench::AsynchronousUnits units_of_h200() {
  return {.tokens = {142, 157, 48, 64},
          .boxes = {{8, 96.5, 528, 959, 950},
                    {16, 96.5, 540, 959, 943},
                    {32, 96.5, 547, 959, 1027},
                    {64, 96.5, 581, 1025, 1193},
                    {128, 96.5, 652, 1476, 1139},
                    {256, 96.5, 805, 2341, 1283}},
          .streams = {{8, 16, 4.2, 4.2}, {256, 4, 105.9, 36.9}}};
}

}  // namespace

TEST_CASE("calibrate: round trips and boxes of an H200 become the values that the engine reads") {
  const GpuSpec h200 = shipped_spec("h200");
  const auto spec = calibrated_spec(h200, microbench::asynchronous_values(units_of_h200(), h200.l2_latency_cycles));
  REQUIRE(spec);
  CHECK(spec->sm_mbarrier_cycles == 71);
  CHECK(spec->sm_mbarrier_wait_cycles == 48);
  CHECK(spec->sm_named_barrier_cycles == 32);
  CHECK(spec->sm_box_issue_cycles == 96.5);
  CHECK(spec->sm_box_bytes_per_cycle == doctest::Approx(16384.0 / (805 - 652)).epsilon(0.001));
  // 1 to 32 KiB leave 199.5, 202.0, 189.9, 185.6, 180.1 and 180.1 cycles.
  CHECK(spec->sm_box_latency_cycles == doctest::Approx((185.6 + 189.9) / 2).epsilon(0.001));
}

TEST_CASE("calibrate: the times of every box are in the notes of the file, which can be read again") {
  const GpuSpec h200 = shipped_spec("h200");
  const auto spec = calibrated_spec(h200, microbench::asynchronous_values(units_of_h200(), h200.l2_latency_cycles));
  REQUIRE(spec);
  const auto read = parse_gpu_spec(spec_text(*spec, "written"), "written");
  REQUIRE(read);
  for (const char* key : {"sm.mbarrier_cycles", "sm.mbarrier_wait_cycles", "sm.named_barrier_cycles", "sm.box_issue_cycles",
                          "sm.box_latency_cycles", "sm.box_bytes_per_cycle"}) {
    CAPTURE(key);
    CHECK(read->provenance.at(key).source == Source::measured);
    CHECK_FALSE(read->provenance.at(key).note.starts_with("kernels/lab"));
  }
  CHECK(read->provenance.at("sm.box_latency_cycles").note.find("1 KiB 528, 2 KiB 540") != std::string::npos);
  CHECK(read->provenance.at("sm.box_bytes_per_cycle").note.find("32 KiB 105.9 and 36.9") != std::string::npos);
}

TEST_CASE("calibrate: boxes that land sooner than the L2 answers have no latency of their own") {
  const auto values = microbench::asynchronous_values(units_of_h200(), 2000);
  for (const CalibratedValue& value : values)
    if (value.key == "sm.box_latency_cycles") CHECK(value.value == 0);
  CHECK(values.size() == 6);
}
