// phrase() and refuse() make a Sentence and an Error from a pattern and its values. The compiler checks the pattern against the
// values. assets/lang has the translation of every pattern that the window can show.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/core/result.h"

namespace tilescope {

/// The type that a pattern formats for a T: std::int64_t, double, or text. A setting and an inner sentence are text.
template <class T>
using Printed = std::conditional_t<
    std::same_as<T, Setting>, std::string_view,
    std::conditional_t<std::integral<T>, std::int64_t, std::conditional_t<std::floating_point<T>, double, std::string>>>;

template <class T>
Sentence::Value kept(const T& value) {
  if constexpr (std::same_as<T, Setting>)
    return value;
  else if constexpr (std::same_as<T, Sentence>)
    return std::make_shared<const Sentence>(value);
  else
    return Printed<T>(value);
}

/// Returns a sentence, or a part of one that is a value of another: the window translates both. Pass a setting as Setting: the
/// command line and the window each print their own name for it.
template <class... T>
Sentence phrase(fmt::format_string<Printed<T>...> pattern, const T&... values) {
  const fmt::string_view text = pattern;
  return Sentence(std::string_view(text.data(), text.size()), {kept(values)...});
}

/// Returns an Error. `pattern` says what is wrong and what to do. Values are those of phrase().
template <class... T>
Error refuse(fmt::format_string<Printed<T>...> pattern, const T&... values) {
  return Error{phrase<T...>(pattern, values...)};
}

}  // namespace tilescope

template <>
struct fmt::formatter<tilescope::Sentence> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const tilescope::Sentence& sentence, Context& context) const {
    return fmt::formatter<std::string>::format(sentence.text(), context);
  }
};
