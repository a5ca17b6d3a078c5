// Reads and writes .npy files.
#include "sim/core/npy.h"

#include <charconv>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "sim/core/element.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t most_origin = 100;
constexpr std::int64_t longest_axis = std::numeric_limits<std::int32_t>::max();

/// The text after `'key':` in the header's dictionary; empty where there is none.
std::string_view after_key(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  const std::size_t colon = dictionary.find(':', at);
  if (colon == std::string_view::npos) return {};
  std::string_view rest = dictionary.substr(colon + 1);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

std::optional<std::vector<std::int64_t>> shape_from(std::string_view text) {
  if (!text.starts_with('(') || text.find(')') == std::string_view::npos) return std::nullopt;
  text = text.substr(1, text.find(')') - 1);
  std::vector<std::int64_t> shape;
  while (true) {
    while (text.starts_with(' ') || text.starts_with(',')) text.remove_prefix(1);
    if (text.empty()) return shape;
    std::int64_t length = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (code != std::errc()) return std::nullopt;
    shape.push_back(length);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

}  // namespace

std::optional<NpyHeader> read_npy_header(std::string_view bytes) {
  if (bytes.size() < 10 || !bytes.starts_with(magic)) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool long_header = byte(6) >= 2;
  const std::size_t start = long_header ? 12 : 10;
  if (bytes.size() < start) return std::nullopt;
  std::size_t length = byte(8) | byte(9) << 8U;
  if (long_header) length |= byte(10) << 16U | byte(11) << 24U;
  if (bytes.size() - start < length) return std::nullopt;
  const std::string_view dictionary = bytes.substr(start, length);
  const std::string_view descr = after_key(dictionary, "descr");
  if (!descr.starts_with('\'') || descr.find('\'', 1) == std::string_view::npos) return std::nullopt;
  auto shape = shape_from(after_key(dictionary, "shape"));
  if (!shape) return std::nullopt;
  return NpyHeader{.descr = std::string(descr.substr(1, descr.find('\'', 1) - 1)),
                   .fortran = after_key(dictionary, "fortran_order").starts_with("True"),
                   .shape = std::move(*shape),
                   .data = start + length};
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<NpyHeader> check_npy_floats(std::string_view start, std::size_t file_bytes, std::string_view origin,
                                   std::size_t dimensions) {
  const std::string shown = printable(origin, most_origin);
  auto header = read_npy_header(start);
  if (!header) return refuse("{} is not a .npy file: save it with numpy.save", shown);
  if (header->descr != "<f2" && header->descr != "<f4")
    return refuse("{} holds elements of type '{}': save it as numpy.float16 or numpy.float32", shown, printable(header->descr, 20));
  if (header->fortran) return refuse("{} is in Fortran order: save numpy.ascontiguousarray of it", shown);
  if (header->shape.size() != dimensions)
    return refuse("{} has {} dimensions, {}: it needs {}", shown, header->shape.size(),
                  printable(shape_text(header->shape), most_origin), dimensions);
  const std::size_t element = header->descr == "<f2" ? 2 : 4, present = file_bytes - header->data;
  std::size_t count = 1;
  for (const std::int64_t length : header->shape) {
    if (length < 1 || length > longest_axis)
      return refuse("{} has the shape {}: each length is 1 to {}", shown, shape_text(header->shape), longest_axis);
    const auto times = static_cast<std::size_t>(length);
    count =
        count > std::numeric_limits<std::size_t>::max() / 4 / times ? std::numeric_limits<std::size_t>::max() / 4 : count * times;
  }
  if (present != count * element)
    return refuse("{} has {} bytes of elements, but its header says {} of {} bytes each: {}", shown, present,
                  shape_text(header->shape), element,
                  present < count * element ? phrase("it was cut off") : phrase("it holds more than one array"));
  return std::move(*header);
}

Result<NpyArray> parse_npy_floats(std::string_view bytes, std::string_view origin, std::size_t dimensions) {
  auto header = check_npy_floats(bytes, bytes.size(), origin, dimensions);
  if (!header) return header.error();
  NpyArray array{.type = header->descr == "<f2" ? DataType::fp16 : DataType::fp32, .shape = std::move(header->shape), .values = {}};
  const std::size_t present = bytes.size() - header->data, count = present / (array.type == DataType::fp16 ? 2 : 4);
  array.values.resize(count);
  const char* data = bytes.data() + header->data;
  if (array.type == DataType::fp32)
    std::memcpy(array.values.data(), data, present);
  else
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, data + 2 * i, 2);
      array.values[i] = from_bits(DataType::fp16, half);
    }
  return array;
}

namespace {

std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  constexpr std::size_t before_dictionary = 10, alignment = 64;
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                       fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t whole = (before_dictionary + dictionary.size() + 1 + alignment - 1) / alignment * alignment;
  dictionary.append(whole - before_dictionary - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string bytes(magic);
  bytes += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xffU), static_cast<char>(dictionary.size() >> 8U)};
  return bytes + dictionary;
}

}  // namespace

std::string to_npy(std::span<const std::int64_t> shape, std::span<const std::int32_t> values) {
  std::string bytes = npy_header("<i4", shape);
  const std::size_t start = bytes.size();
  bytes.resize(start + values.size_bytes());
  std::memcpy(bytes.data() + start, values.data(), values.size_bytes());
  return bytes;
}

std::string to_npy(DataType type, std::span<const std::int64_t> shape, std::span<const float> values) {
  const bool half = type == DataType::fp16;
  std::string bytes = npy_header(half ? "<f2" : "<f4", shape);
  const std::size_t start = bytes.size();
  bytes.resize(start + values.size() * (half ? 2 : 4));
  if (!half) {
    std::memcpy(bytes.data() + start, values.data(), values.size() * 4);
    return bytes;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t element = to_bits(DataType::fp16, values[i]);
    std::memcpy(bytes.data() + start + 2 * i, &element, 2);
  }
  return bytes;
}

}  // namespace tilescope
