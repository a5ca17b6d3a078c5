// CUPTI's host half: the metrics of a chip, configuration images, and the conversion of raw counters to numbers. Needs no GPU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/measure/cupti_library.h"

namespace tilescope {

inline std::vector<const char*> c_names(std::span<const std::string> names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

/// Owns the CUPTI host object of one chip.
class CuptiHost {
 public:
  CuptiHost(const CuptiLibrary& cupti, CUpti_Profiler_Host_Object* object) : cupti_(&cupti), object_(object) {}
  CuptiHost(CuptiHost&& other) noexcept : cupti_(other.cupti_), object_(other.object_) { other.object_ = nullptr; }
  CuptiHost& operator=(CuptiHost&&) = delete;
  ~CuptiHost() {
    if (object_ == nullptr) return;
    auto p = cupti_params<CUpti_Profiler_Host_Deinitialize_Params>(CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    p.pHostObject = object_;
    cupti_->host_deinitialize(&p);
  }

  static Result<CuptiHost> make(const CuptiLibrary& cupti, CUpti_ProfilerType type, const std::string& chip,
                                const std::vector<std::uint8_t>& availability) {
    auto p = cupti_params<CUpti_Profiler_Host_Initialize_Params>(CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    p.profilerType = type;
    p.pChipName = chip.c_str();
    p.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    if (Status made = cupti.checked(cupti.host_initialize(&p), "preparing the metrics of " + chip); !made) return made.error();
    return CuptiHost(cupti, p.pHostObject);
  }

  CUptiResult add(std::vector<const char*> names) const {
    auto p = cupti_params<CUpti_Profiler_Host_ConfigAddMetrics_Params>(CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    p.pHostObject = object_;
    p.ppMetricNames = names.data();
    p.numMetrics = names.size();
    return cupti_->host_add_metrics(&p);
  }

  Result<std::vector<std::uint8_t>> image() const {
    auto size =
        cupti_params<CUpti_Profiler_Host_GetConfigImageSize_Params>(CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    size.pHostObject = object_;
    if (Status s = cupti_->checked(cupti_->host_image_size(&size), "scheduling the counters"); !s) return s.error();
    std::vector<std::uint8_t> bytes(size.configImageSize);
    auto p = cupti_params<CUpti_Profiler_Host_GetConfigImage_Params>(CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    p.pHostObject = object_;
    p.pConfigImage = bytes.data();
    p.configImageSize = bytes.size();
    if (Status s = cupti_->checked(cupti_->host_image(&p), "scheduling the counters"); !s) return s.error();
    return bytes;
  }

  Result<int> passes(std::vector<std::uint8_t>& image) const {
    auto p = cupti_params<CUpti_Profiler_Host_GetNumOfPasses_Params>(CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
    p.pConfigImage = image.data();
    p.configImageSize = image.size();
    if (Status s = cupti_->checked(cupti_->host_passes(&p), "counting passes"); !s) return s.error();
    return static_cast<int>(p.numOfPasses);
  }

  /// Returns the metrics of one range or one sample from a counter data image.
  Result<std::vector<double>> evaluate(const std::vector<std::uint8_t>& data, std::span<const std::string> metrics,
                                       std::size_t range) const {
    std::vector<const char*> names = c_names(metrics);
    std::vector<double> values(names.size());
    auto p =
        cupti_params<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
    p.pHostObject = object_;
    p.pCounterDataImage = data.data();
    p.counterDataImageSize = data.size();
    p.ppMetricNames = names.data();
    p.numMetrics = names.size();
    p.rangeIndex = range;
    p.pMetricValues = values.data();
    if (Status s = cupti_->checked(cupti_->host_evaluate(&p), "reading the counters"); !s) return s.error();
    return values;
  }

 private:
  const CuptiLibrary* cupti_;
  CUpti_Profiler_Host_Object* object_;
};

}  // namespace tilescope
