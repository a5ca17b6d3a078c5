// Fuzzes the reader of links.
#include <string>
#include <string_view>

#include "app/model/state/window_state.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto state = from_link(text);
  if (!state) {
    fuzz_check_sentence(state.error().sentence.text());
    return 0;
  }
  const std::string link = to_link(*state);
  const auto again = from_link(link);
  fuzz_check(again && to_link(*again) == link, "an accepted link has one canonical form");
  return 0;
}
