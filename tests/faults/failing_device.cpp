// Stands in for the GPU, for tests only: its memory is the host's, its launches do nothing, and one call fails.
//
//   TILESCOPE_FAULT=KIND:N:WHAT     alloc:N, copy:N, launch:N, wait:N    call N fails, for these reasons:
//                                   memory     out of memory
//                                   timeout    the launch timed out
//                                   failure    a launch failed
//                                   lost       the GPU is gone
//                                   slow       the call takes 10 seconds, and succeeds
//   TILESCOPE_FAULT_FIRED=FILE      is created when the call fails
//   TILESCOPE_FAULT_CALLS=FILE      holds the number of calls of each kind once the program has ended
//
// As with CUDA, every later call fails too, unless memory was lacking.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "kernels/calibrate/arithmetic.h"
#include "kernels/calibrate/asynchronous.h"
#include "kernels/calibrate/code.h"
#include "kernels/calibrate/latency.h"
#include "kernels/calibrate/launching.h"
#include "kernels/calibrate/memory.h"
#include "kernels/calibrate/products.h"
#include "kernels/calibrate/reducing.h"
#include "kernels/calibrate/sharing.h"
#include "kernels/device.h"
#include "kernels/device_error.h"
#include "kernels/flex/flex.h"
#include "kernels/measure/bandwidth.h"
#include "kernels/measure/clock_gauge.h"
#include "kernels/measure/counters.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/library_products.h"
#include "kernels/no_kernels.h"

namespace tilescope {

namespace {

// --- the fault --------------------------------------------------------------------------------------------------------------

enum class Call { alloc, copy, launch, wait };
constexpr std::array<std::string_view, 4> call_names = {"alloc", "copy", "launch", "wait"};

struct Fault {
  std::string_view what;
  DeviceCode code;
};
constexpr Fault faults[] = {{"memory", {"cudaErrorMemoryAllocation", "out of memory"}},
                            {"timeout", {"cudaErrorLaunchTimeout", "the launch timed out and was terminated"}},
                            {"failure", {"cudaErrorLaunchFailure", "unspecified launch failure"}},
                            {"lost", {"cudaErrorUnknown", "unknown error"}}};

class Injector {
 public:
  Injector() {
    const char* const text = std::getenv("TILESCOPE_FAULT");
    if (text == nullptr) return;
    const std::string fault = text;
    const std::size_t first = fault.find(':'), second = fault.find(':', first + 1);
    for (std::size_t kind = 0; kind < call_names.size(); ++kind)
      if (fault.substr(0, first) == call_names[kind]) kind_ = static_cast<int>(kind);
    at_ = std::strtol(fault.c_str() + first + 1, nullptr, 10);
    const std::string what = second == std::string::npos ? "" : fault.substr(second + 1);
    slow_ = what == "slow";
    for (const Fault& known : faults)
      if (known.what == what) fault_ = &known;
  }
  ~Injector() {
    const char* const path = std::getenv("TILESCOPE_FAULT_CALLS");
    if (path == nullptr) return;
    std::ofstream file(path);
    for (const auto& count : calls_) file << count << ' ';
  }

  /// Counts a call. Returns the code that it fails with; null if it succeeds.
  const DeviceCode* fails(Call call) {
    const auto kind = static_cast<std::size_t>(call);
    const long number = ++calls_[kind];
    if (lost_) return &fault_->code;
    if (static_cast<int>(kind) != kind_ || number != at_) return nullptr;
    if (const char* const path = std::getenv("TILESCOPE_FAULT_FIRED")) std::ofstream{path};
    if (slow_) std::this_thread::sleep_for(std::chrono::seconds(10));
    if (slow_ || fault_ == nullptr) return nullptr;
    lost_ = fault_->what != "memory";
    return &fault_->code;
  }

 private:
  std::array<std::atomic<long>, call_names.size()> calls_{};
  int kind_ = -1;
  long at_ = 0;
  bool slow_ = false;
  const Fault* fault_ = nullptr;
  std::atomic<bool> lost_ = false;
};

Injector injector;

Status called(Call call, std::string_view doing) {
  const DeviceCode* const code = injector.fails(call);
  if (code != nullptr) return device_error(*code, doing);
  return Done{};
}

constexpr std::int64_t free_bytes = std::int64_t{79} << 30;
constexpr float milliseconds = 0.01F;

PlannedLaunch launch_of(std::string_view name) {
  PlannedLaunch launch;
  launch.name = name;
  launch.threads = 128;
  return launch;
}

}  // namespace

// --- kernels/device.h -------------------------------------------------------------------------------------------------------

bool built_with_cuda() {
  return true;
}

Error no_cuda_error() {
  return {"the stand-in for a GPU has everything", Error::Kind::machine_lacks};
}

/// An H100 with an L2 of 1 MiB, so that what flushes it is small.
Result<DeviceInfo> find_device() {
  DeviceInfo info;
  info.name = "NVIDIA H100 80GB HBM3";
  info.compute_major = 9;
  info.sm_count = 132;
  info.l2_bytes = std::int64_t{1} << 20;
  info.memory_bytes = std::int64_t{80} << 30;
  info.free_bytes = free_bytes;
  info.shared_bytes_per_block = 227 << 10;
  info.shared_bytes_per_sm = 228 << 10;
  info.registers_per_sm = 65536;
  info.threads_per_sm = 2048;
  info.blocks_per_sm = 32;
  info.sm_clock_hz = 1.98e9;
  info.memory_clock_hz = 2.619e9;
  info.driver_version = info.runtime_version = "13.0";
  return info;
}

void DeviceMemory::Free::operator()(void* address) const {
  std::free(address);
}

Result<DeviceMemory> DeviceMemory::allocate(std::int64_t bytes) {
  if (const DeviceCode* const code = injector.fails(Call::alloc))
    return code->name == faults[0].code.name ? out_of_device_memory(bytes, 0) : device_error(*code, "allocating GPU memory");
  DeviceMemory memory;
  memory.memory_.reset(std::malloc(static_cast<std::size_t>(bytes)));
  if (memory.address() == nullptr) return out_of_device_memory(bytes, 0);
  memory.bytes_ = bytes;
  if (Status filled = memory.fill(0xff); !filled) return filled.error();
  return memory;
}

Status DeviceMemory::fill(unsigned char byte) {
  if (Status filled = called(Call::copy, "filling GPU memory"); !filled) return filled;
  std::memset(address(), byte, static_cast<std::size_t>(bytes_));
  return Done{};
}
Status DeviceMemory::write(const void* from, std::int64_t bytes, std::int64_t offset) {
  if (Status written = called(Call::copy, "copying to the GPU"); !written) return written;
  std::memcpy(static_cast<char*>(address()) + offset, from, static_cast<std::size_t>(bytes));
  return Done{};
}
Status DeviceMemory::read(void* to, std::int64_t bytes) const {
  if (Status read = called(Call::copy, "copying from the GPU"); !read) return read;
  std::memcpy(to, address(), static_cast<std::size_t>(bytes));
  return Done{};
}

Result<const void*> load_kernel(const std::string&, const char*) {
  return nullptr;
}

Status launch(const PlannedLaunch& launch, StreamHandle) {
  return called(Call::launch, "launching " + std::string(launch.name));
}

Status wait_for(StreamHandle) {
  std::this_thread::sleep_for(std::chrono::microseconds(200));  // a kernel takes time, and warming up lasts for some
  return called(Call::wait, "running a kernel");
}

Result<CompiledNeeds> compiled_needs(const PlannedLaunch& launch) {
  return CompiledNeeds{std::string(launch.name), launch.threads, 128, 32 << 10, 0, 2};
}

struct Stopwatch::Events {};
void Stopwatch::Destroy::operator()(Events* events) const {
  delete events;
}
Result<Stopwatch> Stopwatch::make() {
  return Stopwatch();
}
Status Stopwatch::start(StreamHandle) {
  return Done{};
}
Status Stopwatch::end(StreamHandle) {
  return Done{};
}
bool Stopwatch::has_started() const {
  return false;
}
Result<double> Stopwatch::elapsed() {
  if (Status waited = called(Call::wait, "timing a kernel"); !waited) return waited.error();
  return double{milliseconds};
}

// --- kernels ----------------------------------------------------------------------------------------------------------------

LaunchPlan plan_without_kernel(std::string_view kernel) {
  return {launch_of(kernel)};
}
PlannedLaunch plan_flush(const DeviceMemory&) {
  return launch_of("flush");
}
PlannedLaunch plan_clock_marks(const DeviceMemory&, int) {
  return launch_of("clock marks");
}
PlannedLaunch plan_empty() {
  return launch_of("empty");
}
PlannedLaunch plan_random(const DeviceMemory&, const TensorLayout&, DataType, std::uint64_t) {
  return launch_of("random");
}
PlannedLaunch plan_masked_softmax(const AttentionProblem&, const DeviceTensors&) {
  return launch_of("masked_softmax");
}

Status prepare_flex(FlexBase, const AttentionProblem&) {
  return Done{};
}
Status launch_flex(FlexBase base, const AttentionProblem&, const DeviceTensors&, StreamHandle stream) {
  return launch(launch_of(flex_kernel_id(base)), stream);
}
Result<std::string> compile_flex(const std::string&, int, int) {
  return std::string();
}
Status check_flex(const std::string&) {
  return Done{};
}
FlexCost last_flex_cost() {
  return {};
}
Status multiply_scores(const AttentionProblem&, const DeviceTensors&, StreamHandle stream) {
  return launch(launch_of("scores"), stream);
}
Status multiply_output(const AttentionProblem&, const DeviceTensors&, StreamHandle stream) {
  return launch(launch_of("output"), stream);
}

// --- counters ---------------------------------------------------------------------------------------------------------------

Result<BandwidthRecord> sample_bandwidth(const KernelInfo& kernel, const AttentionProblem& problem, SamplerKnowledge&) {
  Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, problem, 1);
  if (!tensors) return tensors.error();
  if (Status ran = launch(kernel, problem, tensors->tensors(), nullptr); !ran) return ran.error();
  if (Status waited = wait_for(nullptr); !waited) return waited.error();
  BandwidthRecord record;
  record.kernel = std::string(kernel.id);
  record.device = find_device()->name;
  record.problem = problem;
  record.tile = kernel.tile(problem);
  return record;
}

Result<CounterPlan> plan_counters(std::string_view chip, std::span<const std::string>) {
  return CounterPlan{std::string(chip), 1, {}};
}
struct CounterSession::Impl {};
void CounterSession::Close::operator()(Impl* impl) const {
  delete impl;
}
Result<CounterSession> CounterSession::open() {
  return CounterSession();
}
Result<CounterReading> CounterSession::read(CounterSet, const std::function<Status()>& prepare,
                                            const std::function<Status()>& run) {
  if (Status prepared = prepare(); !prepared) return prepared.error();
  if (Status ran = run(); !ran) return ran.error();
  if (Status waited = wait_for(nullptr); !waited) return waited.error();
  return CounterReading{std::vector<double>(counter_table().size(), 1000.0), 1};
}
void CounterSession::pause() {}
std::string CounterSession::chip() const {
  return "GH100";
}

// --- kernels/calibrate ------------------------------------------------------------------------------------------------------

namespace microbench {

namespace {

/// Makes the calls of a micro-benchmark, and returns a value.
Result<double> benchmark(std::string_view name, double value) {
  const Result<DeviceMemory> memory = DeviceMemory::allocate(8);
  if (!memory) return memory.error();
  if (Status launched = launch(launch_of(name), nullptr); !launched) return launched.error();
  if (Status waited = wait_for(nullptr); !waited) return waited.error();
  double read = 0;
  if (Status copied = memory->read(&read, 8); !copied) return copied.error();
  return value;
}

template <class T>
Result<T> benchmark_of(std::string_view name, T values) {
  const Result<double> ran = benchmark(name, 0);
  if (!ran) return ran.error();
  return values;
}

}  // namespace

Result<ArithmeticRates> arithmetic_rates() {
  return benchmark_of("arithmetic", ArithmeticRates{2048, 2048, 33, 0.5, 0.5, 4, 256, 64, 64, 16, 128, 4});
}
Result<std::vector<ProductRate>> mma_rates() {
  return benchmark_of("mma", std::vector<ProductRate>{{"m16n8k16", "fp16", true, 2048}});
}
Result<std::vector<ProductRate>> wgmma_rates(const DeviceInfo&) {
  return benchmark_of("wgmma", std::vector<ProductRate>{{"m64n256k16", "fp16", false, 4096}});
}
Result<double> shared_latency() {
  return benchmark("shared latency", 29);
}
Result<double> l1_latency() {
  return benchmark("L1 latency", 33);
}
Result<double> l2_latency() {
  return benchmark("L2 latency", 260);
}
Result<double> hbm_latency(const DeviceInfo&) {
  return benchmark("HBM latency", 600);
}
Result<TileLatency> tile_latency(const DeviceInfo&) {
  return benchmark_of("tile latency", TileLatency{1200, 700});
}
Result<LineLatencies> line_latencies(const DeviceInfo&) {
  return benchmark_of("line latencies", LineLatencies{2, {0}, {240, 280}});
}
Result<std::optional<AsynchronousUnits>> asynchronous_units(const DeviceInfo&) {
  return benchmark_of("barriers and boxes",
                      std::optional(AsynchronousUnits{
                          {142, 157, 48, 64}, {{128, 97, 652, 1476, 1139}, {256, 97, 805, 2341, 1283}}, {{256, 4, 106, 37}}}));
}
Result<double> shared_read_rate(ReadPattern, int, std::int64_t, int) {
  return benchmark("reads", 64);
}
Result<double> shared_write_rate(int, std::int64_t, int) {
  return benchmark("writes", 32);
}
Result<HbmBandwidth> hbm_bandwidth(const DeviceInfo&, std::int64_t) {
  return benchmark_of("HBM", HbmBandwidth{3e12, 2.9e12, 2.8e12});
}
Result<double> write_wait_cycles(const DeviceInfo&, int, const HbmBandwidth&) {
  return benchmark("write wait", 100);
}
std::string_view to_string(AddForm) {
  return "form";
}
Result<double> add_rate(AddForm, AddTarget, int, std::int64_t, int) {
  return benchmark("additions", 16);
}
Result<double> copy_rate() {
  return benchmark("copies", 100);
}
Result<double> shared_copy_rate(int, std::int64_t, int) {
  return benchmark("L2 copies", 48);
}
Result<double> drawn_read_rate(const DeviceInfo&, int, int, int) {
  return benchmark("drawn tiles", 4000);
}
double merge_cycles(double, double, int) {
  return 100;
}
Result<double> ends_apart(const DeviceInfo&) {
  return benchmark("phases", 0.05);
}
Result<LaunchCosts> launch_costs(int, int) {
  return benchmark_of("launches", LaunchCosts{2000, 2000, 1000});
}
Result<BlockCosts> block_costs(const DeviceInfo&, int, int) {
  return benchmark_of("blocks", BlockCosts{300});
}
Result<double> block_interval_ns(const DeviceInfo&) {
  return benchmark("block interval", 1);
}
Result<double> barrier_cycles(int) {
  return benchmark("barrier", 20);
}
Result<LoadedClock> loaded_clock(const DeviceInfo&, double) {
  return benchmark_of("load", LoadedClock{{1.7e9}, 2000});
}
Result<FetchCycles> fetch_cycles(const DeviceInfo&, int) {
  return benchmark_of("fetches", FetchCycles{1000, 2000, 4000, 2000});
}

}  // namespace microbench

}  // namespace tilescope
