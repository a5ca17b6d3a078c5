// flash2: FlashAttention-2 forward. Query tiles are the grid; O stays unscaled in registers until the end; only L is kept.
//
//   l2_to_sm = B·Hq·(Nq·d + 2·Σᵢ Wᵢ·d)·e      sm_to_l2 = B·Hq·(Nq·d·e + Nq·4)      Wᵢ: keys in the tiles that tile i visits
#include <cmath>
#include <limits>

#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash2";

constexpr ListingLine listing[] = {
    {0, "load Qᵢ → shared", Tensor::q, "Qᵢ: Br × d",
     "The block keeps its queries on chip for its whole life. Each query tile is a block of its own, so all SMs have work even "
     "with one head."},
    {0, "O = 0, m = −∞, l = 0", Tensor::o, "m = −∞, l = 0, O = 0",
     "Running maximum, running sum and the unscaled output live in registers; nothing of them goes to HBM before the end."},
    {0, "for each key tile j", std::nullopt, "j = 0 … ⌈Nk/Bc⌉ − 1",
     "With a causal mask the loop ends at the diagonal: tiles above it are never loaded."},
    {1, "load Kⱼ → shared", Tensor::k, "Kⱼ: Bc × d",
     "K and V are rings of buffers: while one tile is worked on the next is on its way."},
    {1, "S = τ Qᵢ Kⱼᵀ", Tensor::s, "S = τ Q Kᵀ, τ = 1/√d",
     "The tile of scores exists only in registers. Standard attention writes all of S to HBM."},
    {1, "mask S where key > query", Tensor::s, "S[r,c] = −∞ if c > r + Nk − Nq",
     "Only a tile that the diagonal crosses needs this; tiles below it are seen whole."},
    {1, "m′ = max(m, rowmax S)", Tensor::m, "m′ = max(m, max S)", "The largest score so far. It only grows."},
    {1, "P = exp(S − m′)", Tensor::p, "P = exp(S − m′)", "Never above 1, so nothing overflows, whatever the scores are."},
    {1, "α = exp(m − m′)", Tensor::m, "α = exp(m − m′)",
     "What earlier tiles must be multiplied by, now that the maximum has moved. It is 1 when the maximum stayed."},
    {1, "l = α l + rowsum P", Tensor::l, "l = α·l + Σ P", "The sum of all exponentials so far, as seen from the new maximum."},
    {1, "O = α O", Tensor::o, "O = diag(α)·O",
     "The output so far is brought to the new maximum. It is not divided by l yet: that is done once, at the end."},
    {1, "load Vⱼ → shared", Tensor::v, "Vⱼ: Bc × d", "Asked for early, needed only now."},
    {1, "O = O + P Vⱼ", Tensor::o, "O = O + P·V", "The second product. P goes from registers straight into the tensor core."},
    {1, "m = m′", Tensor::m, "m = m′", "The new maximum is the old one of the next tile."},
    {0, "O = O / l,  L = m + log l", Tensor::o, "O = O / l, L = m + log l",
     "One division a row instead of one a tile. L is all that the backward pass needs to make P again."},
    {0, "store Oᵢ, Lᵢ → HBM", Tensor::o, "Oᵢ: Br × d, Lᵢ: Br", "Each element of O is written exactly once."},
};

class Flash2 final : public TileProgram {
 public:
  Flash2(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile), plan_(problem, tile) {
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

  std::span<const Tensor> inputs() const override {
    static constexpr Tensor tensors[] = {Tensor::q, Tensor::k, Tensor::v};
    return tensors;
  }
  std::span<const Tensor> outputs() const override {
    static constexpr Tensor tensors[] = {Tensor::o, Tensor::lse};
    return tensors;
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const std::int64_t i = block % grid.query_tiles;
    const TileRange rows = grid.queries(i);
    const std::int64_t tiles = grid.visible_key_tiles(i);
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, block / grid.query_tiles, rows);
    out.iterations = static_cast<std::int32_t>(tiles);
    b.queries(i, rows);
    if (tiles > 0) b.load(1, Slot::q);
    b.fill(2, Slot::o, 0.0F);
    b.fill(2, Slot::m, -std::numeric_limits<float>::infinity());
    b.fill(2, Slot::l, 0.0F);
    const int moved = eighths_moved(tiles);
    const std::int64_t unmasked = problem_.visible_keys(rows.first) / tile_.block_kv;
    b.walk_keys(tiles, launches_.front().needs.stages, unmasked,
                [&](std::int64_t j) { emit_pair(b, grid.needs_mask(rows, grid.keys(j)), moved); });
    b.divide(15, Slot::o, Slot::l);
    b.log_sum_exp(15, Slot::lse, Slot::m, Slot::l);
    b.beside({.instructions = 225, .trips = 8, .barriers = 1});
    b.store(16, Slot::o);
    b.store(16, Slot::lse);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(Tensor::q)) return std::nullopt;
    const std::int64_t i = block % plan_.grid.query_tiles, plane = block / plan_.grid.query_tiles;
    const TileRange rows = plan_.grid.queries(i);
    return plan_.place(plane, rows, (problem_.causal ? i : 0) * 8 + plan_.place_in_sector(plane, rows.first));
  }

  std::optional<ClosedForm> closed_form() const override {
    if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
    const VisitSums sums = visit_sums(problem_, tile_);
    const std::int64_t planes = problem_.query_planes();
    const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
    const std::string kv = formula_for(problem_, "B·Hq·⌈Nq/Br⌉·Nk·d·e", "B·Hq·d·e·Σᵢ min(Nk, Bc·⌈vis(i)/Bc⌉)");
    ClosedForm form;
    form.terms = {
        {Tensor::q, Link::l2_to_sm, Bytes(planes * sums.rows * row_bytes),
         formula_for(problem_, "B·Hq·Nq·d·e", "B·Hq·d·e·(rows of tiles that see a key)")},
        {Tensor::k, Link::l2_to_sm, Bytes(planes * sums.keys * row_bytes), kv},
        {Tensor::v, Link::l2_to_sm, Bytes(planes * sums.keys * row_bytes), kv},
        {Tensor::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes), "B·Hq·Nq·d·e"},
        {Tensor::lse, Link::sm_to_l2, Bytes(statistic_bytes(problem_, tile_, Visits::once)), "B·Hq·Nq·4"},
    };
    form.flops = planes * 4 * problem_.head_dim * sums.rows_keys;
    form.exps = planes * (sums.rows_keys + sums.rows_pairs);
    form.order = "Θ(N²d²/M)";
    return form;
  }

 private:
  /// The kernel rescales O only where the maximum of one of a warp's rows moved. Of exchangeable scores the largest of j + 1 tiles
  /// is in the last one with probability 1 / (j + 1); over all tiles of a block, in eighths.
  int eighths_moved(std::int64_t tiles) const {
    constexpr double warps = 4;
    const double rows = std::max(1.0, static_cast<double>(tile_.block_q) / warps);
    double sum = 0;
    for (std::int64_t j = 1; j <= tiles; ++j) sum += 1 - std::pow(1 - 1.0 / static_cast<double>(j), rows);
    return tiles > 0 ? static_cast<int>(std::lround(8 * sum / static_cast<double>(tiles))) : 8;
  }

  static void emit_pair(BlockBuilder& b, bool masked, int moved) {
    b.load(4, Slot::k);
    b.scores(5);
    if (masked) b.mask(6, Slot::s);
    b.row_max(7, Slot::m_new, Slot::m, Slot::s);
    b.exp(8, Slot::p, Slot::s, Slot::m_new);
    b.ahead();
    b.exp_rows(9, Slot::alpha, Slot::m, Slot::m_new);
    b.row_sum(10, Slot::l, Slot::l, Slot::p, Slot::alpha);
    b.ahead();
    b.rescale(11, Slot::o, Slot::alpha);
    b.share(moved);
    b.load(12, Slot::v);
    b.weigh(13, Slot::o, true);
    b.copy(14, Slot::m, Slot::m_new);
  }

  BlockPlan plan_;
};

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Flash2>(id, CausalMask::taken, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash2_program() {
  return {id,
          "FlashAttention-2",
          "attention",
          "arXiv:2307.08691, Algorithm 1",
          "Over FlashAttention-1: query tiles are the grid, so O, m and l stay in registers and are written once.",
          listing,
          flash2_tile,
          make};
}

}  // namespace tilescope
