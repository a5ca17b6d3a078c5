// Samples HBM traffic with CUPTI's PM sampling.

#include <algorithm>
#include <cmath>

#include "kernels/measure/bandwidth.h"
#include "kernels/measure/cupti_host.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/timing.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr std::uint32_t most_samples = 1 << 13;  // a kernel gets 400 to 800, plus a few idle ones around it
constexpr std::size_t hardware_buffer_bytes = std::size_t{8} << 20;
constexpr double finest_ns = 1000, coarsest_ns = 128000;
constexpr double samples_wanted = 400;
constexpr std::uint64_t seed = 1;
const std::string metrics[] = {"dram__bytes_read.sum", "dram__bytes_write.sum"};

/// The sampler of device 0, enabled for its lifetime.
class Sampler {
 public:
  explicit Sampler(const CuptiLibrary& cupti) : cupti_(&cupti) {}
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler() {
    if (object_ == nullptr) return;
    auto p = cupti_params<CUpti_PmSampling_Disable_Params>(CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
    p.pPmSamplingObject = object_;
    cupti_->sampling_disable(&p);
  }

  Status open(SamplerKnowledge& knowledge);
  /// Errors  an interval that the chip does not offer.
  Status configure(double interval_ns);
  Result<std::vector<BandwidthSample>> sample(const std::function<Status()>& run);

 private:
  Status ask_availability(std::vector<std::uint8_t>& availability) const;
  Result<std::vector<BandwidthSample>> read();

  const CuptiLibrary* cupti_;
  std::unique_ptr<CuptiHost> host_;
  std::vector<std::uint8_t> image_, data_;
  CUpti_PmSampling_Object* object_ = nullptr;
};

Status Sampler::open(SamplerKnowledge& knowledge) {
  auto initialize = cupti_params<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  if (Status s = cupti_->checked(cupti_->initialize(&initialize), "starting the profiler"); !s) return s;
  auto name = cupti_params<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  if (Status s = cupti_->checked(cupti_->chip_name(&name), "asking for the chip's name"); !s) return s;
  if (Status s = ask_availability(knowledge.availability); !s) return s;
  Result<CuptiHost> host = CuptiHost::make(*cupti_, CUPTI_PROFILER_TYPE_PM_SAMPLING, name.pChipName, knowledge.availability);
  if (!host) return host.error();
  host_ = std::make_unique<CuptiHost>(std::move(*host));
  if (Status s = cupti_->checked(host_->add(c_names(metrics)), "naming the counters to sample"); !s) return s;
  Result<std::vector<std::uint8_t>> image = host_->image();
  if (!image) return image.error();
  image_ = std::move(*image);
  auto enable = cupti_params<CUpti_PmSampling_Enable_Params>(CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
  if (Status s = cupti_->checked(cupti_->sampling_enable(&enable), "switching sampling on"); !s) return s;
  object_ = enable.pPmSamplingObject;
  return Done{};
}

Status Sampler::ask_availability(std::vector<std::uint8_t>& availability) const {
  if (!availability.empty()) return Done{};
  auto available =
      cupti_params<CUpti_PmSampling_GetCounterAvailability_Params>(CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE);
  if (Status s = cupti_->checked(cupti_->sampling_availability(&available), "asking what can be sampled"); !s) return s;
  std::vector<std::uint8_t> image(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = image.data();
  if (Status s = cupti_->checked(cupti_->sampling_availability(&available), "asking what can be sampled"); !s) return s;
  availability = std::move(image);
  return Done{};
}

Status Sampler::configure(double interval_ns) {
  auto config = cupti_params<CUpti_PmSampling_SetConfig_Params>(CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);
  config.pPmSamplingObject = object_;
  config.configSize = image_.size();
  config.pConfig = image_.data();
  config.hardwareBufferSize = hardware_buffer_bytes;
  config.samplingInterval = static_cast<std::uint64_t>(interval_ns);
  config.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  config.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  if (Status s = cupti_->checked(cupti_->sampling_config(&config), "setting the sampling interval"); !s) return s;
  std::vector<const char*> names = c_names(metrics);
  auto size = cupti_params<CUpti_PmSampling_GetCounterDataSize_Params>(CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
  size.pPmSamplingObject = object_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxSamples = most_samples;
  if (Status s = cupti_->checked(cupti_->sampling_data_size(&size), "sizing the samples"); !s) return s;
  data_.resize(size.counterDataSize);
  auto fresh = cupti_params<CUpti_PmSampling_CounterDataImage_Initialize_Params>(
      CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  fresh.pPmSamplingObject = object_;
  fresh.counterDataSize = data_.size();
  fresh.pCounterData = data_.data();
  return cupti_->checked(cupti_->sampling_data_initialize(&fresh), "clearing the samples");
}

Result<std::vector<BandwidthSample>> Sampler::sample(const std::function<Status()>& run) {
  auto start = cupti_params<CUpti_PmSampling_Start_Params>(CUpti_PmSampling_Start_Params_STRUCT_SIZE);
  start.pPmSamplingObject = object_;
  if (Status s = cupti_->checked(cupti_->sampling_start(&start), "starting to sample"); !s) return s.error();
  Status ran = run();
  if (ran) ran = wait_for(nullptr);
  auto stop = cupti_params<CUpti_PmSampling_Stop_Params>(CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
  stop.pPmSamplingObject = object_;
  const Status stopped = cupti_->checked(cupti_->sampling_stop(&stop), "ending the sampling");
  if (!ran) return ran.error();
  if (!stopped) return stopped.error();
  auto decode = cupti_params<CUpti_PmSampling_DecodeData_Params>(CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
  decode.pPmSamplingObject = object_;
  decode.pCounterDataImage = data_.data();
  decode.counterDataImageSize = data_.size();
  if (Status s = cupti_->checked(cupti_->sampling_decode(&decode), "decoding the samples"); !s) return s.error();
  if (decode.overflow != 0)
    return Error{phrase("the chip's sample buffer ran over: the kernel is too long to be sampled this finely"),
                 Error::Kind::machine_lacks};
  return read();
}

Result<std::vector<BandwidthSample>> Sampler::read() {
  auto info = cupti_params<CUpti_PmSampling_GetCounterDataInfo_Params>(CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = data_.data();
  info.counterDataImageSize = data_.size();
  if (Status s = cupti_->checked(cupti_->sampling_info(&info), "counting the samples"); !s) return s.error();
  std::vector<BandwidthSample> samples;
  std::uint64_t origin = 0;
  // Skip sample 0: it reaches back to the setup of the sampling and includes the flush.
  for (std::size_t i = 1; i < info.numCompletedSamples; ++i) {
    auto one = cupti_params<CUpti_PmSampling_CounterData_GetSampleInfo_Params>(
        CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
    one.pPmSamplingObject = object_;
    one.pCounterDataImage = data_.data();
    one.counterDataImageSize = data_.size();
    one.sampleIndex = i;
    if (Status s = cupti_->checked(cupti_->sample_info(&one), "reading a sample"); !s) return s.error();
    const Result<std::vector<double>> values = host_->evaluate(data_, metrics, i);
    if (!values) return values.error();
    if (i == 1) origin = one.startTimestamp;  // integer subtraction: a double cannot hold nanoseconds since 1970
    samples.push_back({static_cast<double>(one.startTimestamp - origin), static_cast<double>(one.endTimestamp - origin),
                       (*values)[0], (*values)[1]});
  }
  return samples;
}

}  // namespace

Result<BandwidthRecord> sample_bandwidth(const KernelInfo& kernel, const AttentionProblem& problem, SamplerKnowledge& knowledge) {
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  const Result<DeviceInfo> device = find_device();
  if (!device) return device.error();
  const Result<CuptiLibrary> cupti = CuptiLibrary::open();
  if (!cupti) return cupti.error();
  if (!cupti->can_sample)
    return Error{phrase("the libcupti found has no PM sampling: it needs CUPTI of CUDA 12.6 or later"), Error::Kind::machine_lacks};
  Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, problem, seed);
  if (!tensors) return tensors.error();
  Result<DeviceMemory> scratch = flush_scratch(*device);
  if (!scratch) return scratch.error();
  TimingOptions timing;
  timing.l2 = L2State::cold;
  const Result<Timing> time = time_kernel(kernel, problem, tensors->tensors(), *scratch, timing);
  if (!time) return time.error();

  BandwidthRecord record;
  record.kernel = std::string(kernel.id);
  record.device = device->name;
  record.problem = problem;
  record.tile = kernel.tile(problem);
  record.kernel_ns = time->median_ms * 1e6;
  Sampler sampler(*cupti);
  if (Status opened = sampler.open(knowledge); !opened) return opened.error();
  // Intervals are powers of two apart.
  record.interval_ns =
      std::max(finest_ns, finest_ns * std::exp2(std::floor(std::log2(record.kernel_ns / samples_wanted / finest_ns))));
  Status configured = sampler.configure(record.interval_ns);
  while (!configured && record.interval_ns < coarsest_ns) {
    record.interval_ns *= 2;
    configured = sampler.configure(record.interval_ns);
  }
  if (!configured)
    return Error{phrase("{} was asked for samples every {:.0f} to {:.0f} ns of HBM reads and writes, and refused: {}", device->name,
                        finest_ns, coarsest_ns, configured.error().sentence.text()),
                 Error::Kind::machine_lacks};
  if (Status flushed = launch(plan_flush(*scratch), nullptr); !flushed) return flushed.error();
  if (Status done = wait_for(nullptr); !done) return done.error();
  const Result<std::vector<BandwidthSample>> samples =
      sampler.sample([&] { return launch(kernel, problem, tensors->tensors(), nullptr); });
  if (!samples) return samples.error();
  record.samples = trimmed(*samples);
  if (record.samples.empty())
    return Error{phrase("{} gave {} samples every {:.0f} ns, and none of them saw HBM traffic", device->name, samples->size(),
                        record.interval_ns),
                 Error::Kind::machine_lacks};
  return record;
}

}  // namespace tilescope
