// The values of a link: how each kind is written, and how it is read. What is refused names the key.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/model/run_data/time_range.h"
#include "app/model/state/shared_matrix.h"
#include "app/model/state/view_choices.h"
#include "sim/core/matrix.h"
#include "sim/core/refuse.h"
#include "sim/core/result.h"

namespace tilescope {

/// Writes a text with % where a link would read something else.
std::string encoded(std::string_view text);
/// Returns nullopt where a % is not followed by two hexadecimal digits.
std::optional<std::string> decoded(std::string_view text);

/// Returns "`key` is '`text`': it must be `rule`".
Error bad_value(std::string_view key, std::string_view text, const Sentence& rule);

/// Returns nullopt for what is not wholly a number.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
Status read_whole(std::string_view key, std::string_view text, std::int64_t low, std::int64_t high, T& into) {
  const auto value = number_in<std::int64_t>(text);
  if (!value || *value < low || *value > high) return bad_value(key, text, phrase("a whole number from {} to {}", low, high));
  into = static_cast<T>(*value);
  return Done{};
}
Status read_real(std::string_view key, std::string_view text, double low, double high, double& into);
/// Reads two cycles with a colon between them.
Status read_range(std::string_view key, std::string_view text, TimeRange& into);
/// Reads a zoom of the map of a mask, and the query and the key at its top left.
Status read_mask_zoom(std::string_view key, std::string_view text, MaskMapChoice& into);
Status read_on(std::string_view key, std::string_view text, bool& into);

/// Returns the place of `text` among `names`.
Result<std::size_t> read_name(std::string_view key, std::string_view text, std::span<const std::string_view> names);
template <class T>
Status read_enum(std::string_view key, std::string_view text, std::span<const std::string_view> names, T& into) {
  const auto place = read_name(key, text, names);
  if (!place) return place.error();
  into = static_cast<T>(*place);
  return Done{};
}

/// Write and read rows with semicolons between them.
std::string matrix_text(const Matrix& matrix);
Status read_matrix(std::string_view key, std::string_view text, SharedMatrix& into);

std::vector<std::string_view> algorithm_names();
/// Reads algorithms with commas between them, each once.
Status read_algorithms(std::string_view key, std::string_view text, std::vector<std::string>& into);
/// Returns words with commas between them.
std::string joined(const std::vector<std::string>& words);

}  // namespace tilescope
