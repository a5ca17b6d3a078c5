// Fuzzes the reader of measurement bundles.
#include <string_view>

#include "kernels/measure/bundle.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bundle = bundle_from_json(text);
  if (!bundle) {
    fuzz_check_sentence(bundle.error().sentence.text());
    return 0;
  }
  const auto again = bundle_from_json(to_json(*bundle));
  fuzz_check(again && *again == *bundle, "an accepted bundle is the same after it was written and read");
  return 0;
}
