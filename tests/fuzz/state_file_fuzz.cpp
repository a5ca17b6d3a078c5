// Fuzzes the reader of the window's state file.

#include "app/model/state/state_file.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const auto file = parse_state_file({reinterpret_cast<const char*>(data), size}, "window.toml");
  if (!file) {
    fuzz_check_sentence(file.error().sentence.text());
    return 0;
  }
  const auto again = parse_state_file(format_state_file(*file), "window.toml");
  fuzz_check(again && *again == *file, "a state that was written is read as it was");
  return 0;
}
