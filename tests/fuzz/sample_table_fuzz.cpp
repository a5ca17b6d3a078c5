// Fuzzes the reader of validation tables.
#include <string_view>

#include "sim/analysis/validation_csv.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto rows = validation_from_csv(text); !rows) fuzz_check_sentence(rows.error().sentence.text());
  return 0;
}
