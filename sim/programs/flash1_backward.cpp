// flash1_backward: the gradients of flash1, exactly as published. Keys are the outer loop and queries the inner one, as in the
// forward pass, so every inner step reads and writes dQ in HBM.
//
//   l2_to_sm = B·Hkv·2·Nk·d·e + B·Hq·⌈Nk/Bc⌉·Nq·(4·d·e + 8)                 [K, V; Q, O, dO, dQ, l, m]     without a mask
//   sm_to_l2 = B·Hkv·4·Nk·d·e + B·Hq·(1 + ⌈Nk/Bc⌉)·Nq·d·e                   [dK, dV; dQ; each zeroed first]
#include <algorithm>
#include <utility>

#include "sim/programs/backward_lines.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/key_blocks.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash1_backward";

enum class Line {
  zero_queries,
  zero_d_q,
  store_zero_d_q,
  zero_keys,
  zero_d_k,
  store_zero_d_k,
  key_loop,
  load_k,
  load_v,
  init,
  query_loop,
  load_q,
  load_o,
  load_d_o,
  load_d_q,
  load_stats,
  scores,
  mask,
  exp,
  divide,
  d_v,
  d_p,
  row_dot,
  subtract,
  d_s,
  d_q,
  store_d_q,
  d_k,
  store,
  count
};
namespace lines = backward_lines;
constexpr ListingLine listing[] = {
    {0, "for each query tile i", Tensor(), "i = 0 … ⌈Nq/Br⌉ − 1", "One block handles a whole head. First it zeroes dQ in HBM.",
     ListingLine::heading},
    because(lines::init_queries, "dQ collects a part from every key tile."),
    because(lines::store_queries, "The inner loop reads it from there."),
    {0, "for each key tile j", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1", "dK and dV are zeroed too, as the paper has it.",
     ListingLine::heading},
    because(lines::init_keys, "Tiles that no query sees keep these zeros."),
    because(lines::store_keys, "Written again at the end of each outer step."),
    {0, "for each key tile j", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1", "Keys and values are the outer loop: each is loaded once.",
     ListingLine::heading},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d, Bc = ⌈M/4d⌉", "Stays for the whole inner loop."},
    because(lines::load_v_once, "Stays for the whole inner loop."),
    {1, "dK̃ = 0, dṼ = 0", tensors::d_k, "dK̃ = 0, dṼ = 0", "The sums of this key tile stay on chip."},
    because(lines::query_loop, "With a causal mask pairs wholly above the diagonal are skipped."),
    {2, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d, Br = min(Bc, d)", "All of Q once for each key tile."},
    {2, "load Oᵢ", tensors::o, "Oᵢ: Br × d", "Needed only for D, in every inner step. FlashAttention-2 computes D once."},
    because(lines::load_d_o, "All of dO once for each key tile."),
    {2, "load dQᵢ", tensors::d_q, "dQᵢ: Br × d", "The sum so far comes back from HBM."},
    {2, "load lᵢ, mᵢ", tensors::l, "lᵢ, mᵢ: Br", "The softmax statistics that the forward pass saved."},
    lines::scores,
    lines::mask,
    {2, "P = exp(S − m)", tensors::p, "P = exp(S − m)", "With the final maximum of each row."},
    {2, "P = P / l", tensors::p, "P = diag(1/l)·P", "With the final sum: the probabilities of the forward pass."},
    {2, "dṼ = dṼ + Pᵀ dOᵢ", tensors::d_v, "dV = dV + Pᵀ·dO", "The second product."},
    lines::d_p,
    {2, "D = rowsum(dO ∘ O)", tensors::row_dot, "D = Σ dO·O", "Equals the row sum of P∘dP over all keys."},
    lines::subtract,
    lines::d_s,
    {2, "dQᵢ = dQᵢ + τ dS Kⱼ", tensors::d_q, "dQ = dQ + τ dS·K", "The fourth product."},
    {2, "store dQᵢ → HBM", tensors::d_q, "dQᵢ: Br × d", "And back to HBM, rounded, in every inner step."},
    {2, "dK̃ = dK̃ + τ dSᵀ Qᵢ", tensors::d_k, "dK = dK + τ dSᵀ·Q", "The fifth product."},
    because(lines::store_keys, "The sums of this key tile are complete."),
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, s, p, o, m, l, d_o, d_q, d_k, d_v, d_s, d_p, row_dot},
          .inputs = {q, k, v, o, m, l, d_o},
          .outputs = {d_q, d_k, d_v},
          .tiles = {tiles::q, tiles::k_kept, tiles::v_kept, tiles::s, tiles::p, tiles::p_kept, tiles::m, tiles::l, tiles::o,
                    tiles::d_o, tiles::d_o_o, tiles::row_dot, tiles::d_p, tiles::d_s, tiles::d_q, tiles::d_k, tiles::d_v}};
}

class Flash1Backward final : public TileProgram {
 public:
  Flash1Backward(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()) {
    LaunchSpec launch{
        "gradients", problem.kv_planes(), 1, 1, flash1_backward_needs(problem, tile, gpu), 1, static_cast<int>(std::size(listing))};
    launch.axis = Axis::key;
    launches_ = {launch};
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, BlockPlan::along(Axis::key, block, {0, problem_.seq_kv}),
                   tile_bits(tiles::q, tiles::k_kept, tiles::v_kept, tiles::d_o, tiles::p_kept, tiles::d_s));
    const std::int64_t first = problem_.first_query_plane_of(block), end = first + problem_.heads_of_kv_head();
    std::int32_t written = -1;  // the last store of dQ, after which all of dQ is complete in HBM
    b.keys(-1, {});
    for (std::int64_t plane = first; plane < end; ++plane)
      for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
        b.query_plane(plane);
        b.queries(i, grid.queries(i));
        b.fill(Line::zero_d_q, tiles::d_q, 0.0F);
        written = b.store(Line::store_zero_d_q, tiles::d_q);
      }
    b.queries(-1, {});
    for (std::int64_t j = 0; j < grid.key_tiles; ++j) {
      b.keys(j, grid.keys(j));
      b.fill(Line::zero_d_k, tiles::d_k, 0.0F);
      b.fill(Line::zero_d_k, tiles::d_v, 0.0F);
      b.store(Line::store_zero_d_k, tiles::d_k);
      b.store(Line::store_zero_d_k, tiles::d_v);
    }
    std::int64_t n = 0;
    for (std::int64_t step = 0; step < grid.key_tiles; ++step) {
      const std::int64_t j = grid.key_order == KeyOrder::ascending ? step : grid.key_tiles - 1 - step;
      const std::vector<GroupVisit> visits = ascending_visits(block, j);
      if (visits.empty()) continue;  // a key tile that no query tile visits is never loaded
      b.keys(j, grid.keys(j));
      b.queries(-1, {});
      b.iteration(n, 0);
      b.load(Line::load_k, tiles::k_kept);
      b.load(Line::load_v, tiles::v_kept);
      b.fill(Line::init, tiles::d_k, 0.0F);
      b.fill(Line::init, tiles::d_v, 0.0F);
      for (const GroupVisit& visit : visits) {
        b.query_plane(visit.plane);
        b.queries(visit.tile.index, grid.queries(visit.tile.index));
        b.iteration(n++, 0);
        written = emit_pair(b, visit.tile.partial, written);
      }
      b.queries(-1, {});
      b.store(Line::store, tiles::d_k);
      b.store(Line::store, tiles::d_v);
    }
    out.iterations = static_cast<std::int32_t>(n);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(tensors::q) || problem_.mask) return std::nullopt;
    const TileRange keys{0, problem_.seq_kv};
    return BlockPlace{plan_.place_in_sector(problem_.first_query_plane_of(block), 0), BlockPlan::along(Axis::key, block, keys)};
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  /// Returns the visits of a key tile in ascending order: only the outer loop follows --key-order.
  std::vector<GroupVisit> ascending_visits(std::int64_t kv_plane, std::int64_t j) const {
    std::vector<GroupVisit> visits = group_visits(plan_.grid, kv_plane, j);
    std::sort(visits.begin(), visits.end(), [](const GroupVisit& a, const GroupVisit& b) {
      return std::pair(a.plane, a.tile.index) < std::pair(b.plane, b.tile.index);
    });
    return visits;
  }

  /// Emits one tile pair; its load of dQ waits for the store `written`. Returns its own store of dQ.
  std::int32_t emit_pair(BlockBuilder& b, bool masked, std::int32_t written) const {
    b.load(Line::load_q, tiles::q);
    b.load(Line::load_o, tiles::o);
    b.load(Line::load_d_o, tiles::d_o);
    // The compiled kernel requests l after dQ has arrived, and m after l. It computes once everything is there.
    const std::int32_t d_q = b.load(Line::load_d_q, tiles::d_q, written);
    const std::int32_t l = b.load(Line::load_stats, tiles::l, d_q), m = b.load(Line::load_stats, tiles::m, l);
    b.matmul(Line::scores, tiles::s, tiles::q, tiles::k_kept, {.transpose = true, .factor = plan_.scale});
    b.after_load(m);
    b.overhead(kernel_profile("flash1_backward").overhead("gradients", "pair", problem_));
    if (masked) b.mask(Line::mask, tiles::s);
    b.exp(Line::exp, tiles::p, tiles::s, tiles::m);
    b.divide(Line::divide, tiles::p, tiles::l);
    b.copy(Line::divide, tiles::p_kept, tiles::p);
    b.matmul(Line::d_v, tiles::d_v, tiles::p_kept, tiles::d_o, {.accumulate = true, .transpose_left = true});
    b.matmul(Line::d_p, tiles::d_p, tiles::d_o, tiles::v_kept, {.transpose = true});
    b.copy(Line::row_dot, tiles::d_o_o, tiles::d_o);
    b.multiply(Line::row_dot, tiles::d_o_o, tiles::o);
    b.row_sum(Line::row_dot, tiles::row_dot, ChipTile::none, tiles::d_o_o, ChipTile::none);
    b.subtract_rows(Line::subtract, tiles::d_p, tiles::row_dot);
    b.multiply(Line::d_s, tiles::d_p, tiles::p);
    b.copy(Line::d_s, tiles::d_s, tiles::d_p);
    b.matmul(Line::d_q, tiles::d_q, tiles::d_s, tiles::k_kept, {.accumulate = true, .factor = plan_.scale});
    const std::int32_t last = b.store(Line::store_d_q, tiles::d_q);
    b.matmul(Line::d_k, tiles::d_k, tiles::d_s, tiles::q, {.accumulate = true, .factor = plan_.scale, .transpose_left = true});
    return last;
  }

  BlockPlan plan_;
};

std::optional<ClosedForm> Flash1Backward::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_) || !planes_are_alike(problem_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t planes = problem_.query_planes(), kv_planes = problem_.kv_planes();
  const std::int64_t row = problem_.head_dim * element_bytes(problem_.dtype);
  const Bytes pairs(planes * sums.rows_pairs * row), kv(kv_planes * sums.seen_keys * row);
  const Bytes gradient(kv_planes * (problem_.seq_kv + sums.seen_keys) * row);
  const Bytes every(statistic_bytes(problem_, tile_, Crossings::every_pair));
  const std::string visits = formula_for(problem_, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  ClosedForm form;
  form.terms = {
      {tensors::q, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {tensors::k, Link::l2_to_sm, kv, "B·Hkv·Nk·d·e"},
      {tensors::v, Link::l2_to_sm, kv, "B·Hkv·Nk·d·e"},
      {tensors::o, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {tensors::d_o, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {tensors::m, Link::l2_to_sm, every, statistic_formula(problem_, tile_, "B·Hq·4·" + visits)},
      {tensors::l, Link::l2_to_sm, every, statistic_formula(problem_, tile_, "B·Hq·4·" + visits)},
      {tensors::d_q, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {tensors::d_q, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row) + pairs, "B·Hq·d·e·(Nq + " + visits + ")"},
      {tensors::d_k, Link::sm_to_l2, gradient, "2·B·Hkv·Nk·d·e"},
      {tensors::d_v, Link::sm_to_l2, gradient, "2·B·Hkv·Nk·d·e"},
  };
  form.flops = planes * 10 * problem_.head_dim * sums.rows_keys;
  form.exps = planes * sums.rows_keys;
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_backward<Flash1Backward>(id, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash1_backward_program() {
  return {
      .id = id,
      .title = "FlashAttention-1 backward",
      .family = "backward",
      .source = "arXiv:2205.14135, Algorithm 4",
      .summary = "Over standard backward: P is made again from l and m, so no N × N matrix is kept or stored.",
      .listing = listing,
      .default_tile = flash1_backward_tile,
      .make = make,
      .pass = Pass::backward,
      .forward = "flash1",
      .label = "Flash-1 backward",
      .accumulates_in_hbm = true,
      .may_spill = true,
  };
}

}  // namespace tilescope
