// Hardware counters by CUPTI's range profiler: one user range around the kernel, replayed by us until every pass is in.
#include "kernels/measure/counters.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernels/device.h"
#include "kernels/measure/cupti_library.h"

namespace tilescope {

namespace {

constexpr int most_passes = 64;

std::vector<const char*> c_names(std::span<const std::string> names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

/// The host object of one chip: knows metrics, makes configuration images and turns raw counters into numbers.
class Host {
 public:
  Host(const CuptiLibrary& cupti, CUpti_Profiler_Host_Object* object) : cupti_(&cupti), object_(object) {}
  Host(Host&& other) noexcept : cupti_(other.cupti_), object_(other.object_) { other.object_ = nullptr; }
  Host& operator=(Host&&) = delete;
  ~Host() {
    if (object_ == nullptr) return;
    auto p = cupti_params<CUpti_Profiler_Host_Deinitialize_Params>(CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    p.pHostObject = object_;
    cupti_->host_deinitialize(&p);
  }

  static Result<Host> make(const CuptiLibrary& cupti, const std::string& chip, const std::vector<std::uint8_t>& availability) {
    auto p = cupti_params<CUpti_Profiler_Host_Initialize_Params>(CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = chip.c_str();
    p.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    if (Status made = cupti.checked(cupti.host_initialize(&p), "preparing the metrics of " + chip); !made) return made.error();
    return Host(cupti, p.pHostObject);
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

  CUpti_Profiler_Host_Object* object() const { return object_; }

 private:
  const CuptiLibrary* cupti_;
  CUpti_Profiler_Host_Object* object_;
};

/// Metrics that a chip has, each tried on a host object of its own, because a failed one can spoil the others.
Result<std::vector<std::string>> known_metrics(const CuptiLibrary& cupti, const std::string& chip,
                                               const std::vector<std::uint8_t>& availability, std::span<const std::string> metrics,
                                               std::vector<std::string>& unknown) {
  std::vector<std::string> known;
  for (const std::string& metric : metrics) {
    Result<Host> host = Host::make(cupti, chip, availability);
    if (!host) return host.error();
    (host->add({metric.c_str()}) == CUPTI_SUCCESS ? known : unknown).push_back(metric);
  }
  return known;
}

/// The context that the runtime made; the driver is asked through the runtime, so that nothing links against it.
Result<CUcontext> current_context() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t code = cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault, &found);
  CUcontext context = nullptr;
  if (code == cudaSuccess && found == cudaDriverEntryPointSuccess && function != nullptr) {
    using GetCurrent = CUresult (*)(CUcontext*);
    reinterpret_cast<GetCurrent>(function)(&context);
  }
  if (context == nullptr) return Error{"the GPU has no context to profile: the driver may be too old", Error::Kind::machine_lacks};
  return context;
}

std::string supported_chips(const CuptiLibrary& cupti) {
  auto p = cupti_params<CUpti_Profiler_Host_GetSupportedChips_Params>(CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE);
  if (cupti.host_chips(&p) != CUPTI_SUCCESS) return "none";
  std::string names;
  for (std::size_t i = 0; i < p.numChips; ++i) names += (i ? ", " : "") + std::string(p.ppChipNames[i]);
  return names;
}

}  // namespace

Result<CounterPlan> plan_counters(std::string_view chip_name, std::span<const std::string> metrics) {
  Result<CuptiLibrary> opened = CuptiLibrary::open();
  if (!opened) return opened.error();
  const CuptiLibrary& cupti = *opened;
  const std::string chip(chip_name);
  if (Result<Host> host = Host::make(cupti, chip, {}); !host)
    return Error{fmt::format("CUPTI does not know a chip named {}: it knows {}", chip, supported_chips(cupti))};
  CounterPlan plan;
  plan.chip = chip;
  Result<std::vector<std::string>> known = known_metrics(cupti, chip, {}, metrics, plan.unknown);
  if (!known) return known.error();
  if (known->empty()) return plan;
  Result<Host> host = Host::make(cupti, chip, {});
  if (!host) return host.error();
  if (Status added = cupti.checked(host->add(c_names(*known)), "naming the counters"); !added) return added.error();
  Result<std::vector<std::uint8_t>> image = host->image();
  if (!image) return image.error();
  Result<int> passes = host->passes(*image);
  if (!passes) return passes.error();
  plan.passes = *passes;
  return plan;
}

struct CounterSession::Impl {
  CuptiLibrary cupti;
  std::string chip;
  std::vector<std::string> metrics, known;
  std::unique_ptr<Host> host;
  std::vector<std::uint8_t> image, data;
  CUpti_RangeProfiler_Object* profiler = nullptr;

  Status start_profiler();
  Status one_pass(const std::function<Status()>& prepare, const std::function<Status()>& run, bool& all_in);
};

void CounterSession::Close::operator()(Impl* impl) const {
  if (impl->profiler != nullptr) {
    auto p = cupti_params<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    p.pRangeProfilerObject = impl->profiler;
    impl->cupti.range_disable(&p);
  }
  delete impl;
}

std::string CounterSession::chip() const {
  return impl_ ? impl_->chip : std::string();
}

Result<CounterSession> CounterSession::open(std::span<const std::string> metrics) {
  if (Result<DeviceInfo> device = find_device(); !device) return device.error();
  Result<CuptiLibrary> opened = CuptiLibrary::open();
  if (!opened) return opened.error();
  CounterSession session;
  session.impl_.reset(new Impl{*opened, {}, {metrics.begin(), metrics.end()}, {}, nullptr, {}, {}, nullptr});
  if (Status started = session.impl_->start_profiler(); !started) return started.error();
  return session;
}

Status CounterSession::Impl::start_profiler() {
  auto initialize = cupti_params<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  if (Status s = cupti.checked(cupti.initialize(&initialize), "starting the profiler"); !s) return s;
  auto name = cupti_params<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  if (Status s = cupti.checked(cupti.chip_name(&name), "asking for the chip's name"); !s) return s;
  chip = name.pChipName;

  Result<CUcontext> context = current_context();
  if (!context) return context.error();
  auto available =
      cupti_params<CUpti_Profiler_GetCounterAvailability_Params>(CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
  available.ctx = *context;
  if (Status s = cupti.checked(cupti.counter_availability(&available), "asking which counters there are"); !s) return s;
  std::vector<std::uint8_t> availability(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = availability.data();
  if (Status s = cupti.checked(cupti.counter_availability(&available), "asking which counters there are"); !s) return s;

  std::vector<std::string> unknown;
  Result<std::vector<std::string>> found = known_metrics(cupti, chip, availability, metrics, unknown);
  if (!found) return found.error();
  known = *found;
  if (known.empty())
    return Error{fmt::format("{} has none of the {} counters asked for", chip, metrics.size()), Error::Kind::machine_lacks};
  Result<Host> made = Host::make(cupti, chip, availability);
  if (!made) return made.error();
  host = std::make_unique<Host>(std::move(*made));
  std::vector<const char*> names = c_names(known);
  if (Status s = cupti.checked(host->add(names), "naming the counters"); !s) return s;
  Result<std::vector<std::uint8_t>> configured = host->image();
  if (!configured) return configured.error();
  image = std::move(*configured);

  auto enable = cupti_params<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  enable.ctx = *context;
  if (Status s = cupti.checked(cupti.range_enable(&enable), "enabling the profiler"); !s) return s;
  profiler = enable.pRangeProfilerObject;
  auto size =
      cupti_params<CUpti_RangeProfiler_GetCounterDataSize_Params>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  size.pRangeProfilerObject = profiler;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = 1;
  size.maxNumRangeTreeNodes = 1;
  if (Status s = cupti.checked(cupti.range_data_size(&size), "sizing the counter data"); !s) return s;
  data.resize(size.counterDataSize);
  return Done{};
}

Status CounterSession::Impl::one_pass(const std::function<Status()>& prepare, const std::function<Status()>& run, bool& all_in) {
  if (Status prepared = prepare(); !prepared) return prepared;
  if (Status idle = wait_for(nullptr); !idle) return idle;
  auto start = cupti_params<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  start.pRangeProfilerObject = profiler;
  if (Status s = cupti.checked(cupti.range_start(&start), "starting a pass"); !s) return s;
  auto push = cupti_params<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  push.pRangeProfilerObject = profiler;
  push.pRangeName = "kernel";
  if (Status s = cupti.checked(cupti.range_push(&push), "beginning a range"); !s) return s;
  Status ran = run();
  if (ran) ran = wait_for(nullptr);
  auto pop = cupti_params<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  pop.pRangeProfilerObject = profiler;
  const Status popped = cupti.checked(cupti.range_pop(&pop), "ending a range");
  auto stop = cupti_params<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  stop.pRangeProfilerObject = profiler;
  const Status stopped = cupti.checked(cupti.range_stop(&stop), "ending a pass");
  all_in = stop.isAllPassSubmitted != 0;
  if (!ran) return ran;
  return popped ? stopped : popped;
}

Result<CounterReading> CounterSession::read(const std::function<Status()>& prepare, const std::function<Status()>& run) {
  Impl& impl = *impl_;
  auto fresh = cupti_params<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  fresh.pRangeProfilerObject = impl.profiler;
  fresh.pCounterData = impl.data.data();
  fresh.counterDataSize = impl.data.size();
  if (Status s = impl.cupti.checked(impl.cupti.range_data_initialize(&fresh), "clearing the counter data"); !s) return s.error();
  auto config = cupti_params<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  config.pRangeProfilerObject = impl.profiler;
  config.pConfig = impl.image.data();
  config.configSize = impl.image.size();
  config.pCounterDataImage = impl.data.data();
  config.counterDataImageSize = impl.data.size();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = 1;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.targetNestingLevel = 1;
  if (Status s = impl.cupti.checked(impl.cupti.range_config(&config), "configuring the profiler"); !s) return s.error();

  CounterReading reading;
  for (bool all_in = false; !all_in; ++reading.passes) {
    if (reading.passes == most_passes)
      return Error{fmt::format("the profiler wanted more than {} passes", most_passes), Error::Kind::machine_lacks};
    if (Status s = impl.one_pass(prepare, run, all_in); !s) return s.error();
  }
  auto decode = cupti_params<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  decode.pRangeProfilerObject = impl.profiler;
  if (Status s = impl.cupti.checked(impl.cupti.range_decode(&decode), "decoding the counters"); !s) return s.error();

  std::vector<const char*> names = c_names(impl.known);
  std::vector<double> values(names.size());
  auto evaluate =
      cupti_params<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  evaluate.pHostObject = impl.host->object();
  evaluate.pCounterDataImage = impl.data.data();
  evaluate.counterDataImageSize = impl.data.size();
  evaluate.ppMetricNames = names.data();
  evaluate.numMetrics = names.size();
  evaluate.pMetricValues = values.data();
  if (Status s = impl.cupti.checked(impl.cupti.host_evaluate(&evaluate), "reading the counters"); !s) return s.error();
  for (const std::string& metric : impl.metrics) {
    double value = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < impl.known.size(); ++i)
      if (impl.known[i] == metric) value = values[i];
    reading.values.push_back(value);
  }
  return reading;
}

}  // namespace tilescope
