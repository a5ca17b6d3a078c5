// Helpers for error messages: they quote a user's text and suggest the name that was meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/core/sentence.h"

namespace tilescope {

/// Returns `text` fit for one line of a message: '?' replaces control characters and broken UTF-8, "…" what exceeds `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);

/// Returns the candidate with the fewest typing errors relative to `word`; nullopt if none is close.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// Returns where `name` stands among `names`, or nullopt.
std::optional<std::size_t> index_of_name(std::span<const std::string_view> names, std::string_view name);

/// Returns "A, B and C": a part of a refusal.
Sentence listed(std::span<const std::string_view> names);

/// Returns "did you mean X?" if a candidate is close, otherwise "there are A, B and C": a part of a refusal.
Sentence name_hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tilescope
