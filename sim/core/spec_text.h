// spec_text() writes a GPU spec as TOML text that parse_gpu_spec() reads.
#pragma once

#include <string>

#include "sim/core/gpu_spec.h"

namespace tilescope {

/// Returns the TOML text of `spec`, with `heading` as a comment in the first line.
std::string spec_text(const GpuSpec& spec, std::string_view heading);

}  // namespace tilescope
