// What a fuzz target defines and may use. libFuzzer calls the same entry where the compiler has it; else mutation_driver.cpp does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Feeds one input to what is under test. Anything that must never happen ends the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tilescope {

/// Ends the process when a property does not hold; stays on in release builds.
inline void fuzz_check(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "property does not hold: %s\n", property);
  std::abort();
}

/// The sentence of an error is one line that can be printed.
inline void fuzz_check_sentence(std::string_view sentence) {
  fuzz_check(!sentence.empty(), "an error has a sentence");
  for (const char c : sentence) {
    const bool good = static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
    if (!good) std::fprintf(stderr, "%.*s\n", static_cast<int>(sentence.size()), sentence.data());
    fuzz_check(good, "an error is one line without control characters");
  }
}

}  // namespace tilescope
