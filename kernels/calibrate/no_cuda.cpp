// calibrate() in a build without CUDA: says so.
#include "kernels/calibrate/calibrate.h"

namespace tilescope {

Result<std::vector<CalibratedValue>> calibrate(const DeviceInfo&, const GpuSpec&, const CalibrationProgress&,
                                               const CalibrationEffort&) {
  return no_cuda_error();
}

}  // namespace tilescope
