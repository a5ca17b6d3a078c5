// Fuzzes the reader of suites.
#include <string_view>

#include "kernels/measure/suite.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto suite = suite_from_text(text);
  if (!suite) {
    fuzz_check_sentence(suite.error().sentence.text());
    return 0;
  }
  for (const SuiteCase& one : *suite)
    fuzz_check(static_cast<bool>(suite_from_text(to_text(one))), "an accepted case can be written and read");
  return 0;
}
