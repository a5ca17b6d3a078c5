// Sines and cosines of generated expressions. They compile for the CPU too, with fmaf and the two casts of bits.
#pragma once

namespace tilescope::device {

/// Returns sin(x + quadrants * pi/2) for |x| up to the bound below: within 2^-23 of the sine of the float x.
/// x is reduced to r in [-pi/4, pi/4] by the nearest multiple of pi/2, which is exact in the first subtraction: pi/2 as a float has
/// 24 bits. Polynomials: Cephes, sinf.c.
template <int quadrants>
__device__ __forceinline__ float sine_near(float x) {
  constexpr float to_integer = 12582912.f;  // 1.5 * 2^23: the integer is in the low bits of the sum
  const float sum = fmaf(x, 0.636619772f, to_integer), multiple = sum - to_integer;
  const unsigned quadrant = __float_as_uint(sum) + quadrants;
  const float r = fmaf(multiple, 4.37113883e-8f, fmaf(multiple, -1.57079637f, x)), square = r * r;
  const float sine = fmaf(square * r, fmaf(square, fmaf(square, -1.9515296e-4f, 8.3321609e-3f), -1.6666655e-1f), r);
  const float cosine =
      fmaf(square, fmaf(square, fmaf(square, fmaf(square, 2.4433157e-5f, -1.3887316e-3f), 4.1666646e-2f), -0.5f), 1.f);
  return __uint_as_float(__float_as_uint(quadrant & 1 ? cosine : sine) ^ (quadrant & 2) << 30);
}

constexpr float most_near = 1e5f;

// Larger arguments and infinities: a function of its own, whose code inlined for each score would take NVRTC minutes.
template <int quadrants>
__device__ __noinline__ float sine_far(float x) {
  return quadrants == 0 ? sinf(x) : cosf(x);
}

template <int quadrants>
__device__ __forceinline__ float sine_of(float x) {
  return fabsf(x) > most_near ? sine_far<quadrants>(x) : sine_near<quadrants>(x);
}

// Functions of their own: a branch for each score in the kernel's loop would keep the compiler from mixing scores. Several at a
// time, since a warp waits for what a call returns.
template <int quadrants>
__device__ __noinline__ float one_sine(float x) {
  return sine_of<quadrants>(x);
}
template <int quadrants>
__device__ __noinline__ float2 two_sines(float a, float b) {
  if (fmaxf(fabsf(a), fabsf(b)) > most_near) return {sine_of<quadrants>(a), sine_of<quadrants>(b)};
  return {sine_near<quadrants>(a), sine_near<quadrants>(b)};
}
template <int quadrants>
__device__ __noinline__ float4 four_sines(float a, float b, float c, float d) {
  if (fmaxf(fmaxf(fabsf(a), fabsf(b)), fmaxf(fabsf(c), fabsf(d))) > most_near)
    return {sine_of<quadrants>(a), sine_of<quadrants>(b), sine_of<quadrants>(c), sine_of<quadrants>(d)};
  return {sine_near<quadrants>(a), sine_near<quadrants>(b), sine_near<quadrants>(c), sine_near<quadrants>(d)};
}

__device__ __forceinline__ float expr_sin(float x) {
  return one_sine<0>(x);
}
__device__ __forceinline__ float expr_cos(float x) {
  return one_sine<1>(x);
}
__device__ __forceinline__ float2 expr_sines(float a, float b) {
  return two_sines<0>(a, b);
}
__device__ __forceinline__ float2 expr_cosines(float a, float b) {
  return two_sines<1>(a, b);
}
__device__ __forceinline__ float4 expr_sines(float a, float b, float c, float d) {
  return four_sines<0>(a, b, c, d);
}
__device__ __forceinline__ float4 expr_cosines(float a, float b, float c, float d) {
  return four_sines<1>(a, b, c, d);
}

}  // namespace tilescope::device
