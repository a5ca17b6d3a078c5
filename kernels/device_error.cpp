// Says what failed on the GPU, and the way out.
#include "kernels/device_error.h"

#include <string>

#include "sim/core/refuse.h"

namespace tilescope {

Error device_error(const DeviceCode& code, std::string_view doing) {
  const std::string text(code.text), name(code.name);
  if (code.name == "cudaErrorLaunchTimeout")
    return Error{
        phrase("{} failed on the GPU: {} ({}); use a smaller problem, or a GPU without a display, and start TileScope again", doing,
               text, name),
        Error::Kind::machine_lacks};
  return Error{
      phrase("{} failed on the GPU: {} ({}); start TileScope again, and run nvidia-smi if that fails too", doing, text, name),
      Error::Kind::machine_lacks};
}

Error out_of_device_memory(std::int64_t asked_bytes, std::int64_t free_bytes) {
  return Error{phrase("{:.3f} GB of GPU memory were asked for and {:.3f} GB are free; end what else uses the GPU",
                      static_cast<double>(asked_bytes) / 1e9, static_cast<double>(free_bytes) / 1e9),
               Error::Kind::machine_lacks};
}

}  // namespace tilescope
