// What becomes of measured values; and what is said without a GPU.
#include "kernels/calibrate/calibrate.h"

#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

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
