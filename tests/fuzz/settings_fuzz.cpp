// Fuzzes the reader of the settings file.
#include <string>
#include <string_view>

#include "app/ui/settings.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string once = format_settings(parse_settings(text));
  fuzz_check(format_settings(parse_settings(once)) == once, "settings that were written are read as they were");
  return 0;
}
