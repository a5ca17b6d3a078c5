// A GPU spec as TOML text, as parse_gpu_spec() reads it.
#pragma once

#include <string>

#include "sim/core/gpu_spec.h"

namespace tilescope {

/// `heading` is the first line, a comment.
std::string spec_text(const GpuSpec& spec, std::string_view heading);

}  // namespace tilescope
