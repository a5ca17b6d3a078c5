// Finds libcupti beside the toolkit or on the system, and turns its errors into sentences.
#include "kernels/measure/cupti_library.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

#ifndef TILESCOPE_CUDA_LIBRARY_DIR
#define TILESCOPE_CUDA_LIBRARY_DIR ""
#endif

std::vector<std::string> candidates() {
  const std::string beside = TILESCOPE_CUDA_LIBRARY_DIR;
  std::vector<std::string> paths;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    paths.emplace_back(name);
    if (!beside.empty()) paths.push_back(beside + "/" + name);
    for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"})
      paths.push_back(folder + std::string(name));
  }
  return paths;
}

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<CuptiLibrary> CuptiLibrary::open() {
  void* library = nullptr;
  for (const std::string& path : candidates())
    if ((library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
  if (library == nullptr)
    return Error{phrase("libcupti was not found: install the CUDA toolkit's CUPTI or put its folder on LD_LIBRARY_PATH"),
                 Error::Kind::machine_lacks};
  CuptiLibrary c;
  const bool complete =
      load(library, "cuptiGetResultString", c.result_string) && load(library, "cuptiProfilerInitialize", c.initialize) &&
      load(library, "cuptiDeviceGetChipName", c.chip_name) &&
      load(library, "cuptiProfilerGetCounterAvailability", c.counter_availability) &&
      load(library, "cuptiProfilerHostInitialize", c.host_initialize) &&
      load(library, "cuptiProfilerHostDeinitialize", c.host_deinitialize) &&
      load(library, "cuptiProfilerHostGetSupportedChips", c.host_chips) &&
      load(library, "cuptiProfilerHostConfigAddMetrics", c.host_add_metrics) &&
      load(library, "cuptiProfilerHostGetConfigImageSize", c.host_image_size) &&
      load(library, "cuptiProfilerHostGetConfigImage", c.host_image) &&
      load(library, "cuptiProfilerHostGetNumOfPasses", c.host_passes) &&
      load(library, "cuptiProfilerHostEvaluateToGpuValues", c.host_evaluate) &&
      load(library, "cuptiRangeProfilerEnable", c.range_enable) && load(library, "cuptiRangeProfilerDisable", c.range_disable) &&
      load(library, "cuptiRangeProfilerGetCounterDataSize", c.range_data_size) &&
      load(library, "cuptiRangeProfilerCounterDataImageInitialize", c.range_data_initialize) &&
      load(library, "cuptiRangeProfilerSetConfig", c.range_config) && load(library, "cuptiRangeProfilerStart", c.range_start) &&
      load(library, "cuptiRangeProfilerStop", c.range_stop) && load(library, "cuptiRangeProfilerPushRange", c.range_push) &&
      load(library, "cuptiRangeProfilerPopRange", c.range_pop) && load(library, "cuptiRangeProfilerDecodeData", c.range_decode);
  if (!complete)
    return Error{phrase("the libcupti found has no range profiler: counters need CUPTI of CUDA 12.8 or later"),
                 Error::Kind::machine_lacks};
  c.can_sample = load(library, "cuptiPmSamplingGetCounterAvailability", c.sampling_availability) &&
                 load(library, "cuptiPmSamplingEnable", c.sampling_enable) &&
                 load(library, "cuptiPmSamplingDisable", c.sampling_disable) &&
                 load(library, "cuptiPmSamplingSetConfig", c.sampling_config) &&
                 load(library, "cuptiPmSamplingGetCounterDataSize", c.sampling_data_size) &&
                 load(library, "cuptiPmSamplingCounterDataImageInitialize", c.sampling_data_initialize) &&
                 load(library, "cuptiPmSamplingStart", c.sampling_start) && load(library, "cuptiPmSamplingStop", c.sampling_stop) &&
                 load(library, "cuptiPmSamplingDecodeData", c.sampling_decode) &&
                 load(library, "cuptiPmSamplingGetCounterDataInfo", c.sampling_info) &&
                 load(library, "cuptiPmSamplingCounterDataGetSampleInfo", c.sample_info);
  return c;
}

Error CuptiLibrary::error(CUptiResult code, std::string_view doing) const {
  auto lacking = [](Sentence sentence) { return Error{std::move(sentence), Error::Kind::machine_lacks}; };
  switch (code) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return lacking(
          phrase("the driver refuses hardware counters to this user (ERR_NVGPUCTRPERM): run as root, or let everybody read them by "
                 "putting 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d and reloading the driver"));
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return lacking(phrase("another program is profiling this GPU: end it and measure again"));
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return lacking(phrase("the profiler found too little memory: close what uses the GPU, or measure a smaller problem"));
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_NOT_SUPPORTED:
      return lacking(phrase("the profiler cannot be used here ({}): the driver may be too old for this CUPTI; update it", doing));
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return lacking(phrase("hardware counters are not available on a GPU that is virtual, partitioned or in confidential mode"));
    default:
      break;
  }
  const char* text = nullptr;
  result_string(code, &text);
  return lacking(phrase("reading hardware counters failed while {}: {} ({})", doing,
                        std::string(text != nullptr ? text : "unknown"), static_cast<int>(code)));
}

}  // namespace tilescope
