// Exponential, logarithm, cosine and sine from IEEE operations alone, so that every machine and compiler computes the same digits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tilescope {

/// Returns e^x, correctly rounded to float except near rare ties. It has no branches, so that loops over it vectorise.
/// Limits  e^-inf is 0, overflow is inf, NaN stays NaN
inline float exact_exp(float x) {
  constexpr double log2_e = 1.44269504088896340736;
  constexpr double ln2_high = 0.693147180369123816490;  // the low 21 bits are zero: n * ln2_high is exact
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the integer in the low bits
  // Outside these limits the float result is 0 or inf. Inside, 2^n is a normal double.
  double wide = static_cast<double>(x);
  wide = wide > -110.0 ? wide : -110.0;
  wide = wide < 90.0 ? wide : 90.0;
  const double shifted = wide * log2_e + to_integer;
  const double n = shifted - to_integer;
  const double r = (wide - n * ln2_high) - n * ln2_low;  // |r| <= ln2 / 2
  double series = 1.0 / 362880.0;
  series = series * r + 1.0 / 40320.0;
  series = series * r + 1.0 / 5040.0;
  series = series * r + 1.0 / 720.0;
  series = series * r + 1.0 / 120.0;
  series = series * r + 1.0 / 24.0;
  series = series * r + 1.0 / 6.0;
  series = series * r + 0.5;
  series = series * r + 1.0;
  series = series * r + 1.0;
  const double power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
  const float result = static_cast<float>(series * power);
  return x == x ? result : x;
}

/// Returns the natural logarithm, to about 1e-16.
/// Limits  0 gives -inf, inf gives inf, negative values and NaN give NaN
inline double exact_log(double x) {
  if (!(x > 0)) return x == 0 ? -HUGE_VAL : std::nan("");
  if (x > 1.7976931348623157e308) return x;
  double scale = 0;
  if (x < 2.2250738585072014e-308) {  // subnormal: scale it up, so that the exponent field is valid
    x *= 18014398509481984.0;         // 2^54
    scale = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  // Splits x = 2^e * f with f in [sqrt(1/2), sqrt(2)): 0x3fe6a09e667f3bcd is sqrt(1/2).
  const std::uint64_t offset = bits - 0x3fe6a09e667f3bcdULL;
  const double exponent = static_cast<double>(static_cast<std::int64_t>(offset) >> 52) + scale;
  const double f = std::bit_cast<double>(bits - (offset & 0xfff0000000000000ULL));
  const double s = (f - 1) / (f + 1);
  const double z = s * s;  // at most 0.0295
  double series = 1.0 / 21.0;
  for (int odd = 19; odd >= 1; odd -= 2) series = series * z + 1.0 / odd;
  return exponent * 0.693147180559945309417 + 2 * s * series;
}

struct CosSin {
  double cosine, sine;
};

/// Returns the cosine and sine of 2 pi `turns`, to about 1e-11.
/// Limits  turns in [0, 1)
inline CosSin exact_cos_sin(double turns) {
  const int quadrant = static_cast<int>(turns * 4 + 0.5);
  const double angle = (turns - quadrant * 0.25) * 6.28318530717958647693;  // within pi/4 of zero
  const double z = angle * angle;
  const double c =
      1 + z * (-1.0 / 2 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z / 479001600.0)))));
  const double s = angle * (1 + z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 - z / 39916800.0)))));
  switch (quadrant & 3) {
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    case 3:
      return {s, -c};
    default:
      return {c, s};
  }
}

}  // namespace tilescope
