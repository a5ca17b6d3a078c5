// Device sources, embedded at build time: NVRTC includes them, and the window shows those of the ladder.
#pragma once

#include <span>
#include <string_view>

namespace tilescope {

/// A source file: in the table its path from the repository's root, for a compilation the name under which it is included.
struct EmbeddedSource {
  std::string_view name, text;
};

/// Returns the table that cmake/embed_kernels.cmake writes.
std::span<const EmbeddedSource> embedded_kernel_sources();

}  // namespace tilescope
