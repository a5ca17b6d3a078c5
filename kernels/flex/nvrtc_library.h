// libnvrtc, opened at run time, and its errors as sentences.
#pragma once

#include <span>
#include <string>

#include "kernels/embedded_sources.h"
#include "sim/core/result.h"

namespace tilescope {

/// Compiles CUDA text to a cubin for one architecture ("sm_90"). For a virtual one ("compute_90") it stops at PTX and returns "".
/// Errors  libnvrtc was not found: how to get it; the first lines of what NVRTC said
Result<std::string> compile_with_nvrtc(const std::string& text, std::span<const EmbeddedSource> headers,
                                       const std::string& architecture);

}  // namespace tilescope
