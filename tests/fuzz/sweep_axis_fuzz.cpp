// Fuzzes the reader of sweep ranges.
#include <string_view>

#include "sim/analysis/sweep.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto axis = parse_sweep_axis(text);
  if (!axis) {
    fuzz_check_sentence(axis.error().sentence.text());
    return 0;
  }
  fuzz_check(!axis->values.empty(), "an accepted range has values");
  return 0;
}
