// A C interface to the kernels for bench_library.py: device addresses in, an error sentence or null out.
#include <algorithm>
#include <deque>
#include <string>

#include <fmt/format.h>

#include "kernels/flex/flex.h"
#include "kernels/kernel_table.h"
#include "sim/core/page_table.h"
#include "sim/core/result.h"
#include "sim/masks/mask_choice.h"

namespace {

tilescope::AttentionProblem problem_of(const long long* sizes) {
  tilescope::AttentionProblem problem;
  problem.batch = sizes[0];
  problem.heads = sizes[1];
  problem.kv_heads = sizes[2];
  problem.seq_q = sizes[3];
  problem.seq_kv = sizes[4];
  problem.head_dim = sizes[5];
  return problem;
}

constexpr tilescope::FlexBase bases[] = {tilescope::FlexBase::flash2, tilescope::FlexBase::hopper, tilescope::FlexBase::backward,
                                         tilescope::FlexBase::two_blocks};
constexpr int kernel_sizes = 7, flex_sizes = 8, kernel_addresses = 17, flex_addresses = 5, flex_backward_addresses = 10;

/// Returns a sentence if an array has another length than the function reads.
tilescope::Status check_lengths(int sizes, int sizes_read, int addresses, int addresses_read) {
  if (sizes == sizes_read && addresses == addresses_read) return tilescope::Done{};
  return tilescope::Error{
      fmt::format("{} sizes and {} addresses were passed: pass {} and {}", sizes, addresses, sizes_read, addresses_read)};
}

/// Returns null, or the sentence in `kept`.
const char* error_of(const tilescope::Status& status, std::string& kept) {
  if (status) return nullptr;
  kept = status.error().sentence.text();
  return kept.c_str();
}

tilescope::AttentionProblem paged_problem_of(const long long* sizes) {
  tilescope::AttentionProblem problem = problem_of(sizes);
  problem.page_size = sizes[6];
  problem.page_order = sizes[7] != 0 ? tilescope::PageOrder::contiguous : tilescope::PageOrder::shuffled;
  return problem;
}

}  // namespace

extern "C" {

/// Runs a kernel. `sizes` are those of AttentionProblem and the copies of dQ_acc; `addresses` are in the order of NAMES in
/// bench_library.py. Returns null or the error sentence.
const char* tilescope_run(const char* id, const long long* sizes, int size_count, int is_bf16, int causal, void* const* addresses,
                          int address_count, void* stream) {
  using namespace tilescope;
  static thread_local std::string sentence;
  if (const Status fits = check_lengths(size_count, kernel_sizes, address_count, kernel_addresses); !fits)
    return error_of(fits, sentence);
  const Result<const KernelInfo*> kernel = find_kernel(id);
  AttentionProblem problem = problem_of(sizes);
  problem.dtype = is_bf16 != 0 ? DataType::bf16 : DataType::fp16;
  problem.causal = causal != 0;
  if (kernel) problem.pass = (*kernel)->pass;
  const auto floats = [&](int i) { return static_cast<float*>(addresses[i]); };
  DeviceTensors t;
  t.q = addresses[0], t.k = addresses[1], t.v = addresses[2];
  t.s = addresses[3], t.p = addresses[4], t.o = addresses[5];
  t.lse = floats(6), t.m = floats(7), t.l = floats(8);
  t.d_o = addresses[9], t.dq = addresses[10], t.dk = addresses[11], t.dv = addresses[12];
  t.delta = floats(13), t.dq_acc = floats(14), t.dq_acc_copies = static_cast<int>(sizes[6]);
  t.dp = addresses[15], t.ds = addresses[16];
  return error_of(kernel ? launch(**kernel, problem, t, stream) : Status(kernel.error()), sentence);
}

/// Returns the copies of dQ_acc that a kernel needs on a device with `sm_count` SMs; 0 if there are other sizes than kernel_sizes.
int tilescope_sum_copies(const char* id, const long long* sizes, int size_count, int sm_count) {
  using namespace tilescope;
  if (size_count != kernel_sizes) return 0;
  const Result<const KernelInfo*> kernel = find_kernel(id);
  if (!kernel || (*kernel)->sum_copies == nullptr) return 1;
  AttentionProblem problem = problem_of(sizes);
  problem.pass = (*kernel)->pass;
  return (*kernel)->sum_copies(problem, sm_count);
}

/// Writes the page table of a request to `table`, which has room for [batch, ⌈seq_kv / page size⌉] numbers. `sizes` as for
/// tilescope_run_flex.
void tilescope_page_table(const long long* sizes, int* table) {
  using namespace tilescope;
  const PageTable pages(paged_problem_of(sizes));
  for (std::int64_t sequence = 0; sequence < sizes[0]; ++sequence)
    for (std::int64_t logical = 0; logical < pages.pages_each(); ++logical)
      *table++ = static_cast<int>(pages.page(sequence, logical));
}

/// Runs flex (base 0), hopper_flex (1), flex_backward (2) or hopper_flex's other loop (3) with the mask and the score expression of
/// a request; empty: none. `sizes`: those of AttentionProblem, then the keys of a page of K and V (0: no pages) and whether the
/// pool is contiguous. Tables are int32, of one dimension, on the host. A request is prepared once: what is timed afterwards is the
/// launch. Addresses: q, k, v, o, lse; for the backward pass also d_o, dq, dk, dv, delta. Returns null or the error sentence.
const char* tilescope_run_flex(int base, const long long* sizes, int size_count, int is_bf16, const char* mask, const char* score,
                               int table_count, const char* const* table_names, const int* const* tables,
                               const long long* table_lengths, void* const* addresses, int address_count, void* stream) {
  using namespace tilescope;
  struct Request {
    std::string key;
    AttentionProblem problem;
  };
  static thread_local std::deque<Request> requests;
  static thread_local std::string sentence;
  if (const Status fits =
          check_lengths(size_count, flex_sizes, address_count, base == 2 ? flex_backward_addresses : flex_addresses);
      !fits)
    return error_of(fits, sentence);
  std::string key = std::string(mask) + '\0' + score + '\0' + std::to_string(is_bf16);
  for (int i = 0; i < flex_sizes; ++i) key += ' ' + std::to_string(sizes[i]);
  auto known = std::find_if(requests.begin(), requests.end(), [&](const Request& one) { return one.key == key; });
  if (known == requests.end()) {
    AttentionProblem problem = paged_problem_of(sizes);
    problem.dtype = is_bf16 != 0 ? DataType::bf16 : DataType::fp16;
    MaskChoice choice;
    if (*mask != '\0') choice.masks = {mask};
    choice.score = score;
    for (int i = 0; i < table_count; ++i)
      choice.tables.push_back(
          std::make_shared<const CapturedTable>(make_table(table_names[i], {tables[i], tables[i] + table_lengths[i]})));
    if (const Status settled = settle_masks(choice, problem); !settled) return error_of(settled, sentence);
    if (base == 2) problem.pass = Pass::backward;
    if (const Status fits = supports(**find_kernel(flex_kernel_id(bases[base])), problem); !fits) return error_of(fits, sentence);
    requests.push_front({key, std::move(problem)});
    known = requests.begin();
  }
  DeviceTensors tensors;
  tensors.q = addresses[0];
  tensors.k = addresses[1];
  tensors.v = addresses[2];
  tensors.o = addresses[3];
  tensors.lse = static_cast<float*>(addresses[4]);
  if (base == 2) {
    tensors.d_o = addresses[5];
    tensors.dq = addresses[6];
    tensors.dk = addresses[7];
    tensors.dv = addresses[8];
    tensors.delta = static_cast<float*>(addresses[9]);
  }
  return error_of(launch_flex(bases[base], known->problem, tensors, stream), sentence);
}
}
