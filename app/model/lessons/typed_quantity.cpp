// Scans by hand: the grammar is small, and std::from_chars() reads the digits that it leaves.
#include "app/model/lessons/typed_quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

namespace tilescope {

namespace {

struct Suffix {
  std::string_view name;
  double factor;
};

constexpr std::array byte_suffixes = {
    Suffix{"b", 1},        Suffix{"byte", 1},        Suffix{"bytes", 1},         Suffix{"kb", 1e3}, Suffix{"mb", 1e6},
    Suffix{"gb", 1e9},     Suffix{"tb", 1e12},       Suffix{"k", 1e3},           Suffix{"m", 1e6},  Suffix{"g", 1e9},
    Suffix{"kib", 1024.0}, Suffix{"mib", 1048576.0}, Suffix{"gib", 1073741824.0}};
constexpr std::array rate_suffixes = {Suffix{"gb/s", 1e9}, Suffix{"mb/s", 1e6}, Suffix{"tb/s", 1e12}, Suffix{"b/s", 1}};
constexpr std::array time_suffixes = {Suffix{"ns", 1e-3}, Suffix{"us", 1},   Suffix{"µs", 1},
                                      Suffix{"μs", 1},    Suffix{"ms", 1e3}, Suffix{"s", 1e6}};
constexpr std::array times_suffixes = {Suffix{"×", 1}, Suffix{"x", 1}, Suffix{"times", 1}};
constexpr std::array count_suffixes = {Suffix{"k", 1e3},  Suffix{"m", 1e6},    Suffix{"g", 1e9},
                                       Suffix{"t", 1e12}, Suffix{"cycles", 1}, Suffix{"flop", 1}};
constexpr std::array percent_suffixes = {Suffix{"%", 0.01}, Suffix{"percent", 0.01}};

std::span<const Suffix> suffixes_of(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::bytes:
    case FigureUnit::exact_bytes:
    case FigureUnit::capacity:
      return byte_suffixes;
    case FigureUnit::bandwidth:
      return rate_suffixes;
    case FigureUnit::us:
      return time_suffixes;
    case FigureUnit::times:
      return times_suffixes;
    case FigureUnit::percent:
      return percent_suffixes;
    case FigureUnit::number:
    case FigureUnit::cycles:
    case FigureUnit::flops:
      break;
  }
  return count_suffixes;
}

/// Returns the text with ASCII spaces and minus signs alone.
std::string in_ascii_signs(std::string_view typed) {
  struct Sign {
    std::string_view text;
    char ascii;
  };
  constexpr std::array signs = {Sign{"\u2009", ' '}, Sign{"\u00a0", ' '}, Sign{"\u202f", ' '}, Sign{"\t", ' '},
                                Sign{"\u2212", '-'}};
  std::string text(typed);
  for (const Sign& sign : signs)
    for (std::size_t at = text.find(sign.text); at != std::string::npos; at = text.find(sign.text, at))
      text.replace(at, sign.text.size(), 1, sign.ascii);
  return text;
}

/// Reads a text from its front.
class Typed {
 public:
  explicit Typed(std::string_view text) : left_(text) {}

  std::string_view left() const { return left_; }
  char next() const { return at(0); }
  void skip_spaces() {
    while (next() == ' ') left_.remove_prefix(1);
  }
  bool take(char sign) {
    if (next() != sign) return false;
    left_.remove_prefix(1);
    return true;
  }

  /// Reads a number without its sign; nullopt where there is none, and for one beyond the range of a double.
  std::optional<double> number() {
    std::string digits;
    const bool grouped = take_groups(digits);
    if (!grouped) take_digits(digits);
    const bool decimals = (next() == '.' && (!digits.empty() || is_digit(1))) || (!grouped && next() == ',' && is_digit(1));
    if (decimals) {
      left_.remove_prefix(1);
      digits += '.';
      take_digits(digits);
    }
    if (digits.empty()) return std::nullopt;
    take_exponent(digits);
    double value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || !std::isfinite(value)) return std::nullopt;
    return value;
  }

 private:
  char at(std::size_t i) const { return i < left_.size() ? left_[i] : '\0'; }
  bool is_digit(std::size_t i) const { return at(i) >= '0' && at(i) <= '9'; }
  void take_digits(std::string& out) {
    for (; is_digit(0); left_.remove_prefix(1)) out += next();
  }

  bool take_groups(std::string& out) {
    constexpr std::size_t group = 3;
    std::size_t leading = 0;
    while (is_digit(leading)) ++leading;
    const auto group_at = [&](std::size_t from) {
      return (at(from) == ',' || at(from) == ' ') && is_digit(from + 1) && is_digit(from + 2) && is_digit(from + 3) &&
             !is_digit(from + 4);
    };
    if (leading == 0 || leading > group || next() == '0' || !group_at(leading)) return false;
    out = left_.substr(0, leading);
    left_.remove_prefix(leading);
    for (; group_at(0); left_.remove_prefix(1 + group)) out += left_.substr(1, group);
    return true;
  }

  void take_exponent(std::string& out) {
    if (next() != 'e' && next() != 'E') return;
    const std::size_t sign = at(1) == '+' || at(1) == '-' ? 1 : 0;
    if (!is_digit(1 + sign)) return;
    out += at(1) == '-' ? "e-" : "e";
    left_.remove_prefix(1 + sign);
    take_digits(out);
  }

  std::string_view left_;
};

}  // namespace

std::vector<std::pair<std::string_view, double>> unit_suffixes(FigureUnit unit) {
  std::vector<std::pair<std::string_view, double>> out;
  for (const Suffix& suffix : suffixes_of(unit)) out.emplace_back(suffix.name, suffix.factor);
  return out;
}

double plain_factor(FigureUnit unit) {
  return unit == FigureUnit::percent ? 0.01 : 1;
}

std::optional<double> typed_quantity(std::string_view typed, FigureUnit unit) {
  const std::string text = in_ascii_signs(typed);
  Typed reader(text);
  reader.skip_spaces();
  const bool negative = reader.take('-');
  if (!negative) reader.take('+');
  reader.skip_spaces();
  const std::optional<double> number = reader.number();
  const std::optional<double> divisor = reader.take('/') ? reader.number() : 1;
  if (!number || !divisor || *divisor == 0) return std::nullopt;
  std::string name;
  for (const char c : reader.left())
    if (c != ' ') name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  double value = (negative ? -*number : *number) / *divisor;
  if (name.empty()) {
    if (std::abs(value) >= 1) value *= plain_factor(unit);
  } else {
    const std::span<const Suffix> suffixes = suffixes_of(unit);
    std::size_t found = 0;
    while (found < suffixes.size() && suffixes[found].name != name) ++found;
    if (found == suffixes.size()) return std::nullopt;
    value *= suffixes[found].factor;
  }
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace tilescope
