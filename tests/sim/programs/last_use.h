// What a load has to wait for: the latest use of the buffer that it fills.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/programs/operation.h"

namespace tilescope {

/// The latest operation before `at` that uses the buffer that load `at` fills; -1: none.
inline std::int32_t last_use(const BlockOperations& block, std::size_t at) {
  const Operation& load = block.operations[at];
  for (std::size_t n = at; n-- > 0;) {
    const Operation& op = block.operations[n];
    if ((op.dst == load.dst || reads(op, load.dst)) && buffer_of(op, load.dst) == buffer_of(load, load.dst))
      return static_cast<std::int32_t>(n);
  }
  return -1;
}

}  // namespace tilescope
