// Quoting what a user typed, and guessing what was meant.
#include "sim/core/text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace tilescope {
namespace {

/// The UTF-8 of a code point, by the table of the standard.
std::string encoded(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  const auto tail = [&](int shift) { return byte(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), tail(6), tail(0)};
  return {byte(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

/// Whether a code point is a character that a line of text may have.
bool is_shown(std::uint32_t code) {
  const bool controls = code < 0x20 || (code >= 0x7F && code < 0xA0), surrogates = code >= 0xD800 && code < 0xE000;
  return !controls && !surrogates && !(code >= 0x2028 && code <= 0x202E) && code <= 0x10FFFF;
}

/// The fewest edits from one word to another, by trying each edit at the front. A swapped pair is not edited again.
std::size_t fewest_edits(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::max(a.size(), b.size());
  std::size_t fewest = 1 + std::min(fewest_edits(a.substr(1), b), fewest_edits(a, b.substr(1)));
  fewest = std::min(fewest, (a[0] == b[0] ? 0 : 1) + fewest_edits(a.substr(1), b.substr(1)));
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0])
    fewest = std::min(fewest, 1 + fewest_edits(a.substr(2), b.substr(2)));
  return fewest;
}

}  // namespace

TEST_CASE("printable: of all code points, controls, surrogates, line separators and direction overrides are not shown") {
  // Neighbours of each end of a range, and a few between them.
  std::vector<std::uint32_t> codes;
  for (std::uint32_t code = 0; code < 0x900; ++code) codes.push_back(code);
  for (const std::uint32_t edge :
       {0x1000U, 0x2028U, 0x202EU, 0x2080U, 0xD000U, 0xD7FFU, 0xDFFFU, 0xFFFFU, 0x1FFFFU, 0x3FFFFU, 0x40000U, 0x10FFFFU, 0x13FFFFU})
    for (std::uint32_t code = edge - 70; code < edge + 70; ++code) codes.push_back(code);
  for (const std::uint32_t code : codes) {
    const std::string text = encoded(code);
    CAPTURE(code);
    CHECK(printable("a" + text + "b") == "a" + (is_shown(code) ? text : std::string(text.size(), '?')) + "b");
    // A character without its end is none, and what follows it stays.
    if (text.size() == 1) continue;
    const std::string cut = text.substr(0, text.size() - 1);
    CHECK(printable(cut + "b") == std::string(cut.size(), '?') + "b");
    CHECK(printable(cut) == std::string(cut.size(), '?'));
  }
  // Too long a form of a code point, and bytes that begin nothing.
  for (const char* text : {"\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\x80", "\xBF", "\xF5\x80\x80\x80", "\xFF"})
    CHECK(printable(text) == std::string(std::string_view(text).size(), '?'));
}

TEST_CASE("nearest_name: of random words the nearest is that of the fewest edits, up to a third of the longer one") {
  std::mt19937 random(4);
  const auto word = [&] {
    std::string made(1 + random() % 5, ' ');
    for (char& c : made) c = static_cast<char>('a' + random() % 3);
    return made;
  };
  int found = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string typed = word();
    std::array<std::string, 3> names;
    std::array<std::string_view, 3> candidates;
    for (std::size_t n = 0; n < 3; ++n) candidates[n] = names[n] = word();
    std::optional<std::string> nearest;
    std::size_t least = 0;
    for (const std::string& name : names) {
      const bool is_beginning = typed.size() > 2 && name.substr(0, typed.size()) == typed;
      const std::size_t edits = is_beginning ? 1 : fewest_edits(typed, name);
      if (edits > std::max<std::size_t>(1, std::max(typed.size(), name.size()) / 3)) continue;
      if (edits >= name.size() || (nearest && edits >= least)) continue;  // nothing of the name is left, or another is as near
      nearest = name;
      least = edits;
    }
    CAPTURE(typed);
    CHECK(nearest_name(typed, candidates) == nearest);
    found += nearest ? 1 : 0;
  }
  CHECK(found > 30);
  CHECK(found < 170);
}

TEST_CASE("printable: a quoted text is one line of valid UTF-8, whatever was typed") {
  CHECK(printable("flash2") == "flash2");
  CHECK(printable("a\nb\tc\x1b[31m") == "a?b?c?[31m");
  CHECK(printable("어텐션 Qᵢ") == "어텐션 Qᵢ");
  CHECK(printable("\xff\xc3(\xe2\x82") ==
        "?"
        "?("
        "?"
        "?");
  CHECK(printable("\xed\xa0\x80") == "???");      // a surrogate
  CHECK(printable("\xc0\xaf") == "??");           // overlong
  CHECK(printable("a\xe2\x80\xa8z") == "a???z");  // a line separator
  CHECK(printable("a\xe2\x80\xaez") == "a???z");  // right-to-left override
}

TEST_CASE("printable: a long text is cut between characters") {
  CHECK(printable("abcdef", 4) == "abcd…");
  CHECK(printable("ab어c", 4) == "ab…");
  CHECK(printable(std::string(1000, 'x'), 10).size() == 10 + std::string("…").size());
}

TEST_CASE("nearest_name: a slip finds its word, a different word finds none") {
  constexpr std::array<std::string_view, 5> names = {"standard", "flash1", "flash2", "--seq", "--seq-kv"};
  CHECK(nearest_name("flahs2", names) == "flash2");
  CHECK(nearest_name("FLASH1", names) == "flash1");
  CHECK(nearest_name("standart", names) == "standard");
  CHECK(nearest_name("--seqq", names) == "--seq");
  CHECK(nearest_name("sta", names) == "standard");
  CHECK_FALSE(nearest_name("st", names));
  constexpr std::array<std::string_view, 3> letters = {"N", "d", "Br"};
  CHECK_FALSE(nearest_name("q", letters));  // another letter is no slip
  CHECK(nearest_name("B", letters) == "Br");
  CHECK(nearest_name("flash3", names) == "flash1");  // of several as near, the first
  CHECK(nearest_name("--sqe", names) == "--seq");    // two neighbours changed places: one slip
  CHECK_FALSE(nearest_name("--qes", names));
  CHECK_FALSE(nearest_name("transformer", names));
  CHECK_FALSE(nearest_name("", names));
  CHECK_FALSE(nearest_name(std::string(100000, 'f'), names));
}

TEST_CASE("name_hint: names the nearest, else all") {
  constexpr std::array<std::string_view, 3> names = {"toy", "textbook", "h200"};
  CHECK(name_hint("h20", names) == "did you mean h200?");
  CHECK(name_hint("voodoo", names) == "there are toy, textbook and h200");
}

}  // namespace tilescope
