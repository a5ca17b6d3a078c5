// What stands for headers that NVRTC lacks.
#pragma once

#include "kernels/embedded_sources.h"

namespace tilescope {

// NVRTC has neither the C++ library nor, without the toolkit's include folder, the 16-bit types. Kernels use only their names here.
inline constexpr EmbeddedSource nvrtc_headers[] = {
    {"cstdint",
     "#pragma once\nnamespace std {\nusing int32_t = int; using uint32_t = unsigned; using int64_t = long long;\n"
     "using uint64_t = unsigned long long; using uint16_t = unsigned short; using uintptr_t = unsigned long long;\n}\n"},
    {"type_traits",
     "#pragma once\nnamespace std {\ntemplate <bool v> struct bool_constant { static constexpr bool value = v; };\n"
     "using true_type = bool_constant<true>; using false_type = bool_constant<false>;\n"
     "template <bool, class T, class F> struct conditional { using type = T; };\n"
     "template <class T, class F> struct conditional<false, T, F> { using type = F; };\n"
     "template <bool v, class T, class F> using conditional_t = typename conditional<v, T, F>::type;\n}\n"},
    {"cuda.h", "#pragma once\nstruct alignas(128) CUtensorMap { unsigned long long opaque[16]; };\n"},
    {"cuda_fp16.h",
     "#pragma once\nstruct __half { unsigned short bits; };\n"
     "static __device__ __forceinline__ float __half2float(__half h) { float f; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : "
     "\"h\"(h.bits)); return f; }\n"
     "static __device__ __forceinline__ __half __float2half_rn(float f) { __half h; asm(\"cvt.rn.f16.f32 %0, %1;\" : "
     "\"=h\"(h.bits) : "
     "\"f\"(f)); return h; }\n"},
    {"cuda_bf16.h",
     "#pragma once\nstruct __nv_bfloat16 { unsigned short bits; };\n"
     "static __device__ __forceinline__ float __bfloat162float(__nv_bfloat16 b) { return __int_as_float((int)b.bits << 16); }\n"
     "static __device__ __forceinline__ __nv_bfloat16 __float2bfloat16_rn(float f) { __nv_bfloat16 b; asm(\"cvt.rn.bf16.f32 %0, "
     "%1;\" : "
     "\"=h\"(b.bits) : \"f\"(f)); return b; }\n"},
};

}  // namespace tilescope
