// Allocates, fills and poisons the tensors of one problem.
#include "kernels/measure/device_problem.h"

#include <algorithm>
#include <limits>

#include "sim/core/element.h"
#include "sim/core/page_table.h"
#include "sim/core/refuse.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

std::size_t place(Tensor tensor) {
  return tensor.index();
}

/// Returns the pool that holds the pages of K or V. Rows of a page behind the last key are NaNs.
std::vector<std::uint16_t> pool_of(const std::vector<std::uint16_t>& rows, const AttentionProblem& p) {
  const PageTable table(p);
  const std::int64_t pool_rows = p.batch * table.pages_each() * table.page_size();
  constexpr std::uint16_t nan = 0xffff;
  std::vector<std::uint16_t> pool(static_cast<std::size_t>(p.kv_heads * pool_rows * p.head_dim), nan);
  for (std::int64_t sequence = 0; sequence < p.batch; ++sequence)
    for (std::int64_t head = 0; head < p.kv_heads; ++head)
      for (std::int64_t logical = 0; logical < table.pages_each(); ++logical) {
        const std::int64_t key = logical * table.page_size(), keys = std::min(table.page_size(), p.seq_kv - key);
        const std::int64_t from = (sequence * p.kv_heads + head) * p.seq_kv + key,
                           to = head * pool_rows + table.page(sequence, logical) * table.page_size();
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(from * p.head_dim), keys * p.head_dim,
                    pool.begin() + static_cast<std::ptrdiff_t>(to * p.head_dim));
      }
  return pool;
}

/// Returns rows in the device layout, with padding, from rows without it: -inf in S, 0 in P.
std::vector<std::uint16_t> padded(const std::vector<std::uint16_t>& rows, Tensor tensor, const TensorLayout& layout,
                                  DataType type) {
  if (layout.pad == 0) return rows;
  const float padding = tensor == tensors::s ? -std::numeric_limits<float>::infinity() : 0.0F;
  const auto cols = static_cast<std::ptrdiff_t>(layout.cols);
  std::vector<std::uint16_t> result;
  result.reserve(static_cast<std::size_t>(layout.bytes().value / layout.element_bytes));
  for (auto row = rows.begin(); row != rows.end(); row += cols) {
    result.insert(result.end(), row, row + cols);
    result.insert(result.end(), static_cast<std::size_t>(layout.pad), to_bits(type, padding));
  }
  return result;
}

}  // namespace

Result<DeviceProblem> DeviceProblem::allocate(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  const TileShape tile = kernel.tile(problem);
  DeviceProblem on_device;
  on_device.kernel_ = &kernel;
  on_device.type_ = problem.dtype;
  on_device.outputs_ = outputs_of(kernel, problem);
  on_device.scratch_ = scratch_of(kernel, problem);
  if (kernel.sum_copies != nullptr) {
    const Result<DeviceInfo> device = find_device();
    if (!device) return device.error();
    on_device.sum_copies_ = kernel.sum_copies(problem, device->sm_count);
  }
  const auto bytes_of = [&](Tensor tensor) {
    return memory_layout(problem, tile, tensor).bytes().value * (tensor == tensors::d_q_acc ? on_device.sum_copies_ : 1);
  };
  std::int64_t total = 0;
  const std::span<const Tensor> outputs = on_device.outputs_, scratch = on_device.scratch_;
  for (const std::span<const Tensor> list : {kernel.inputs, outputs, scratch})
    for (Tensor tensor : list) total += bytes_of(tensor);
  for (const std::span<const Tensor> list : {kernel.inputs, outputs, scratch})
    for (Tensor tensor : list) {
      Result<DeviceMemory> memory = DeviceMemory::allocate(bytes_of(tensor));
      if (memory) {
        on_device.memory_[place(tensor)] = std::move(*memory);
        continue;
      }
      if (!wait_for(nullptr)) return memory.error();  // memory is not what the GPU lacks
      return Error{refuse("kernel {} needs {:.3f} GB for its tensors here: {}, or use a smaller {}, {} or {}", kernel.id,
                          static_cast<double>(total) / 1e9, memory.error().sentence, Setting::batch, Setting::heads, Setting::seq)
                       .sentence,
                   memory.error().kind};
    }
  return on_device;
}

Result<DeviceProblem> DeviceProblem::make(const KernelInfo& kernel, const AttentionProblem& problem, const HostInputs& inputs) {
  Result<DeviceProblem> made = allocate(kernel, problem);
  if (!made) return made;
  const struct {
    Tensor tensor;
    const std::vector<std::uint16_t>* bits = nullptr;
  } sources[] = {{tensors::q, &inputs.q}, {tensors::k, &inputs.k},     {tensors::v, &inputs.v}, {tensors::s, &inputs.s},
                 {tensors::p, &inputs.p}, {tensors::d_o, &inputs.d_o}, {tensors::o, &inputs.o}};
  const struct {
    Tensor tensor;
    const std::vector<float>* values = nullptr;
  } statistics[] = {{tensors::lse, &inputs.lse}, {tensors::m, &inputs.m}, {tensors::l, &inputs.l}};
  for (Tensor tensor : kernel.inputs) {
    DeviceMemory& memory = made->memory_[place(tensor)];
    for (const auto& source : sources)
      if (source.tensor == tensor) {
        const bool in_pages = problem.page_size > 0 && PageTable::holds(tensor);
        const auto bits = in_pages
                              ? pool_of(*source.bits, problem)
                              : padded(*source.bits, tensor, tensor_layout(problem, kernel.tile(problem), tensor), problem.dtype);
        if (Status written = memory.write(bits.data(), static_cast<std::int64_t>(bits.size()) * 2); !written)
          return written.error();
      }
    for (const auto& source : statistics)
      if (source.tensor == tensor)
        if (Status written = memory.write(source.values->data(), static_cast<std::int64_t>(source.values->size()) * 4); !written)
          return written.error();
  }
  return made;
}

Result<DeviceProblem> DeviceProblem::make_seeded(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed) {
  Result<DeviceProblem> made = allocate(kernel, problem);
  if (!made) return made;
  std::span<const Tensor> forward_results;
  if (!kernel.forward.empty()) forward_results = (*find_kernel(kernel.forward))->outputs;
  for (Tensor tensor : kernel.inputs) {
    if (std::ranges::find(forward_results, tensor) != forward_results.end()) continue;
    const PlannedLaunch random = plan_random(made->memory(tensor), memory_layout(problem, kernel.tile(problem), tensor),
                                             problem.dtype, seed + place(tensor));
    if (Status filled = launch(random, nullptr); !filled) return filled.error();
  }
  if (!kernel.forward.empty())
    if (Status ran = made->run_forward(problem); !ran) return ran.error();
  if (Status done = wait_for(nullptr); !done) return done.error();
  return made;
}

Status DeviceProblem::run_forward(const AttentionProblem& backward) {
  const KernelInfo& forward = **find_kernel(kernel_->forward);
  AttentionProblem problem = backward;
  problem.pass = Pass::forward;
  DeviceTensors t = tensors();
  if (t.s == nullptr) t.s = t.ds;
  if (t.o == nullptr) t.o = t.dq;
  if (Status ran = launch(forward, problem, t, nullptr); !ran) return ran;
  if (Status done = wait_for(nullptr); !done) return done;
  return poison();
}

DeviceTensors DeviceProblem::tensors() const {
  DeviceTensors t;
  auto address = [&](Tensor tensor) { return memory(tensor).address(); };
  auto floats = [&](Tensor tensor) { return static_cast<float*>(address(tensor)); };
  t.q = address(tensors::q);
  t.k = address(tensors::k);
  t.v = address(tensors::v);
  t.s = address(tensors::s);
  t.p = address(tensors::p);
  t.o = address(tensors::o);
  t.lse = floats(tensors::lse);
  t.m = floats(tensors::m);
  t.l = floats(tensors::l);
  t.d_o = address(tensors::d_o);
  t.dq = address(tensors::d_q);
  t.dk = address(tensors::d_k);
  t.dv = address(tensors::d_v);
  t.delta = floats(tensors::row_dot);
  t.dq_acc = floats(tensors::d_q_acc);
  t.dq_acc_copies = sum_copies_;
  t.dp = address(tensors::d_p);
  t.ds = address(tensors::d_s);
  for (const Tensor tensor : outputs_)
    if (tensor->table >= 0) t.d_tables[static_cast<std::size_t>(tensor->table)] = floats(tensor);
  for (const Tensor tensor : scratch_)
    if (tensor->read >= 0) t.table_parts[static_cast<std::size_t>(tensor->read)] = floats(tensor);
  return t;
}

Status DeviceProblem::write_plane(Tensor tensor, std::int64_t plane, const std::vector<std::uint16_t>& bits) {
  const auto bytes = static_cast<std::int64_t>(bits.size() * sizeof(std::uint16_t));
  return memory_[place(tensor)].write(bits.data(), bytes, plane * bytes);
}

Status DeviceProblem::write_row(Tensor tensor, std::int64_t row, std::span<const float> values) {
  DeviceMemory& memory = memory_[place(tensor)];
  const std::int64_t count = std::ssize(values);
  if (type_of(tensor, type_) == DataType::fp32) {
    constexpr std::int64_t bytes = sizeof(float);
    return memory.write(values.data(), count * bytes, row * count * bytes);
  }
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(to_bits(type_, value));
  constexpr std::int64_t bytes = sizeof(std::uint16_t);
  return memory.write(bits.data(), count * bytes, row * count * bytes);
}

Status DeviceProblem::poison() {
  for (const std::span<const Tensor> list : {std::span<const Tensor>(outputs_), std::span<const Tensor>(scratch_)})
    for (Tensor tensor : list)
      if (Status filled = memory_[place(tensor)].fill(0xff); !filled) return filled;
  return Done{};
}

std::int64_t DeviceProblem::bytes() const {
  std::int64_t total = 0;
  for (const DeviceMemory& memory : memory_) total += memory.bytes();
  return total;
}

}  // namespace tilescope
