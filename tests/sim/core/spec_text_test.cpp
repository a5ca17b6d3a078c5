// A spec written as text and read again.
#include "sim/core/spec_text.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"

namespace tilescope {

TEST_CASE("spec text: what is written is read again, every value with its source and its note") {
  for (GpuSpec spec : {toy_gpu(), h200_gpu()}) {
    int n = 0;
    for (const SpecKey& key : spec_keys())
      spec.provenance.insert_or_assign(std::string(key.key),
                                       Provenance{n++ % 2 == 0 ? Source::measured : Source::vendor, "a \"quoted\" note\\"});
    // Values that a hand-built spec leaves open.
    for (const SpecKey& key : spec_keys()) spec.*key.member = std::max(spec.*key.member, key.optional ? 1000 : key.minimum);
    spec.provenance.insert_or_assign(std::string(sm_groups_key), Provenance{Source::measured, "dealt so"});
    const auto again = parse_gpu_spec(spec_text(spec, "a heading"), "written");
    REQUIRE_MESSAGE(again, again.error().sentence);
    CHECK(again->id == spec.id);
    CHECK(again->name == spec.name);
    CHECK(again->sm_groups == spec.sm_groups);
    CHECK(again->provenance.at(std::string(sm_groups_key)).note == "dealt so");
    for (const SpecKey& key : spec_keys()) {
      const std::string name(key.key);
      CAPTURE(name);
      CHECK((*again).*key.member == spec.*key.member);
      CHECK(again->provenance.at(name).source == spec.provenance.at(name).source);
      CHECK(again->provenance.at(name).note == spec.provenance.at(name).note);
    }
  }
}

TEST_CASE("spec text: a value that a file may leave out is written only if the spec says where it is from") {
  GpuSpec spec = h200_gpu();
  CHECK(spec_text(spec, "a heading").find("[link]") == std::string::npos);
  REQUIRE(set_spec_value(spec, "link.latency_cycles=5"));
  const std::string text = spec_text(spec, "a heading");
  CHECK(text.find("[link]\nlatency_cycles") != std::string::npos);
  CHECK(text.find("bytes_per_second", text.find("[link]")) == std::string::npos);
}

}  // namespace tilescope
