// Percent-encoding, numbers, names and matrices.
#include "app/model/state/link_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

bool stays(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || (c != '\0' && std::string_view("-._~,;:/").find(c) != std::string_view::npos);
}

std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

}  // namespace

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (stays(c))
      out += c;
    else
      out += {'%', hex_digits[byte >> 4U], hex_digits[byte & 15U]};
  }
  return out;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return out;
}

Error bad_value(std::string_view key, std::string_view text, const Sentence& rule) {
  return refuse("{} is '{}': it must be {}", printable(key), printable(text), rule);
}

Status read_real(std::string_view key, std::string_view text, double low, double high, double& into) {
  const auto value = number_in<double>(text);
  if (!value || !(*value >= low && *value <= high)) return bad_value(key, text, phrase("a number from {:g} to {:g}", low, high));
  into = *value;
  return Done{};
}

Status read_range(std::string_view key, std::string_view text, TimeRange& into) {
  const std::size_t colon = text.find(':');
  const auto from = number_in<double>(text.substr(0, colon));
  const auto to = number_in<double>(colon < text.size() ? text.substr(colon + 1) : std::string_view());
  if (!from || !to || !(*from >= 0 && *from < *to && *to <= 1e300))
    return bad_value(key, text, phrase("two cycles, the earlier one first, such as 100:250"));
  into = {*from, *to};
  return Done{};
}

Status read_mask_zoom(std::string_view key, std::string_view text, MaskMapChoice& into) {
  const std::size_t first = text.find(':'), second = first == std::string_view::npos ? first : text.find(':', first + 1);
  const auto part = [&](std::size_t from, std::size_t to) {
    return from > text.size() ? std::nullopt : number_in<double>(text.substr(from, to - from));
  };
  const bool whole = second != std::string_view::npos;
  const auto zoom = whole ? part(0, first) : std::nullopt, query = whole ? part(first + 1, second) : std::nullopt;
  const auto at = whole ? part(second + 1, text.size()) : std::nullopt;
  constexpr double most = 1e9;
  if (!zoom || !query || !at || !(*zoom >= 1 && *zoom <= most && std::abs(*query) <= most && std::abs(*at) <= most))
    return bad_value(key, text, phrase("a zoom, a query and a key, such as 4:128:256"));
  into.zoom = *zoom;
  into.query = *query;
  into.key = *at;
  return Done{};
}

Status read_on(std::string_view key, std::string_view text, bool& into) {
  if (text != "1" && text != "0") return bad_value(key, text, phrase("0 or 1"));
  into = text == "1";
  return Done{};
}

Result<std::size_t> read_name(std::string_view key, std::string_view text, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return i;
  return refuse("{} is '{}': {}", key, printable(text), name_hint(text, names));
}

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const ProgramInfo& row : program_table()) names.push_back(row.id);
  return names;
}

std::string matrix_text(const Matrix& matrix) {
  std::string out;
  for (int row = 0; row < matrix.rows; ++row)
    for (int col = 0; col < matrix.cols; ++col) out += fmt::format("{}{}", col > 0 ? "," : row > 0 ? ";" : "", matrix.at(row, col));
  return out;
}

Status read_matrix(std::string_view key, std::string_view text, SharedMatrix& into) {
  std::string rows(text);
  std::replace(rows.begin(), rows.end(), ';', '\n');
  Result<Matrix> matrix = parse_csv_matrix(rows, std::string(key));
  if (!matrix) return matrix.error();
  into = std::move(*matrix);
  return Done{};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += fmt::format("{}{}", out.empty() ? "" : ",", word);
  return out;
}

Status read_algorithms(std::string_view key, std::string_view text, std::vector<std::string>& into) {
  const std::vector<std::string_view> names = algorithm_names();
  while (true) {
    const std::size_t comma = text.find(',');
    const auto known = read_name(key, text.substr(0, comma), names);
    if (!known) return known.error();
    if (std::find(into.begin(), into.end(), names[*known]) != into.end())
      return bad_value(key, text, phrase("each algorithm once"));
    into.emplace_back(names[*known]);
    if (comma == std::string_view::npos) return Done{};
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tilescope
