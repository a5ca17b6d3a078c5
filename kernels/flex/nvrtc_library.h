// libnvrtc, opened at run time, and its errors as sentences.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/embedded_sources.h"
#include "sim/core/result.h"

namespace tilescope {

/// A text whose first line begins with this names an option of ptxas there.
inline constexpr std::string_view ptxas_line = "// ptxas ";

/// Compiles CUDA text to a cubin for one architecture ("sm_90"). For a virtual one ("compute_90") it stops at PTX and returns "".
/// Errors  libnvrtc was not found: how to get it; the first lines of what NVRTC said
Result<std::string> compile_with_nvrtc(const std::string& text, std::span<const EmbeddedSource> headers,
                                       const std::string& architecture);

}  // namespace tilescope
