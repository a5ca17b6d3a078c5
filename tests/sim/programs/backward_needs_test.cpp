// Needs and default tiles of backward kernels, written out from what their blocks keep.
#include "sim/programs/backward_needs.h"

#include <string_view>

#include <doctest/doctest.h>

#include "tests/sim/programs/compiled_needs.h"

namespace tilescope {
namespace {

/// A block that keeps a key tile: a warp owns 32 keys, and beyond 64 columns half of those of dK and dV.
KernelNeeds keeps_keys(std::string_view id, const NeedsCase& at) {
  const AttentionProblem& p = at.problem;
  const std::int64_t q = at.tile.block_q, kv = at.tile.block_kv, d = p.head_dim, e = element_bytes(p.dtype);
  const std::int64_t halves = d > 64 ? 2 : 1, compiled = compiled_head_dim(p), warps = warps_of(kv, 32, 4);
  KernelNeeds needs = compiled_needs(id, "gradients", p);
  // S and dP, dK and dV in registers.
  set_warps(needs, halves, warps, q * kv + q * kv + kv * d + kv * d, 64 * 128 + 64 * 128 + 128 * compiled + 128 * compiled);
  // K and V, dS, with two halves P, a barrier each for K and V and two for each warp.
  const std::int64_t fixed = kernel_profile(id).build("gradients", p).static_shared_bytes + kv * d * e + kv * d * e +
                             q * kv * e * halves + 8 + 8 + warps * 8 + warps * 8;
  set_stages(needs, fixed, q * d * e + q * d * e + q * 4 + q * 4 + 8 + 8, at);  // Q, dO, L, D and two barriers
  return needs;
}

/// The same, or what a block needs that keeps Q, dO, L and D and streams K and V, where that is more.
KernelNeeds keeps_keys_or_queries(std::string_view id, NeedsCase at) {
  const std::int64_t q = at.tile.block_q, kv = at.tile.block_kv, row = at.problem.head_dim * element_bytes(at.problem.dtype);
  const auto of_queries = [&](int stages) { return q * row + q * row + q * 4 + q * 4 + stages * (kv * row + kv * row + 8 + 8); };
  KernelNeeds needs = keeps_keys(id, at);
  if (at.tile.stages == 0 && needs.stages == 2 && static_cast<double>(of_queries(2)) > at.gpu.sm_shared_bytes_per_block) {
    at.tile.stages = 1;
    needs = keeps_keys(id, at);
  }
  if (of_queries(needs.stages) > needs.shared_bytes) needs.shared_bytes = of_queries(needs.stages);
  return needs;
}

}  // namespace

TEST_CASE("needs: every backward launch has the warps, the sums in registers and the tiles in shared memory of its kernel") {
  for_each_needs_case([](const NeedsCase& at) {
    const AttentionProblem& p = at.problem;
    const std::int64_t q = at.tile.block_q, kv = at.tile.block_kv, d = p.head_dim, e = element_bytes(p.dtype);
    const std::int64_t compiled = compiled_head_dim(p);

    for (const std::string_view id : {"flash2_backward", "flash2_backward_deterministic"})
      CHECK(flash2_backward_needs(id, p, at.tile, at.gpu) == keeps_keys(id, at));
    CHECK(two_pass_needs(p, at.tile, at.gpu) == keeps_keys_or_queries("flash2_backward_two_pass", at));
    KernelNeeds flex = keeps_keys_or_queries("flex_backward", at);
    flex.shared_bytes += 16;       // the lengths of its lists
    flex.mask_cost = {0, 2.5, 0};  // whether a query and a key exist
    CHECK(flex_backward_needs(p, at.tile, at.gpu) == flex);
    AttentionProblem causal = p;
    causal.causal = true;
    CHECK(flex_backward_needs(causal, at.tile, at.gpu).mask_cost == ElementCost{0, 1 + 1 + 2.5, 0});  // a comparison, a selection

    // A block of 128 threads goes through the rows of a query tile: none shares an operand with another.
    for (const auto& kernel : {std::pair<std::string_view, std::string_view>{"flash2_backward", "row dots"},
                               {"flash2_backward", "convert dQ"},
                               {"flash2_backward_two_pass", "row dots"},
                               {"flash3_backward", "row dots"},
                               {"flash3_backward", "convert dQ"}}) {
      const std::string_view id = kernel.first, launch = kernel.second;
      INFO(id, ", ", launch);
      KernelNeeds rows = compiled_needs(id, launch, p);
      rows.threads = 128;
      rows.registers_wanted = rows.registers_per_thread;
      rows.registers_per_thread = std::max(24, rows.registers_per_thread);
      rows.multiply_add_instructions = 0;
      rows.has_products = false;
      if (kernel_profile(id).build(launch, p).static_shared_bytes > 0) rows.shared_bytes = q * 4;  // D, where it is worked out
      CHECK((launch == "row dots" ? row_dot_needs(id, p, at.tile) : convert_needs(id, p, at.tile)) == rows);
    }

    // A warp for 16 rows and 32 keys. S and dP, dK and dV, and the part of dQ in registers.
    KernelNeeds flash1 = compiled_needs("flash1_backward", "gradients", p);
    set_warps(flash1, warps_of(q, 16, 4), warps_of(kv, 32, 2), q * kv + q * kv + kv * d + kv * d + q * d,
              64 * 64 + 64 * 64 + 64 * compiled + 64 * compiled + 64 * compiled);
    // Q, dO and dQ, K and V, P and dS; l, m and D are fp32.
    flash1.shared_bytes =
        at.gpu.has_l2() ? 3 * q * d * e + 2 * kv * d * e + 2 * q * kv * e + 3 * q * 4 : q * d * e + 2 * kv * d * e;
    CHECK(flash1_backward_needs(p, at.tile, at.gpu) == flash1);

    // dP of a tile pair: a warp for 32 rows and 64 keys, dO and V in shared memory.
    KernelNeeds pair = compiled_needs("standard_backward", "dP", p);
    set_warps(pair, warps_of(q, 32, 4), warps_of(kv, 64, 2), q * kv, 128 * 128);
    pair.shared_bytes = q * d * e + kv * d * e;
    CHECK(pair_product_needs(p, at.tile) == pair);

    // dV = Pᵀ dO keeps keys and streams queries, dQ = dS K the other way round. A warp for 16 rows of the result.
    KernelNeeds of_keys = compiled_needs("standard_backward", "dV", p), of_queries = compiled_needs("standard_backward", "dQ", p);
    set_warps(of_keys, warps_of(kv, 16, 8), 1, kv * d, 128 * compiled);
    set_stages(of_keys, 0, q * kv * e + q * d * e, at);
    set_warps(of_queries, warps_of(q, 16, 8), 1, q * d, 128 * compiled);
    set_stages(of_queries, 0, q * kv * e + kv * d * e, at);
    CHECK(sum_product_needs(p, at.tile, at.gpu, Axis::key) == of_keys);
    CHECK(sum_product_needs(p, at.tile, at.gpu, Axis::query) == of_queries);

    // Rows of P and dP that the dS launch keeps between its passes.
    KernelNeeds rows = compiled_needs("standard_backward", "dS", p);
    rows.threads = 128;
    rows.registers_wanted = rows.registers_per_thread;
    rows.has_products = false;
    rows.shared_bytes = kernel_profile("standard_backward").build("dS", p).static_shared_bytes;
    const std::int64_t both = 2 * ((p.seq_kv * e + 31) / 32 * 32);
    for (std::int64_t n = 0; n < std::min<std::int64_t>(4, q); ++n)
      if (static_cast<double>(rows.shared_bytes + both) <= at.gpu.sm_shared_bytes_per_block && (n + 1) * both <= 162 * 1024)
        rows.shared_bytes += both;
    CHECK(gradient_rows_needs(p, at.tile, at.gpu) == rows);
  });
}

TEST_CASE("default tile: a backward kernel's own, or one that halves its longer edge until every launch fits") {
  for_each_default_tile([](const ProgramInfo& info, const AttentionProblem& p, const GpuSpec& gpu) -> std::optional<TileShape> {
    // flash2_backward_deterministic takes the tile of flash2_backward, whose needs differ by a few bytes and registers.
    if (info.family != "backward" || info.id == "flash2_backward_deterministic") return std::nullopt;
    if (gpu.sm_shared_bytes_per_block < 99 * 1024) return TileShape{16, 16};
    if (info.id == "standard_backward") return TileShape{128, 128};
    if (info.id == "flash1_backward") return TileShape{64, 64};
    if (p.dtype == DataType::fp32 || p.head_dim > 128) return TileShape{64, 64};
    if (info.id == "flash3_backward") return TileShape{p.head_dim <= 64 ? 128 : 64, 128};
    return TileShape{64, 128};
  });
}

TEST_CASE("needs: dQ's sums have as many copies as give every SM a block, up to four, each of as many key tiles as the next") {
  for (const std::int64_t keys : {1, 128, 129, 640, 1000, 4096})
    for (const std::int64_t planes : {1, 40, 66, 132, 1000})
      for (const double sms : {4.0, 132.0}) {
        const AttentionProblem p = {.batch = 1, .heads = planes, .kv_heads = planes, .seq_q = 64, .seq_kv = keys, .head_dim = 64};
        const std::int64_t tiles = (keys + 127) / 128;
        std::int64_t wanted = 1;
        while (wanted < 4 && static_cast<double>(wanted * planes) < sms) ++wanted;
        const std::int64_t in_run = (tiles + wanted - 1) / wanted;
        std::int64_t copies = 0;
        for (std::int64_t tile = 0; tile < tiles; tile += in_run) ++copies;
        CHECK(gradient_sum_copies(p, {64, 128}, sms) == copies);
      }
}

}  // namespace tilescope
