// refuse(): a refusal whose pattern is checked against its values at compile time.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/core/result.h"

namespace tilescope {

/// What a pattern prints of a value: whole numbers, other numbers, text, or the name of a setting.
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

/// Refuses a request: `pattern` says what is wrong and what to do; settings stand in it as Setting, named by whoever shows it.
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
