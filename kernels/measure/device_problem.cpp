// Allocates, fills and poisons the tensors of one problem.
#include "kernels/measure/device_problem.h"

#include <fmt/format.h>

#include <limits>

#include "sim/core/element.h"
#include "sim/core/refuse.h"
#include "sim/programs/attention_tensors.h"

namespace tilescope {

namespace {

std::size_t place(Tensor tensor) {
  return tensor.index();
}

/// Returns rows in the device layout, with padding, from rows without it.
std::vector<std::uint16_t> padded(const std::vector<std::uint16_t>& rows, const TensorLayout& layout, DataType type) {
  if (layout.pad == 0) return rows;
  const auto cols = static_cast<std::ptrdiff_t>(layout.cols);
  std::vector<std::uint16_t> result;
  result.reserve(static_cast<std::size_t>(layout.bytes().value / layout.element_bytes));
  for (auto row = rows.begin(); row != rows.end(); row += cols) {
    result.insert(result.end(), row, row + cols);
    result.insert(result.end(), static_cast<std::size_t>(layout.pad), to_bits(type, -std::numeric_limits<float>::infinity()));
  }
  return result;
}

}  // namespace

Result<DeviceProblem> DeviceProblem::allocate(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  const TileShape tile = kernel.tile(problem);
  DeviceProblem on_device;
  on_device.kernel_ = &kernel;
  std::int64_t total = 0;
  for (const std::span<const Tensor> list : {kernel.inputs, kernel.outputs})
    for (Tensor tensor : list) total += tensor_layout(problem, tile, tensor).bytes().value;
  for (const std::span<const Tensor> list : {kernel.inputs, kernel.outputs})
    for (Tensor tensor : list) {
      Result<DeviceMemory> memory = DeviceMemory::allocate(tensor_layout(problem, tile, tensor).bytes().value);
      if (!memory)
        return Error{refuse("kernel {} needs {:.3f} GB for its tensors here: {}; use a smaller {}, {} or {}, or end what "
                            "else uses the GPU",
                            kernel.id, static_cast<double>(total) / 1e9, memory.error().sentence, Setting::batch, Setting::heads,
                            Setting::seq)
                         .sentence,
                     memory.error().kind};
      on_device.memory_[place(tensor)] = std::move(*memory);
    }
  return on_device;
}

Result<DeviceProblem> DeviceProblem::make(const KernelInfo& kernel, const AttentionProblem& problem, const HostInputs& inputs) {
  Result<DeviceProblem> made = allocate(kernel, problem);
  if (!made) return made;
  const struct {
    Tensor tensor;
    const std::vector<std::uint16_t>* bits;
  } sources[] = {{tensors::q, &inputs.q}, {tensors::k, &inputs.k}, {tensors::v, &inputs.v}, {tensors::s, &inputs.s}};
  for (Tensor tensor : kernel.inputs)
    for (const auto& source : sources)
      if (source.tensor == tensor) {
        const auto bits = padded(*source.bits, tensor_layout(problem, kernel.tile(problem), tensor), problem.dtype);
        if (Status written = made->memory_[place(tensor)].write(bits.data(), static_cast<std::int64_t>(bits.size()) * 2); !written)
          return written.error();
      }
  return made;
}

Result<DeviceProblem> DeviceProblem::make_seeded(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed) {
  Result<DeviceProblem> made = allocate(kernel, problem);
  if (!made) return made;
  for (Tensor tensor : kernel.inputs)
    if (Status filled = launch(plan_random(made->memory(tensor), tensor_layout(problem, kernel.tile(problem), tensor),
                                           problem.dtype, seed + place(tensor)),
                               nullptr);
        !filled)
      return filled.error();
  if (Status done = wait_for(nullptr); !done) return done.error();
  return made;
}

DeviceTensors DeviceProblem::tensors() const {
  DeviceTensors t;
  auto address = [&](Tensor tensor) { return memory(tensor).address(); };
  t.q = address(tensors::q);
  t.k = address(tensors::k);
  t.v = address(tensors::v);
  t.s = address(tensors::s);
  t.p = address(tensors::p);
  t.o = address(tensors::o);
  t.lse = static_cast<float*>(address(tensors::lse));
  t.m = static_cast<float*>(address(tensors::m));
  t.l = static_cast<float*>(address(tensors::l));
  return t;
}

Status DeviceProblem::write_plane(Tensor tensor, std::int64_t plane, const std::vector<std::uint16_t>& bits) {
  const auto bytes = static_cast<std::int64_t>(bits.size() * sizeof(std::uint16_t));
  return memory_[place(tensor)].write(bits.data(), bytes, plane * bytes);
}

Status DeviceProblem::poison() {
  for (Tensor tensor : kernel_->outputs)
    if (Status filled = memory_[place(tensor)].fill(0xff); !filled) return filled;
  return Done{};
}

std::int64_t DeviceProblem::bytes() const {
  std::int64_t total = 0;
  for (const DeviceMemory& memory : memory_) total += memory.bytes();
  return total;
}

}  // namespace tilescope
