// standard: attention as three launches, with S and P written to HBM and read back.
//
//   scores: Q, K → S        softmax: S → P        output: P, V → O
//   l2_to_sm = B·Hq·(Σᵢ Jᵢ·rowsᵢ·d + Σᵢ Wᵢ·d + Σᵢ rowsᵢ·Wᵢ′  [S]  + Σᵢ rowsᵢ·Wᵢ′  [P] + Σᵢ Wᵢ·d  [V])·e
//   sm_to_l2 = B·Hq·(2·Σᵢ rowsᵢ·Wᵢ′ + Nq·d)·e                        Wᵢ′: Wᵢ in whole sectors, see row_pitch()
#include <limits>

#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/programs.h"
#include "sim/programs/scores_beside.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "standard";

constexpr ListingLine listing[] = {
    {0, "for each tile pair (i, j), a block:", std::nullopt, "⌈Nq/Br⌉ · ⌈Nk/Bc⌉ blocks",
     "The first launch. With a causal mask the blocks wholly above the diagonal have nothing to do."},
    {1, "load Qᵢ → shared", Tensor::q, "Qᵢ: Br × d", "Every block of the same row of tiles loads the same Q tile again."},
    {1, "load Kⱼ → shared", Tensor::k, "Kⱼ: Bc × d", "And every block of the same column the same K tile."},
    {1, "S = τ Qᵢ Kⱼᵀ", Tensor::s, "S = τ Q Kᵀ, τ = 1/√d", "An ordinary tiled matrix product."},
    {1, "mask S where key > query", Tensor::s, "S[r,c] = −∞ if c > r + Nk − Nq", "Only on tiles that the diagonal crosses."},
    {1, "store Sᵢⱼ → HBM", Tensor::s, "Sᵢⱼ: Br × Bc", "N × N scores leave the chip. This is what FlashAttention does away with."},
    {0, "for each group of rows, a block:", std::nullopt, "R rows of S a block", "The second launch: softmax, a few rows a block."},
    {1, "m = −∞, l = 0", Tensor::m, "m = −∞, l = 0", "Maximum and sum of each row start empty."},
    {1, "for each key tile j", std::nullopt, "pass 1", "The first pass finds maximum and sum."},
    {2, "load Sⱼ → shared", Tensor::s, "Sⱼ: R × Bc",
     "The scores come back. The row then stays in shared memory, so this is read once."},
    {2, "m′ = max(m, rowmax S)", Tensor::m, "m′ = max(m, max S)", "The largest score so far."},
    {2, "P̃ = exp(S − m′)", Tensor::p, "P̃ = exp(S − m′)", "Only its sum is kept in this pass."},
    {2, "α = exp(m − m′)", Tensor::m, "α = exp(m − m′)", "What the sum so far must be multiplied by."},
    {2, "l = α l + rowsum P̃", Tensor::l, "l = α·l + Σ P̃", "The sum of all exponentials so far."},
    {2, "m = m′", Tensor::m, "m = m′", "The new maximum is the old one of the next tile."},
    {1, "for each key tile j", std::nullopt, "pass 2", "The second pass has the final maximum and sum."},
    {2, "load Sⱼ → shared again", Tensor::s, "Sⱼ: R × Bc",
     "Only where not even one row of S fits shared memory: then S is read from HBM a second time."},
    {2, "P = exp(S − m)", Tensor::p, "P = exp(S − m)", "The same exponentials again, now with the final maximum."},
    {2, "P = P / l", Tensor::p, "P = P / l", "Each row now sums to 1."},
    {2, "store Pⱼ → HBM", Tensor::p, "Pⱼ: R × Bc", "N × N probabilities leave the chip."},
    {0, "for each query tile i, a block:", std::nullopt, "⌈Nq/Br⌉ blocks a head", "The third launch."},
    {1, "O = 0", Tensor::o, "O = 0", "The output tile is summed in registers."},
    {1, "for each key tile j", std::nullopt, "j = 0 … ⌈Nk/Bc⌉ − 1", "Along a row of P and down V."},
    {2, "load Pᵢⱼ → shared", Tensor::p, "Pᵢⱼ: Br × Bc", "And the probabilities come back."},
    {2, "load Vⱼ → shared", Tensor::v, "Vⱼ: Bc × d", "Every block of a head walks all of V."},
    {2, "O = O + P Vⱼ", Tensor::o, "O = O + P·V", "The second product."},
    {1, "store Oᵢ → HBM", Tensor::o, "Oᵢ: Br × d", "The result."},
};

/// Maximum and sum of a row cross its threads by shuffles and shared memory, twice.
constexpr Beside two_merges = {.instructions = 366, .trips = 14, .barriers = 4, .alu = 150, .exps = 37};

enum LaunchIndex { scores_launch, softmax_launch, output_launch };

class Standard final : public TileProgram {
 public:
  Standard(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile), plan_(problem, tile), softmax_(softmax_rows(problem, tile, gpu)) {
    // Row groups do not straddle query tiles: the scores of a query tile end where that tile's last row does.
    groups_of_tile_ = ceil_div(tile.block_q, softmax_.rows);
    const TileGrid& grid = plan_.grid;
    // The kernel launches groups for whole tiles; those of a last tile that the sequence cuts short have no rows, and end at once.
    const std::int64_t last_rows = launches_whole_tiles(gpu) ? tile.block_q : grid.queries(grid.query_tiles - 1).count;
    const std::int64_t groups = (grid.query_tiles - 1) * groups_of_tile_ + ceil_div(last_rows, softmax_.rows);
    launches_ = {
        {"scores", grid.key_tiles, grid.query_tiles, problem.query_planes(), scores_needs(problem, tile), 1, 6},
        {"softmax", groups, problem.query_planes(), 1, softmax_needs(problem, tile, gpu), 7, 20},
        {"output", grid.query_tiles, problem.heads, problem.batch, output_needs(problem, tile, gpu), 21, 27},
    };
  }

  std::span<const Tensor> inputs() const override {
    static constexpr Tensor tensors[] = {Tensor::q, Tensor::k, Tensor::v};
    return tensors;
  }
  std::span<const Tensor> outputs() const override {
    static constexpr Tensor tensors[] = {Tensor::s, Tensor::p, Tensor::o};
    return tensors;
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    switch (launch) {
      case scores_launch:
        return emit_scores(block, out);
      case softmax_launch:
        return emit_softmax(block, out);
      default:
        return emit_output(block, out);
    }
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override;
  std::optional<ClosedForm> closed_form() const override;

 private:
  static bool launches_whole_tiles(const GpuSpec& gpu) { return gpu.sm_dependent_cycles > 0; }
  const KernelNeeds& needs(int launch) const { return launches_[static_cast<std::size_t>(launch)].needs; }

  void emit_scores(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const std::int64_t j = block % grid.key_tiles;
    const std::int64_t i = block / grid.key_tiles % grid.query_tiles;
    const std::int64_t plane = block / (grid.key_tiles * grid.query_tiles);
    const TileRange rows = grid.queries(i), keys = grid.keys(j);
    BlockBuilder b(out, plan_, needs(scores_launch), scores_launch, block, plane, rows);
    if (j >= grid.visible_key_tiles(i)) return;
    out.iterations = 1;
    b.queries(i, rows);
    b.keys(j, keys);
    b.iteration(0, 0);
    b.load(2, Slot::q);
    b.load(3, Slot::k);
    b.scores(4);
    const bool masked = grid.needs_mask(rows, keys);  // by the diagonal; the pad of S goes with it
    b.beside(scores_beside(problem_, !masked && keys.count < tile_.block_kv));
    if (masked) b.mask(5, Slot::s);
    b.store(6, Slot::s);
    b.beside(scores_store_beside);
  }

  TileRange rows_of_group(std::int64_t group) const {
    const TileRange tile_rows = plan_.grid.queries(group / groups_of_tile_);
    const std::int64_t first = tile_rows.first + group % groups_of_tile_ * softmax_.rows;
    return {std::min(first, tile_rows.end()), std::clamp<std::int64_t>(tile_rows.end() - first, 0, softmax_.rows)};
  }

  void emit_softmax(std::int64_t block, BlockOperations& out) const;

  void emit_output(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const std::int64_t i = block % grid.query_tiles;
    const TileRange rows = grid.queries(i);
    BlockBuilder b(out, plan_, needs(output_launch), output_launch, block, block / grid.query_tiles, rows,
                   slot_bits(Slot::p, Slot::v));
    const std::int64_t tiles = grid.visible_key_tiles(i);
    out.iterations = static_cast<std::int32_t>(tiles);
    b.queries(i, rows);
    b.fill(22, Slot::o, 0.0F);
    const std::int64_t full = std::min(tiles, problem_.seq_kv / tile_.block_kv);
    b.walk_keys(tiles, needs(output_launch).stages, full, [&](std::int64_t) {
      b.load(24, Slot::p);
      b.load(25, Slot::v);
      b.weigh(26, Slot::o, true);
      b.beside({.instructions = problem_.head_dim <= 64 ? 94 : 60, .trips = 12, .barriers = 1});
    });
    b.store(27, Slot::o);
    b.beside({.instructions = problem_.head_dim <= 64 ? 83 : 148, .trips = 2, .barriers = 1});
  }

  BlockPlan plan_;
  SoftmaxRows softmax_;
  std::int64_t groups_of_tile_ = 1;
};

void Standard::emit_softmax(std::int64_t block, BlockOperations& out) const {
  const TileGrid& grid = plan_.grid;
  const std::int64_t group = block % launches_[softmax_launch].grid_x;
  const std::int64_t i = group / groups_of_tile_;
  const TileRange rows = rows_of_group(group);
  const std::int64_t plane = block / launches_[softmax_launch].grid_x;
  BlockBuilder b(out, plan_, needs(softmax_launch), softmax_launch, block, plane, rows, slot_bits(Slot::s));
  const std::int64_t tiles = grid.visible_key_tiles(i);
  if (tiles == 0 || rows.count == 0) return;
  out.iterations = static_cast<std::int32_t>(2 * tiles);
  const std::int64_t stages = softmax_.kept ? tiles : needs(softmax_launch).stages;  // a kept row has a place for each tile
  // What the kernel does for an element of a row beside its arithmetic: conversions, and whether it is in the row at all.
  const auto rows_of_warp = static_cast<int>(softmax_.rows);
  const Beside guards = {.instructions = 9 * rows_of_warp, .trips = rows_of_warp / 2, .alu = 4 * rows_of_warp};
  Beside merges = two_merges;  // of what the threads of a row have of it
  if (ends_inside_turn(std::min(tiles * tile_.block_kv, row_pitch(problem_.seq_kv, problem_.dtype))))
    merges.instructions += 41, merges.trips += parted_merge_trips;  // one of the two
  b.queries(i, rows);
  b.fill(8, Slot::m, -std::numeric_limits<float>::infinity());
  b.beside(merges);
  b.fill(8, Slot::l, 0.0F);
  const std::int64_t at_once = tiles_in_registers(needs(softmax_launch), {softmax_.rows, tile_.block_kv});
  // The last turn of a row costs its threads the same where half of them have nothing to do.
  const auto cut_short = [&](std::int64_t j) { return j + 1 == tiles && tiles % at_once != 0; };
  const auto half_empty = [](Beside what) {
    what.instructions += 55;
    return what;
  };
  std::int32_t seen = b.latest();
  const auto first_load = static_cast<std::int32_t>(out.operations.size());
  for (std::int64_t j = 0; j < tiles; ++j) {
    b.keys(j, grid.keys(j));
    b.iteration(j, j % stages);
    // The threads fetch a few tiles at once, and the next ones only when they have seen these.
    if (j % at_once == 0) seen = b.latest();
    b.load(10, Slot::s, seen);
    b.asked_at_once(elements_of_turn);
    b.row_max(11, Slot::m_new, Slot::m, Slot::s);
    b.beside(cut_short(j) ? half_empty(guards) : guards);
    b.exp(12, Slot::p, Slot::s, Slot::m_new);
    b.exp_rows(13, Slot::alpha, Slot::m, Slot::m_new);
    b.row_sum(14, Slot::l, Slot::l, Slot::p, Slot::alpha);
    b.copy(15, Slot::m, Slot::m_new);
  }
  // Every iteration of pass 1 has as many operations, and starts with its load.
  const auto stride = static_cast<std::int32_t>((static_cast<std::int64_t>(out.operations.size()) - first_load) / tiles);
  for (std::int64_t j = 0; j < tiles; ++j) {
    b.keys(j, grid.keys(j));
    b.iteration(tiles + j, (softmax_.kept ? j : tiles + j) % stages);
    if (softmax_.kept)
      b.select(Slot::s, first_load + static_cast<std::int32_t>(j) * stride);
    else
      b.load(17, Slot::s), b.asked_at_once(elements_of_turn);
    b.exp(18, Slot::p, Slot::s, Slot::m);
    b.beside(cut_short(j) ? half_empty(guards) : guards);
    b.divide(19, Slot::p, Slot::l);
    b.store(20, Slot::p);
  }
}

std::optional<BlockPlace> Standard::place_of(int launch, std::int64_t block) const {
  if (!plan_.rows_are_whole(Tensor::q)) return std::nullopt;
  const TileGrid& grid = plan_.grid;
  if (launch == softmax_launch) {
    const std::int64_t groups = launches_[softmax_launch].grid_x, group = block % groups;
    return plan_.place(block / groups, rows_of_group(group), grid.visible_key_tiles(group / groups_of_tile_));
  }
  if (launch == output_launch) {
    const std::int64_t i = block % grid.query_tiles;
    return plan_.place(block / grid.query_tiles, grid.queries(i), grid.visible_key_tiles(i));
  }
  const std::int64_t j = block % grid.key_tiles, i = block / grid.key_tiles % grid.query_tiles;
  const TileRange rows = grid.queries(i);
  // Seen whole: as in every other query tile. Not seen: nothing to do. Else the mask is that of i and j.
  std::int64_t what = j;
  if (j >= grid.visible_key_tiles(i))
    what = grid.key_tiles;
  else if (grid.needs_mask(rows, grid.keys(j)))
    what = (1 + i) * (grid.key_tiles + 1) + j;
  return plan_.place(block / (grid.key_tiles * grid.query_tiles), rows, what);
}

std::optional<ClosedForm> Standard::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t planes = problem_.query_planes();
  const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
  const Bytes matrix(planes * sums.matrix_bytes), keys(planes * sums.keys * row_bytes);
  const std::string square = matrix_formula(problem_);
  const std::string kv = formula_for(problem_, "B·Hq·⌈Nq/Br⌉·Nk·d·e", "B·Hq·d·e·Σᵢ min(Nk, Bc·⌈vis(i)/Bc⌉)");
  ClosedForm form;
  form.terms = {
      {Tensor::q, Link::l2_to_sm, Bytes(planes * sums.rows_pairs * row_bytes),
       formula_for(problem_, "B·Hq·⌈Nk/Bc⌉·Nq·d·e", "B·Hq·d·e·Σᵢ rowsᵢ·⌈vis(i)/Bc⌉")},
      {Tensor::k, Link::l2_to_sm, keys, kv},
      {Tensor::v, Link::l2_to_sm, keys, kv},
      {Tensor::s, Link::sm_to_l2, matrix, square},
      {Tensor::s, Link::l2_to_sm, matrix * (softmax_.kept ? 1 : 2), softmax_.kept ? square : "2·" + square},
      {Tensor::p, Link::sm_to_l2, matrix, square},
      {Tensor::p, Link::l2_to_sm, matrix, square},
      {Tensor::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes), "B·Hq·Nq·d·e"},
  };
  form.flops = planes * 4 * problem_.head_dim * sums.rows_keys;
  form.exps = planes * (2 * sums.rows_keys + sums.rows_pairs);
  form.order = "Θ(Nd + N²)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Standard>(id, CausalMask::taken, problem, tile, gpu);
}

}  // namespace

ProgramInfo standard_program() {
  return {id,
          "Standard attention",
          "attention",
          "arXiv:2205.14135, Algorithm 0",
          "Three launches, each simple; the N × N matrices S and P cross the memory bus four times.",
          listing,
          standard_tile,
          make};
}

}  // namespace tilescope
