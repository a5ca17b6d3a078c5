// The sentences for a call to the GPU that failed, without CUDA headers.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

/// An error code as the CUDA runtime names and describes it.
struct DeviceCode {
  std::string_view name;  // "cudaErrorLaunchTimeout"
  std::string_view text;  // "the launch timed out and was terminated"
};

/// Returns the error of a call. After most codes the GPU takes no more work from this process, so the way out is a new one.
Error device_error(const DeviceCode& code, std::string_view doing);
Error out_of_device_memory(std::int64_t asked_bytes, std::int64_t free_bytes);

}  // namespace tilescope
