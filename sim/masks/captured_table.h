// CapturedTable: numbers that an expression reads by index, from a CSV or a .npy file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// What an expression, or a part of it, is: a condition, an int32 or a float.
enum class ValueType : std::uint8_t { boolean, integer, real };
/// Returns "a bool", "an int" or "a float".
Sentence with_article(ValueType type);

/// Shapes  1 to 4 dimensions, row-major
/// Limits  at most 2^26 elements
struct CapturedTable {
  static constexpr std::size_t most_dimensions = 4;
  static constexpr std::int64_t most_elements = std::int64_t{1} << 26;

  std::string name;
  std::string origin;  // the file that it was read from, as given
  ValueType type = ValueType::integer;
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> integers;  // of an integer table; 0 and 1 of a boolean one
  std::vector<float> reals;            // of a real table

  bool operator==(const CapturedTable&) const = default;
  std::int64_t elements() const { return static_cast<std::int64_t>(type == ValueType::real ? reals.size() : integers.size()); }
};

/// What expressions may read: each name once.
using TableList = std::vector<std::shared_ptr<const CapturedTable>>;

/// Makes a one-dimensional integer table.
CapturedTable make_table(std::string name, std::vector<std::int32_t> values);

/// Reads a table from CSV text: one row or one column is one dimension, else two. Whole numbers make an integer table.
/// Errors  nothing in it, not a number, ragged rows, NaN, a whole number beyond 32 bits, too many elements: with the line
Result<CapturedTable> parse_csv_table(std::string name, std::string_view text, std::string_view origin);

/// Reads a table from the bytes of a .npy file.
/// Types   bool, int8 to int64 and uint8 to uint32 where the values fit 32 bits, float16, float32, float64
/// Errors  not a .npy file, another type, Fortran order, no or more than 4 dimensions, NaN, a file that ends too soon
Result<CapturedTable> parse_npy_table(std::string name, std::string_view bytes, std::string_view origin);

}  // namespace tilescope
