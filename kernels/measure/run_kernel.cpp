// Runs a kernel once and reads its outputs.
#include "kernels/measure/run_kernel.h"

#include <cstdint>

#include "kernels/measure/device_problem.h"
#include "sim/core/element.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// Reads a tensor, leaving out the padding at the end of its rows.
Result<std::vector<float>> read(const DeviceMemory& memory, const TensorLayout& layout, DataType type) {
  const std::int64_t rows = layout.planes * layout.rows, pitch = layout.cols + layout.pad;
  std::vector<float> values(static_cast<std::size_t>(rows * layout.cols));
  const auto copy = [&](const auto& raw, auto value_of) {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t col = 0; col < layout.cols; ++col)
        values[static_cast<std::size_t>(row * layout.cols + col)] = value_of(raw[static_cast<std::size_t>(row * pitch + col)]);
  };
  if (layout.element_bytes == 4) {
    std::vector<float> raw(static_cast<std::size_t>(rows * pitch));
    if (Status done = memory.read(raw.data(), layout.bytes().value); !done) return done.error();
    copy(raw, [](float value) { return value; });
  } else {
    std::vector<std::uint16_t> raw(static_cast<std::size_t>(rows * pitch));
    if (Status done = memory.read(raw.data(), layout.bytes().value); !done) return done.error();
    copy(raw, [type](std::uint16_t bits) { return from_bits(type, bits); });
  }
  return values;
}

}  // namespace

Result<std::vector<KernelOutput>> run_kernel(const KernelInfo& kernel, const AttentionProblem& problem, const HostInputs& inputs) {
  Result<DeviceProblem> tensors = DeviceProblem::make(kernel, problem, inputs);
  if (!tensors) return tensors.error();
  if (Status launched = launch(kernel, problem, tensors->tensors(), nullptr); !launched) return launched.error();
  if (Status done = wait_for(nullptr); !done) return done.error();
  std::vector<KernelOutput> outputs;
  for (const Tensor tensor : outputs_of(kernel, problem)) {
    Result<std::vector<float>> values =
        read(tensors->memory(tensor), tensor_layout(problem, kernel.tile(problem), tensor), problem.dtype);
    if (!values) return values.error();
    outputs.push_back({tensor, std::move(*values)});
  }
  return outputs;
}

}  // namespace tilescope
