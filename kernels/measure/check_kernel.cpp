// Compares a kernel's outputs with the float64 reference.
#include "kernels/measure/check_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernels/measure/device_problem.h"
#include "kernels/measure/probe.h"
#include "sim/core/element.h"
#include "sim/core/refuse.h"
#include "sim/programs/backward_tensors.h"

namespace tilescope {

namespace {

bool is_statistic(Tensor tensor) {
  return tensor == tensors::lse || tensor == tensors::m || tensor == tensors::l;
}

bool is_matrix(Tensor tensor) {
  return tensor->cols == Axis::key;
}

/// Returns whether the kernel may leave an element unwritten: it lies in a tile of S, P, dP or dS that no row of the tile sees.
bool is_skipped(const KernelInfo& kernel, const AttentionProblem& p, Tensor tensor, std::int64_t i) {
  if (!is_matrix(tensor) || !p.causal || kernel.is_library) return false;
  const TileShape tile = kernel.tile(p);
  const std::int64_t row = i / p.seq_kv % p.seq_q, column = i % p.seq_kv;
  const std::int64_t last = std::min((row / tile.block_q + 1) * tile.block_q, p.seq_q) - 1;
  return column / tile.block_kv * tile.block_kv >= p.visible_keys(last);
}

/// Returns whether S or dP at `i` is masked. S must be -inf there where the kernel masks it, and may be anything where the softmax
/// does. dP is finite: P = 0 hides it.
bool is_masked(const AttentionProblem& p, Tensor tensor, std::int64_t i) {
  return (tensor == tensors::s || tensor == tensors::d_p) && p.causal && i % p.seq_kv >= p.visible_keys(i / p.seq_kv % p.seq_q);
}
bool is_right_where_masked(const KernelInfo& kernel, Tensor tensor, double got) {
  if (tensor == tensors::d_p) return std::isfinite(got);
  return kernel.is_library || got == -std::numeric_limits<double>::infinity();
}

const std::vector<double>& expected_of(const HostReference& r, Tensor tensor) {
  if (tensor->table >= 0) return r.d_tables[static_cast<std::size_t>(tensor->table)];
  const std::pair<Tensor, const std::vector<double>*> expected[] = {
      {tensors::s, &r.s},     {tensors::p, &r.p},     {tensors::lse, &r.lse},         {tensors::m, &r.m},
      {tensors::l, &r.l},     {tensors::d_q, &r.d_q}, {tensors::row_dot, &r.row_dot}, {tensors::d_k, &r.d_k},
      {tensors::d_v, &r.d_v}, {tensors::d_p, &r.d_p}, {tensors::d_s, &r.d_s}};
  for (const auto& [known, values] : expected)
    if (known == tensor) return *values;
  return r.o;
}

double bound_of(const AttentionProblem& p, Tensor tensor) {
  if (tensor == tensors::l) return 2e-3;  // relative to itself below: a sum of up to seq_kv terms near 1
  if (is_statistic(tensor)) return 1e-4;
  return p.dtype == DataType::fp16 ? 2e-3 : 1.6e-2;
}

Result<std::vector<double>> got_of(const DeviceMemory& memory, DataType type, Tensor tensor) {
  std::vector<double> values;
  if (tensor->type == DataType::fp32) {
    std::vector<float> raw(static_cast<std::size_t>(memory.bytes() / 4));
    if (Status read = memory.read(raw.data(), memory.bytes()); !read) return read.error();
    values.assign(raw.begin(), raw.end());
  } else {
    std::vector<std::uint16_t> raw(static_cast<std::size_t>(memory.bytes() / 2));
    if (Status read = memory.read(raw.data(), memory.bytes()); !read) return read.error();
    for (std::uint16_t bits : raw) values.push_back(static_cast<double>(from_bits(type, bits)));
  }
  return values;
}

/// Returns the size that an error of the tensor is relative to: of the expected values, or of the terms that they sum.
double size_of(const HostReference& expected, Tensor tensor, double norm) {
  if (tensor->table >= 0) return std::max(norm, expected.table_terms[static_cast<std::size_t>(tensor->table)]);
  if (tensor == tensors::row_dot) return std::max(norm, expected.row_dot_terms);
  const bool from_d_s = tensor == tensors::d_s || tensor == tensors::d_q || tensor == tensors::d_k;
  return from_d_s ? norm * std::max(1.0, expected.cancellation) : norm;
}

/// Removes the padding of a matrix of scores from `got`. Returns how many padding elements are wrong: not -inf in S, not 0
/// elsewhere. A library leaves the padding of S alone.
std::int64_t take_off_pad(const KernelInfo& kernel, const AttentionProblem& p, Tensor tensor, std::vector<double>& got) {
  const std::int64_t pitch = row_pitch(p.seq_kv, p.dtype), rows = p.query_planes() * p.seq_q;
  if (!is_matrix(tensor) || pitch == p.seq_kv) return 0;
  const double right = tensor == tensors::s ? -std::numeric_limits<double>::infinity() : 0;
  std::int64_t wrong = 0;
  std::vector<double> kept;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = got.begin() + static_cast<std::ptrdiff_t>(row * pitch), pad = first + static_cast<std::ptrdiff_t>(p.seq_kv),
               end = first + static_cast<std::ptrdiff_t>(pitch);
    kept.insert(kept.end(), first, pad);
    const bool written =
        !(kernel.is_library && tensor == tensors::s) && !is_skipped(kernel, p, tensor, row * p.seq_kv + p.seq_kv - 1);
    if (written) wrong += std::count_if(pad, end, [&](double value) { return value != right; });
  }
  got = std::move(kept);
  return wrong;
}

TensorError compare(const KernelInfo& kernel, const AttentionProblem& p, Tensor tensor, std::vector<double> got,
                    const HostReference& all_expected) {
  const std::vector<double>& expected = expected_of(all_expected, tensor);
  TensorError error{tensor, 0, bound_of(p, tensor), take_off_pad(kernel, p, tensor, got)};
  double difference = 0, norm = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (is_skipped(kernel, p, tensor, at)) continue;
    if (is_masked(p, tensor, at)) {
      error.unwritten += !is_right_where_masked(kernel, tensor, got[i]);
      continue;
    }
    if (std::isnan(got[i]) || std::isinf(got[i]) != std::isinf(expected[i])) {
      ++error.unwritten;
      continue;
    }
    if (std::isinf(expected[i])) continue;
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
    const double scale = tensor == tensors::l ? std::max(expected[i], 1.0) : 1.0;
    largest = std::max(largest, std::fabs(got[i] - expected[i]) / scale);
  }
  const double size = size_of(all_expected, tensor, std::sqrt(norm));
  error.relative = is_statistic(tensor) ? largest : std::sqrt(difference) / (size > 0 ? size : 1);
  return error;
}

}  // namespace

namespace {

/// The tensors of a check on the device, and what they must hold in the end.
struct Given {
  DeviceProblem tensors;
  HostInputs inputs;
  HostReference expected;
};

Result<Given> given(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed) {
  Given made;
  const WithScores with_scores = kernel.inputs.front() == tensors::s ? WithScores::yes : WithScores::no;
  HostInputs inputs = random_inputs(problem, seed, with_scores);
  made.expected = reference(problem, inputs, with_scores);
  if (problem.pass == Pass::backward) add_forward_results(inputs, problem, made.expected);
  Result<DeviceProblem> tensors = DeviceProblem::make(kernel, problem, inputs);
  if (!tensors) return tensors.error();
  made.tensors = std::move(*tensors);
  made.inputs = std::move(inputs);
  return made;
}

Result<KernelCheck> compared(const KernelInfo& kernel, const AttentionProblem& problem, const Given& made) {
  KernelCheck result;
  for (Tensor tensor : outputs_of(kernel, problem)) {
    Result<std::vector<double>> got = got_of(made.tensors.memory(tensor), problem.dtype, tensor);
    if (!got) return got.error();
    const TensorError error = compare(kernel, problem, tensor, std::move(*got), made.expected);
    result.errors.push_back(error);
    if (error.unwritten == 0 && error.relative <= error.bound) continue;
    result.holds = false;
    result.sentence = fmt::format("kernel {}: {} is off by {:.3g} (bound {:.3g}), {} elements are not finite as they should be",
                                  kernel.id, to_string(tensor), error.relative, error.bound, error.unwritten);
  }
  return result;
}

void fail_probed(const KernelInfo& kernel, KernelCheck& check, std::string_view sentence) {
  check.holds = false;
  check.sentence = fmt::format("kernel {}, probed: {}", kernel.id, sentence);
}

/// Compares the probe's S, P, dP and dS of the followed row with float64, key by key. The kernel makes them in fp32, from D of the
/// rounded O, so the bound is the same for both types.
void compare_pairs(const KernelInfo& kernel, const ProbeResult& probe, const Given& made, KernelCheck& check) {
  const AttentionProblem& p = probe.problem;
  const std::int64_t row = probe.plane * p.seq_q + probe.query;
  double d = 0;
  for (std::int64_t i = row * p.head_dim; i < (row + 1) * p.head_dim; ++i)
    d += static_cast<double>(from_bits(p.dtype, made.inputs.o[static_cast<std::size_t>(i)])) *
         static_cast<double>(from_bits(p.dtype, made.inputs.d_o[static_cast<std::size_t>(i)]));
  if (std::ssize(probe.pairs) != p.visible_keys(probe.query))
    return fail_probed(kernel, check,
                       fmt::format("query {} of head {} has {} pairs", probe.query, probe.plane, probe.pairs.size()));
  constexpr double within = 1e-4;  // up to 8 steps of 16 products, each truncated to 2^-18 of sums below 64
  for (std::size_t key = 0; key < probe.pairs.size(); ++key) {
    const ProbedPair& got = probe.pairs[key];
    const std::size_t at = static_cast<std::size_t>(row * p.seq_kv) + key;
    const double s = made.expected.s[at], weight = made.expected.p[at], d_p = made.expected.d_p[at], d_s = weight * (d_p - d);
    const auto is_off = [](double value, double wanted, double least) {
      return !(std::fabs(value - wanted) <= within * std::max(std::fabs(wanted), least));
    };
    if (is_off(got.s, s, 1) || is_off(got.p, weight, 0) || is_off(got.d_p, d_p, 1) || is_off(got.d_s, d_s, weight))
      return fail_probed(kernel, check,
                         fmt::format("key {} of query {} of head {} has S {}, P {}, dP {} and dS {}, not {}, {}, {} and {}", key,
                                     probe.query, probe.plane, got.s, got.p, got.d_p, got.d_s, s, weight, d_p, d_s));
  }
}

/// Compares the probe's m and l of the followed row, after its last tile, with float64; of a backward kernel its pairs.
void compare_row(const KernelInfo& kernel, const ProbeResult& probe, const Given& made, KernelCheck& check) {
  const HostReference& expected = made.expected;
  const auto index = static_cast<std::size_t>(probe.plane * probe.problem.seq_q + probe.query);
  const double m = expected.m[index], l = expected.l[index];
  const bool empty = l == 0;
  const auto fail = [&](const std::string& sentence) { fail_probed(kernel, check, sentence); };
  std::int64_t seen = 0;
  for (const ProbedBlock& block : probe.blocks) seen += block.end_ns >= block.start_ns;
  std::int64_t blocks = 0;
  bool stay = false;
  for (const ProbeShape& shape : probe_shapes(kernel, probe.problem)) blocks += shape.blocks, stay = stay || shape.blocks_stay;
  if (stay ? seen == 0 || seen > blocks : seen != blocks)
    return fail(fmt::format("{} of {} blocks said when they ran", seen, blocks));
  if (kernel.pass == Pass::backward) return compare_pairs(kernel, probe, made, check);
  if (probe.steps.empty() || empty)
    return probe.steps.empty() == empty
               ? void()
               : fail(fmt::format("row {} of block {} has {} steps", probe.row, probe.block, probe.steps.size()));
  // A kernel that stores S rounds it to the problem's type before the softmax, so its statistics are less exact.
  const bool rounds_scores = std::find(kernel.outputs.begin(), kernel.outputs.end(), tensors::s) != kernel.outputs.end();
  const double once = !rounds_scores ? 1e-4 : probe.problem.dtype == DataType::fp16 ? 4e-3 : 3e-2;
  const ProbedStep& last = probe.steps.back();
  if (std::fabs(last.m - m) > once * std::max(1.0, std::fabs(m)) || std::fabs(last.l - l) > 2 * once * l)
    fail(fmt::format("row {} of block {} ended with m {} and l {}, not {} and {}", probe.row, probe.block, last.m, last.l, m, l));
}

}  // namespace

Result<KernelCheck> check_kernel(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed) {
  const Result<Given> made = given(kernel, problem, seed);
  if (!made) return made.error();
  if (Status launched = launch(kernel, problem, made->tensors.tensors(), nullptr); !launched) return launched.error();
  if (Status done = wait_for(nullptr); !done) return done.error();
  return compared(kernel, problem, *made);
}

Result<KernelCheck> check_probed_kernel(const KernelInfo& kernel, const AttentionProblem& problem, std::uint64_t seed) {
  const std::vector<ProbeShape> shapes = probe_shapes(kernel, problem);
  if (shapes.empty()) return refuse("kernel {} has no probe", kernel.id);
  const Result<Given> made = given(kernel, problem, seed);
  if (!made) return made.error();
  ProbeResult probe;
  probe.problem = problem;
  const ProbeShape& own = shapes[static_cast<std::size_t>(row_launch_of(shapes))];
  probe.plane = static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(problem.query_planes()));
  probe.query = static_cast<std::int64_t>(seed / 7 % static_cast<std::uint64_t>(problem.seq_q));
  std::tie(probe.block, probe.row) = own.place_of(probe.plane, probe.query);
  Result<ProbeRun> run = ProbeRun::make(kernel, problem, made->tensors.tensors(), shapes, {probe.block, probe.row, 0});
  if (!run) return run.error();
  for (const PlannedLaunch& planned : run->plan())
    if (Status launched = launch(planned, nullptr); !launched) return launched.error();
  if (Status done = wait_for(nullptr); !done) return done.error();
  const Result<std::vector<ProbeRecords>> records = run->read();
  if (!records) return records.error();
  decode_probe(*records, shapes, probe);
  Result<KernelCheck> check = compared(kernel, problem, *made);
  if (check) compare_row(kernel, probe, *made, *check);
  return check;
}

}  // namespace tilescope
