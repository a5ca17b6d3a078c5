// Fuzzes the reader of .npy arrays. What it accepts is written and read again.
#include <bit>
#include <cmath>
#include <string_view>

#include "sim/core/npy.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::size_t dimensions : {std::size_t{4}, std::size_t{2}}) {
    const auto array = parse_npy_floats(bytes, "fuzz.npy", dimensions);
    if (!array) {
      fuzz_check_sentence(array.error().sentence.text());
      continue;
    }
    std::size_t count = 1;
    for (const std::int64_t length : array->shape) {
      fuzz_check(length >= 1, "an accepted length is at least 1");
      count *= static_cast<std::size_t>(length);
    }
    fuzz_check(array->shape.size() == dimensions && count == array->values.size(), "an accepted array has all of its elements");
    const auto again = parse_npy_floats(to_npy(array->type, array->shape, array->values), "again.npy", dimensions);
    fuzz_check(static_cast<bool>(again), "what was written is read");
    fuzz_check(again->type == array->type && again->shape == array->shape, "type and shape are kept");
    for (std::size_t i = 0; i < count; ++i) {
      const float before = array->values[i], after = again->values[i];
      fuzz_check(
          std::bit_cast<std::uint32_t>(before) == std::bit_cast<std::uint32_t>(after) || (std::isnan(before) && std::isnan(after)),
          "elements are kept");
    }
  }
  return 0;
}
