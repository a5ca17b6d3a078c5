// Fuzzes the reader of languages.
#include <string_view>

#include "app/ui/language.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto language = Language::parse(text, "fuzz.toml"); !language) fuzz_check_sentence(language.error().sentence.text());
  return 0;
}
