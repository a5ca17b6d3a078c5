// Reads tables from CSV and .npy.
#include "sim/masks/captured_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "sim/core/csv.h"
#include "sim/core/element.h"
#include "sim/core/npy.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::size_t most_origin = 100;

std::optional<double> number_of(std::string_view text) {
  if (text == "true" || text == "True") return 1;
  if (text == "false" || text == "False") return 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

bool is_whole(double value) {
  return std::isfinite(value) && value == std::floor(value);
}
bool fits_int32(double value) {
  return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

template <class T>
T element_at(std::string_view data, std::size_t index) {
  T value;
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Stores elements read as `T`; false where one does not fit an int32 or is NaN.
template <class T>
bool take(CapturedTable& table, std::string_view data, std::size_t count, std::size_t& bad) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = element_at<T>(data, i);
    bad = i;
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return false;
      table.reals.push_back(static_cast<float>(value));
    } else {
      if (!fits_int32(static_cast<double>(value))) return false;
      table.integers.push_back(static_cast<std::int32_t>(value));
    }
  }
  return true;
}

bool take_halves(CapturedTable& table, std::string_view data, std::size_t count, std::size_t& bad) {
  for (std::size_t i = 0; i < count; ++i) {
    bad = i;
    const float value = from_bits(DataType::fp16, element_at<std::uint16_t>(data, i));
    if (std::isnan(value)) return false;
    table.reals.push_back(value);
  }
  return true;
}

struct NpyType {
  std::string_view descr;
  std::size_t bytes;
  ValueType type;
  bool (*take)(CapturedTable&, std::string_view, std::size_t, std::size_t&);
};
constexpr NpyType npy_types[] = {{"|b1", 1, ValueType::boolean, take<std::uint8_t>},
                                 {"|i1", 1, ValueType::integer, take<std::int8_t>},
                                 {"|u1", 1, ValueType::integer, take<std::uint8_t>},
                                 {"<i2", 2, ValueType::integer, take<std::int16_t>},
                                 {"<u2", 2, ValueType::integer, take<std::uint16_t>},
                                 {"<i4", 4, ValueType::integer, take<std::int32_t>},
                                 {"<u4", 4, ValueType::integer, take<std::uint32_t>},
                                 {"<i8", 8, ValueType::integer, take<std::int64_t>},
                                 {"<f2", 2, ValueType::real, take_halves},
                                 {"<f4", 4, ValueType::real, take<float>},
                                 {"<f8", 8, ValueType::real, take<double>}};

}  // namespace

Sentence with_article(ValueType type) {
  return type == ValueType::boolean ? phrase("a bool") : type == ValueType::integer ? phrase("an int") : phrase("a float");
}

CapturedTable make_table(std::string name, std::vector<std::int32_t> values) {
  CapturedTable table;
  table.name = std::move(name);
  table.shape = {static_cast<std::int64_t>(values.size())};
  table.integers = std::move(values);
  return table;
}

Result<CapturedTable> parse_csv_table(std::string name, std::string_view text, std::string_view origin) {
  const std::string shown = printable(origin, most_origin);
  CsvReader reader(text, {.separators = ",;\t", .quotes = false, .blanks_separate = true, .comment = '#'});
  std::vector<double> values;
  std::int64_t rows = 0, cols = 0;
  bool whole = true;
  while (!reader.done()) {
    const std::vector<std::string> fields = reader.next_row();
    if (fields.empty()) continue;
    if (rows > 0 && static_cast<std::int64_t>(fields.size()) != cols)
      return refuse("{}, line {}: {} numbers, but the lines before have {}", shown, reader.line(), fields.size(), cols);
    cols = static_cast<std::int64_t>(fields.size());
    ++rows;
    if (rows * cols > CapturedTable::most_elements)
      return refuse("{} has more than {} numbers: a table may not be larger", shown, CapturedTable::most_elements);
    for (const std::string& field : fields) {
      const auto value = number_of(field);
      if (!value || *value != *value)
        return refuse("{}, line {}: '{}' is not a number", shown, reader.line(), printable(field, 30));
      whole = whole && is_whole(*value);
      if (is_whole(*value) && whole && !fits_int32(*value))
        return refuse("{}, line {}: {} does not fit 32 bits", shown, reader.line(), printable(field, 30));
      values.push_back(*value);
    }
  }
  if (values.empty()) return refuse("{} has no numbers: a table needs at least one", shown);
  CapturedTable table;
  table.name = std::move(name);
  table.type = whole ? ValueType::integer : ValueType::real;
  if (rows == 1 || cols == 1)
    table.shape = {rows * cols};
  else
    table.shape = {rows, cols};
  for (const double value : values)
    if (whole)
      table.integers.push_back(static_cast<std::int32_t>(value));
    else
      table.reals.push_back(static_cast<float>(value));
  return table;
}

Result<CapturedTable> parse_npy_table(std::string name, std::string_view bytes, std::string_view origin) {
  const std::string shown = printable(origin, most_origin);
  const auto header = read_npy_header(bytes);
  if (!header) return refuse("{} is not a .npy file: save it with numpy.save", shown);
  if (header->fortran) return refuse("{} is in Fortran order: save numpy.ascontiguousarray of it", shown);
  if (header->shape.empty() || header->shape.size() > CapturedTable::most_dimensions)
    return refuse("{} has {} dimensions: a table has 1 to {}", shown, header->shape.size(), CapturedTable::most_dimensions);
  double count = 1;
  for (const std::int64_t length : header->shape) count *= static_cast<double>(std::max<std::int64_t>(0, length));
  if (count < 1 || count > static_cast<double>(CapturedTable::most_elements))
    return refuse("{} has {:g} elements: a table has 1 to {}", shown, count, CapturedTable::most_elements);
  const auto elements = static_cast<std::size_t>(count);
  for (const NpyType& row : npy_types) {
    if (row.descr != header->descr) continue;
    if ((bytes.size() - header->data) / row.bytes < elements)
      return refuse("{} ends after {} bytes: its header says {} elements of {} bytes", shown, bytes.size(), elements, row.bytes);
    CapturedTable table;
    table.name = std::move(name);
    table.type = row.type;
    table.shape = header->shape;
    std::size_t bad = 0;
    if (!row.take(table, bytes.substr(header->data), elements, bad))
      return row.type == ValueType::real ? refuse("{}: element {} is not a number", shown, bad)
                                         : refuse("{}: element {} is beyond 32 bits", shown, bad);
    if (row.type == ValueType::boolean)
      for (std::int32_t& value : table.integers) value = value != 0 ? 1 : 0;
    return table;
  }
  return refuse("{} holds elements of type '{}': a table takes bool, int8 to int64, float16, float32 and float64", shown,
                printable(header->descr, 20));
}

}  // namespace tilescope
