// Arithmetic that a softmax may use in place of its own: a maximum that is kept for a while, and exponentials without the
// special-function units. Both are host functions too, so that a test without a GPU can hold them.
#pragma once

#ifdef __CUDACC__
#define TILESCOPE_HOST_AND_DEVICE __host__ __device__ __forceinline__
#else
#define TILESCOPE_HOST_AND_DEVICE inline
#endif
#ifndef __CUDA_ARCH__
#include <bit>
#include <cmath>
#include <cstdint>
#endif

namespace tilescope::device {

/// How far the exponents of a row may pass those of the kept maximum: its exponentials stay below 2^8.
inline constexpr float kept_maximum_range = 8.f;

/// Returns whether the reference of a row's exponentials must move from `before` to the row's maximum `now`. O and the sum share
/// the reference, so the division at the end makes any choice exact. A row that has seen no key has maximum -inf.
TILESCOPE_HOST_AND_DEVICE bool reference_moves(float before, float now, float scale_log2) {
  return (now - before) * scale_log2 > kept_maximum_range;
}

/// 2^f on [0, 1) is about 1 + f (c1 + f (c2 + f c3)). The error is below 9e-5, a fifth of what rounding to fp16 costs.
/// Derived   the smallest maximum of the relative error where the constant term is 1, by the Remez exchange
struct Exp2Cubic {
  static constexpr float c1 = 0.69511679f, c2 = 0.22764499f, c3 = 0.07706704f;
};

/// Returns 2^x on the FMA and integer pipes, for x up to 127. Below -126 it fades to 0, and at -127 and below it is 0.
/// Source   Cody and Waite: 2^x = 2^n 2^f, n the integer below x; n is added to the exponent of 2^f
TILESCOPE_HOST_AND_DEVICE float exp2_cubic(float x) {
  constexpr float least = -127.f;
#ifdef __CUDA_ARCH__
  // The sum has no bits left for the fraction, so its last bits are n.
  constexpr float shift = 12582912.f;  // 1.5 * 2^23
  const float clamped = fmaxf(x, least), shifted = __fadd_rd(clamped, shift), fraction = clamped - (shifted - shift);
  const int whole = __float_as_int(shifted);
#else
  const float clamped = std::fmax(x, least), below = std::floor(clamped), fraction = clamped - below;
  const int whole = static_cast<int>(below);
#endif
  const float power = 1.f + fraction * (Exp2Cubic::c1 + fraction * (Exp2Cubic::c2 + fraction * Exp2Cubic::c3));
#ifdef __CUDA_ARCH__
  return __int_as_float((whole << 23) + __float_as_int(power));
#else
  return std::bit_cast<float>((static_cast<std::uint32_t>(whole) << 23) + std::bit_cast<std::uint32_t>(power));
#endif
}

}  // namespace tilescope::device
