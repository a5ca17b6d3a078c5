// Numbers as people type them on a command line, taken strictly: the whole text, or a sentence that quotes it.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

/// A decimal whole number. Errors  anything else ("1e3", "12 ", "0x10", "+5"), or beyond `minimum` and `maximum`.
Result<std::int64_t> whole_number(std::string_view flag, std::string_view text, std::int64_t minimum, std::int64_t maximum);

/// The same from 0 to 2^64 - 1, for seeds.
Result<std::uint64_t> unsigned_number(std::string_view flag, std::string_view text);

/// A decimal number, with or without a fraction.
Result<double> real_number(std::string_view flag, std::string_view text, double minimum, double maximum);

struct PictureSize {
  int width = 1600, height = 900;
  bool operator==(const PictureSize&) const = default;
};
/// "1600x900". Errors  not two numbers with an x between, a side below 64 or above 8192.
Result<PictureSize> picture_size(std::string_view flag, std::string_view text);

}  // namespace tilescope
