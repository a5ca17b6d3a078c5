// libcupti, opened at run time: its functions by name, and its errors as sentences. Include this only where CUPTI's headers exist.
#pragma once

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

struct CuptiLibrary {
  decltype(&::cuptiGetResultString) result_string = nullptr;
  decltype(&::cuptiProfilerInitialize) initialize = nullptr;
  decltype(&::cuptiDeviceGetChipName) chip_name = nullptr;
  decltype(&::cuptiProfilerGetCounterAvailability) counter_availability = nullptr;
  decltype(&::cuptiProfilerHostInitialize) host_initialize = nullptr;
  decltype(&::cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
  decltype(&::cuptiProfilerHostGetSupportedChips) host_chips = nullptr;
  decltype(&::cuptiProfilerHostConfigAddMetrics) host_add_metrics = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImageSize) host_image_size = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImage) host_image = nullptr;
  decltype(&::cuptiProfilerHostGetNumOfPasses) host_passes = nullptr;
  decltype(&::cuptiProfilerHostEvaluateToGpuValues) host_evaluate = nullptr;
  decltype(&::cuptiRangeProfilerEnable) range_enable = nullptr;
  decltype(&::cuptiRangeProfilerDisable) range_disable = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataSize) range_data_size = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataImageInitialize) range_data_initialize = nullptr;
  decltype(&::cuptiRangeProfilerSetConfig) range_config = nullptr;
  decltype(&::cuptiRangeProfilerStart) range_start = nullptr;
  decltype(&::cuptiRangeProfilerStop) range_stop = nullptr;
  decltype(&::cuptiRangeProfilerPushRange) range_push = nullptr;
  decltype(&::cuptiRangeProfilerPopRange) range_pop = nullptr;
  decltype(&::cuptiRangeProfilerDecodeData) range_decode = nullptr;
  // PM sampling; null in a CUPTI without it.
  decltype(&::cuptiPmSamplingGetCounterAvailability) sampling_availability = nullptr;
  decltype(&::cuptiPmSamplingEnable) sampling_enable = nullptr;
  decltype(&::cuptiPmSamplingDisable) sampling_disable = nullptr;
  decltype(&::cuptiPmSamplingSetConfig) sampling_config = nullptr;
  decltype(&::cuptiPmSamplingGetCounterDataSize) sampling_data_size = nullptr;
  decltype(&::cuptiPmSamplingCounterDataImageInitialize) sampling_data_initialize = nullptr;
  decltype(&::cuptiPmSamplingStart) sampling_start = nullptr;
  decltype(&::cuptiPmSamplingStop) sampling_stop = nullptr;
  decltype(&::cuptiPmSamplingDecodeData) sampling_decode = nullptr;
  decltype(&::cuptiPmSamplingGetCounterDataInfo) sampling_info = nullptr;
  decltype(&::cuptiPmSamplingCounterDataGetSampleInfo) sample_info = nullptr;
  bool can_sample = false;

  /// Errors   no libcupti, or one without the range profiler: says where it was searched
  static Result<CuptiLibrary> open();

  Error error(CUptiResult code, std::string_view doing) const;
  Status checked(CUptiResult code, std::string_view doing) const {
    if (code != CUPTI_SUCCESS) return error(code, doing);
    return Done{};
  }
};

/// Returns a zeroed CUPTI parameter block with its size set, as CUPTI requires.
template <class Params>
Params cupti_params(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}

}  // namespace tilescope
