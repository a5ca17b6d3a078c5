// Implements kernels/device.h with the CUDA runtime.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "sim/core/refuse.h"

#include "kernels/device.h"
#include "kernels/device_error.h"

namespace tilescope {

namespace {

constexpr int least_compute_major = 8;

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Error error_of(cudaError_t code, std::string_view doing) {
  cudaGetLastError();  // clears the error, so that the next call does not report it again
  return device_error({cudaGetErrorName(code), cudaGetErrorString(code)}, doing);
}

Status checked(cudaError_t code, std::string_view doing) {
  if (code != cudaSuccess) return error_of(code, doing);
  return Done{};
}

int attribute(cudaDeviceAttr name) {
  int value = 0;
  cudaDeviceGetAttribute(&value, name, 0);
  return value;
}

/// Raises the kernel's limit of dynamic shared memory: without opting in, CUDA grants 48 KiB a block.
Status allow_shared(const PlannedLaunch& launch) {
  if (launch.shared_bytes <= 48 * 1024) return Done{};
  const int most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (launch.shared_bytes > most)
    return Error{
        phrase("kernel {} needs {} bytes of shared memory a block; this GPU has {}", launch.name, launch.shared_bytes, most),
        Error::Kind::machine_lacks};
  return checked(
      cudaFuncSetAttribute(launch.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.shared_bytes)),
      "setting the shared memory of a kernel");
}

}  // namespace

bool built_with_cuda() {
  return true;
}

Error no_cuda_error() {
  return {"this build has CUDA kernels", Error::Kind::machine_lacks};
}

Result<DeviceInfo> find_device() {
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorInsufficientDriver && driver == 0)
    return Error{phrase("no NVIDIA driver was found: measuring needs an NVIDIA GPU with its driver; everything else works without"),
                 Error::Kind::machine_lacks};
  if (code == cudaErrorInsufficientDriver)
    return Error{phrase("the NVIDIA driver is for CUDA {}, this build needs {} or later: update the driver", version_text(driver),
                        version_text(runtime)),
                 Error::Kind::machine_lacks};
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
    return Error{phrase("no CUDA device was found: measuring needs an NVIDIA GPU; everything else works without"),
                 Error::Kind::machine_lacks};
  if (code != cudaSuccess) return error_of(code, "looking for a device");

  cudaDeviceProp properties{};
  if (const cudaError_t failed = cudaGetDeviceProperties(&properties, 0); failed != cudaSuccess)
    return error_of(failed, "asking for the device's properties");
  if (properties.major < least_compute_major)
    return Error{phrase("{} has compute capability {}.{}: the kernels need {}.0 or later (Ampere)", properties.name,
                        properties.major, properties.minor, least_compute_major),
                 Error::Kind::machine_lacks};
  DeviceInfo info;
  info.name = properties.name;
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.shared_bytes_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  info.shared_bytes_per_sm = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
  info.registers_per_sm = properties.regsPerMultiprocessor;
  info.threads_per_sm = properties.maxThreadsPerMultiProcessor;
  info.blocks_per_sm = properties.maxBlocksPerMultiProcessor;
  info.sm_clock_hz = attribute(cudaDevAttrClockRate) * 1e3;
  info.memory_clock_hz = attribute(cudaDevAttrMemoryClockRate) * 1e3;
  info.driver_version = version_text(driver);
  info.runtime_version = version_text(runtime);
  std::size_t free = 0, total = 0;
  if (const cudaError_t failed = cudaMemGetInfo(&free, &total); failed != cudaSuccess)
    return error_of(failed, "starting the device");
  info.free_bytes = static_cast<std::int64_t>(free);
  return info;
}

void DeviceMemory::Free::operator()(void* address) const {
  cudaFree(address);
}

Result<DeviceMemory> DeviceMemory::allocate(std::int64_t bytes) {
  void* address = nullptr;
  const cudaError_t code = cudaMalloc(&address, static_cast<std::size_t>(bytes));
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return out_of_device_memory(bytes, static_cast<std::int64_t>(free));
  }
  if (code != cudaSuccess) return error_of(code, "allocating GPU memory");
  DeviceMemory memory;
  memory.memory_.reset(address);
  memory.bytes_ = bytes;
  if (Status filled = memory.fill(0xff); !filled) return filled.error();
  return memory;
}

Status DeviceMemory::fill(unsigned char byte) {
  return checked(cudaMemset(address(), byte, static_cast<std::size_t>(bytes_)), "filling GPU memory");
}
Status DeviceMemory::write(const void* from, std::int64_t bytes, std::int64_t offset) {
  void* const to = static_cast<char*>(address()) + offset;
  return checked(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice), "copying to the GPU");
}
Status DeviceMemory::read(void* to, std::int64_t bytes) const {
  return checked(cudaMemcpy(to, address(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost), "copying from the GPU");
}

Result<const void*> load_kernel(const std::string& cubin, const char* name) {
  cudaLibrary_t library = nullptr;
  if (const cudaError_t code = cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
      code != cudaSuccess)
    return error_of(code, "loading a compiled kernel");
  cudaKernel_t kernel = nullptr;
  if (const cudaError_t code = cudaLibraryGetKernel(&kernel, library, name); code != cudaSuccess)
    return error_of(code, "finding a compiled kernel");
  return static_cast<const void*>(kernel);
}

Status launch(const PlannedLaunch& launch, StreamHandle stream) {
  if (Status allowed = allow_shared(launch); !allowed) return allowed;
  PlannedLaunch copy = launch;
  void* arguments[] = {copy.arguments.data()};
  const dim3 grid(static_cast<unsigned>(launch.grid[0]), static_cast<unsigned>(launch.grid[1]),
                  static_cast<unsigned>(launch.grid[2]));
  return checked(cudaLaunchKernel(launch.function, grid, dim3(static_cast<unsigned>(launch.threads)), arguments,
                                  static_cast<std::size_t>(launch.shared_bytes), static_cast<cudaStream_t>(stream)),
                 fmt::format("launching {}", launch.name));
}

Status wait_for(StreamHandle stream) {
  return checked(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "running a kernel");
}

Result<CompiledNeeds> compiled_needs(const PlannedLaunch& launch) {
  if (Status allowed = allow_shared(launch); !allowed) return allowed.error();
  cudaFuncAttributes attributes{};
  if (const cudaError_t code = cudaFuncGetAttributes(&attributes, launch.function); code != cudaSuccess)
    return error_of(code, "asking for a kernel's attributes");
  CompiledNeeds needs;
  needs.name = std::string(launch.name);
  needs.threads = launch.threads;
  needs.registers = attributes.numRegs;
  needs.shared_bytes = static_cast<std::int64_t>(attributes.sharedSizeBytes) + launch.shared_bytes;
  needs.local_bytes = static_cast<std::int64_t>(attributes.localSizeBytes);
  const cudaError_t code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&needs.blocks_per_sm, launch.function, launch.threads,
                                                                         static_cast<std::size_t>(launch.shared_bytes));
  if (code != cudaSuccess) return error_of(code, "asking for a kernel's occupancy");
  return needs;
}

struct Stopwatch::Events {
  cudaEvent_t begin = nullptr, end = nullptr;
};

void Stopwatch::Destroy::operator()(Events* events) const {
  if (events->begin) cudaEventDestroy(events->begin);
  if (events->end) cudaEventDestroy(events->end);
  delete events;
}

Result<Stopwatch> Stopwatch::make() {
  Stopwatch watch;
  watch.events_.reset(new Events);
  if (const cudaError_t code = cudaEventCreate(&watch.events_->begin); code != cudaSuccess)
    return error_of(code, "making an event");
  if (const cudaError_t code = cudaEventCreate(&watch.events_->end); code != cudaSuccess) return error_of(code, "making an event");
  return watch;
}

Status Stopwatch::start(StreamHandle stream) {
  return checked(cudaEventRecord(events_->begin, static_cast<cudaStream_t>(stream)), "timing a kernel");
}

Status Stopwatch::end(StreamHandle stream) {
  return checked(cudaEventRecord(events_->end, static_cast<cudaStream_t>(stream)), "timing a kernel");
}

bool Stopwatch::has_started() const {
  return cudaEventQuery(events_->begin) == cudaSuccess;
}

Result<double> Stopwatch::elapsed() {
  float milliseconds = 0;
  cudaError_t code = cudaEventSynchronize(events_->end);
  if (code == cudaSuccess) code = cudaEventElapsedTime(&milliseconds, events_->begin, events_->end);
  if (code != cudaSuccess) return error_of(code, "timing a kernel");
  return static_cast<double>(milliseconds);
}

}  // namespace tilescope
