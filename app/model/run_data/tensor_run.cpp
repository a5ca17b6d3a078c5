// Runs an algorithm on given tensors.
#include "app/model/run_data/tensor_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "kernels/measure/run_kernel.h"
#include "sim/core/element.h"
#include "sim/core/mask.h"
#include "sim/core/refuse.h"
#include "sim/masks/score_change.h"
#include "sim/numerics/inputs.h"
#include "sim/numerics/program_reference.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

Result<std::unique_ptr<TileProgram>> program_of(const TensorRun& run) {
  const auto info = find_program(run.request.algorithm, run.request.problem.pass);
  if (!info) return info.error();
  return (*info)->make(run.request.problem, chosen_tile(run.request).value_or(ProgramTile()), run.request.gpu);
}

bool writes(const TileProgram& program, Tensor tensor) {
  return std::ranges::find(program.outputs(), tensor) != program.outputs().end();
}

std::vector<Tensor> tensors_left(const TileProgram& program) {
  if (writes(program, tensors::o)) {
    // The ladder of softmaxes fuses the product with V into its last rung, which keeps no statistics.
    std::vector<Tensor> left = {tensors::o};
    if (writes(program, tensors::lse) || writes(program, tensors::l) || writes(program, tensors::s)) left.push_back(tensors::lse);
    for (const Tensor gradient : {tensors::d_q, tensors::d_k, tensors::d_v})
      if (writes(program, gradient)) left.push_back(gradient);
    std::ranges::copy_if(program.outputs(), std::back_inserter(left),
                         [](Tensor tensor) { return tensor->table >= 0 && tensor->read < 0; });
    return left;
  }
  return {writes(program, tensors::p) ? tensors::p : tensors::s};
}

std::vector<std::int64_t> shape_of(const AttentionProblem& p, Tensor tensor) {
  if (tensor->table >= 0) return p.score_change->table_gradients()[static_cast<std::size_t>(tensor->table)].table->shape;
  const bool query_side = tensor->planes == Planes::query;
  std::vector<std::int64_t> shape = {p.batch, query_side ? p.heads : p.kv_heads, query_side ? p.seq_q : p.seq_kv};
  if (tensor->cols == Axis::head) shape.push_back(p.head_dim);
  if (tensor->cols == Axis::key) shape.push_back(p.seq_kv);
  return shape;
}

std::int64_t planes_of(const AttentionProblem& p, Tensor tensor) {
  if (tensor->planes == Planes::all) return 1;
  return p.batch * (tensor->planes == Planes::query ? p.heads : p.kv_heads);
}

/// Returns L of one plane from the row maxima and row sums that a program stores.
std::vector<float> from_statistics(std::span<const float> m, std::span<const float> l) {
  std::vector<float> values(m.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = l[i] == 0 ? minus_infinity : static_cast<float>(m[i] + std::log(static_cast<double>(l[i])));
  return values;
}

/// Returns L of one plane from the scores that a program stores. Where no key is visible, nothing was stored.
std::vector<float> from_scores(const AttentionProblem& p, const Mask& mask, std::int64_t plane, std::span<const float> s) {
  std::vector<float> values;
  for (std::int64_t query = 0; query < p.seq_q; ++query) {
    const auto score = [&](std::int64_t key) { return static_cast<double>(s[static_cast<std::size_t>(query * p.seq_kv + key)]); };
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t key = 0; key < p.seq_kv; ++key)
      if (mask.visible(plane, query, key)) maximum = std::max(maximum, score(key));
    for (std::int64_t key = 0; key < p.seq_kv; ++key)
      if (mask.visible(plane, query, key)) sum += std::exp(score(key) - maximum);
    values.push_back(sum == 0 ? minus_infinity : static_cast<float>(maximum + std::log(sum)));
  }
  return values;
}

/// What a run stored: the values of one plane of a tensor; empty if it stored none.
using StoredPlane = std::function<std::vector<float>(std::int64_t plane, Tensor tensor)>;

std::vector<LeftTensor> collected(const AttentionProblem& p, const std::vector<Tensor>& wanted, const StoredPlane& stored) {
  const std::shared_ptr<const Mask> mask = mask_of(p);
  std::vector<LeftTensor> left;
  for (const Tensor tensor : wanted) {
    LeftTensor one{tensor, shape_of(p, tensor), {}};
    for (std::int64_t plane = 0; plane < planes_of(p, tensor); ++plane) {
      std::vector<float> values = stored(plane, tensor);
      if (values.empty() && tensor == tensors::lse) {
        const std::vector<float> l = stored(plane, tensors::l);
        values =
            l.empty() ? from_scores(p, *mask, plane, stored(plane, tensors::s)) : from_statistics(stored(plane, tensors::m), l);
      }
      one.values.insert(one.values.end(), values.begin(), values.end());
    }
    left.push_back(std::move(one));
  }
  return left;
}

std::vector<std::uint16_t> bits_of(DataType type, std::span<const float> values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(to_bits(type, round_to(type, value)));
  return bits;
}

/// Returns an input of a kernel as bits, plane after plane.
std::vector<std::uint16_t> input_bits(const TensorRun& run, const TileProgram& program, Tensor tensor) {
  const AttentionProblem& p = run.request.problem;
  const TensorLayout layout = tensor_layout(p, program.tile(), tensor);
  std::vector<std::uint16_t> bits;
  for (std::int64_t plane = 0; plane < layout.planes; ++plane) {
    const TileRef whole = {tensor, static_cast<std::int32_t>(plane),      0, static_cast<std::int32_t>(layout.rows),
                           0,      static_cast<std::int32_t>(layout.cols)};
    const std::vector<std::uint16_t> more = bits_of(p.dtype, input_tile(run.inputs, p, whole).values);
    bits.insert(bits.end(), more.begin(), more.end());
  }
  return bits;
}

/// Gives a backward kernel what its forward kernel left.
void take_forward_results(HostInputs& inputs, DataType type, const std::vector<KernelOutput>& outputs) {
  for (const KernelOutput& output : outputs) {
    if (output.tensor == tensors::o) inputs.o = bits_of(type, output.values);
    if (output.tensor == tensors::p) inputs.p = bits_of(type, output.values);
    if (output.tensor == tensors::lse) inputs.lse = output.values;
    if (output.tensor == tensors::m) inputs.m = output.values;
    if (output.tensor == tensors::l) inputs.l = output.values;
  }
}

/// Finds a kernel and checks that it takes the problem, and the tile if one is given.
Result<const KernelInfo*> kernel_for(const TensorRun& run, std::string_view program, const AttentionProblem& problem) {
  const auto kernel = problem.pass == Pass::forward ? find_kernel(program, run.request.key_order) : find_kernel(program);
  if (!kernel) return kernel;
  const Status fits = run.request.tile ? supports(**kernel, problem, *run.request.tile) : supports(**kernel, problem);
  if (!fits) return fits.error();
  return kernel;
}

}  // namespace

Result<std::vector<Tensor>> tensors_left(const TensorRun& run) {
  const auto program = program_of(run);
  if (!program) return program.error();
  return tensors_left(**program);
}

Result<std::vector<LeftTensor>> run_on_tile_machine(const TensorRun& run, const Progress& progress) {
  const auto program = program_of(run);
  if (!program) return program.error();
  const auto finished = run_whole(**program, run.inputs, progress);
  if (!finished) return finished.error();
  return collected(run.request.problem, tensors_left(**program), [&](std::int64_t plane, Tensor tensor) {
    return writes(**program, tensor) ? finished->plane(plane, tensor).values : std::vector<float>();
  });
}

Result<std::vector<LeftTensor>> run_on_gpu(const TensorRun& run) {
  const auto program = program_of(run);
  if (!program) return program.error();
  const ProgramInfo& info = **find_program(run.request.algorithm, run.request.problem.pass);
  const bool gradients = info.pass == Pass::both;
  AttentionProblem forward = run.request.problem, backward = forward;
  forward.pass = Pass::forward;
  backward.pass = Pass::backward;
  const auto kernel = kernel_for(run, gradients ? info.forward : info.id, forward);
  if (!kernel) return kernel.error();
  const KernelInfo* backward_kernel = nullptr;
  if (gradients) {
    const auto found = find_program(run.request.algorithm, Pass::backward);
    if (!found) return found.error();
    const auto second = kernel_for(run, (*found)->id, backward);
    if (!second) return second.error();
    backward_kernel = *second;
  }

  if (const auto device = find_device(); !device)
    return Error{phrase("{}; --device cpu runs the tile machine", device.error().sentence), device.error().kind};

  HostInputs inputs;
  const std::pair<Tensor, std::vector<std::uint16_t>*> given[] = {{tensors::q, &inputs.q},
                                                                  {tensors::k, &inputs.k},
                                                                  {tensors::v, &inputs.v},
                                                                  {tensors::s, &inputs.s},
                                                                  {tensors::d_o, &inputs.d_o}};
  for (const auto& [tensor, bits] : given)
    if (std::ranges::find((*program)->inputs(), tensor) != (*program)->inputs().end()) *bits = input_bits(run, **program, tensor);
  Result<std::vector<KernelOutput>> outputs = run_kernel(**kernel, forward, inputs);
  if (!outputs) return outputs.error();
  if (backward_kernel != nullptr) {
    take_forward_results(inputs, forward.dtype, *outputs);
    auto more = run_kernel(*backward_kernel, backward, inputs);
    if (!more) return more.error();
    outputs->insert(outputs->end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
  }
  const auto stored = [&](std::int64_t plane, Tensor tensor) -> std::vector<float> {
    for (const KernelOutput& output : *outputs)
      if (output.tensor == tensor) {
        const auto size = static_cast<std::ptrdiff_t>(output.values.size()) / planes_of(forward, tensor);
        const auto first = output.values.begin() + plane * size;
        return {first, first + size};
      }
    return {};
  };
  return collected(run.request.problem, tensors_left(**program), stored);
}

Result<std::vector<LeftTensor>> run_reference(const TensorRun& run) {
  const auto program = program_of(run);
  if (!program) return program.error();
  return collected(run.request.problem, tensors_left(**program),
                   [&](std::int64_t plane, Tensor tensor) { return reference_plane(**program, run.inputs, plane, tensor).values; });
}

}  // namespace tilescope
