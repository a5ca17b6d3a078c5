// The rows of the kernel table, the checks they share, and launching.
#include "kernels/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernels/measure/library_products.h"
#include "kernels/standard/rows_plan.h"
#include "sim/core/refuse.h"
#include "sim/programs/attention_tensors.h"

namespace tilescope {

namespace {

constexpr Tensor qkv[] = {tensors::q, tensors::k, tensors::v};
constexpr Tensor qk[] = {tensors::q, tensors::k};
constexpr Tensor only_s[] = {tensors::s};
constexpr Tensor s_and_v[] = {tensors::s, tensors::v};
constexpr Tensor only_p[] = {tensors::p};
constexpr Tensor only_o[] = {tensors::o};
constexpr Tensor o_and_lse[] = {tensors::o, tensors::lse};
constexpr Tensor o_l_m[] = {tensors::o, tensors::l, tensors::m};
constexpr Tensor s_p_o[] = {tensors::s, tensors::p, tensors::o};

constexpr std::int64_t most_grid_yz = 65535;
constexpr std::int64_t most_grid_x = 2147483647;
constexpr std::int64_t most_rows = std::int64_t{1} << 30;  // row arithmetic in the kernels is 32 bits wide

bool small(const AttentionProblem& p) {
  return p.head_dim == 64;
}
std::int64_t row_bytes(const AttentionProblem& p) {
  return p.head_dim * 2;
}

TileShape tile_128(const AttentionProblem&) {
  return {128, 128};
}
TileShape tile_64(const AttentionProblem&) {
  return {64, 64};
}
TileShape row_tile(const AttentionProblem&) {
  return {1, 128};
}
TileShape flash2_tile(const AttentionProblem& p) {
  return small(p) ? TileShape{128, 128} : TileShape{128, 64};
}

std::vector<LaunchNeeds> flash2_needs(const AttentionProblem& p) {
  const TileShape tile = flash2_tile(p);
  // Q, two buffers each of K and V, L, and four barriers.
  return {{"attention", 128, 255, (tile.block_q + 4 * tile.block_kv) * row_bytes(p) + tile.block_q * 4 + 32, 2, 4}};
}
std::vector<LaunchNeeds> flash1_needs(const AttentionProblem& p) {
  return {{"attention", 128, small(p) ? 126 : 127, 4 * 64 * row_bytes(p) + 2 * 64 * 4, 1, 4}};
}
LaunchNeeds scores_needs(std::string_view name, const AttentionProblem& p) {
  return {name, 256, small(p) ? 119 : 122, 256 * row_bytes(p), 1, 4};
}
LaunchNeeds softmax_needs(const AttentionProblem& p) {
  const RowsOfBlock own = rows_of_block(p);
  return {"softmax", 128, 32, 128 + own.kept_bytes, 1, 1};
}
std::vector<LaunchNeeds> standard_needs(const AttentionProblem& p) {
  return {scores_needs("scores", p), softmax_needs(p), {"output", 256, small(p) ? 128 : 168, 2 * 128 * (256 + row_bytes(p)), 2, 8}};
}
std::vector<LaunchNeeds> library_needs(const AttentionProblem& p) {
  return {softmax_needs(p)};
}
std::vector<LaunchNeeds> row_needs(const AttentionProblem&) {
  return {{"softmax", 128, 32, 128, 1, 1}};
}
std::vector<LaunchNeeds> fused_needs(const AttentionProblem& p) {
  return {{"softmax", 128, small(p) ? 48 : 64, 2 * 128 * row_bytes(p) + 4736, 2, 1}};
}
std::vector<LaunchNeeds> naive_needs(const AttentionProblem& p) {
  return {{"product", 128, small(p) ? 48 : 72, 129 * row_bytes(p), 1, 1}};
}
std::vector<LaunchNeeds> tiled_needs(const AttentionProblem& p) {
  return {scores_needs("product", p)};
}

constexpr KernelInfo rows[] = {
    {"matmul_naive", "S = QK^T, each row of Q with a K of its own.", qk, only_s, false, false, tile_128, naive_needs,
     plan_matmul_naive},
    {"matmul_tiled", "Over the untiled product: a tile of K is loaded once for all rows of a tile of Q; tensor cores.", qk, only_s,
     false, false, tile_128, tiled_needs, plan_matmul_tiled},
    {"softmax_safe", "Three passes over the row: maximum, sum, result.", only_s, only_p, false, false, row_tile, row_needs,
     plan_softmax_safe},
    {"softmax_online", "Over safe softmax: maximum and sum in one pass.", only_s, only_p, false, false, row_tile, row_needs,
     plan_softmax_online},
    {"softmax_fused", "Over online softmax: times V in the same pass, so P is never stored.", s_and_v, only_o, false, false,
     row_tile, fused_needs, plan_softmax_fused},
    {"standard", "Three launches; S and P through global memory.", qkv, s_p_o, true, false, tile_128, standard_needs, plan_standard,
     plan_standard_probed},
    {"standard_cublas", "The same with the products of NVIDIA's library, so that the comparison is fair.", qkv, s_p_o, true, true,
     tile_128, library_needs, nullptr},
    {"flash1", "Over standard: S and P stay on the chip; O, l and m cross in every inner step.", qkv, o_l_m, true, false, tile_64,
     flash1_needs, plan_flash1, plan_flash1_probed},
    {"flash2", "Over flash1: query tiles are the grid, so O, m and l stay in registers.", qkv, o_and_lse, true, false, flash2_tile,
     flash2_needs, plan_flash2, plan_flash2_probed},
};

const void* address_of(const DeviceTensors& t, Tensor tensor) {
  const std::pair<Tensor, const void*> addresses[] = {{tensors::q, t.q}, {tensors::k, t.k},     {tensors::v, t.v},
                                                      {tensors::s, t.s}, {tensors::p, t.p},     {tensors::o, t.o},
                                                      {tensors::m, t.m}, {tensors::lse, t.lse}, {tensors::l, t.l}};
  for (const auto& [known, address] : addresses)
    if (known == tensor) return address;
  return nullptr;
}

Status launch_library(const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream) {
  if (Status done = multiply_scores(problem, tensors, stream); !done) return done;
  if (Status done = launch(plan_masked_softmax(problem, tensors), stream); !done) return done;
  return multiply_output(problem, tensors, stream);
}

}  // namespace

std::span<const KernelInfo> kernel_table() {
  return rows;
}

Result<const KernelInfo*> find_kernel(std::string_view id) {
  std::string names;
  for (const KernelInfo& row : rows) {
    if (row.id == id) return &row;
    names += (names.empty() ? "" : ", ") + std::string(row.id);
  }
  return Error{fmt::format("there is no kernel named {}: there are {}", id, names)};
}

Status supports(const KernelInfo& kernel, const AttentionProblem& p) {
  if (Status valid = check(p); !valid) return valid;
  if (p.dtype == DataType::fp32)
    return refuse("kernel {} runs in fp16 and bf16, not in {}: use {} fp16", kernel.id, to_string(p.dtype), Setting::dtype);
  if (p.head_dim != 64 && p.head_dim != 128)
    return refuse("kernel {} has head dimensions 64 and 128, not {}: use {} 64 or 128", kernel.id, p.head_dim, Setting::head_dim);
  if (p.pass != Pass::forward)
    return refuse("kernel {} runs forward, not {}: use {} forward", kernel.id, to_string(p.pass), Setting::pass);
  if (p.causal && !kernel.takes_causal) return refuse("kernel {} takes no mask: leave out {}", kernel.id, Setting::causal);
  if (p.seq_q > most_rows || p.seq_kv > most_rows)
    return refuse("kernel {} takes at most {} rows, not {}: use a smaller {}", kernel.id, most_rows, std::max(p.seq_q, p.seq_kv),
                  Setting::seq);
  if (p.query_planes() > most_grid_yz)
    return refuse("kernel {} takes at most {} heads in all, not {} x {}: use a smaller {}", kernel.id, most_grid_yz, p.batch,
                  p.heads, Setting::batch);
  if (kernel.plan != nullptr)
    for (const PlannedLaunch& planned : kernel.plan(p, {}))
      if (planned.grid[0] > most_grid_x || planned.grid[1] > most_grid_yz || planned.grid[2] > most_grid_yz)
        return refuse("kernel {} would launch {} x {} x {} blocks, which is too many: use a smaller {} or {}", kernel.id,
                      planned.grid[0], planned.grid[1], planned.grid[2], Setting::seq, Setting::batch);
  return Done{};
}

Status supports(const KernelInfo& kernel, const AttentionProblem& problem, const TileShape& tile) {
  if (Status fits = supports(kernel, problem); !fits) return fits;
  const TileShape own = kernel.tile(problem);
  if (tile == own) return Done{};
  return refuse("kernel {} was compiled for tiles of {}x{} at head dimension {}, not {}x{}: leave out {} and {} to measure",
                kernel.id, own.block_q, own.block_kv, problem.head_dim, tile.block_q, tile.block_kv, Setting::block_q,
                Setting::block_kv);
}

Status launch(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream) {
  if (Status fits = supports(kernel, problem); !fits) return fits;
  if (!built_with_cuda()) return no_cuda_error();
  for (const std::span<const Tensor> list : {kernel.inputs, kernel.outputs})
    for (Tensor tensor : list)
      if (address_of(tensors, tensor) == nullptr)
        return Error{fmt::format("kernel {} needs tensor {} on the device", kernel.id, to_string(tensor))};
  if (kernel.is_library) return launch_library(problem, tensors, stream);
  for (const PlannedLaunch& planned : kernel.plan(problem, tensors))
    if (Status launched = launch(planned, stream); !launched) return launched;
  return Done{};
}

Result<std::vector<CompiledNeeds>> compiled_launches(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  if (!built_with_cuda()) return no_cuda_error();
  LaunchPlan plan;
  if (kernel.plan != nullptr)
    plan = kernel.plan(problem, {});
  else
    plan.push_back(plan_masked_softmax(problem, {}));
  std::vector<CompiledNeeds> needs;
  for (const PlannedLaunch& planned : plan) {
    Result<CompiledNeeds> one = compiled_needs(planned);
    if (!one) return one.error();
    needs.push_back(*one);
  }
  return needs;
}

}  // namespace tilescope
