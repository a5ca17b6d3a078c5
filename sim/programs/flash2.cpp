// flash2: FlashAttention-2 forward. One thread block per query tile; O stays unscaled in registers until the end; only O and L are
// stored.
//
//   l2_to_sm = B·Hq·(Nq·d + 2·Σᵢ Wᵢ·d)·e      sm_to_l2 = B·Hq·(Nq·d·e + Nq·4)      Wᵢ: keys in the tiles that tile i visits
#include <limits>

#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/online_softmax.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash2";

enum class Line {
  load_q,
  init,
  key_loop,
  load_k,
  scores,
  mask,
  row_max,
  exp,
  alpha,
  row_sum,
  rescale,
  load_v,
  weigh,
  keep_max,
  finish,
  store,
  count
};
constexpr ListingLine listing[] = {
    {0, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d",
     "The block keeps its queries on chip for its whole life. Each query tile is a block of its own, so all SMs have work even "
     "with one head."},
    {0, "O = 0, m = −∞, l = 0", tensors::o, "m = −∞, l = 0, O = 0",
     "Running maximum, running sum and the unscaled output live in registers; nothing of them goes to HBM before the end."},
    {0, "for each key tile j", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1",
     "With a causal mask the loop ends at the diagonal: tiles above it are never loaded.", ListingLine::heading},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d",
     "K and V have rings of buffers: the next tile is in flight while this one is used."},
    {1, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d",
     "The tile of scores exists only in registers. Standard attention writes all of S to HBM."},
    {1, "mask hidden scores", tensors::s, "S[r,c] = −∞ if hidden; causal: c > r + Nk − Nq",
     "Only on tiles that are partly hidden: with a causal mask, those that the diagonal crosses."},
    {1, "m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)", "The largest score so far. It only grows."},
    {1, "P = exp(S − m′)", tensors::p, "P = exp(S − m′)", "Never above 1, so nothing overflows, whatever the scores are."},
    {1, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)",
     "Rescale factor for the earlier tiles. It is 1 if the maximum did not change."},
    {1, "l = α l + rowsum P", tensors::l, "l = α·l + Σ P", "The sum of all exponentials so far, as seen from the new maximum."},
    {1, "O = α O", tensors::o, "O = diag(α)·O",
     "Rescales the output so far to the new maximum. The division by l comes once, at the end."},
    {1, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Asked for early, needed only now."},
    {1, "O = O + P Vⱼ", tensors::o, "O = O + P·V", "The second product. P goes from registers straight into the tensor core."},
    {1, "m = m′", tensors::m, "m = m′", "The new maximum is the old one of the next tile."},
    {0, "O = O / l,  L = m + log l", tensors::o, "O = O / l, L = m + log l",
     "One division per row instead of one per tile. L is all that the backward pass needs to recompute P."},
    {0, "store Oᵢ, Lᵢ → HBM", tensors::o, "Oᵢ: Br × d, Lᵢ: Br", "Each element of O is written exactly once."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// S, P, m and l exist only on chip.
Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, s, p, o, lse, m, l},
          .inputs = {q, k, v},
          .outputs = {o, lse},
          .tiles = {tiles::q, tiles::k, tiles::v, tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::l, tiles::alpha, tiles::o,
                    tiles::lse}};
}

class Flash2 final : public TileProgram {
 public:
  Flash2(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()),
        plan_(problem, tile, schema()),
        store_(kernel_profile(id).overhead("attention", "store", problem)) {
    LaunchSpec launch;
    launch.name = "attention";
    launch.grid_x = plan_.grid.query_tiles;
    launch.grid_y = problem.heads;
    launch.grid_z = problem.batch;
    launch.needs = flash2_needs(problem, tile, gpu);
    launch.first_line = 1;
    launch.last_line = static_cast<int>(std::size(listing));
    launches_.push_back(launch);
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    const std::vector<KeyTile> visits = grid.visits(plane, i);
    const KernelNeeds& needs = launches_.front().needs;
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows), tile_bits(tiles::q, tiles::k, tiles::v));
    out.iterations = static_cast<std::int32_t>(visits.size());
    b.queries(i, rows);
    if (!visits.empty()) b.load(Line::load_q, tiles::q);
    b.fill(Line::init, tiles::o, 0.0F);
    b.fill(Line::init, tiles::m, -std::numeric_limits<float>::infinity());
    b.fill(Line::init, tiles::l, 0.0F);
    const int moved = in_eighths(moved_share(tile_.block_q, out.iterations));
    b.walk_keys(
        visits, needs.stages, [&](const KeyTile& tile) { return !tile.partial && grid.is_whole(tile); },
        [&](const KeyTile& tile) { emit_pair(b, tile.partial, moved); });
    b.divide(Line::finish, tiles::o, tiles::l);
    b.log_sum_exp(Line::finish, tiles::lse, tiles::m, tiles::l);
    b.overhead(store_);
    b.store(Line::store, tiles::o);
    b.store(Line::store, tiles::lse);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const auto [i, plane] = plan_.grid.query_block(block);
    const TileRange rows = plan_.grid.queries(i);
    return plan_.place_with_statistic(plane, rows, plan_.grid.row_class(plane, i));
  }

  std::optional<ClosedForm> closed_form() const override {
    if (!head_tiles_are_whole(problem_, tile_) || !planes_are_alike(problem_)) return std::nullopt;
    const VisitSums sums = visit_sums(problem_, tile_);
    const std::int64_t planes = problem_.query_planes();
    const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
    const std::string kv = formula_for(problem_, "B·Hq·⌈Nq/Br⌉·Nk·d·e", "B·Hq·d·e·Σᵢ min(Nk, Bc·⌈vis(i)/Bc⌉)");
    ClosedForm form;
    form.terms = {
        {tensors::q, Link::l2_to_sm, Bytes(planes * sums.rows * row_bytes),
         formula_for(problem_, "B·Hq·Nq·d·e", "B·Hq·d·e·(rows of tiles that see a key)")},
        {tensors::k, Link::l2_to_sm, Bytes(planes * sums.keys * row_bytes), kv},
        {tensors::v, Link::l2_to_sm, Bytes(planes * sums.keys * row_bytes), kv},
        {tensors::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes), "B·Hq·Nq·d·e"},
        {tensors::lse, Link::sm_to_l2, Bytes(statistic_bytes(problem_, tile_, Crossings::once)),
         statistic_formula(problem_, tile_, "B·Hq·Nq·4")},
    };
    form.flops = planes * 4 * problem_.head_dim * sums.rows_keys;
    form.exps = planes * (sums.rows_keys + sums.rows_pairs);
    form.order = "Θ(N²d²/M)";
    return form;
  }

 private:
  void emit_pair(BlockBuilder& b, bool masked, int moved) const {
    b.load(Line::load_k, tiles::k);
    b.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true, .factor = plan_.scale});
    if (masked) b.mask(Line::mask, tiles::s);
    emit_online_softmax(
        b, {Line::row_max, Line::exp, Line::alpha, Line::row_sum, Line::rescale, Line::load_v, Line::weigh, Line::keep_max}, moved);
  }

  BlockPlan plan_;
  Overhead store_;
};

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Flash2>(id, Masks::taken, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash2_program() {
  return {
      .id = id,
      .title = "FlashAttention-2",
      .family = "attention",
      .source = "arXiv:2307.08691, Algorithm 1",
      .summary =
          "Over FlashAttention-1: one thread block per query tile, so O, m and l stay in registers, and O and L are written once.",
      .listing = listing,
      .default_tile = flash2_tile,
      .make = make,
      .button = "Flash-2",
      .tooltip = "FlashAttention-2: one thread block per query tile, O stays on chip",
      .may_spill = true,
  };
}

}  // namespace tilescope
