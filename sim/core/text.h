// Small helpers for sentences: quoting what a user typed, and guessing what was meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// `text` fit for one line of a message: control characters and broken UTF-8 become '?', what is beyond `limit` bytes becomes "…".
std::string printable(std::string_view text, std::size_t limit = 60);

/// The candidate that differs from `word` by the fewest typing slips; nullopt when none is near enough to be what was meant.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// "did you mean X?" where there is a near candidate, else "there are A, B and C".
std::string name_hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tilescope
