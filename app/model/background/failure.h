// error_of(): the sentence for an exception that ended a piece of work.
#pragma once

#include <exception>

#include "sim/core/result.h"

namespace tilescope {

/// Returns the error for what was thrown: no memory, no threads, or a mistake of ours.
Error error_of(const std::exception_ptr& thrown);

}  // namespace tilescope
