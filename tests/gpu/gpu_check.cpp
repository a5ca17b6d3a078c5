// tilescope_gpu_check: every kernel against float64 on a GPU, then what was asked for: times, counters, compiled needs.
//
//   tilescope_gpu_check [--shapes N] [--seed S] [--kernel ID] [--tiny] [--probed] [--pages] [--repeats] [--needs] [--time]
//                       [--counters]
//   --probed checks the kernels with the probe compiled in, in place of the plain ones. --pages runs N shapes with K and V in pages
//   and without: O and L must have the same bits. --repeats runs the gradients of captured tables several times: those that are
//   added in order must have the same bits. Exit codes: 0 all held, 1 something did not, 77 no CUDA device (skipped).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "kernels/measure/check_kernel.h"
#include "kernels/measure/counters.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/timing.h"
#include "sim/core/page_table.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/score_change.h"
#include "sim/programs/tile_program.h"
#include "tests/sim/programs/gradient_tables.h"

using namespace tilescope;

namespace {

constexpr int skipped = 77;

struct Options {
  int shapes = 12;
  std::uint64_t seed = 0;
  std::string kernel;
  bool tiny = false, probed = false, pages = false, repeats = false, needs = false, time = false, counters = false;
};

Options options_from(int argc, char** argv) {
  Options options;
  options.seed = std::random_device{}();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--shapes") options.shapes = std::atoi(next.c_str());
    if (word == "--seed") options.seed = std::strtoull(next.c_str(), nullptr, 10);
    if (word == "--kernel") options.kernel = next;
    if (word == "--tiny") options.tiny = true;
    if (word == "--probed") options.probed = true;
    if (word == "--pages") options.pages = true;
    if (word == "--repeats") options.repeats = true;
    if (word == "--needs") options.needs = true;
    if (word == "--time") options.time = true;
    if (word == "--counters") options.counters = true;
  }
  return options;
}

std::string text_of(const AttentionProblem& p) {
  return fmt::format("B {} H {}/{} N {}x{} d {} {}{}{}", p.batch, p.heads, p.kv_heads, p.seq_q, p.seq_kv, p.head_dim,
                     to_string(p.dtype), p.causal ? " causal" : "",
                     p.page_size > 0 ? fmt::format(" pages of {}, {}", p.page_size, to_string(p.page_order)) : "");
}

/// A small problem, often ragged: one row, one key, ends of tiles and one beside them, more queries than keys.
AttentionProblem random_problem(std::mt19937_64& engine, const KernelInfo& kernel, bool tiny) {
  auto pick = [&](auto... choices) {
    const std::array<std::int64_t, sizeof...(choices)> all = {choices...};
    return all[engine() % all.size()];
  };
  const std::int64_t any = tiny ? static_cast<std::int64_t>(engine() % 150 + 1) : static_cast<std::int64_t>(engine() % 700 + 1);
  AttentionProblem p;
  p.batch = pick(1, 1, 2);
  p.kv_heads = pick(1, 2);
  p.heads = p.kv_heads * pick(1, 2, 3);
  p.seq_q = tiny ? pick(1, 63, 130, any) : pick(1, 7, 64, 127, 128, 129, 200, 384, any);
  p.seq_kv = tiny ? pick(1, 64, 133, any) : pick(1, 5, 64, 65, 128, 129, 200, 385, any);
  p.head_dim = pick(64, 128);
  p.dtype = engine() % 2 == 0 ? DataType::fp16 : DataType::bf16;
  p.causal = kernel.takes_causal && engine() % 2 == 0;
  p.pass = kernel.pass;
  return p;
}

/// Gives a problem a mask and a score change out of a few of each kind: per head, per batch element, ragged, with rows that see
/// nothing, with scores whose derivative is 1, a function, or 0.
std::string draw_expressions(std::mt19937_64& engine, AttentionProblem& p) {
  constexpr const char* masks[] = {
      "q >= kv && q - kv < 70 + 30 * h", "(q - kv) % 3 == 0",   "q // 90 == kv // 90", "kv > q + 20 * b",
      "q % 5 != 2 && q >= kv",           "((q ^ kv) & 64) == 0"};
  constexpr const char* scores[] = {
      "score + exp2(-8.0 * (h + 1) / H) * (kv - q)",
      "2 * tanh(score / 2)",
      "score * sigmoid(score) + 0.125 * (q % 7 - kv % 5)",
      "where(kv % 7 == 3, -inf, 0.5 * score)",
      "where(q >= kv, score * score / 4, score)",
      "score * cos(0.3 * (q - kv))",
      "score + cos(0.02 * (q - kv)) + cos(0.7 * (q - kv)) + cos(5.0 * score) + sin(1000000.0 * (q % 3 - kv % 3))"};
  std::string text;
  if (engine() % 4 != 0) {
    const std::string mask = masks[engine() % std::size(masks)];
    p.causal = false;
    if (auto parsed = parse_mask_expression(mask, sizes_of(p), {}))
      if (auto made = ExpressionMask::make(std::move(*parsed))) p.mask = *made;
    text += fmt::format(" mask '{}'", mask);
  }
  if (engine() % 4 != 0) {
    const std::string score = scores[engine() % std::size(scores)];
    if (auto parsed = parse_score_expression(score, sizes_of(p), {}))
      if (auto made = ScoreChange::make(std::move(*parsed), p.mask.get())) p.score_change = *made;
    text += fmt::format(" score '{}'", score);
  }
  return text;
}

/// Puts K and V in pages of a size that the kernel takes: smaller than its key tile, as large, or larger.
void draw_pages(std::mt19937_64& engine, const KernelInfo& kernel, AttentionProblem& p) {
  const std::int64_t tile = kernel.tile(p).block_kv, sizes[] = {16, 32, tile / 2, tile, 2 * tile, 3 * tile};
  p.page_size = sizes[engine() % std::size(sizes)];
  p.page_order = engine() % 2 == 0 ? PageOrder::shuffled : PageOrder::contiguous;
}

/// A score that reads tables whose gradients are wanted, one of each reach and some together.
struct TableScore {
  const char* score;
  std::vector<std::string> gradients;
  bool can_be_ordered = true;
};
const std::vector<TableScore>& table_scores() {
  static const std::vector<TableScore> all = {
      {"score + slope[h] * 0.01 * (kv - q)", {"slope"}},
      {"score * slope[h]", {"slope"}},
      {"score + 0.25 * (kv % 3) * (row[q] + row[N - 1 - q])", {"row"}},
      {"score + column[h, kv]", {"column"}},
      {"score + relative[q - kv + NK - 1]", {"relative"}},
      {"score + far[h, kv - q + N - 1]", {"far"}},
      {"score + pair[h, q, kv]", {"pair"}, false},
      {"score + flipped[kv, q]", {"flipped"}, false},
      {"score + small[clamp(q - kv, -4, 4) + 4]", {"small"}, false},
      {"2 * tanh((score + relative[q - kv + NK - 1]) / 2)", {"relative"}},
      {"score * sigmoid(score * row[q]) + slope[h] * relative[q - kv + NK - 1]", {"row", "slope", "relative"}},
      {"where(q >= kv, score + small[(q - kv) % 9], 0.5 * score)", {"small"}, false}};
  return all;
}

Status take_tables(AttentionProblem& p, const TableScore& score, const std::string& mask, bool in_order) {
  MaskChoice choice{.score = score.score, .tables = gradient_tables(p, score.score), .table_gradients = score.gradients};
  if (in_order)
    for (std::string& name : choice.table_gradients) name += ":in_order";
  if (!mask.empty()) choice.masks = {mask};
  return settle_masks(choice, p);
}

bool check_all(const Options& options) {
  bool all = true;
  for (const KernelInfo& kernel : kernel_table()) {
    if (!options.kernel.empty() && kernel.id != options.kernel) continue;
    if (options.probed && !kernel.has_probe()) continue;
    if (const Status runs = runs_on_this_device(kernel); !runs) {
      fmt::print("{:16} skipped: {}\n", kernel.id, runs.error().sentence.text());
      continue;
    }
    std::mt19937_64 engine(options.seed);
    double worst = 0;
    int held = 0;
    for (int i = 0; i < options.shapes; ++i) {
      AttentionProblem problem = random_problem(engine, kernel, options.tiny);
      std::string expressions;
      const bool takes_expressions = kernel.takes_masks && !options.probed;  // a probe follows plain scores
      if (takes_expressions && kernel.pass == Pass::backward && i % 2 == 1) {
        const TableScore& score = table_scores()[static_cast<std::size_t>(i / 2) % table_scores().size()];
        const std::string mask = engine() % 2 == 0 ? "q + 40 >= kv && (kv + h) % 7 != 3" : "";
        const bool in_order = score.can_be_ordered && engine() % 2 == 0;
        if (const Status taken = take_tables(problem, score, mask, in_order); !taken)
          return fmt::print("{}\n", taken.error().sentence.text()), false;
        expressions = fmt::format(" mask '{}' score '{}' with table gradients{}", mask, score.score, in_order ? " in order" : "");
      } else if (takes_expressions) {
        expressions = draw_expressions(engine, problem);
      }
      if (kernel.takes_pages && i % 2 == 1) draw_pages(engine, kernel, problem);
      const Result<KernelCheck> check =
          options.probed ? check_probed_kernel(kernel, problem, engine()) : check_kernel(kernel, problem, engine());
      if (!check) {
        fmt::print("{:16} {}{}: {}\n", kernel.id, text_of(problem), expressions, check.error().sentence.text());
        all = false;
        break;
      }
      for (const TensorError& error : check->errors) worst = std::max(worst, error.relative / error.bound);
      if (check->holds)
        ++held;
      else
        fmt::print("{:16} {}{}: {}\n", kernel.id, text_of(problem), expressions, check->sentence);
    }
    all = all && held == options.shapes;
    fmt::print("{:16} {} of {} shapes agree with float64{}; worst error {:.3f} of its bound\n", kernel.id, held, options.shapes,
               options.probed ? ", probed" : "", worst);
    std::fflush(stdout);
  }
  return all;
}

/// Runs a kernel and returns the bits of all that it writes. `table`: the problem whose page table the kernel reads.
Result<std::vector<unsigned char>> written_bits(const KernelInfo& kernel, const AttentionProblem& problem,
                                                const AttentionProblem& table, const HostInputs& inputs) {
  const Result<DeviceProblem> tensors = DeviceProblem::make(kernel, problem, inputs);
  if (!tensors) return tensors.error();
  if (const Status launched = launch(kernel, table, tensors->tensors(), nullptr); !launched) return launched.error();
  if (const Status done = wait_for(nullptr); !done) return done.error();
  std::vector<unsigned char> all;
  for (const Tensor tensor : outputs_of(kernel, problem)) {
    const DeviceMemory& memory = tensors->memory(tensor);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(memory.bytes()));
    if (const Status read = memory.read(bytes.data(), memory.bytes()); !read) return read.error();
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

bool have_same_pages(const AttentionProblem& one, const AttentionProblem& other) {
  const PageTable a(one), b(other);
  for (std::int64_t sequence = 0; sequence < one.batch; ++sequence)
    for (std::int64_t logical = 0; logical < a.pages_each(); ++logical)
      if (a.page(sequence, logical) != b.page(sequence, logical)) return false;
  return true;
}

/// The bits of O and L of each kernel that takes pages, with and without them, in both orders. The control: with the table of the
/// other order the bits change. (A row that sees all keys of its pages adds the same terms in another order, and may not change.)
bool check_pages_of(const Options& options) {
  bool all = true;
  for (const KernelInfo& kernel : kernel_table()) {
    if (!kernel.takes_pages || (!options.kernel.empty() && kernel.id != options.kernel) || !runs_on_this_device(kernel)) continue;
    std::mt19937_64 engine(options.seed);
    int held = 0, controls = 0, noticed = 0;
    for (int i = 0; i < options.shapes; ++i) {
      AttentionProblem paged = random_problem(engine, kernel, options.tiny);
      const std::string expressions = draw_expressions(engine, paged);
      const HostInputs inputs = random_inputs(paged, engine(), WithScores::no);
      const auto expected = written_bits(kernel, paged, paged, inputs);
      if (!expected) return fmt::print("{}{}: {}\n", text_of(paged), expressions, expected.error().sentence.text()), false;
      draw_pages(engine, kernel, paged);
      AttentionProblem other = paged;
      other.page_order = paged.page_order == PageOrder::shuffled ? PageOrder::contiguous : PageOrder::shuffled;
      int differ = 0;
      for (const AttentionProblem* p : {&paged, &other}) {
        const auto got = written_bits(kernel, *p, *p, inputs);
        if (!got) return fmt::print("{}{}: {}\n", text_of(*p), expressions, got.error().sentence.text()), false;
        differ += *got != *expected;
        if (*got != *expected) fmt::print("{:16} {}{}: other bits\n", kernel.id, text_of(*p), expressions);
      }
      held += differ == 0;
      if (have_same_pages(paged, other)) continue;
      const auto mistaken = written_bits(kernel, paged, other, inputs);
      if (!mistaken) return fmt::print("{}\n", mistaken.error().sentence.text()), false;
      ++controls;
      noticed += *mistaken != *expected;
    }
    fmt::print("{:16} {} of {} shapes have the same bits with pages and without; a wrong page table changed {} of {}\n", kernel.id,
               held, options.shapes, noticed, controls);
    std::fflush(stdout);
    all = all && held == options.shapes && (noticed > 0 || controls == 0);
  }
  return all;
}

AttentionProblem shape(std::int64_t batch, std::int64_t heads, std::int64_t n, std::int64_t d, bool causal) {
  AttentionProblem p;
  p.batch = batch;
  p.heads = p.kv_heads = heads;
  p.seq_q = p.seq_kv = n;
  p.head_dim = d;
  p.causal = causal;
  return p;
}

/// The same with fewer key heads, and with other keys than queries.
AttentionProblem grouped(AttentionProblem p, std::int64_t kv_heads, std::int64_t keys) {
  p.kv_heads = kv_heads;
  p.seq_kv = keys;
  return p;
}

/// Compiled registers, shared memory and spills of each launch, beside what the table says.
bool print_needs(const std::string& only) {
  bool all = true;
  for (const KernelInfo& kernel : kernel_table()) {
    if (!only.empty() && kernel.id != only) continue;
    for (std::int64_t d : {64, 128})
      for (DataType type : {DataType::fp16, DataType::bf16})
        for (bool causal : {false, true}) {
          if (causal && !kernel.takes_causal) continue;
          if (!runs_on_this_device(kernel)) continue;
          AttentionProblem p = shape(1, 1, 1024, d, causal);
          p.dtype = type;
          p.pass = kernel.pass;
          const Result<std::vector<CompiledNeeds>> compiled = compiled_launches(kernel, p);
          if (!compiled) {
            fmt::print("{}: {}\n", kernel.id, compiled.error().sentence.text());
            return false;
          }
          const std::vector<LaunchNeeds> declared = kernel.needs(p);
          for (std::size_t i = 0; i < compiled->size(); ++i) {
            const CompiledNeeds& c = (*compiled)[i];
            const LaunchNeeds& n = declared[i];
            const bool same = c.threads == n.threads && c.shared_bytes == n.shared_bytes && c.registers <= n.registers &&
                              c.local_bytes <= n.local_bytes;
            all = all && same;
            fmt::print("needs {:16} {:10} d {:3} {} {:6} threads {} registers {} shared {} local {} blocks/SM {}{}\n", kernel.id,
                       c.name, d, to_string(type), causal ? "causal" : "", c.threads, c.registers, c.shared_bytes, c.local_bytes,
                       c.blocks_per_sm,
                       same ? "" : fmt::format("   DECLARED {} {} {} {}", n.threads, n.registers, n.shared_bytes, n.local_bytes));
          }
        }
  }
  return all;
}

/// The 24 forward shapes that libraries are usually compared on: 16k tokens, hidden size 2048.
bool print_times(const DeviceInfo& device, const std::string& only) {
  Result<DeviceMemory> scratch = flush_scratch(device);
  if (!scratch) return fmt::print("{}\n", scratch.error().sentence.text()), false;
  fmt::print("[\n");
  bool first = true;
  std::vector<std::string> ids = {"flash2", "standard", "standard_cublas", "flash1"};
  if (!only.empty()) ids = {only};
  for (const std::string& id : ids)
    for (std::int64_t d : {64, 128})
      for (std::int64_t n : {512, 1024, 2048, 4096, 8192, 16384})
        for (bool causal : {false, true}) {
          const KernelInfo& kernel = **find_kernel(id);
          const bool is_slow = kernel.id == "flash1" || kernel.id == "flash1_backward";
          if (is_slow && (n > 4096 || causal)) continue;
          AttentionProblem p = shape(16384 / n, 2048 / d, n, d, causal);
          p.pass = kernel.pass;
          Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, p, 1);
          if (!tensors) {
            fmt::print("{}{{\"kernel\":\"{}\",\"d\":{},\"n\":{},\"causal\":{},\"error\":\"{}\"}}", first ? "" : ",\n", id, d, n,
                       causal, tensors.error().sentence.text());
            first = false;
            continue;
          }
          TimingOptions timing;
          timing.l2 = L2State::cold;
          timing.repeats = is_slow ? 3 : 15;
          const Result<Timing> time = time_kernel(kernel, p, tensors->tensors(), *scratch, timing);
          if (!time) return fmt::print("{}\n", time.error().sentence.text()), false;
          fmt::print("{}{{\"kernel\":\"{}\",\"d\":{},\"n\":{},\"causal\":{},\"ms\":{:.4f},\"least_ms\":{:.4f},\"tflops\":{:.1f}}}",
                     first ? "" : ",\n", id, d, n, causal, time->median_ms, time->least_ms,
                     nominal_flops(kernel, p) / time->median_ms / 1e9);
          std::fflush(stdout);
          first = false;
        }
  fmt::print("\n]\n");
  return true;
}

/// The device as far as tile programs ask.
GpuSpec spec_of(const DeviceInfo& device) {
  GpuSpec gpu;
  gpu.id = "here";
  gpu.name = device.name;
  gpu.sm_count = device.sm_count;
  gpu.sm_clock_hz = device.sm_clock_hz;
  gpu.sm_registers = device.registers_per_sm;
  gpu.sm_max_threads = device.threads_per_sm;
  gpu.sm_max_blocks = device.blocks_per_sm;
  gpu.sm_shared_bytes = static_cast<double>(device.shared_bytes_per_sm);
  gpu.sm_shared_bytes_per_block = static_cast<double>(device.shared_bytes_per_block);
  gpu.l2_capacity_bytes = static_cast<double>(device.l2_bytes);
  gpu.l2_partitions = 2;
  gpu.l2_sector_bytes = 32;
  gpu.l2_line_bytes = 128;
  gpu.hbm_capacity_bytes = static_cast<double>(device.memory_bytes);
  return gpu;
}

/// What the tile program of the same id says, to the sector; nothing where there is none.
struct ProgramBytes {
  std::int64_t l2_to_sm = 0, sm_to_l2 = 0, reduced = 0;
};
std::optional<ProgramBytes> program_traffic(const KernelInfo& kernel, const AttentionProblem& problem, const GpuSpec& gpu) {
  const Result<const ProgramInfo*> info = find_program(kernel.program());
  if (!info) return std::nullopt;
  const Result<std::unique_ptr<TileProgram>> program = (*info)->make(problem, kernel.program_tile(problem), gpu);
  if (!program) return std::nullopt;
  ProgramBytes sum;
  BlockOperations block;
  for (std::size_t launch = 0; launch < (*program)->launches().size(); ++launch)
    for (std::int64_t b = 0; b < (*program)->launches()[launch].blocks(); ++b) {
      (*program)->emit_block(static_cast<int>(launch), b, block);
      for (const Operation& op : block.operations) {
        if (reads_memory(op.kind)) sum.l2_to_sm += op.bytes;
        if (writes_memory(op.kind)) sum.sm_to_l2 += op.bytes;
        if (op.kind == OpKind::reduce_add) sum.reduced += op.bytes;
      }
    }
  return sum;
}

double counter_of(const CounterReading& reading, std::string_view key) {
  for (std::size_t i = 0; i < counter_table().size(); ++i)
    if (counter_table()[i].key == key) return reading.values[i] * counter_table()[i].factor;
  return std::nan("");
}

/// Whether gradients of tables that are added in order have the same bits in every run; those added in any order are told beside
/// them, and the time of both and of the backward pass without them.
bool print_repeats(const DeviceInfo& device, const KernelInfo& kernel) {
  Result<DeviceMemory> scratch = flush_scratch(device);
  if (!scratch) return fmt::print("{}\n", scratch.error().sentence.text()), false;
  const auto time_of = [&](const AttentionProblem& p, const DeviceProblem& tensors) {
    TimingOptions timing;
    timing.l2 = L2State::cold;
    const Result<Timing> time = time_kernel(kernel, p, tensors.tensors(), *scratch, timing);
    return time ? time->median_ms : std::nan("");
  };
  bool all = true;
  for (const TableScore& score : table_scores())
    for (const auto& [in_order, wanted] : {std::pair{false, false}, {false, true}, {true, true}}) {
      if (in_order && !score.can_be_ordered) continue;
      AttentionProblem p = shape(1, 16, 4096, 64, false);
      p.pass = Pass::backward;
      TableScore asked = score;
      if (!wanted) asked.gradients.clear();
      if (const Status taken = take_tables(p, asked, "", in_order); !taken)
        return fmt::print("{}\n", taken.error().sentence.text()), false;
      Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, p, 1);
      if (!tensors) return fmt::print("{}\n", tensors.error().sentence.text()), false;
      std::vector<std::vector<float>> first;
      int differ = 0;
      constexpr int runs = 6;
      for (int run = 0; run < runs; ++run) {
        if (const Status ran = launch(kernel, p, tensors->tensors(), nullptr); !ran) return false;
        if (const Status done = wait_for(nullptr); !done) return fmt::print("{}\n", done.error().sentence.text()), false;
        std::vector<std::vector<float>> now;
        for (const Tensor tensor : outputs_of(kernel, p)) {
          if (tensor->table < 0) continue;
          const DeviceMemory& memory = tensors->memory(tensor);
          now.emplace_back(static_cast<std::size_t>(memory.bytes() / 4));
          if (const Status read = memory.read(now.back().data(), memory.bytes()); !read) return false;
        }
        if (run == 0) first = now;
        differ += now != first;
      }
      fmt::print("repeats '{}'{}: {} of {} runs differ from the first, {:.4f} ms\n", score.score,
                 !wanted    ? " without"
                 : in_order ? " in order"
                            : "",
                 differ, runs - 1, time_of(p, *tensors));
      std::fflush(stdout);
      all = all && (differ == 0 || !in_order);
    }
  return all;
}

/// The bytes that flex_backward adds to tables and stores, beside its tile program. Reads of tables are in no ledger.
bool print_table_counters(CounterSession& session, const DeviceMemory& scratch, const KernelInfo& kernel, const GpuSpec& gpu) {
  bool all = true;
  for (int n = 0; n < 2 * static_cast<int>(table_scores().size()); ++n)
    for (const AttentionProblem& given : {shape(1, 4, 1024, 64, false), grouped(shape(2, 4, 1000, 128, false), 2, 1200)}) {
      const TableScore& score = table_scores()[static_cast<std::size_t>(n / 2)];
      const bool in_order = n % 2 == 1;
      if (in_order && !score.can_be_ordered) continue;
      AttentionProblem p = given;
      p.pass = Pass::backward;
      if (const Status taken = take_tables(p, score, p.seq_kv == 1024 ? "q >= kv" : "", in_order); !taken)
        return fmt::print("{}\n", taken.error().sentence.text()), false;
      Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, p, 1);
      if (!tensors) return fmt::print("{}\n", tensors.error().sentence.text()), false;
      const Result<CounterReading> reading = session.read(
          CounterSet::all, [&] { return launch(plan_flush(scratch), nullptr); },
          [&] { return launch(kernel, p, tensors->tensors(), nullptr); });
      if (!reading) return fmt::print("{}\n", reading.error().sentence.text()), false;
      const std::optional<ProgramBytes> expected = program_traffic(kernel, p, gpu);
      if (!expected) return false;
      const double added = counter_of(*reading, "sm_to_l2_reduce_bytes"), out = reading->values[3];
      const Result<std::vector<CompiledNeeds>> needs = compiled_launches(kernel, p);
      fmt::print("tables {} '{}'{}: added {:.0f} of {} ({:+.4f}%) sm_to_l2 {:.0f} of {} ({:+.4f}%) local {}\n", text_of(p),
                 score.score, in_order ? " in order" : "", added, expected->reduced,
                 expected->reduced > 0 ? 100 * (added / static_cast<double>(expected->reduced) - 1) : 0.0, out, expected->sm_to_l2,
                 100 * (out / static_cast<double>(expected->sm_to_l2) - 1), needs ? (*needs)[1].local_bytes : -1);
      std::fflush(stdout);
      all = all && added <= static_cast<double>(expected->reduced) * 1.001;
    }
  return all;
}

/// The problems of print_counters() in pages of every kind, with masks whose lists have holes.
std::vector<AttentionProblem> paged_shapes() {
  std::vector<AttentionProblem> all;
  const auto add = [&](AttentionProblem p, std::int64_t page_size, PageOrder order, const char* mask) {
    p.page_size = page_size;
    p.page_order = order;
    MaskChoice choice;
    if (*mask != '\0') choice.masks = {mask};
    if (settle_masks(choice, p)) all.push_back(p);
  };
  add(shape(2, 8, 1024, 64, false), 128, PageOrder::shuffled, "");
  add(shape(2, 8, 1024, 128, false), 16, PageOrder::shuffled, "");
  add(shape(2, 8, 1024, 64, false), 32, PageOrder::contiguous, "");
  add(grouped(shape(3, 8, 1000, 128, false), 2, 1500), 192, PageOrder::shuffled, "");
  add(grouped(shape(2, 8, 1000, 64, false), 2, 1501), 16, PageOrder::shuffled, "");
  add(shape(2, 8, 2048, 64, true), 256, PageOrder::shuffled, "");
  add(shape(2, 8, 2048, 64, false), 64, PageOrder::shuffled, "q // 300 == kv // 300 || kv < 40");
  add(shape(2, 8, 2048, 128, false), 16, PageOrder::shuffled, "q // 300 == kv // 300 || kv < 40");
  add(shape(1, 4, 4096, 64, false), 16, PageOrder::shuffled, "q >= kv && q - kv < 200");
  return all;
}

/// Counters of every kernel beside its tile program; cold L2.
bool print_counters(const DeviceInfo& device, const std::string& only) {
  Result<CounterSession> session = CounterSession::open();
  if (!session) return fmt::print("{}\n", session.error().sentence.text()), false;
  Result<DeviceMemory> scratch = flush_scratch(device);
  if (!scratch) return fmt::print("{}\n", scratch.error().sentence.text()), false;
  fmt::print("chip {}\n", session->chip());
  bool all = true;
  for (const KernelInfo& kernel : kernel_table()) {
    if (!only.empty() && kernel.id != only) continue;
    if (kernel.takes_masks && kernel.pass == Pass::backward)
      all = print_table_counters(*session, *scratch, kernel, spec_of(device)) && all;
    std::vector<AttentionProblem> shapes = {shape(1, 8, 1024, 64, false), shape(2, 8, 1024, 128, true),
                                            shape(1, 4, 1000, 64, true),  shape(1, 3, 1001, 128, false),
                                            shape(2, 2, 1009, 64, true),  grouped(shape(1, 8, 1000, 128, true), 2, 1500),
                                            shape(1, 16, 4096, 128, true)};
    if (kernel.takes_pages)
      for (const AttentionProblem& p : paged_shapes())
        if (supports(kernel, p)) shapes.push_back(p);
    for (const AttentionProblem& given : shapes) {
      AttentionProblem p = given;
      p.causal = p.causal && kernel.takes_causal;
      if (!runs_on_this_device(kernel)) continue;
      p.pass = kernel.pass;
      const bool is_quick = kernel.program() == "flash2" || kernel.id == "standard" || kernel.is_hopper || kernel.takes_masks ||
                            kernel.pass == Pass::backward;
      if (p.seq_q > 2000 && (!is_quick || kernel.id == "flash1_backward")) continue;
      Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, p, 1);
      if (!tensors) return fmt::print("{}\n", tensors.error().sentence.text()), false;
      const Result<CounterReading> reading = session->read(
          CounterSet::all, [&] { return launch(plan_flush(*scratch), nullptr); },
          [&] { return launch(kernel, p, tensors->tensors(), nullptr); });
      if (!reading) return fmt::print("{}\n", reading.error().sentence.text()), false;
      const std::optional<ProgramBytes> expected = program_traffic(kernel, p, spec_of(device));
      const double in = reading->values[2], out = reading->values[3];
      fmt::print("counters {:16} {}: passes {}", kernel.id, text_of(p), reading->passes);
      if (expected) {
        const auto want_in = static_cast<double>(expected->l2_to_sm), want_out = static_cast<double>(expected->sm_to_l2),
                   want_added = static_cast<double>(expected->reduced);
        // With pages, and without spilled registers, each sector is counted.
        const Result<std::vector<CompiledNeeds>> needs = compiled_launches(kernel, p);
        const bool is_exact = p.page_size > 0 && needs && needs->front().local_bytes == 0;
        const auto is_close = [&](double got, double want) {
          return is_exact ? got == want : std::fabs(got - want) <= std::max(0.001 * want, 65536.0);
        };
        const double added = counter_of(*reading, "sm_to_l2_reduce_bytes");
        const bool close = is_close(in, want_in) && is_close(out, want_out) && is_close(added, want_added);
        fmt::print(" local {} l2_to_sm {:.0f} of {:.0f} ({:+.4f}%) sm_to_l2 {:.0f} of {:.0f} ({:+.4f}%) added {:.0f} of {:.0f}{}",
                   needs ? needs->front().local_bytes : -1, in, want_in, 100 * (in / want_in - 1), out, want_out,
                   100 * (out / want_out - 1), added, want_added, close ? "" : "  BEYOND BOUND");
        all = all && close;
      } else {
        fmt::print(" l2_to_sm {:.0f} sm_to_l2 {:.0f}", in, out);
      }
      for (std::size_t i = 0; i < counter_table().size(); ++i)
        if (i != 2 && i != 3) fmt::print(" {} {:.0f}", counter_table()[i].key, reading->values[i] * counter_table()[i].factor);
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_from(argc, argv);
  const Result<DeviceInfo> device = find_device();
  if (!device) {
    fmt::print("skipped: no CUDA device ({})\n", device.error().sentence.text());
    return skipped;
  }
  fmt::print("{}: compute capability {}.{}, {} SMs, L2 {} MiB, {:.0f} MHz, driver for CUDA {}; seed {}\n", device->name,
             device->compute_major, device->compute_minor, device->sm_count, device->l2_bytes >> 20, device->sm_clock_hz / 1e6,
             device->driver_version, options.seed);
  bool held = options.pages ? check_pages_of(options) : check_all(options);
  if (options.needs) held = print_needs(options.kernel) && held;
  if (options.repeats) held = print_repeats(*device, **find_kernel("flex_backward")) && held;
  if (options.counters) held = print_counters(*device, options.kernel) && held;
  if (options.time) held = print_times(*device, options.kernel) && held;
  fmt::print("{}\n", held ? "all held" : "something did not hold");
  return held ? 0 : 1;
}
