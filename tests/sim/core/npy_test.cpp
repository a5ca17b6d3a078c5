// .npy files: what is read, what is written, and what is refused.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/core/npy.h"

namespace tilescope {

namespace {

/// The bytes of a file with this dictionary and these elements.
std::string npy_file(const std::string& dictionary, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(dictionary.size()), '\x00'};
  return bytes + dictionary + data;
}

std::string refused_npy(const std::string& bytes, std::size_t dimensions = 2) {
  const auto array = parse_npy_floats(bytes, "x.npy", dimensions);
  REQUIRE_FALSE(array);
  return array.error().sentence.text();
}

}  // namespace

TEST_CASE("npy: what is written is read back, in both types") {
  const std::vector<std::int64_t> shape = {2, 3};
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.5F, -0.0F, infinity, -infinity, 65504, 6e-8F};
  for (const DataType type : {DataType::fp16, DataType::fp32}) {
    const std::string bytes = to_npy(type, shape, values);
    CHECK((bytes.size() - 6 * static_cast<std::size_t>(element_bytes(type))) % 64 == 0);  // elements begin aligned, as numpy's do
    const auto read = parse_npy_floats(bytes, "x.npy", 2);
    REQUIRE(read);
    CHECK(read->type == type);
    CHECK(read->shape == shape);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(std::signbit(read->values[i]) == std::signbit(values[i]));
      if (i < 5 || type == DataType::fp32)
        CHECK(read->values[i] == values[i]);
      else
        CHECK(read->values[i] == std::ldexp(1.0F, -24));
    }
  }
}

TEST_CASE("npy: NaN is a value, and one dimension has its comma") {
  const std::vector<std::int64_t> shape = {2};
  const std::vector<float> values = {std::nanf(""), 1};
  for (const DataType type : {DataType::fp16, DataType::fp32}) {
    const std::string bytes = to_npy(type, shape, values);
    CHECK(bytes.find("'shape': (2,), }") != std::string::npos);
    const auto read = parse_npy_floats(bytes, "x.npy", 1);
    REQUIRE(read);
    CHECK(std::isnan(read->values[0]));
    CHECK(read->values[1] == 1);
  }
}

TEST_CASE("npy: each refused file has a sentence with its values") {
  const std::string good = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2), }\n", data(8, '\0');
  CHECK(parse_npy_floats(npy_file(good, data), "x.npy", 2));
  CHECK(refused_npy("1,2,3") == "x.npy is not a .npy file: save it with numpy.save");
  CHECK(refused_npy(npy_file(good, data).substr(0, 40)) == "x.npy is not a .npy file: save it with numpy.save");
  CHECK(refused_npy(npy_file(good, data.substr(1))) ==
        "x.npy has 7 bytes of elements, but its header says [2, 2] of 2 bytes each: it was cut off");
  CHECK(refused_npy(npy_file(good, data + "x")) ==
        "x.npy has 9 bytes of elements, but its header says [2, 2] of 2 bytes each: it holds more than one array");
  CHECK(refused_npy(npy_file(good, data), 4) == "x.npy has 2 dimensions, [2, 2]: it needs 4");
  const auto with = [&](const std::string& descr, const std::string& order, const std::string& shape) {
    return npy_file("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n", data);
  };
  CHECK(refused_npy(with("<f8", "False", "(1, 1)")) ==
        "x.npy holds elements of type '<f8': save it as numpy.float16 or numpy.float32");
  CHECK(refused_npy(with(">f2", "False", "(2, 2)")).find("type '>f2'") != std::string::npos);
  CHECK(refused_npy(with("<f2", "True", "(2, 2)")) == "x.npy is in Fortran order: save numpy.ascontiguousarray of it");
  CHECK(refused_npy(with("<f2", "False", "(0, 2)")) == "x.npy has the shape [0, 2]: each length is 1 to 2147483647");
  CHECK(refused_npy(with("<f2", "False", "(-2, -2)")).find("shape [-2, -2]") != std::string::npos);
  CHECK(refused_npy(with("<f2", "False", "(2147483647, 2147483647)")).find("it was cut off") != std::string::npos);
  CHECK(refused_npy(with("<f2", "False", "(99999999999999999999, 1)")).find("is not a .npy file") != std::string::npos);
  CHECK(refused_npy(with("<f2", "False", "(2, x)")).find("is not a .npy file") != std::string::npos);
}

TEST_CASE("npy: a file that ends early is no .npy file before its header is over, and cut off after it, in either version") {
  const std::string data(24, '\x3c');
  for (const int version : {1, 2, 3})
    for (const std::size_t blanks : {0U, 200U, 300U, 70000U}) {
      if (version == 1 && blanks > 60000) continue;  // two bytes say how long it is
      CAPTURE(version);
      CAPTURE(blanks);
      const std::string dictionary =
          "{'descr': '<f4',   'fortran_order': False, 'shape':  (2,  3), }" + std::string(blanks, ' ') + "\n";
      std::string bytes = "\x93NUMPY";
      bytes += {static_cast<char>(version), '\x00'};
      for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(dictionary.size() >> 8 * i & 0xffU);
      const std::size_t header = bytes.size() + dictionary.size();
      bytes += dictionary + data;
      const auto read = parse_npy_floats(bytes, "x.npy", 2);
      REQUIRE(read);
      CHECK(read->shape == std::vector<std::int64_t>{2, 3});
      CHECK(read->values.size() == 6);
      for (std::size_t size = 0; size<bytes.size(); size += blanks> 1000 && size == 20 ? header - 30 : 1) {
        CAPTURE(size);
        const std::string sentence = refused_npy(bytes.substr(0, size));
        if (size < header)
          CHECK(sentence == "x.npy is not a .npy file: save it with numpy.save");
        else
          CHECK(sentence.find(fmt::format("x.npy has {} bytes of elements", size - header)) == 0);
      }
    }
  for (const char* dictionary : {"{'descr': <f4', 'shape': (1, 6), }", "{'descr' '<f4'}", "{'shape': (1, 6), }",
                                 "{'descr': '<f4', 'shape': 1, 6), }", "{'descr': '<f4', 'shape': (1, 6, }", "{'descr': '<f4', }"})
    CHECK_MESSAGE(refused_npy(npy_file(dictionary, data)).find("is not a .npy file") != std::string::npos, dictionary);
  // The longest length there may be is no fault of its own.
  CHECK(refused_npy(npy_file("{'descr': '<f4', 'shape': (1, 2147483647), }", data)).find("it was cut off") != std::string::npos);
  CHECK(refused_npy(npy_file("{'descr': '<f4', 'shape': (1, 2147483648), }", data)).find("each length is 1 to") !=
        std::string::npos);
}

TEST_CASE("npy: a product of lengths that overflows is no product of few") {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647, 2147483647, 2147483647, 2147483647), }\n";
  CHECK(refused_npy(npy_file(header, std::string(16, '\0')), 4).find("it was cut off") != std::string::npos);
}

}  // namespace tilescope
