// Lists every kernel, checks problems against it and launches it.
#include "kernels/kernel_table.h"

#include <algorithm>
#include <string>

#include "kernels/flex/flex.h"
#include "kernels/kernel_traffic.h"
#include "kernels/measure/library_products.h"
#include "kernels/measure/probe_shape.h"
#include "kernels/standard_backward/gradient_rows.h"
#include "sim/core/page_table.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/score_change.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/flash3_choice.h"
#include "sim/programs/hopper_needs.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/table_tensors.h"

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

constexpr Tensor kept_p[] = {tensors::q, tensors::k, tensors::v, tensors::p, tensors::d_o};
constexpr Tensor kept_o_l_m[] = {tensors::q, tensors::k, tensors::v, tensors::o, tensors::l, tensors::m, tensors::d_o};
constexpr Tensor kept_o_lse[] = {tensors::q, tensors::k, tensors::v, tensors::o, tensors::lse, tensors::d_o};
constexpr Tensor gradients_and_dots[] = {tensors::row_dot, tensors::d_q, tensors::d_k, tensors::d_v};
constexpr Tensor gradient_sums[] = {tensors::d_q_acc};
constexpr Tensor gradients[] = {tensors::d_q, tensors::d_k, tensors::d_v};
constexpr Tensor gradients_and_matrices[] = {tensors::d_v, tensors::d_p, tensors::d_s, tensors::d_q, tensors::d_k};

constexpr std::int64_t most_grid_yz = 65535;
constexpr std::int64_t most_grid_x = 2147483647;
constexpr std::int64_t most_rows = std::int64_t{1} << 30;  // the kernels compute row indices in 32 bits

std::int64_t row_bytes(const AttentionProblem& p) {
  return p.head_dim * 2;
}

/// Returns the needs of a launch: the compiled function's, plus the dynamic shared memory that the problem asks for.
LaunchNeeds compiled(std::string_view name, const KernelBuild& build, std::int64_t dynamic_shared_bytes, int stages,
                     int warps_sharing_rows) {
  return {name,   build.threads,      build.registers,  build.static_shared_bytes + dynamic_shared_bytes,
          stages, warps_sharing_rows, build.local_bytes};
}

std::vector<LaunchNeeds> flash2_needs_of(const KernelBuild& build, const AttentionProblem& p) {
  const TileShape tile = flash2_kernel_tile(p);
  // Shared memory: Q, two buffers each for K and V, L, and four 8-byte barriers.
  return {compiled("attention", build, (tile.block_q + 4 * tile.block_kv) * row_bytes(p) + tile.block_q * 4 + 32, 2, 4)};
}
std::vector<LaunchNeeds> flash2_needs(const AttentionProblem& p) {
  return flash2_needs_of(kernel_profile("flash2").build("attention", p), p);
}
std::vector<LaunchNeeds> flash2_descending_needs(const AttentionProblem& p) {
  return flash2_needs_of(kernel_profile("flash2_descending").build("attention", p), p);
}
std::vector<LaunchNeeds> flash2_longest_needs(const AttentionProblem& p) {
  return flash2_needs_of(kernel_profile("flash2_longest").build("attention", p), p);
}

template <HopperRungId id>
TileShape hopper_kernel_tile(const AttentionProblem& p) {
  constexpr std::int64_t group_rows = 64, keys = 128;
  return {group_rows * hopper_groups(hopper_rung(id), p), keys};
}
/// Shared memory: Q, the rings of K and V, O where it has a place of its own, L, the barriers, and what hands out tickets.
template <HopperRungId id>
std::vector<LaunchNeeds> hopper_kernel_needs(const AttentionProblem& p) {
  const HopperRung& rung = hopper_rung(id);
  const TileShape tile = hopper_kernel_tile<id>(p);
  constexpr std::int64_t stages = 2, barrier_bytes = 8, ticket_bytes = 40;
  const std::int64_t ring_bytes = stages * tile.block_kv * row_bytes(p);
  const std::int64_t barriers = rung.producer ? 2 * hopper_groups(rung, p) + 4 * stages : 1 + 2 * stages;
  return {compiled("attention", kernel_profile(rung.id()).build("attention", p),
                   tile.block_q * row_bytes(p) * (rung.persistent ? 2 : 1) + 2 * ring_bytes + tile.block_q * 4 +
                       barriers * barrier_bytes + (rung.draws() ? ticket_bytes : 0),
                   stages, 1)};
}

std::string_view flash3_kernel(const AttentionProblem& p) {
  return hopper_rung(flash3_choice(p)).id();
}
/// flash3 has no device code: what a function of its row returns is what that of the launched kernel returns.
template <auto function, class Returned, class... Rest>
Returned of_launched(const AttentionProblem& p, Rest... rest) {
  return ((*find_kernel(flash3_kernel(p)))->*function)(p, rest...);
}
/// The needs of a flex kernel without expressions; those of a request come from its compilation.
std::vector<LaunchNeeds> flex_needs(const AttentionProblem& p) {
  return {compiled("attention", kernel_profile("flex").build("attention", p), flex_shared_bytes(FlexBase::flash2, p, {}, 0), 2, 4)};
}
std::vector<LaunchNeeds> hopper_flex_needs(const AttentionProblem& p) {
  return {compiled("attention", kernel_profile("hopper_flex").build("attention", p), flex_shared_bytes(FlexBase::hopper, p, {}, 0),
                   2, 1)};
}
template <FlexBase base>
LaunchPlan plan_flex_on(const AttentionProblem& p, const DeviceTensors& tensors) {
  return plan_flex(base, p, tensors);
}
template <FlexBase base>
Status prepare_flex_on(const AttentionProblem& p) {
  return prepare_flex(base, p);
}
std::vector<LaunchNeeds> flash1_needs(const AttentionProblem& p) {
  return {compiled("attention", kernel_profile("flash1").build("attention", p), 4 * 64 * row_bytes(p) + 2 * 64 * 4, 1, 4)};
}
LaunchNeeds scores_needs(std::string_view name, const AttentionProblem& p) {
  return compiled(name, kernel_profile("matmul_tiled").build("product", p), 256 * row_bytes(p), 1, 4);
}
LaunchNeeds softmax_needs(const AttentionProblem& p) {
  return compiled("softmax", kernel_profile("standard").build("softmax", p), rows_of_block(p).kept_bytes, 1, 1);
}
std::vector<LaunchNeeds> standard_needs(const AttentionProblem& p) {
  return {scores_needs("scores", p), softmax_needs(p),
          compiled("output", kernel_profile("standard").build("output", p), 2 * 128 * (256 + row_bytes(p)), 2, 8)};
}
std::vector<LaunchNeeds> library_needs(const AttentionProblem& p) {
  return {softmax_needs(p)};
}
std::vector<LaunchNeeds> safe_needs(const AttentionProblem& p) {
  return {compiled("softmax", kernel_profile("softmax_safe").build("softmax", p), 0, 1, 1)};
}
std::vector<LaunchNeeds> online_needs(const AttentionProblem& p) {
  return {compiled("softmax", kernel_profile("softmax_online").build("softmax", p), 0, 1, 1)};
}
std::vector<LaunchNeeds> fused_needs(const AttentionProblem& p) {
  return {compiled("softmax", kernel_profile("softmax_fused").build("softmax", p), 2 * 128 * row_bytes(p), 2, 1)};
}
std::vector<LaunchNeeds> naive_needs(const AttentionProblem& p) {
  return {compiled("product", kernel_profile("matmul_naive").build("product", p), 129 * row_bytes(p), 1, 1)};
}
std::vector<LaunchNeeds> tiled_needs(const AttentionProblem& p) {
  return {scores_needs("product", p)};
}

std::vector<LaunchNeeds> standard_backward_needs(const AttentionProblem& p) {
  const KernelProfile& profile = kernel_profile("standard_backward");
  const std::int64_t ring_bytes = 2 * 128 * (256 + row_bytes(p));
  const auto sum = [&](std::string_view name, std::string_view build) {
    return compiled(name, profile.build(build, p), ring_bytes, 2, 8);
  };
  return {sum("dV", "dV"), compiled("dP", profile.build("dP", p), 256 * row_bytes(p), 1, 4),
          compiled("dS", profile.build("dS", p), gradient_rows_of_block(p).kept_bytes, 1, 1), sum("dQ", "dQ"), sum("dK", "dV")};
}
std::vector<LaunchNeeds> flash1_backward_needs(const AttentionProblem& p) {
  // Shared memory: Q, dO, dQ, K and V; P and dS; l, m and D.
  return {compiled("gradients", kernel_profile("flash1_backward").build("gradients", p),
                   5 * 64 * row_bytes(p) + 2 * 64 * 128 + 3 * 64 * 4, 1, 4)};
}

/// Returns the needs of a block of flash2's backward pass that owns a key tile.
LaunchNeeds key_block_needs(std::string_view id, const AttentionProblem& p) {
  // Shared memory: K, V, two buffers of Q and dO, dS and with d = 128 P; L and D; 14 barriers of 8 bytes.
  const std::int64_t pairs = p.head_dim == 64 ? 1 : 2;
  return compiled("gradients", kernel_profile(id).build("gradients", p),
                  2 * 128 * row_bytes(p) + 4 * 64 * row_bytes(p) + pairs * 128 * 128 + 2 * 2 * 64 * 4 + 14 * 8, 2,
                  static_cast<int>(pairs));
}
LaunchNeeds row_needs(std::string_view id, std::string_view launch, const AttentionProblem& p) {
  return compiled(launch, kernel_profile(id).build(launch, p), 0, 1, 1);
}
template <const char* id>
std::vector<LaunchNeeds> adding_needs(const AttentionProblem& p) {
  return {row_needs(id, "row dots", p), key_block_needs(id, p), row_needs(id, "convert dQ", p)};
}
constexpr char flash2_backward_id[] = "flash2_backward", deterministic_id[] = "flash2_backward_deterministic",
               two_pass_id[] = "flash2_backward_two_pass";
std::vector<LaunchNeeds> two_pass_needs(const AttentionProblem& p) {
  return {row_needs(two_pass_id, "row dots", p), key_block_needs(two_pass_id, p)};
}
int deterministic_copies(const AttentionProblem& p, int sm_count) {
  return static_cast<int>(gradient_sum_copies(p, flash2_backward_kernel_tile(p), sm_count));
}

constexpr char flash3_backward_id[] = "flash3_backward";
std::vector<LaunchNeeds> flash3_backward_launches(const AttentionProblem& p) {
  // Shared memory: K, V, two buffers of Q, dO and dS; dQ in fp32; two of L and D with 16 floats more each; 10 barriers of 8 bytes.
  const TileShape tile = flash3_backward_kernel_tile(p);
  const std::int64_t rows = tile.block_q, keys = tile.block_kv;
  return {row_needs(flash3_backward_id, "row dots", p),
          compiled("gradients", kernel_profile(flash3_backward_id).build("gradients", p),
                   2 * keys * row_bytes(p) + 2 * (2 * rows * row_bytes(p) + rows * keys * 2) + rows * p.head_dim * 4 +
                       2 * 2 * (rows + 16) * 4 + 10 * 8,
                   2, 1),
          row_needs(flash3_backward_id, "convert dQ", p)};
}

/// The needs without expressions, as for flex.
std::vector<LaunchNeeds> flex_backward_needs(const AttentionProblem& p) {
  return {row_needs(two_pass_id, "row dots", p),
          compiled("gradients", kernel_profile("flex_backward").build("gradients", p),
                   flex_shared_bytes(FlexBase::backward, p, {}, 0), 2, static_cast<int>(p.head_dim / 64))};
}

constexpr KernelInfo rows[] = {
    {.id = "matmul_naive",
     .summary = "S = QK^T, each row of Q with a K of its own.",
     .inputs = qk,
     .outputs = only_s,
     .takes_causal = false,
     .tile = scores_kernel_tile,
     .needs = naive_needs,
     .plane_traffic = naive_traffic,
     .plan = plan_matmul_naive},
    {.id = "matmul_tiled",
     .summary = "Over the untiled product: a tile of K is loaded once for all rows of a tile of Q; tensor cores.",
     .inputs = qk,
     .outputs = only_s,
     .takes_causal = false,
     .tile = scores_kernel_tile,
     .needs = tiled_needs,
     .plane_traffic = tiled_traffic,
     .plan = plan_matmul_tiled},
    {.id = "softmax_safe",
     .summary = "Three passes over the row: maximum, sum, result.",
     .inputs = only_s,
     .outputs = only_p,
     .takes_causal = false,
     .tile = row_kernel_tile,
     .needs = safe_needs,
     .plane_traffic = safe_traffic,
     .plan = plan_softmax_safe},
    {.id = "softmax_online",
     .summary = "Over safe softmax: maximum and sum in one pass.",
     .inputs = only_s,
     .outputs = only_p,
     .takes_causal = false,
     .tile = row_kernel_tile,
     .needs = online_needs,
     .plane_traffic = online_traffic,
     .plan = plan_softmax_online},
    {.id = "softmax_fused",
     .summary = "Over online softmax: times V in the same pass, so P is never stored.",
     .inputs = s_and_v,
     .outputs = only_o,
     .takes_causal = false,
     .tile = row_kernel_tile,
     .needs = fused_needs,
     .plane_traffic = fused_traffic,
     .plan = plan_softmax_fused},
    {.id = "standard",
     .summary = "Three launches; S and P through global memory.",
     .inputs = qkv,
     .outputs = s_p_o,
     .tile = scores_kernel_tile,
     .needs = standard_needs,
     .plane_traffic = standard_traffic,
     .plan = plan_standard,
     .plan_probed = plan_standard_probed,
     .probe_shapes = standard_probe_shapes},
    {.id = "standard_cublas",
     .summary = "The same with the products of NVIDIA's library, so that the comparison is fair.",
     .inputs = qkv,
     .outputs = s_p_o,
     .is_library = true,
     .tile = scores_kernel_tile,
     .needs = library_needs},
    {.id = "flash1",
     .summary = "Over standard: S and P stay on the chip; O, l and m cross in every inner step.",
     .inputs = qkv,
     .outputs = o_l_m,
     .tile = flash1_kernel_tile,
     .needs = flash1_needs,
     .plane_traffic = flash1_traffic,
     .plan = plan_flash1,
     .plan_probed = plan_flash1_probed,
     .probe_shapes = flash1_probe_shapes},
    {.id = "flash2",
     .summary = "Over flash1: query tiles are the grid, so O, m and l stay in registers.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .tile = flash2_kernel_tile,
     .needs = flash2_needs,
     .plane_traffic = flash2_traffic,
     .plan = plan_flash2,
     .plan_probed = plan_flash2_probed,
     .probe_shapes = flash2_probe_shapes},
    {.id = "standard_backward",
     .summary = "The gradients in five launches; P is read from memory, dP and dS go through it.",
     .inputs = kept_p,
     .outputs = gradients_and_matrices,
     .tile = scores_kernel_tile,
     .needs = standard_backward_needs,
     .plane_traffic = standard_backward_traffic,
     .key_plane_traffic = standard_backward_key_traffic,
     .plan = plan_standard_backward,
     .pass = Pass::backward,
     .forward = "standard"},
    {.id = "flash1_backward",
     .summary = "Over standard backward: P is made again from l and m; dQ crosses in every inner step.",
     .inputs = kept_o_l_m,
     .outputs = gradients,
     .tile = flash1_kernel_tile,
     .needs = flash1_backward_needs,
     .plane_traffic = flash1_backward_traffic,
     .key_plane_traffic = flash1_backward_key_traffic,
     .plan = plan_flash1_backward,
     .plan_probed = plan_flash1_backward_probed,
     .probe_shapes = flash1_backward_probe_shapes,
     .pass = Pass::backward,
     .forward = "flash1"},
    {.id = "flash2_backward",
     .summary = "Over flash1 backward: key tiles are the grid; dQ is added in fp32 in the L2.",
     .inputs = kept_o_lse,
     .outputs = gradients_and_dots,
     .scratch = gradient_sums,
     .tile = flash2_backward_kernel_tile,
     .needs = adding_needs<flash2_backward_id>,
     .plane_traffic = flash2_backward_traffic,
     .key_plane_traffic = flash2_backward_key_traffic,
     .plan = plan_flash2_backward,
     .plan_probed = plan_flash2_backward_probed,
     .probe_shapes = flash2_backward_probe_shapes,
     .pass = Pass::backward,
     .forward = "flash2"},
    {.id = "flash2_backward_two_pass",
     .summary = "Over flash2 backward: query tiles have blocks of their own for dQ, so nothing is added in memory.",
     .inputs = kept_o_lse,
     .outputs = gradients_and_dots,
     .tile = flash2_backward_kernel_tile,
     .needs = two_pass_needs,
     .plane_traffic = two_pass_traffic,
     .key_plane_traffic = flash2_backward_key_traffic,
     .plan = plan_flash2_backward_two_pass,
     .plan_probed = plan_flash2_backward_two_pass_probed,
     .probe_shapes = two_pass_probe_shapes,
     .pass = Pass::backward,
     .forward = "flash2"},
    {.id = "flash2_backward_deterministic",
     .summary = "Over flash2 backward: dQ has copies that are added to in a fixed order, so every run gives the same bits.",
     .inputs = kept_o_lse,
     .outputs = gradients_and_dots,
     .scratch = gradient_sums,
     .tile = flash2_backward_kernel_tile,
     .needs = adding_needs<deterministic_id>,
     .plane_traffic = flash2_backward_traffic,
     .key_plane_traffic = flash2_backward_key_traffic,
     .plan = plan_flash2_backward_deterministic,
     .plan_probed = plan_flash2_backward_deterministic_probed,
     .probe_shapes = deterministic_probe_shapes,
     .pass = Pass::backward,
     .forward = "flash2",
     .sum_copies = deterministic_copies},
    {.id = "flash3_backward",
     .summary = "Over flash2 backward: wgmma, TMA and a producer; dQ comes one step late and is added by the copy engine.",
     .inputs = kept_o_lse,
     .outputs = gradients_and_dots,
     .scratch = gradient_sums,
     .is_hopper = true,
     .tile = flash3_backward_kernel_tile,
     .needs = flash3_backward_launches,
     .plane_traffic = flash3_backward_traffic,
     .key_plane_traffic = flash3_backward_key_traffic,
     .plan = plan_flash3_backward,
     .pass = Pass::backward,
     .forward = "flash3"},
    {.id = "flash2_descending",
     .summary = "flash2 from the last visible key tile down: the order of FlashAttention-2 as published.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .tile = flash2_kernel_tile,
     .needs = flash2_descending_needs,
     .plane_traffic = flash2_traffic,
     .plan = plan_flash2_descending,
     .variant_of = "flash2",
     .key_order = KeyOrder::descending},
    {.id = "flash2_longest",
     .summary = "flash2 with the last query tile of every head first: under a causal mask it is the longest.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .tile = flash2_kernel_tile,
     .needs = flash2_longest_needs,
     .plane_traffic = flash2_traffic,
     .plan = plan_flash2_longest,
     .variant_of = "flash2"},
    {.id = "hopper_wgmma",
     .summary = "Over flash2: wgmma reads tiles from shared memory, and TMA writes them there.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::wgmma>,
     .needs = hopper_kernel_needs<HopperRungId::wgmma>,
     .plane_traffic = hopper_traffic,
     .plan = plan_hopper_wgmma,
     .plan_probed = plan_hopper_wgmma_probed,
     .probe_shapes = hopper_wgmma_probe_shapes},
    {.id = "hopper_wgmma_longest",
     .summary = "The first Hopper kernel with the longest query tiles first.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::wgmma_longest>,
     .needs = hopper_kernel_needs<HopperRungId::wgmma_longest>,
     .plane_traffic = hopper_traffic,
     .plan = plan_hopper_wgmma_longest,
     .plan_probed = plan_hopper_wgmma_longest_probed,
     .probe_shapes = hopper_wgmma_probe_shapes,
     .variant_of = "hopper_wgmma"},
    {.id = "hopper_producer",
     .summary = "Over the first Hopper kernel: one thread copies through a ring of mbarriers, two groups compute.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::producer>,
     .needs = hopper_kernel_needs<HopperRungId::producer>,
     .plane_traffic = hopper_traffic,
     .plan = plan_hopper_producer,
     .plan_probed = plan_hopper_producer_probed,
     .probe_shapes = hopper_roles_probe_shapes},
    {.id = "hopper_three_groups",
     .summary = "Over two consumer groups: a third, so tiles of 192 rows.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::three_groups>,
     .needs = hopper_kernel_needs<HopperRungId::three_groups>,
     .plane_traffic = hopper_traffic,
     .plan = plan_hopper_three_groups,
     .plan_probed = plan_hopper_three_groups_probed,
     .probe_shapes = hopper_roles_probe_shapes},
    {.id = "hopper_overlap",
     .summary = "Over groups that wait for each product: the next one runs under the softmax.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::overlap>,
     .needs = hopper_kernel_needs<HopperRungId::overlap>,
     .plane_traffic = hopper_traffic,
     .plan = plan_hopper_overlap,
     .plan_probed = plan_hopper_overlap_probed,
     .probe_shapes = hopper_roles_probe_shapes},
    {.id = "hopper_ping_pong",
     .summary = "Over overlap: groups take turns, so that one computes its softmax under the products of another.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::ping_pong>,
     .needs = hopper_kernel_needs<HopperRungId::ping_pong>,
     .plane_traffic = hopper_traffic,
     .plan = plan_hopper_ping_pong,
     .plan_probed = plan_hopper_ping_pong_probed,
     .probe_shapes = hopper_roles_probe_shapes},
    {.id = "hopper_persistent",
     .summary = "Over ping-pong: one block an SM; loads of the next tile and stores of the last are hidden.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::persistent>,
     .needs = hopper_kernel_needs<HopperRungId::persistent>,
     .plane_traffic = hopper_traffic,
     .plan = plan_hopper_persistent,
     .plan_probed = plan_hopper_persistent_probed,
     .probe_shapes = hopper_persistent_probe_shapes},
    {.id = "hopper_causal",
     .summary = "Over persistent blocks: tiles are drawn, the longest first.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = hopper_kernel_tile<HopperRungId::causal>,
     .needs = hopper_kernel_needs<HopperRungId::causal>,
     .plane_traffic = hopper_causal_traffic,
     .block_traffic = hopper_causal_block_traffic,
     .plan = plan_hopper_causal,
     .plan_probed = plan_hopper_causal_probed,
     .probe_shapes = hopper_persistent_probe_shapes},
    {.id = "flash3",
     .summary = "The fastest of the Hopper kernels, by head dimension and mask.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .tile = of_launched<&KernelInfo::tile>,
     .needs = of_launched<&KernelInfo::needs>,
     .plane_traffic = hopper_traffic,
     .plan = of_launched<&KernelInfo::plan>,
     .plan_probed = of_launched<&KernelInfo::plan_probed>,
     .probe_shapes = of_launched<&KernelInfo::probe_shapes>,
     .choice = flash3_kernel},
    {.id = "flex",
     .summary = "Over flash2: lists of key blocks from any mask expression, and a score expression; compiled for the request.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .takes_masks = true,
     .takes_pages = true,
     .tile = flash2_kernel_tile,
     .needs = flex_needs,
     .plane_traffic = flash2_traffic,
     .plan = plan_flex_on<FlexBase::flash2>,
     .prepare = prepare_flex_on<FlexBase::flash2>},
    {.id = "hopper_flex",
     .summary = "Over flex: the roles of the Hopper kernels, so copies, products and softmax overlap; compiled for the request.",
     .inputs = qkv,
     .outputs = o_and_lse,
     .is_hopper = true,
     .takes_masks = true,
     .takes_pages = true,
     .tile = hopper_flex_kernel_tile,
     .needs = hopper_flex_needs,
     .plane_traffic = hopper_traffic,
     .plan = plan_flex_on<FlexBase::hopper>,
     .prepare = prepare_flex_on<FlexBase::hopper>},
    {.id = "flex_backward",
     .summary = "Over the two passes: the lists of flex by row and by column, and the derivative of its score expression.",
     .inputs = kept_o_lse,
     .outputs = gradients_and_dots,
     .takes_masks = true,
     .tile = flash2_backward_kernel_tile,
     .needs = flex_backward_needs,
     .plane_traffic = two_pass_traffic,
     .key_plane_traffic = flash2_backward_key_traffic,
     .plan = plan_flex_on<FlexBase::backward>,
     .prepare = prepare_flex_on<FlexBase::backward>,
     .plan_probed = plan_flex_backward_probed,
     .probe_shapes = two_pass_probe_shapes,
     .prepare_probed = prepare_flex_on<FlexBase::backward_probed>,
     .pass = Pass::backward,
     .forward = "flex"},
};

const void* address_of(const DeviceTensors& t, Tensor tensor) {
  if (tensor->read >= 0) return t.table_parts[static_cast<std::size_t>(tensor->read)];
  if (tensor->table >= 0) return t.d_tables[static_cast<std::size_t>(tensor->table)];
  const std::pair<Tensor, const void*> addresses[] = {
      {tensors::q, t.q},    {tensors::k, t.k},    {tensors::v, t.v},     {tensors::s, t.s},           {tensors::p, t.p},
      {tensors::o, t.o},    {tensors::m, t.m},    {tensors::lse, t.lse}, {tensors::l, t.l},           {tensors::d_o, t.d_o},
      {tensors::d_q, t.dq}, {tensors::d_k, t.dk}, {tensors::d_v, t.dv},  {tensors::row_dot, t.delta}, {tensors::d_q_acc, t.dq_acc},
      {tensors::d_p, t.dp}, {tensors::d_s, t.ds}};
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

namespace {

/// Returns the tables whose gradients the kernel makes.
std::span<const TableGradient> tables_of(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (!kernel.takes_masks || kernel.pass != Pass::backward || !problem.score_change) return {};
  return problem.score_change->table_gradients();
}

}  // namespace

std::vector<Tensor> outputs_of(const KernelInfo& kernel, const AttentionProblem& problem) {
  std::vector<Tensor> outputs(kernel.outputs.begin(), kernel.outputs.end());
  const std::span<const TableGradient> gradients = tables_of(kernel, problem);
  for (std::size_t n = 0; n < gradients.size(); ++n) outputs.push_back(tables::gradient(n, gradients[n].table->name));
  return outputs;
}

std::vector<Tensor> scratch_of(const KernelInfo& kernel, const AttentionProblem& problem) {
  std::vector<Tensor> scratch(kernel.scratch.begin(), kernel.scratch.end());
  const std::span<const TableGradient> gradients = tables_of(kernel, problem);
  for (std::size_t n = 0, read = 0; n < gradients.size(); ++n)
    for (std::size_t end = read + gradients[n].reads.size(); read < end; ++read)
      if (gradients[n].in_order) scratch.push_back(tables::parts(n, read, gradients[n].table->name));
  return scratch;
}

Result<const KernelInfo*> find_kernel(std::string_view id) {
  std::string names;
  for (const KernelInfo& row : rows) {
    if (row.id == id) return &row;
    if (row.variant_of.empty()) names += (names.empty() ? "" : ", ") + std::string(row.id);
  }
  return refuse("there is no kernel named {}: there are {}", printable(id), names);
}

Result<const KernelInfo*> find_kernel(std::string_view program, KeyOrder order) {
  for (const KernelInfo& row : rows)
    if (row.program() == program && row.key_order == order) return &row;
  if (const Result<const KernelInfo*> known = find_kernel(program); !known) return known.error();
  return refuse("kernel {} has no variant that visits its keys in {} order: leave out {}", program, to_string(order),
                Setting::key_order);
}

const KernelInfo& launched_kernel(const KernelInfo& kernel, const AttentionProblem& problem) {
  return kernel.choice == nullptr ? kernel : **find_kernel(kernel.choice(problem));
}

Status supports_pages(const KernelInfo& kernel, const AttentionProblem& p) {
  if (p.page_size == 0) return Done{};
  if (!kernel.takes_pages) return refuse("kernel {} has no page table: leave out {}", kernel.id, Setting::page_size);
  if (Status sound = check_pages(p, kernel.tile(p)); !sound) return sound;
  constexpr std::int64_t least_page = 16;  // rows that one warp copies at once
  if (p.page_size >= least_page) return Done{};
  return refuse("kernel {} takes pages of {} keys or more, not {}: use a larger {}", kernel.id, least_page, p.page_size,
                Setting::page_size);
}

Status supports(const KernelInfo& kernel, const AttentionProblem& p) {
  if (Status valid = check(p); !valid) return valid;
  if (p.dtype == DataType::fp32)
    return refuse("kernel {} runs in fp16 and bf16, not in {}: use {} fp16", kernel.id, to_string(p.dtype), Setting::dtype);
  if (p.head_dim != 64 && p.head_dim != 128)
    return refuse("kernel {} has head dimensions 64 and 128, not {}: use {} 64 or 128", kernel.id, p.head_dim, Setting::head_dim);
  if (p.pass != kernel.pass)
    return refuse("kernel {} runs {}, not {}: use {} {}", kernel.id, to_string(kernel.pass), to_string(p.pass), Setting::pass,
                  to_string(kernel.pass));
  if (p.mask && !kernel.takes_masks) return refuse("kernel {} takes no mask: leave out {}", kernel.id, Setting::mask);
  if (p.score_change && !kernel.takes_masks)
    return refuse("kernel {} takes scores as they are: leave out {}", kernel.id, Setting::score);
  if (Status pages = supports_pages(kernel, p); !pages) return pages;
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

Status runs_on_this_device(const KernelInfo& kernel) {
  if (!kernel.is_hopper) return Done{};
  static const Result<DeviceInfo> device = find_device();
  if (!device) return device.error();
  if (device->compute_major == 9 && device->compute_minor == 0) return Done{};
  return Error{phrase("kernel {} is for compute capability 9.0 (Hopper); {} has {}.{}: use flash2 there", kernel.id, device->name,
                      device->compute_major, device->compute_minor),
               Error::Kind::machine_lacks};
}

Status launch(const KernelInfo& kernel, const AttentionProblem& problem, const DeviceTensors& tensors, StreamHandle stream) {
  if (Status fits = supports(kernel, problem); !fits) return fits;
  if (!built_with_cuda()) return no_cuda_error();
  if (Status runs = runs_on_this_device(kernel); !runs) return runs;
  const std::vector<Tensor> outputs = outputs_of(kernel, problem), scratch = scratch_of(kernel, problem);
  for (const std::span<const Tensor> list : {kernel.inputs, std::span<const Tensor>(outputs), std::span<const Tensor>(scratch)})
    for (Tensor tensor : list)
      if (address_of(tensors, tensor) == nullptr)
        return refuse("kernel {} needs tensor {} on the device", kernel.id, to_string(tensor));
  if (kernel.is_library) return launch_library(problem, tensors, stream);
  if (kernel.prepare != nullptr)
    if (Status ready = kernel.prepare(problem); !ready) return ready;
  for (const PlannedLaunch& planned : kernel.plan(problem, tensors))
    if (Status launched = launch(planned, stream); !launched) return launched;
  return Done{};
}

Result<std::vector<CompiledNeeds>> compiled_launches(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  if (!built_with_cuda()) return no_cuda_error();
  if (Status runs = runs_on_this_device(kernel); !runs) return runs.error();
  if (kernel.prepare != nullptr)
    if (Status ready = kernel.prepare(problem); !ready) return ready.error();
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
