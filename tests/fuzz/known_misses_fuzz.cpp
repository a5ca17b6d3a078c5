// Fuzzes the reader of known misses.
#include <string_view>

#include "sim/analysis/known_misses.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto misses = known_misses_from_toml(text, "fuzz.toml"); !misses) fuzz_check_sentence(misses.error().sentence.text());
  return 0;
}
