// Sanitizing of a user's text, and suggestions by edit distance.
#include "sim/core/text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include <fmt/ranges.h>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// Returns the length of the well-formed UTF-8 character at the front of `text`; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t count = first >= 0xC2 && first < 0xE0 ? 2 : (first & 0xF0) == 0xE0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (count == 0 || text.size() < count) return 0;
  for (std::size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && byte(1) < 0xA0) return 0;                                         // overlong
  if (first == 0xED && byte(1) > 0x9F) return 0;                                         // surrogates
  if (first == 0xF0 && byte(1) < 0x90) return 0;                                         // overlong
  if (first == 0xF4 && byte(1) > 0x8F) return 0;                                         // beyond Unicode
  if (first == 0xC2 && byte(1) < 0xA0) return 0;                                         // C1 controls
  if (first == 0xE2 && byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) return 0;  // line separators, direction overrides
  return count;
}

/// Counts the edits (insert, delete, replace, swap of neighbours) from `a` to `b`, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string line;
  while (!text.empty()) {
    const std::size_t count = character_bytes(text);
    const bool good = count > 1 || (count == 1 && text[0] >= 0x20 && text[0] != 0x7F);
    if (line.size() + (good ? count : 1) > limit) return line + "…";
    if (good)
      line += text.substr(0, count);
    else
      line += '?';
    text.remove_prefix(std::max<std::size_t>(count, 1));
  }
  return line;
}

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t longest_word = 64;  // bounds the cost of the comparison; no name is as long
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t fewest = 0;
  for (std::string_view candidate : candidates) {
    // An incomplete name is more likely than three wrong letters.
    const bool beginning = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t edits = beginning ? 1 : edit_distance(word, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (edits <= allowed && edits < candidate.size() && (!nearest || edits < fewest)) {
      nearest = std::string(candidate);
      fewest = edits;
    }
  }
  return nearest;
}

std::optional<std::size_t> index_of_name(std::span<const std::string_view> names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - names.begin()));
}

Sentence listed(std::span<const std::string_view> names) {
  if (names.size() < 2) return names.empty() ? std::string() : std::string(names.front());
  return phrase("{} and {}", fmt::format("{}", fmt::join(names.first(names.size() - 1), ", ")), names.back());
}

Sentence name_hint(std::string_view word, std::span<const std::string_view> candidates) {
  if (const auto nearest = nearest_name(word, candidates)) return phrase("did you mean {}?", *nearest);
  return phrase("there are {}", listed(candidates));
}

}  // namespace tilescope
