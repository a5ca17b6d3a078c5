// .npy files: their header, arrays of 16-bit and 32-bit floats, read and written, and arrays of int32, written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/result.h"

namespace tilescope {

/// The header of a .npy file.
struct NpyHeader {
  std::string descr;  // the type of an element: "<f2"
  bool fortran = false;
  std::vector<std::int64_t> shape;
  std::size_t data = 0;  // where the elements begin
};

/// Reads the header of a .npy file; nullopt if the bytes do not begin with one.
/// Source  numpy.lib.format, versions 1.0 to 3.0
std::optional<NpyHeader> read_npy_header(std::string_view bytes);
/// The longest header that numpy writes for one array.
inline constexpr std::size_t longest_npy_header = std::size_t{1} << 16;

/// An array of floats, row-major.
struct NpyArray {
  DataType type = DataType::fp32;  // of the file: fp16 or fp32
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Checks that a .npy file of `file_bytes` bytes, of which `start` are the first, holds an array of float16 or float32. Returns its
/// header. Errors  those of parse_npy_floats(), before the elements are read
Result<NpyHeader> check_npy_floats(std::string_view start, std::size_t file_bytes, std::string_view origin, std::size_t dimensions);

/// Reads an array of float16 or float32 from the bytes of a .npy file. NaN and infinities are values like others.
/// Errors  not a .npy file, another type, Fortran order, another number of dimensions, no elements, a length beyond 2^31 - 1,
///         a file that ends too soon or goes on after its last element
Result<NpyArray> parse_npy_floats(std::string_view bytes, std::string_view origin, std::size_t dimensions);

/// Returns the bytes of a .npy file. Values that the type cannot hold are rounded.
/// Limits  fp16 or fp32; as many values as the shape says
std::string to_npy(DataType type, std::span<const std::int64_t> shape, std::span<const float> values);

/// Returns the same of int32, as many as the shape says.
std::string to_npy(std::span<const std::int64_t> shape, std::span<const std::int32_t> values);

/// Returns "[2, 4, 128, 64]".
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace tilescope
