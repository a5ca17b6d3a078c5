// flash2_backward_two_pass: the gradients of flash2 without additions in memory. One launch has two kinds of block: those that own
// keys accumulate dK and dV, those that own queries accumulate dQ. Both compute S, P and dS.
//
//   l2_to_sm = B·Hkv·2·Nk·d·e + B·Hq·⌈Nk/Bc⌉·Nq·(2·d·e + 8)   [blocks that own keys]
//            + B·Hq·(Nq·(2·d·e + 8) + ⌈Nq/Br⌉·2·Nk·d·e)       [blocks that own queries]     + B·Hq·2·Nq·d·e [O, dO for D]
//   sm_to_l2 = B·Hkv·2·Nk·d·e [dK, dV] + B·Hq·Nq·(d·e [dQ] + 4 [D])                     without a mask
#include "sim/programs/backward_lines.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/gradient_work.h"
#include "sim/programs/key_blocks.h"
#include "sim/programs/pair_gradients.h"
#include "sim/programs/programs.h"
#include "sim/programs/row_dot.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash2_backward_two_pass";

enum class Line {
  rows,
  load_o,
  load_d_o_once,
  row_dot,
  store_row_dot,
  key_tiles,
  init_keys,
  load_k,
  load_v,
  query_loop,
  load_q,
  load_stats,
  scores,
  mask,
  exp,
  load_d_o,
  d_v,
  d_p,
  subtract,
  d_s,
  d_k,
  store_keys,
  query_tiles,
  init_queries,
  load_q_once,
  load_d_o_again,
  load_stats_once,
  key_loop,
  load_k_again,
  scores_again,
  mask_again,
  exp_again,
  load_v_again,
  d_p_again,
  subtract_again,
  d_s_again,
  d_q,
  store_queries,
  count
};
namespace lines = backward_lines;
constexpr ListingLine listing[] = {
    because(lines::query_blocks, "The first launch makes D."),
    lines::load_o,
    lines::load_d_o_once,
    because(lines::row_dot, "One number a row stands for the whole row of P∘dP."),
    lines::store_row_dot,
    because(lines::key_blocks, "The second launch, its first kind of block."),
    because(lines::init_keys, "Summed in registers."),
    lines::load_k_once,
    lines::load_v_once,
    because(lines::query_loop_of_heads, "With a causal mask the loop starts at the diagonal."),
    because(lines::load_q, "A ring of buffers."),
    lines::load_stats,
    because(lines::scores, "The first of seven products."),
    lines::mask,
    because(lines::exp, "The final probabilities at once."),
    lines::load_d_o,
    lines::d_v,
    lines::d_p,
    lines::subtract,
    lines::d_s,
    because(lines::d_k, "The fourth product. dQ is left to the other kind of block."),
    lines::store_keys,
    because(lines::query_blocks, "The second launch, its other kind of block."),
    lines::init_queries,
    lines::load_q_once,
    lines::load_d_o_of_block,
    lines::load_stats_once,
    because(lines::key_loop, "With a causal mask the loop ends at the diagonal."),
    lines::load_k,
    because(lines::scores_again, "The fifth product: the scores a third time, counting the forward pass."),
    lines::mask,
    because(lines::exp, "The same bits as in the block of keys."),
    lines::load_v,
    because(lines::d_p, "The sixth product."),
    because(lines::subtract, "As in the block of keys."),
    because(lines::d_s, "As in the block of keys."),
    lines::d_q,
    because(lines::store_queries, "Written once, in one order: every run gives the same bits."),
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, s, p, o, lse, d_o, d_q, d_k, d_v, d_s, d_p, row_dot},
          .inputs = {q, k, v, o, lse, d_o},
          .outputs = {row_dot, d_q, d_k, d_v},
          .tiles = {tiles::q, tiles::q_ring, tiles::k,   tiles::k_kept,  tiles::v,   tiles::v_kept,   tiles::s,
                    tiles::p, tiles::p_kept, tiles::lse, tiles::row_dot, tiles::d_o, tiles::d_o_ring, tiles::d_o_o,
                    tiles::o, tiles::d_p,    tiles::d_s, tiles::d_q,     tiles::d_k, tiles::d_v}};
}

constexpr KeyBlockLines key_lines = {Line::init_keys, Line::load_k, Line::load_v, Line::store_keys};
enum LaunchIndex { row_dot_launch, gradient_launch };

class TwoPass final : public TileProgram {
 public:
  TwoPass(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()) {
    const TileGrid& grid = plan_.grid;
    LaunchSpec gradients{"gradients",
                         grid.key_tiles + problem.heads_of_kv_head() * grid.query_tiles,
                         problem.kv_heads,
                         problem.batch,
                         two_pass_needs(problem, tile, gpu),
                         LineId(Line::key_tiles).number,
                         LineId(Line::store_queries).number};
    gradients.mixed = true;
    launches_ = {{"row dots", grid.query_tiles, problem.heads, problem.batch, row_dot_needs(id, problem, tile),
                  LineId(Line::rows).number, LineId(Line::store_row_dot).number},
                 gradients};
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    if (launch == row_dot_launch) {
      const auto [i, plane] = grid.query_block(block);
      BlockBuilder b(out, plan_, launches_[row_dot_launch].needs, launch, block, BlockPlan::query_rows(plane, grid.queries(i)), 0);
      b.queries(i, grid.queries(i));
      return emit_row_dot(b, {Line::load_o, Line::load_d_o_once, Line::row_dot, Line::store_row_dot}, problem_,
                          launches_[row_dot_launch].needs, grid.queries(i).count);
    }
    const GradientWork work = gradient_work(plan_.grid, block);
    if (work.axis == Axis::key)
      emit_keys(block, work, out);
    else
      emit_queries(block, work, out);
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    const auto [i, plane] = grid.query_block(block);
    GradientWork work{Axis::query, plane, i};
    if (launch == gradient_launch) work = gradient_work(grid, block);
    // Blocks that own queries have odd shapes, the others even ones.
    if (work.axis == Axis::key) {
      std::optional<BlockPlace> place = place_of_keys(plan_, work.plane, work.tile, true);
      if (place) place->shape *= 2;
      return place;
    }
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const TileRange rows = grid.queries(work.tile);
    const std::int64_t visits = launch == gradient_launch ? grid.row_class(work.plane, work.tile) : 0;
    BlockPlace place = plan_.place_with_statistic(work.plane, rows, visits);
    place.shape = place.shape * 2 + 1;
    return place;
  }

  std::optional<Domain> domain_of(int launch, std::int64_t block) const override {
    if (launch == gradient_launch) return gradient_domain(plan_.grid, block);
    return TileProgram::domain_of(launch, block);
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  void emit_keys(std::int64_t block, const GradientWork& work, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[gradient_launch].needs;
    const std::vector<GroupVisit> visits = group_visits(grid, work.plane, work.tile);
    const TileRange keys = grid.keys(work.tile);
    BlockBuilder b(out, plan_, needs, gradient_launch, block, BlockPlan::along(Axis::key, work.plane, keys),
                   key_block_tiles(needs, false));
    out.iterations = static_cast<std::int32_t>(visits.size());
    b.keys(work.tile, keys);
    begin_keys(b, key_lines, !visits.empty());
    const PairWork pairs = pair_work(id, "key_step", plan_, needs, needs.warps_sharing_rows);
    std::int64_t n = 0;
    for (const GroupVisit& visit : visits) {
      b.query_plane(visit.plane);
      b.queries(visit.tile.index, grid.queries(visit.tile.index));
      b.iteration(n, n % needs.stages);
      ++n;
      emit_key_gradients(b, key_gradient_lines<Line>(), pairs, visit.tile.partial, [] {});
    }
    b.queries(-1, {});
    b.iteration(n, 0);
    store_keys(b, key_lines, id, problem_);
  }

  void emit_queries(std::int64_t block, const GradientWork& work, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[gradient_launch].needs;
    const TileRange rows = grid.queries(work.tile);
    const std::vector<KeyTile> visits = grid.visits(work.plane, work.tile);
    BlockBuilder b(out, plan_, needs, gradient_launch, block, BlockPlan::query_rows(work.plane, rows),
                   tile_bits(tiles::q, tiles::k, tiles::v, tiles::d_o));
    out.iterations = static_cast<std::int32_t>(visits.size());
    b.queries(work.tile, rows);
    b.fill(Line::init_queries, tiles::d_q, 0.0F);
    if (!visits.empty()) {
      b.load(Line::load_q_once, tiles::q);
      b.load(Line::load_d_o_again, tiles::d_o);
      b.load(Line::load_stats_once, tiles::lse);
      b.load(Line::load_stats_once, tiles::row_dot);
    }
    const PairWork pairs = pair_work(id, "query_step", plan_, needs, 2);
    b.walk_keys(
        visits, needs.stages, [&](const KeyTile& tile) { return !tile.partial && grid.is_whole(tile); },
        [&](const KeyTile& tile) { emit_query_gradients(b, query_gradient_lines<Line>(), pairs, tile.partial); });
    b.store(Line::store_queries, tiles::d_q);
    b.overhead(kernel_profile(id).overhead("gradients", "query_store", problem_));
  }

  BlockPlan plan_;
};

std::optional<ClosedForm> TwoPass::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_) || !planes_are_alike(problem_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t planes = problem_.query_planes(), kv_planes = problem_.kv_planes();
  const std::int64_t row = problem_.head_dim * element_bytes(problem_.dtype);
  const Bytes all(planes * problem_.seq_q * row), pairs(planes * sums.rows_pairs * row), seen(planes * sums.rows * row);
  const Bytes kv(kv_planes * sums.seen_keys * row + planes * sums.keys * row), gradient(kv_planes * problem_.seq_kv * row);
  const Bytes stats(statistic_bytes(problem_, tile_, Crossings::every_pair) +
                    statistic_bytes(problem_, tile_, Crossings::once_if_any));
  const std::string visits = formula_for(problem_, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  const std::string rows = formula_for(problem_, "Nq", "(rows of tiles that see a key)");
  const std::string keys = "B·Hkv·Nk·d·e + B·Hq·d·e·" + formula_for(problem_, "⌈Nq/Br⌉·Nk", "Σᵢ min(Nk, Bc·⌈vis(i)/Bc⌉)");
  ClosedForm form;
  form.terms = {
      {tensors::q, Link::l2_to_sm, pairs + seen, "B·Hq·d·e·(" + rows + " + " + visits + ")"},
      {tensors::k, Link::l2_to_sm, kv, keys},
      {tensors::v, Link::l2_to_sm, kv, keys},
      {tensors::o, Link::l2_to_sm, all, "B·Hq·Nq·d·e"},
      {tensors::d_o, Link::l2_to_sm, all + pairs + seen, "B·Hq·d·e·(Nq + " + rows + " + " + visits + ")"},
      {tensors::lse, Link::l2_to_sm, stats, statistic_formula(problem_, tile_, "B·Hq·4·(" + rows + " + " + visits + ")")},
      {tensors::row_dot, Link::l2_to_sm, stats, statistic_formula(problem_, tile_, "B·Hq·4·(" + rows + " + " + visits + ")")},
      {tensors::row_dot, Link::sm_to_l2, Bytes(statistic_bytes(problem_, tile_, Crossings::once)),
       statistic_formula(problem_, tile_, "B·Hq·Nq·4")},
      {tensors::d_q, Link::sm_to_l2, all, "B·Hq·Nq·d·e"},
      {tensors::d_k, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
      {tensors::d_v, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
  };
  form.flops = planes * 14 * problem_.head_dim * sums.rows_keys;
  form.exps = planes * 2 * sums.rows_keys;
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_backward<TwoPass>(id, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash2_backward_two_pass_program() {
  return {
      .id = id,
      .title = "FlashAttention-2 backward, two passes",
      .family = "backward",
      .source = "FlexAttention's backward kernel: one launch of two kinds of block",
      .summary = "Over FlashAttention-2 backward: seven products instead of five, and nothing is added in memory.",
      .listing = listing,
      .default_tile = two_pass_tile,
      .make = make,
      .pass = Pass::backward,
      .forward = "flash2",
      .label = "Flash-2 two passes",
      .scores_computed = 2,
      .warp_tile = warp_edge,
      .may_spill = true,
  };
}

}  // namespace tilescope
