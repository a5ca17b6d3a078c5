// Fuzzes the GPU spec parser, and --set with the same text.
#include <string_view>

#include "sim/core/gpu_spec.h"
#include "tests/fuzz/fuzz_target.h"

namespace tilescope {

namespace {

void check_ranges(const GpuSpec& spec) {
  for (const SpecKey& key : spec_keys()) {
    const double value = spec.*key.member;
    fuzz_check(value >= key.minimum && value <= key.maximum, "an accepted value is in its range");
    fuzz_check(key.optional || spec.provenance.contains(key.key), "an accepted value says where it is from");
  }
}

}  // namespace

}  // namespace tilescope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto spec = parse_gpu_spec(text, "fuzz.toml")) {
    fuzz_check(!spec->id.empty() && !spec->name.empty(), "an accepted spec has an id and a name");
    check_ranges(*spec);
  } else {
    fuzz_check_sentence(spec.error().sentence.text());
  }
  GpuSpec set;
  if (const auto status = set_spec_value(set, text))
    fuzz_check(set.provenance.size() == 1, "an assignment sets one value");
  else
    fuzz_check_sentence(status.error().sentence.text());
  return 0;
}
