// Reads hardware counters with CUPTI's range profiler: one user range around the kernel, replayed until every pass is done.
#include "kernels/measure/counters.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "kernels/device.h"
#include "kernels/measure/cupti_host.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr int most_passes = 64;

/// Returns the metrics that a chip has. Tries each on a host object of its own, because a failed metric can spoil the others.
Result<std::vector<std::string>> known_metrics(const CuptiLibrary& cupti, const std::string& chip,
                                               const std::vector<std::uint8_t>& availability, std::span<const std::string> metrics,
                                               std::vector<std::string>& unknown) {
  std::vector<std::string> known;
  for (const std::string& metric : metrics) {
    Result<CuptiHost> host = CuptiHost::make(cupti, CUPTI_PROFILER_TYPE_RANGE_PROFILER, chip, availability);
    if (!host) return host.error();
    (host->add({metric.c_str()}) == CUPTI_SUCCESS ? known : unknown).push_back(metric);
  }
  return known;
}

/// Returns the runtime's context. Asking the driver through the runtime avoids linking against the driver.
Result<CUcontext> current_context() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t code = cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault, &found);
  CUcontext context = nullptr;
  if (code == cudaSuccess && found == cudaDriverEntryPointSuccess && function != nullptr) {
    using GetCurrent = CUresult (*)(CUcontext*);
    reinterpret_cast<GetCurrent>(function)(&context);
  }
  if (context == nullptr)
    return Error{phrase("the GPU has no context to profile: the driver may be too old"), Error::Kind::machine_lacks};
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
  if (Result<CuptiHost> host = CuptiHost::make(cupti, CUPTI_PROFILER_TYPE_RANGE_PROFILER, chip, {}); !host)
    return refuse("CUPTI does not know a chip named {}: it knows {}", chip, supported_chips(cupti));
  CounterPlan plan;
  plan.chip = chip;
  Result<std::vector<std::string>> known = known_metrics(cupti, chip, {}, metrics, plan.unknown);
  if (!known) return known.error();
  if (known->empty()) return plan;
  Result<CuptiHost> host = CuptiHost::make(cupti, CUPTI_PROFILER_TYPE_RANGE_PROFILER, chip, {});
  if (!host) return host.error();
  if (Status added = cupti.checked(host->add(c_names(*known)), "naming the counters"); !added) return added.error();
  Result<std::vector<std::uint8_t>> image = host->image();
  if (!image) return image.error();
  Result<int> passes = host->passes(*image);
  if (!passes) return passes.error();
  plan.passes = *passes;
  return plan;
}

/// A configured counter set: its configuration for the hardware and the image that receives the data.
struct ConfiguredSet {
  std::vector<std::string> metrics;
  std::unique_ptr<CuptiHost> host;
  std::vector<std::uint8_t> image, data;
};

struct CounterSession::Impl {
  CuptiLibrary cupti;
  std::string chip;
  std::vector<std::string> known;
  std::vector<std::uint8_t> availability;
  std::map<std::vector<std::string>, ConfiguredSet> sets;  // by their metrics
  CUpti_RangeProfiler_Object* profiler = nullptr;

  Status start_profiler();
  Status enable();
  void disable();
  std::vector<std::string> known_of(CounterSet set) const;
  Result<ConfiguredSet*> configured(const std::vector<std::string>& metrics);
  Result<int> run_passes(ConfiguredSet& set, const std::function<Status()>& prepare, const std::function<Status()>& run);
  Status use(ConfiguredSet& set);
  Result<std::vector<double>> evaluate(ConfiguredSet& set);
  Status one_pass(const std::function<Status()>& prepare, const std::function<Status()>& run, bool& all_in);
};

void CounterSession::Impl::disable() {
  if (profiler == nullptr) return;
  auto p = cupti_params<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  p.pRangeProfilerObject = profiler;
  cupti.range_disable(&p);
  profiler = nullptr;
}

void CounterSession::Close::operator()(Impl* impl) const {
  impl->disable();
  delete impl;
}

void CounterSession::pause() {
  if (impl_) impl_->disable();
}

std::string CounterSession::chip() const {
  return impl_ ? impl_->chip : std::string();
}

Result<CounterSession> CounterSession::open() {
  if (Result<DeviceInfo> device = find_device(); !device) return device.error();
  Result<CuptiLibrary> opened = CuptiLibrary::open();
  if (!opened) return opened.error();
  CounterSession session;
  session.impl_.reset(new Impl{*opened, {}, {}, {}, {}, nullptr});
  if (Status started = session.impl_->start_profiler(); !started) return started.error();
  // Configure now, so that a refusal comes before the measurement and not in the middle of it.
  if (Result<ConfiguredSet*> all = session.impl_->configured(session.impl_->known_of(CounterSet::all)); !all) return all.error();
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
  availability.resize(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = availability.data();
  if (Status s = cupti.checked(cupti.counter_availability(&available), "asking which counters there are"); !s) return s;

  const std::vector<std::string> metrics = counter_metrics();
  std::vector<std::string> unknown;
  Result<std::vector<std::string>> found = known_metrics(cupti, chip, availability, metrics, unknown);
  if (!found) return found.error();
  known = *found;
  if (known.empty())
    return Error{phrase("{} has none of the {} counters asked for", chip, metrics.size()), Error::Kind::machine_lacks};

  return enable();
}

Status CounterSession::Impl::enable() {
  if (profiler != nullptr) return Done{};
  Result<CUcontext> context = current_context();
  if (!context) return context.error();
  auto p = cupti_params<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  p.ctx = *context;
  if (Status s = cupti.checked(cupti.range_enable(&p), "enabling the profiler"); !s) return s;
  profiler = p.pRangeProfilerObject;
  return Done{};
}

std::vector<std::string> CounterSession::Impl::known_of(CounterSet set) const {
  std::vector<std::string> metrics = counter_metrics(set);
  std::erase_if(metrics, [&](const std::string& metric) { return std::find(known.begin(), known.end(), metric) == known.end(); });
  return metrics;
}

Result<ConfiguredSet*> CounterSession::Impl::configured(const std::vector<std::string>& metrics) {
  if (const auto found = sets.find(metrics); found != sets.end()) return &found->second;
  ConfiguredSet set;
  set.metrics = metrics;
  Result<CuptiHost> made = CuptiHost::make(cupti, CUPTI_PROFILER_TYPE_RANGE_PROFILER, chip, availability);
  if (!made) return made.error();
  set.host = std::make_unique<CuptiHost>(std::move(*made));
  if (set.metrics.empty()) return Error{phrase("{} has none of these counters", chip), Error::Kind::machine_lacks};
  if (Status s = cupti.checked(set.host->add(c_names(set.metrics)), "naming the counters"); !s) return s.error();
  Result<std::vector<std::uint8_t>> image = set.host->image();
  if (!image) return image.error();
  set.image = std::move(*image);
  return &sets.emplace(metrics, std::move(set)).first->second;
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

Status CounterSession::Impl::use(ConfiguredSet& set) {
  // The size must be queried each time: the profiler lays out the data image for the metrics of the latest size query.
  std::vector<const char*> names = c_names(set.metrics);
  auto size =
      cupti_params<CUpti_RangeProfiler_GetCounterDataSize_Params>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  size.pRangeProfilerObject = profiler;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = 1;
  size.maxNumRangeTreeNodes = 1;
  if (Status s = cupti.checked(cupti.range_data_size(&size), "sizing the counter data"); !s) return s;
  set.data.resize(size.counterDataSize);
  auto fresh = cupti_params<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  fresh.pRangeProfilerObject = profiler;
  fresh.pCounterData = set.data.data();
  fresh.counterDataSize = set.data.size();
  if (Status s = cupti.checked(cupti.range_data_initialize(&fresh), "clearing the counter data"); !s) return s;
  auto config = cupti_params<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  config.pRangeProfilerObject = profiler;
  config.pConfig = set.image.data();
  config.configSize = set.image.size();
  config.pCounterDataImage = set.data.data();
  config.counterDataImageSize = set.data.size();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = 1;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.targetNestingLevel = 1;
  return cupti.checked(cupti.range_config(&config), "configuring the profiler");
}

Result<int> CounterSession::Impl::run_passes(ConfiguredSet& set, const std::function<Status()>& prepare,
                                             const std::function<Status()>& run) {
  if (Status enabled = enable(); !enabled) return enabled.error();
  if (Status used = use(set); !used) return used.error();
  int passes = 0;
  for (bool all_in = false; !all_in; ++passes) {
    if (passes == most_passes)
      return Error{phrase("the profiler wanted more than {} passes", most_passes), Error::Kind::machine_lacks};
    if (Status s = one_pass(prepare, run, all_in); !s) return s.error();
  }
  return passes;
}

Result<std::vector<double>> CounterSession::Impl::evaluate(ConfiguredSet& set) {
  auto decode = cupti_params<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  decode.pRangeProfilerObject = profiler;
  if (Status s = cupti.checked(cupti.range_decode(&decode), "decoding the counters"); !s) return s.error();
  Result<std::vector<double>> values = set.host->evaluate(set.data, set.metrics, 0);
  if (!values) return values;
  for (std::size_t i = 0; i < set.metrics.size(); ++i)
    if (std::isnan((*values)[i]))
      return Error{phrase("the profiler gave no value for {}: is another program profiling this GPU?", set.metrics[i]),
                   Error::Kind::machine_lacks};
  return values;
}

Result<std::vector<double>> CounterSession::read_metrics(const std::vector<std::string>& metrics,
                                                         const std::function<Status()>& prepare,
                                                         const std::function<Status()>& run) {
  Result<ConfiguredSet*> set = impl_->configured(metrics);
  if (!set) return set.error();
  if (Result<int> passes = impl_->run_passes(**set, prepare, run); !passes) return passes.error();
  return impl_->evaluate(**set);
}

Result<CounterReading> CounterSession::read(CounterSet which, const std::function<Status()>& prepare,
                                            const std::function<Status()>& run) {
  const std::vector<std::string> metrics = impl_->known_of(which);
  Result<ConfiguredSet*> set = impl_->configured(metrics);
  if (!set) return set.error();
  const Result<int> passes = impl_->run_passes(**set, prepare, run);
  if (!passes) return passes.error();
  const Result<std::vector<double>> values = impl_->evaluate(**set);
  if (!values) return values.error();
  CounterReading reading;
  reading.passes = *passes;
  for (const Counter& counter : counter_table()) {
    const auto found = std::find(metrics.begin(), metrics.end(), counter.metric);
    reading.values.push_back(found == metrics.end() ? std::numeric_limits<double>::quiet_NaN()
                                                    : (*values)[static_cast<std::size_t>(found - metrics.begin())]);
  }
  return reading;
}

}  // namespace tilescope
