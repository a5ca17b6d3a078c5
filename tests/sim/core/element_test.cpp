// fp16 and bf16 by their bits.
#include "sim/core/element.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tilescope;

TEST_CASE("element: every finite fp16 and bf16 survives the way to float and back") {
  for (DataType type : {DataType::fp16, DataType::bf16})
    for (int bits = 0; bits < 65536; ++bits) {
      const float value = from_bits(type, static_cast<std::uint16_t>(bits));
      if (std::isnan(value)) continue;
      REQUIRE(to_bits(type, value) == bits);
    }
}

TEST_CASE("element: rounds to nearest, ties to even") {
  CHECK(to_bits(DataType::fp16, 1.0F + 0x1p-11F) == 0x3c00);      // halfway between 1 and the next: down to even
  CHECK(to_bits(DataType::fp16, 1.0F + 3 * 0x1p-11F) == 0x3c02);  // halfway, up to even
  CHECK(to_bits(DataType::fp16, 1.0F + 0x1p-11F + 0x1p-20F) == 0x3c01);
  CHECK(to_bits(DataType::fp16, 0x1p-25F) == 0);  // half of the least subnormal
  CHECK(to_bits(DataType::fp16, 0x1.8p-25F) == 1);
  CHECK(to_bits(DataType::fp16, 2047.5F * 0x1p-1F) == to_bits(DataType::fp16, 1024.0F));  // carries into the exponent
  CHECK(to_bits(DataType::bf16, 1.0F + 0x1p-8F) == 0x3f80);
  CHECK(to_bits(DataType::bf16, 1.0F + 3 * 0x1p-8F) == 0x3f82);
}

TEST_CASE("element: what is too large becomes infinite, and NaN stays NaN") {
  CHECK(to_bits(DataType::fp16, 65519.0F) == 0x7bff);
  CHECK(to_bits(DataType::fp16, 65520.0F) == 0x7c00);
  CHECK(to_bits(DataType::fp16, -1e9F) == 0xfc00);
  CHECK(to_bits(DataType::bf16, std::numeric_limits<float>::max()) == 0x7f80);
  for (DataType type : {DataType::fp16, DataType::bf16}) {
    CHECK(std::isnan(from_bits(type, to_bits(type, std::numeric_limits<float>::quiet_NaN()))));
    CHECK(std::isnan(from_bits(type, 0xffff)));  // the poison that device memory starts with
  }
}
