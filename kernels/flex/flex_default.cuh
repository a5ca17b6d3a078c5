// The expressions of the builds that profiles describe: none, and a causal mask. As sim/masks/kernel_source.h writes them.
#pragma once

#include "kernels/flex/flex_parts.cuh"

namespace tilescope::device {

struct NoScore {
  static constexpr bool present = false, has_reciprocal = false, scales_raw = false, has_factor = false;
  static constexpr int uniforms = 0, rows = 0, columns = 0;
  struct Nothing {
    unsigned value[1];
  };
  using ColumnWords = Nothing;
  using Row = Nothing;
  using Column = Nothing;
  static __device__ void set_uniforms(const FlexPlace&, unsigned*) {}
  static __device__ Row row(const FlexPlace&, int, int, const unsigned*, int) { return {}; }
  static __device__ Column column(const FlexPlace&, int, int, const unsigned*, int) { return {}; }
  static __device__ float value(const FlexPlace&, Row, Column, float raw, float) { return raw; }
};

struct NoMask : NoScore {
  static __device__ bool value(const FlexPlace&, Row, Column, float, float) { return true; }
};

/// q >= kv
struct CausalMask : NoScore {
  static constexpr bool present = true;
  struct Row {
    int keys_seen;
  };
  struct Column {
    int place;
  };
  static __device__ __forceinline__ Row row(const FlexPlace&, int q, int first_key, const unsigned*, int) {
    return {q - first_key};
  }
  static __device__ __forceinline__ Column column(const FlexPlace&, int, int place, const unsigned*, int) { return {place}; }
  static __device__ __forceinline__ bool value(const FlexPlace&, const Row& row, const Column& column, float, float) {
    return row.keys_seen >= column.place;
  }
};

template <bool yes>
struct MaskOf {
  using Type = NoMask;
};
template <>
struct MaskOf<true> {
  using Type = CausalMask;
};

// Every build of a kernel template <class T, int d, bool causal>.
#define TILESCOPE_FLEX_BUILDS(kernel, Arguments)                                               \
  template __global__ void kernel<half_type, 64, false>(const __grid_constant__ Arguments);    \
  template __global__ void kernel<half_type, 64, true>(const __grid_constant__ Arguments);     \
  template __global__ void kernel<half_type, 128, false>(const __grid_constant__ Arguments);   \
  template __global__ void kernel<half_type, 128, true>(const __grid_constant__ Arguments);    \
  template __global__ void kernel<bfloat_type, 64, false>(const __grid_constant__ Arguments);  \
  template __global__ void kernel<bfloat_type, 64, true>(const __grid_constant__ Arguments);   \
  template __global__ void kernel<bfloat_type, 128, false>(const __grid_constant__ Arguments); \
  template __global__ void kernel<bfloat_type, 128, true>(const __grid_constant__ Arguments)

}  // namespace tilescope::device
