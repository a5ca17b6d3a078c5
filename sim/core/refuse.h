// refuse() makes an Error from a pattern and its values. The compiler checks the pattern against the values.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/core/result.h"

namespace tilescope {

/// The type that a pattern formats for a T: std::int64_t, double, text, or the name of a setting.
template <class T>
using Printed = std::conditional_t<
    std::same_as<T, Setting>, std::string_view,
    std::conditional_t<std::integral<T>, std::int64_t, std::conditional_t<std::floating_point<T>, double, std::string>>>;

template <class T>
Sentence::Value kept(const T& value) {
  if constexpr (std::same_as<T, Setting>)
    return value;
  else
    return Printed<T>(value);
}

/// Returns an Error. `pattern` says what is wrong and what to do. Pass a setting as Setting: the command line and the window each
/// print their own name for it.
template <class... T>
Error refuse(fmt::format_string<Printed<T>...> pattern, const T&... values) {
  const fmt::string_view text = pattern;
  return Error{Sentence(std::string_view(text.data(), text.size()), {kept(values)...})};
}

}  // namespace tilescope

template <>
struct fmt::formatter<tilescope::Sentence> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const tilescope::Sentence& sentence, Context& context) const {
    return fmt::formatter<std::string>::format(sentence.text(), context);
  }
};
