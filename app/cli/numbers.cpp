// Parses command-line numbers strictly.
#include "app/cli/numbers.h"

#include <charconv>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::int64_t smallest_side = 64, largest_side = 8192;

template <class T>
std::errc read_whole(std::string_view text, T& value) {
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value);
  return code == std::errc() && end != last ? std::errc::invalid_argument : code;
}

Error not_whole(std::string_view flag, std::string_view text) {
  return Error{fmt::format("{} is '{}': it must be a whole number, such as 1024", flag, printable(text))};
}
Error not_whole(std::string_view flag, std::string_view text, std::int64_t minimum, std::int64_t maximum) {
  constexpr std::int64_t example = 1024;
  if (minimum <= example && example <= maximum) return not_whole(flag, text);
  return Error{fmt::format("{} is '{}': it must be a whole number from {} to {}", flag, printable(text), minimum, maximum)};
}

}  // namespace

Result<std::int64_t> whole_number(std::string_view flag, std::string_view text, std::int64_t minimum, std::int64_t maximum) {
  std::int64_t value = 0;
  const std::errc code = read_whole(text, value);
  if (code == std::errc::invalid_argument) return not_whole(flag, text, minimum, maximum);
  if (code != std::errc() || value < minimum || value > maximum)
    return Error{fmt::format("{} is {}: it must be from {} to {}", flag, printable(text), minimum, maximum)};
  return value;
}

Result<std::uint64_t> unsigned_number(std::string_view flag, std::string_view text) {
  std::uint64_t value = 0;
  const std::errc code = read_whole(text, value);
  if (code == std::errc()) return value;
  if (code == std::errc::invalid_argument && !text.starts_with('-')) return not_whole(flag, text);
  return Error{fmt::format("{} is {}: it must be from 0 to {}", flag, printable(text), std::numeric_limits<std::uint64_t>::max())};
}

Result<double> real_number(std::string_view flag, std::string_view text, double minimum, double maximum) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, value, std::chars_format::fixed);
  if (code != std::errc() || end != last || !(value >= minimum && value <= maximum))
    return Error{fmt::format("{} is '{}': it must be a number from {} to {}", flag, printable(text), minimum, maximum)};
  return value;
}

Result<PictureSize> picture_size(std::string_view flag, std::string_view text) {
  const std::size_t cross = text.find('x');
  std::int64_t width = 0, height = 0;
  const bool good = cross != std::string_view::npos && read_whole(text.substr(0, cross), width) == std::errc() &&
                    read_whole(text.substr(cross + 1), height) == std::errc();
  if (!good) return Error{fmt::format("{} is '{}': write it as WIDTHxHEIGHT, such as 1600x900", flag, printable(text))};
  if (width < smallest_side || width > largest_side || height < smallest_side || height > largest_side)
    return Error{
        fmt::format("{} is {}: each side must be from {} to {} pixels", flag, printable(text), smallest_side, largest_side)};
  return PictureSize{static_cast<int>(width), static_cast<int>(height)};
}

Result<ExportSteps> step_range(std::string_view flag, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view last = colon == std::string_view::npos ? text : text.substr(colon + 1);
  ExportSteps range;
  std::int64_t end = 0;
  bool good = read_whole(text.substr(0, colon), range.first) == std::errc() && range.first >= 0;
  if (last != "end") {
    good = good && read_whole(last, end) == std::errc() && end >= 0;
    range.last = end;
  }
  if (!good) return Error{fmt::format("{} is '{}': write FIRST:LAST, such as 0:40 or 0:end", flag, printable(text))};
  if (range.last && *range.last < range.first)
    return Error{fmt::format("{} is {}: the last step comes before the first", flag, printable(text))};
  return range;
}

}  // namespace tilescope
