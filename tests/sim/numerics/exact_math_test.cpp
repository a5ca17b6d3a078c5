// The portable exponential, logarithm and direction against the C library in float64.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/numerics/exact_math.h"

using namespace tilescope;

TEST_CASE("exact math: the exponential is within one unit in the last place of float over its whole range") {
  double worst = 0;
  for (double x = -87; x < 88.7; x += 0.0037) {
    const auto argument = static_cast<float>(x);
    const double truth = std::exp(static_cast<double>(argument));
    worst = std::max(worst, std::abs(exact_exp(argument) - truth) / truth);
  }
  CHECK(worst <= std::ldexp(1.0, -24));
}

TEST_CASE("exact math: the exponential of the ends is exact") {
  CHECK(exact_exp(0.0F) == 1.0F);
  CHECK(exact_exp(-HUGE_VALF) == 0.0F);
  CHECK(exact_exp(-200.0F) == 0.0F);
  CHECK(exact_exp(HUGE_VALF) == HUGE_VALF);
  CHECK(exact_exp(89.0F) == HUGE_VALF);
  CHECK(exact_exp(-103.0F) == std::exp(-103.0F));  // a subnormal
  CHECK(std::isnan(exact_exp(std::nanf(""))));
}

TEST_CASE("exact math: the logarithm agrees with the library to 1e-15") {
  for (double x = 1e-300; x < 1e300; x *= 1.37) CHECK(exact_log(x) == doctest::Approx(std::log(x)).epsilon(1e-15));
  for (double x = 0.5; x < 2; x += 0.0011) CHECK(std::abs(exact_log(x) - std::log(x)) <= 1e-15);
  CHECK(exact_log(1.0) == 0.0);
  CHECK(exact_log(5e-324) == doctest::Approx(std::log(5e-324)).epsilon(1e-15));
  CHECK(exact_log(0.0) == -HUGE_VAL);
  CHECK(exact_log(HUGE_VAL) == HUGE_VAL);
  CHECK(std::isnan(exact_log(-1.0)));
  CHECK(std::isnan(exact_log(std::nan(""))));
}

TEST_CASE("exact math: cosine and sine agree with the library all the way round") {
  for (double turns = 0; turns < 1; turns += 0.00031) {
    const CosSin direction = exact_cos_sin(turns);
    CHECK(std::abs(direction.cosine - std::cos(2 * M_PI * turns)) <= 1e-9);
    CHECK(std::abs(direction.sine - std::sin(2 * M_PI * turns)) <= 1e-9);
  }
  CHECK(exact_cos_sin(0).cosine == 1.0);
  CHECK(exact_cos_sin(0.25).sine == 1.0);
}
