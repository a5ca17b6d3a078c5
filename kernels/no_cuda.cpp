// Stands in for the device in a build without CUDA: every function returns no_cuda_error() or an empty list.
#include "kernels/device.h"
#include "kernels/flex/flex.h"
#include "kernels/measure/bandwidth.h"
#include "kernels/measure/clock_gauge.h"
#include "kernels/measure/counters.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/library_products.h"
#include "kernels/no_kernels.h"

namespace tilescope {

bool built_with_cuda() {
  return false;
}

Error no_cuda_error() {
  return {
      "measuring needs an NVIDIA GPU and the CUDA kernels, which this build is without: build with a CUDA toolkit 12.8 or later "
      "and "
      "-DTILESCOPE_CUDA=ON",
      Error::Kind::machine_lacks};
}

Result<DeviceInfo> find_device() {
  return no_cuda_error();
}
void DeviceMemory::Free::operator()(void*) const {}
Result<DeviceMemory> DeviceMemory::allocate(std::int64_t) {
  return no_cuda_error();
}
Status DeviceMemory::fill(unsigned char) {
  return no_cuda_error();
}
Status DeviceMemory::write(const void*, std::int64_t, std::int64_t) {
  return no_cuda_error();
}
Status DeviceMemory::read(void*, std::int64_t) const {
  return no_cuda_error();
}
Result<const void*> load_kernel(const std::string&, const char*) {
  return no_cuda_error();
}
Status prepare_flex(FlexBase, const AttentionProblem&) {
  return no_cuda_error();
}
Status launch_flex(FlexBase, const AttentionProblem&, const DeviceTensors&, StreamHandle) {
  return no_cuda_error();
}
Result<std::string> compile_flex(const std::string&, int, int) {
  return no_cuda_error();
}
Status check_flex(const std::string&) {
  return no_cuda_error();
}
FlexCost last_flex_cost() {
  return {};
}
Status launch(const PlannedLaunch&, StreamHandle) {
  return no_cuda_error();
}
Status wait_for(StreamHandle) {
  return no_cuda_error();
}
Result<CompiledNeeds> compiled_needs(const PlannedLaunch&) {
  return no_cuda_error();
}

struct Stopwatch::Events {};
void Stopwatch::Destroy::operator()(Events* events) const {
  delete events;
}
Result<Stopwatch> Stopwatch::make() {
  return no_cuda_error();
}
Status Stopwatch::start(StreamHandle) {
  return no_cuda_error();
}
Status Stopwatch::end(StreamHandle) {
  return no_cuda_error();
}
bool Stopwatch::has_started() const {
  return false;
}
Result<double> Stopwatch::elapsed() {
  return no_cuda_error();
}

LaunchPlan plan_without_kernel(std::string_view) {
  return {};
}
PlannedLaunch plan_flush(const DeviceMemory&) {
  return {};
}
PlannedLaunch plan_clock_marks(const DeviceMemory&, int) {
  return {};
}
PlannedLaunch plan_empty() {
  return {};
}
PlannedLaunch plan_random(const DeviceMemory&, const TensorLayout&, DataType, std::uint64_t) {
  return {};
}
PlannedLaunch plan_masked_softmax(const AttentionProblem&, const DeviceTensors&) {
  return {};
}

Status multiply_scores(const AttentionProblem&, const DeviceTensors&, StreamHandle) {
  return no_cuda_error();
}
Status multiply_output(const AttentionProblem&, const DeviceTensors&, StreamHandle) {
  return no_cuda_error();
}

Result<BandwidthRecord> sample_bandwidth(const KernelInfo&, const AttentionProblem&, SamplerKnowledge&) {
  return no_cuda_error();
}

Result<CounterPlan> plan_counters(std::string_view, std::span<const std::string>) {
  return no_cuda_error();
}
struct CounterSession::Impl {};
void CounterSession::Close::operator()(Impl* impl) const {
  delete impl;
}
Result<CounterSession> CounterSession::open() {
  return no_cuda_error();
}
Result<CounterReading> CounterSession::read(CounterSet, const std::function<Status()>&, const std::function<Status()>&) {
  return no_cuda_error();
}
void CounterSession::pause() {}
std::string CounterSession::chip() const {
  return {};
}

}  // namespace tilescope
