// Numbers as people type them, taken strictly.
#include "app/cli/numbers.h"

#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

namespace tilescope {

TEST_CASE("numbers: a whole number is decimal digits and nothing else") {
  CHECK(*whole_number("--seq", "1024", 1, 4096) == 1024);
  CHECK(*whole_number("--seq", "007", 1, 4096) == 7);  // not octal
  for (const char* text : {"", " 64", "64 ", "1e3", "64k", "0x40", "+5", "1.0", "--", "six", "6,4", "6_4", "٣"}) {
    CAPTURE(std::string(text));
    const auto number = whole_number("--seq", text, 1, 4096);
    REQUIRE_FALSE(number);
    CHECK(number.error().sentence == std::string("--seq is '") + text + "': it must be a whole number, such as 1024");
  }
}

TEST_CASE("numbers: a whole number beyond its range is refused with the range, however large it is") {
  for (const char* text : {"0", "-5", "4097", "9223372036854775808", "-99999999999999999999", "100000000000000000000000000000"}) {
    CAPTURE(std::string(text));
    const auto number = whole_number("--seq", text, 1, 4096);
    REQUIRE_FALSE(number);
    CHECK(number.error().sentence == std::string("--seq is ") + text + ": it must be from 1 to 4096");
  }
}

TEST_CASE("numbers: every whole number round-trips") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10000; ++i) {
    const auto value = static_cast<std::int64_t>(random() >> (random() % 64));
    const auto whole = whole_number("--step", std::to_string(value), std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max());
    REQUIRE(whole);
    REQUIRE(*whole == value);
    const auto plain = unsigned_number("--seed", std::to_string(static_cast<std::uint64_t>(value)));
    REQUIRE(plain);
    REQUIRE(*plain == static_cast<std::uint64_t>(value));
  }
}

TEST_CASE("numbers: a seed takes all of 64 bits and no sign") {
  CHECK(*unsigned_number("--seed", "18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  CHECK(unsigned_number("--seed", "18446744073709551616").error().sentence ==
        "--seed is 18446744073709551616: it must be from 0 to 18446744073709551615");
  CHECK(unsigned_number("--seed", "-1").error().sentence == "--seed is -1: it must be from 0 to 18446744073709551615");
  CHECK(unsigned_number("--seed", "abc").error().sentence == "--seed is 'abc': it must be a whole number, such as 1024");
}

TEST_CASE("numbers: a factor is a plain decimal in its range") {
  CHECK(*real_number("--scale", "1.5", 0.5, 4) == 1.5);
  CHECK(*real_number("--scale", "2", 0.5, 4) == 2);
  for (const char* text : {"", "nan", "inf", "1e0", "0.4", "4.1", "1,5", "1.5x", "-1"}) {
    CAPTURE(std::string(text));
    const auto number = real_number("--scale", text, 0.5, 4);
    REQUIRE_FALSE(number);
    CHECK(number.error().sentence == std::string("--scale is '") + text + "': it must be a number from 0.5 to 4");
  }
}

TEST_CASE("numbers: a picture's size is two numbers with an x between them") {
  CHECK(*picture_size("--size", "1280x720") == PictureSize{1280, 720});
  CHECK(*picture_size("--size", "64x8192") == PictureSize{64, 8192});
  for (const char* text : {"", "1280", "1280x", "x720", "1280X720", "1280*720", "1280x720x2", "1280 x 720", "axb", "1e3x720"}) {
    CAPTURE(std::string(text));
    CHECK(picture_size("--size", text).error().sentence ==
          std::string("--size is '") + text + "': write it as WIDTHxHEIGHT, such as 1600x900");
  }
  for (const char* text : {"0x0", "63x100", "100x8193", "-100x100"}) {
    CAPTURE(std::string(text));
    CHECK(picture_size("--size", text).error().sentence ==
          std::string("--size is ") + text + ": each side must be from 64 to 8192 pixels");
  }
}

}  // namespace tilescope
