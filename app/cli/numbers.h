// Parses command-line numbers strictly: the whole text must be valid, or the error quotes it.
#pragma once

#include <cstdint>
#include <string_view>

#include "app/model/session/window_options.h"
#include "sim/core/result.h"

namespace tilescope {

/// Parses a decimal whole number. Errors  anything else ("1e3", "12 ", "0x10", "+5"), or out of range.
Result<std::int64_t> whole_number(std::string_view flag, std::string_view text, std::int64_t minimum, std::int64_t maximum);

/// Parses a seed, 0 to 2^64 - 1.
Result<std::uint64_t> unsigned_number(std::string_view flag, std::string_view text);

/// Parses a decimal number, with or without a fraction.
Result<double> real_number(std::string_view flag, std::string_view text, double minimum, double maximum);

struct PictureSize {
  int width = 1600, height = 900;
  bool operator==(const PictureSize&) const = default;
};
/// Parses "1600x900". Errors  not two numbers with an x between, or a side outside 64 to 8192.
Result<PictureSize> picture_size(std::string_view flag, std::string_view text);

/// Parses "3:40", "3:end", or "3". Errors  anything else, or a last step before the first.
Result<ExportSteps> step_range(std::string_view flag, std::string_view text);

}  // namespace tilescope
