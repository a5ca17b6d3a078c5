// Prepares and launches the flex kernels: compiled kernels by text, and lists and tables on the device by problem.
#include "kernels/flex/flex.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "kernels/common/gradient_plan.h"
#include "kernels/common/hopper_tensors.h"
#include "kernels/flex/flex_arguments.h"
#include "kernels/flex/nvrtc_headers.h"
#include "kernels/flex/nvrtc_library.h"
#include "kernels/flex_backward/flex_backward_arguments.h"
#include "kernels/hopper_flex/hopper_flex_arguments.h"
#include "sim/core/page_table.h"
#include "sim/core/refuse.h"
#include "sim/core/units.h"
#include "sim/masks/block_mask.h"
#include "sim/masks/score_change.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr std::size_t most_prepared = 16;

/// One problem's compiled launch: the function, and the device memory that its arguments point to.
struct Prepared {
  FlexBase base = FlexBase::flash2;
  AttentionProblem problem;  // keeps mask and score change, by whose addresses it is found again
  const void* kernel = nullptr;
  std::int64_t shared_bytes = 0;
  device::FlexBackwardArguments arguments{};                    // of a forward kernel: its flex part
  const std::int32_t* page_table = nullptr;                     // null if K and V have no pages
  std::array<const std::int32_t*, most_table_reads> origins{};  // of reads that are added in order: FlexTableSums
  DeviceMemory memory;
};

/// What was compiled and prepared so far. Kernels stay loaded; of the prepared problems, the latest stay.
struct Cache {
  std::mutex mutex;
  std::map<std::string, const void*> kernels;  // by architecture and text
  std::deque<Prepared> prepared;               // the latest first
  FlexCost cost;
};
Cache& cache() {
  static Cache cache;
  return cache;
}

std::filesystem::path cache_folder() {
  const auto of = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (!of("TILESCOPE_CACHE").empty()) return of("TILESCOPE_CACHE");
  if (!of("XDG_CACHE_HOME").empty()) return std::filesystem::path(of("XDG_CACHE_HOME")) / "tilescope";
  if (!of("HOME").empty()) return std::filesystem::path(of("HOME")) / ".cache" / "tilescope";
  return {};
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

constexpr std::string_view file_mark = "tilescope flex 1\n";

/// The whole text that a kernel follows from: a file holds it before the cubin, so that a name's collision is no wrong kernel.
std::string identity_of(const std::string& text, const std::string& architecture) {
  static const std::string of_sources = [] {
    std::string hashes;
    for (const EmbeddedSource& source : nvrtc_headers) hashes += fmt::format("{:016x}\n", hash_of(source.text));
    for (const EmbeddedSource& source : embedded_kernel_sources()) hashes += fmt::format("{:016x}\n", hash_of(source.text));
    return hashes;
  }();
  return fmt::format("{}{}\n{}{}", file_mark, architecture, of_sources, text);
}

std::filesystem::path file_of(const std::string& identity) {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / fmt::format("flex-{:016x}.cubin", hash_of(identity));
}

/// Returns the cubin of a file whose identity is this one; empty where there is none.
std::string read_cubin(const std::string& identity) {
  std::ifstream file(file_of(identity), std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (content.size() <= identity.size() + 1 || content.compare(0, identity.size(), identity) != 0 ||
      content[identity.size()] != '\0')
    return {};
  return content.substr(identity.size() + 1);
}

/// Writes the file under another name first, so that nobody reads half of it. A folder that cannot be written is no error.
void write_cubin(const std::string& identity, const std::string& cubin) {
  const std::filesystem::path path = file_of(identity);
  if (path.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const std::filesystem::path part = path.string() + fmt::format(".{}", getpid());
  {
    std::ofstream file(part, std::ios::binary);
    file << identity << '\0' << cubin;
    if (!file.good()) {
      file.close();
      std::filesystem::remove(part, ignored);
      return;
    }
  }
  std::filesystem::rename(part, path, ignored);
}

/// wgmma and setmaxnreg exist only in code for sm_90a.
std::string architecture_of(int compute_major, int compute_minor) {
  return fmt::format("sm_{}{}{}", compute_major, compute_minor, compute_major == 9 && compute_minor == 0 ? "a" : "");
}

Result<const void*> kernel_of(const std::string& text, FlexCost& cost) {
  const Result<DeviceInfo> device = find_device();
  if (!device) return device.error();
  const std::string identity = identity_of(text, architecture_of(device->compute_major, device->compute_minor));
  auto& kernels = cache().kernels;
  if (const auto found = kernels.find(identity); found != kernels.end()) {
    cost.from_memory = true;
    return found->second;
  }
  std::string cubin = read_cubin(identity);
  cost.from_file = !cubin.empty();
  if (cubin.empty()) {
    const auto start = Clock::now();
    Result<std::string> compiled = compile_flex(text, device->compute_major, device->compute_minor);
    if (!compiled) return compiled.error();
    cubin = std::move(*compiled);
    cost.compile_seconds = seconds_since(start);
    write_cubin(identity, cubin);
  }
  Result<const void*> kernel = load_kernel(cubin, "flex_kernel");
  if (kernel) kernels[identity] = *kernel;
  return kernel;
}

/// What goes to the device for a problem, in one allocation and one copy: each costs a few hundredths of a millisecond.
class Upload {
 public:
  /// Adds an array. `address` becomes that of its copy in send(), and must still be there.
  template <class Word, class Address>
  void add(const std::vector<Word>& words, Address& address) {
    static_assert(sizeof(Word) == 4);
    const std::size_t at = words_.size();
    words_.resize(at + std::max<std::size_t>((words.size() + words_apart - 1) / words_apart, 1) * words_apart);
    if (!words.empty()) std::memcpy(words_.data() + at, words.data(), words.size() * sizeof(Word));
    addresses_.push_back([at, &address](const std::uint32_t* start) { address = reinterpret_cast<Address>(start + at); });
  }
  Status send(DeviceMemory& memory) const {
    if (words_.empty()) return Done{};
    const auto bytes = static_cast<std::int64_t>(words_.size() * sizeof(std::uint32_t));
    Result<DeviceMemory> made = DeviceMemory::allocate(bytes);
    if (!made) return made.error();
    memory = std::move(*made);
    if (Status written = memory.write(words_.data(), bytes); !written) return written.error();
    for (const auto& set : addresses_) set(static_cast<const std::uint32_t*>(memory.address()));
    return Done{};
  }

 private:
  static constexpr std::size_t words_apart = 64;  // as apart as allocations are: what a kernel reads depends on where sectors begin
  std::vector<std::uint32_t> words_;
  std::vector<std::function<void(const std::uint32_t*)>> addresses_;
};

void set_sizes(device::FlexArguments& a, const AttentionProblem& p) {
  a.seq_q = static_cast<int>(p.seq_q);
  a.seq_kv = static_cast<int>(p.seq_kv);
  a.heads = static_cast<int>(p.heads);
  a.kv_heads = static_cast<int>(p.kv_heads);
  a.batch = static_cast<int>(p.batch);
  a.head_dim = static_cast<int>(p.head_dim);
  a.scale = static_cast<float>(p.scale());
}

/// Returns the blocks of the longest list of a row.
std::int64_t longest_list(const BlockArrays& partial, const BlockArrays& full) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < partial.counts.size(); ++i) most = std::max<std::int64_t>(most, partial.counts[i] + full.counts[i]);
  return most;
}

/// Returns the most pages of K from the first block that a row lists to the last.
std::int64_t longest_page_span(const BlockMask& blocks, const AttentionProblem& p) {
  std::int64_t most = 0;
  for (std::int64_t plane = 0; plane < blocks.mask_batch * blocks.mask_heads; ++plane)
    for (std::int64_t row = 0; row < blocks.rows; ++row) {
      std::int64_t first = blocks.cols, end = 0;
      for (const BlockLists* lists : {&blocks.partial, &blocks.full})
        for (const std::int32_t block : lists->row(plane, row)) {
          first = std::min<std::int64_t>(first, block);
          end = std::max<std::int64_t>(end, block + 1);
        }
      if (end == 0) continue;
      const std::int64_t keys = blocks.block.block_kv;
      most = std::max(most, ceil_div(std::min(end * keys, p.seq_kv), p.page_size) - first * keys / p.page_size);
    }
  return most;
}

/// Adds the page table, whose rows start on sectors.
void add_pages(const AttentionProblem& problem, Prepared& prepared, Upload& upload) {
  const PageTable pages(problem);
  const std::int64_t pitch = page_pitch(problem);
  std::vector<std::int32_t> entries(static_cast<std::size_t>(problem.batch * pitch));
  for (std::int64_t sequence = 0; sequence < problem.batch; ++sequence)
    for (std::int64_t logical = 0; logical < pages.pages_each(); ++logical)
      entries[static_cast<std::size_t>(sequence * pitch + logical)] = static_cast<std::int32_t>(pages.page(sequence, logical));
  upload.add(entries, prepared.page_table);
}

/// What a block holds of its lists and of the page table, at most.
struct MostHeld {
  std::int64_t visits = 0, pages = 0;
};

/// Adds a mask's lists. Returns the tiles and pages of the longest list of a row.
MostHeld add_lists(const AttentionProblem& problem, Prepared& prepared, Upload& upload) {
  device::FlexArguments& a = prepared.arguments.flex;
  const TileShape tile = flex_kernel_tile(prepared.base, problem);
  const std::shared_ptr<const Mask> mask = mask_of(problem);
  const BlockMask blocks = block_mask_of(*mask, problem, mask_block_of(problem, tile));
  const BlockArrays partial = arrays_of(blocks.partial, blocks.cols), full = arrays_of(blocks.full, blocks.cols);
  upload.add(partial.counts, a.partial_count);
  upload.add(partial.indices, a.partial);
  upload.add(full.counts, a.full_count);
  upload.add(full.indices, a.full);
  a.list_rows = static_cast<int>(blocks.rows);
  a.list_columns = static_cast<int>(blocks.cols);
  a.list_planes_of_batch = blocks.mask_batch > 1 ? static_cast<int>(blocks.mask_heads) : 0;
  a.list_planes_of_head = blocks.mask_heads > 1 ? 1 : 0;
  a.query_tiles_of_block = static_cast<int>(blocks.block.block_q / tile.block_q);
  a.last_query_tile_first = later_rows_see_more(blocks) ? 1 : 0;
  const std::int64_t key_tiles_of_block = blocks.block.block_kv / tile.block_kv;
  const std::int64_t most = longest_list(partial, full) * key_tiles_of_block;
  if (!is_backward(prepared.base)) return MostHeld{most, problem.page_size > 0 ? longest_page_span(blocks, problem) : 0};
  const BlockArrays by_column = arrays_of(transposed(blocks.partial, blocks.cols), blocks.rows),
                    full_by_column = arrays_of(transposed(blocks.full, blocks.cols), blocks.rows);
  upload.add(by_column.counts, prepared.arguments.query_partial_count);
  upload.add(by_column.indices, prepared.arguments.query_partial);
  upload.add(full_by_column.counts, prepared.arguments.query_full_count);
  upload.add(full_by_column.indices, prepared.arguments.query_full);
  prepared.arguments.key_tiles_of_block = static_cast<int>(key_tiles_of_block);
  return MostHeld{std::max(most, longest_list(by_column, full_by_column) * a.query_tiles_of_block)};
}

/// Adds the launches and arguments of the gradients of tables.
void add_tables(const Prepared& prepared, const DeviceTensors& tensors, device::FlexBackwardArguments& arguments,
                LaunchPlan& plan) {
  const AttentionProblem& problem = prepared.problem;
  if (!problem.score_change || problem.score_change->table_gradients().empty()) return;
  const std::span<const TableGradient> all = problem.score_change->table_gradients();
  const TileShape tile = flex_kernel_tile(prepared.base, problem);
  device::FlexRowArguments rows{};
  rows.gradients = arguments.gradients;
  const auto zero = [&](float* values, std::int64_t row_count, std::int64_t col_count) {
    rows.zeros[rows.count] = values;
    rows.rows[rows.count] = static_cast<int>(row_count);
    rows.cols[rows.count++] = static_cast<int>(col_count);
  };
  device::FlexTableSums sums{};
  sums.planes = static_cast<int>(problem.query_planes());
  sums.seq_q = static_cast<int>(problem.seq_q);
  sums.seq_kv = static_cast<int>(problem.seq_kv);
  std::int64_t blocks = 0;
  std::size_t number = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    arguments.tables[n] = tensors.d_tables[n];
    if (!all[n].in_order) zero(tensors.d_tables[n], all[n].rows(), all[n].cols());
    if (all[n].in_order) {
      sums.tables[sums.count++] = {
          tensors.d_tables[n],      static_cast<int>(all[n].rows()), static_cast<int>(all[n].cols()),
          static_cast<int>(blocks), static_cast<int>(number),        static_cast<int>(all[n].reads.size())};
      blocks += all[n].rows() * ceil_div(all[n].cols(), 32);
    }
    for (const TableRead& read : all[n].reads) {
      arguments.parts[number] = tensors.table_parts[number];
      if (all[n].in_order) {
        const TableParts parts(read, problem, tile);
        zero(tensors.table_parts[number], parts.rows(), parts.cols());
        sums.reads[number] = {tensors.table_parts[number], prepared.origins[number], static_cast<int>(read.reach),
                              read.reach == TableReach::key ? read.per_key : read.per_query};
      }
      ++number;
    }
  }
  plan.front() = planned("row dots", flex_backward_row_dots(problem.dtype == DataType::fp16, static_cast<int>(problem.head_dim)),
                         plan.front().grid, plan.front().threads, 0, rows);
  if (blocks > 0) plan.push_back(planned("table sums", flex_backward_table_sums(), {blocks, 1, 1}, 32, 0, sums));
}

device::FlexPages pages_of(const Prepared& prepared) {
  const AttentionProblem& p = prepared.problem;
  return {prepared.page_table, static_cast<int>(page_pitch(p)), static_cast<int>(p.batch * pages_of_sequence(p) * p.page_size)};
}

/// Returns the launches; `tensors` may be empty. `buffers`: of the probe, one entry a launch.
LaunchPlan launches_of(const Prepared& prepared, const DeviceTensors& tensors, std::span<const ProbeBuffers> buffers = {}) {
  const AttentionProblem& problem = prepared.problem;
  const TileShape tile = flex_kernel_tile(prepared.base, problem);
  const auto launch = [&](std::string_view name, std::array<std::int64_t, 3> grid, const auto& arguments) {
    return planned(name, prepared.kernel, grid, flex_threads(prepared.base, problem), prepared.shared_bytes, arguments);
  };
  if (is_backward(prepared.base)) {
    AttentionProblem plain = problem;
    plain.mask = nullptr;
    plain.score_change = nullptr;
    // Its first launch makes D.
    LaunchPlan plan = buffers.empty() ? plan_flash2_backward_two_pass(plain, tensors)
                                      : plan_flash2_backward_two_pass_probed(plain, tensors, buffers);
    device::FlexBackwardArguments arguments = prepared.arguments;
    arguments.gradients = gradient_arguments(problem, tensors);
    const std::array<std::int64_t, 3> grid = plan.back().grid;
    if (!buffers.empty()) {
      const device::ProbeLaunch<device::FlexBackwardArguments> probed{arguments, device::probe_arguments(buffers[1])};
      return {plan.front(), launch("gradients", grid, probed)};
    }
    LaunchPlan around = {plan.front()};
    add_tables(prepared, tensors, arguments, around);
    plan = {around.front(), launch("gradients", grid, arguments)};
    if (around.size() > 1) plan.push_back(around.back());
    return plan;
  }
  const std::array<std::int64_t, 3> grid{ceil_div(problem.seq_q, tile.block_q), problem.heads, problem.batch};
  device::FlexArguments arguments = prepared.arguments.flex;
  arguments.q = tensors.q;
  arguments.k = tensors.k;
  arguments.v = tensors.v;
  arguments.o = tensors.o;
  arguments.lse = tensors.lse;
  const bool has_pages = problem.page_size > 0;
  const device::FlexPages pages = has_pages ? pages_of(prepared) : device::FlexPages{};
  if (prepared.base == FlexBase::flash2 && !has_pages) return {launch("attention", grid, arguments)};
  if (prepared.base == FlexBase::flash2) return {launch("attention", grid, device::FlexPagedArguments{arguments, pages})};
  device::HopperFlexPagedArguments of_hopper{};
  set_hopper_tensors(of_hopper, problem, tensors, static_cast<int>(tile.block_kv));
  of_hopper.flex = arguments;
  if (!has_pages) return {launch("attention", grid, static_cast<device::HopperFlexArguments&>(of_hopper))};
  const std::int64_t rows = problem.kv_heads * pages.pool_rows, box_rows = std::min(problem.page_size, tile.block_kv);
  const int box_panels = box_rows < tile.block_kv ? 1 : 0;
  of_hopper.k = hopper_map(tensors.k, 1, rows, problem, static_cast<int>(box_rows), box_panels);
  of_hopper.v = hopper_map(tensors.v, 1, rows, problem, static_cast<int>(box_rows), box_panels);
  of_hopper.pages = pages;
  return {launch("attention", grid, of_hopper)};
}

Result<Prepared> prepared_now(FlexBase base, const AttentionProblem& problem, FlexCost& cost) {
  Result<FlexText> text = flex_text(base, problem);
  if (!text) return text.error();
  const auto start = Clock::now();
  Prepared prepared;
  Upload upload;
  prepared.base = base;
  prepared.problem = problem;
  set_sizes(prepared.arguments.flex, problem);
  const TileShape tile = flex_kernel_tile(base, problem);
  // Only the backward kernel keeps its visits where there is no mask.
  MostHeld most;
  if (is_backward(base)) most.visits = std::max(ceil_div(problem.seq_q, tile.block_q), ceil_div(problem.seq_kv, tile.block_kv));
  if (problem.page_size > 0) {
    most.pages = pages_of_sequence(problem);
    add_pages(problem, prepared, upload);
  }
  if (problem.has_mask()) most = add_lists(problem, prepared, upload);
  const KernelSource& source = text->source;
  for (std::size_t i = 0; i < source.tables.size(); ++i) {
    const CapturedTable& table = *source.tables[i];
    const void*& address = prepared.arguments.flex.tables[i];
    if (table.type == ValueType::real)
      upload.add(table.reals, address);
    else
      upload.add(table.integers, address);
  }
  std::copy(source.scalars.begin(), source.scalars.end(), prepared.arguments.flex.scalars);
  if (is_backward(base) && problem.score_change) {
    std::size_t number = 0;
    for (const TableRead* read : problem.score_change->table_reads()) {
      std::vector<std::int32_t> origins;
      for (std::int64_t plane = 0; plane < problem.query_planes(); ++plane) {
        const TableRead::Origin origin = read->origin(plane);
        origins.push_back(static_cast<std::int32_t>(origin.row));
        origins.push_back(static_cast<std::int32_t>(origin.col));
      }
      upload.add(origins, prepared.origins[number++]);
    }
  }
  if (const Status sent = upload.send(prepared.memory); !sent) return sent.error();
  cost.lists_seconds = seconds_since(start);
  prepared.shared_bytes = flex_shared_bytes(base, problem, source, most.visits, most.pages);
  if (const Result<DeviceInfo> device = find_device(); device && prepared.shared_bytes > device->shared_bytes_per_block) {
    if (flex_shared_bytes(base, problem, source, most.visits) <= device->shared_bytes_per_block)
      return refuse(
          "kernel {} keeps {} entries of the page table in shared memory, which is more than {} has room for: use a larger {}",
          flex_kernel_id(base), most.pages, device->name, Setting::page_size);
    return refuse(
        "kernel {} needs {} bytes of shared memory for tiles, expressions and lists, and {} has {}: use fewer tables, or a "
        "larger {}",
        flex_kernel_id(base), prepared.shared_bytes, device->name, device->shared_bytes_per_block, Setting::mask_block);
  }
  const Result<const void*> kernel = kernel_of(text->text, cost);
  if (!kernel) return kernel.error();
  prepared.kernel = *kernel;
  return prepared;
}

/// Finds a prepared problem and moves it to the front; null where there is none.
Prepared* find_prepared(FlexBase base, const AttentionProblem& problem) {
  std::deque<Prepared>& all = cache().prepared;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].base != base || !(all[i].problem == problem)) continue;
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return &all.front();
  }
  return nullptr;
}

Result<std::string> compiled_for(const std::string& text, const std::string& architecture) {
  std::vector<EmbeddedSource> headers(std::begin(nvrtc_headers), std::end(nvrtc_headers));
  for (const EmbeddedSource& source : embedded_kernel_sources()) headers.push_back(source);
  return compile_with_nvrtc(text, headers, architecture);
}

}  // namespace

Result<std::string> compile_flex(const std::string& text, int compute_major, int compute_minor) {
  return compiled_for(text, architecture_of(compute_major, compute_minor));
}

Status check_flex(const std::string& text) {
  const Result<std::string> nothing = compiled_for(text, "compute_90a");
  if (!nothing) return nothing.error();
  return Done{};
}

Status prepare_flex(FlexBase base, const AttentionProblem& problem) {
  const std::lock_guard lock(cache().mutex);
  if (find_prepared(base, problem) != nullptr) return Done{};
  FlexCost cost;
  Result<Prepared> prepared = prepared_now(base, problem, cost);
  if (!prepared) return prepared.error();
  std::deque<Prepared>& all = cache().prepared;
  if (all.size() >= most_prepared) {
    if (Status idle = wait_for(nullptr); !idle) return idle;  // its lists may be in use
    all.pop_back();
  }
  all.push_front(std::move(*prepared));
  cache().cost = cost;
  return Done{};
}

namespace {

LaunchPlan planned_flex(FlexBase base, const AttentionProblem& problem, const DeviceTensors& tensors,
                        std::span<const ProbeBuffers> buffers) {
  const std::lock_guard lock(cache().mutex);
  if (const Prepared* const prepared = find_prepared(base, problem)) return launches_of(*prepared, tensors, buffers);
  Prepared blank;
  blank.base = base;
  blank.problem = problem;
  return launches_of(blank, {}, buffers);
}

}  // namespace

LaunchPlan plan_flex(FlexBase base, const AttentionProblem& problem, const DeviceTensors& tensors) {
  return planned_flex(base, problem, tensors, {});
}

LaunchPlan plan_flex_backward_probed(const AttentionProblem& problem, const DeviceTensors& tensors,
                                     std::span<const ProbeBuffers> buffers) {
  return planned_flex(FlexBase::backward_probed, problem, tensors, buffers);
}

Status launch_flex(FlexBase base, const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream) {
  if (Status ready = prepare_flex(base, problem); !ready) return ready;
  for (const PlannedLaunch& planned : plan_flex(base, problem, tensors))
    if (Status launched = launch(planned, stream); !launched) return launched;
  return Done{};
}

FlexCost last_flex_cost() {
  const std::lock_guard lock(cache().mutex);
  return cache().cost;
}

}  // namespace tilescope
