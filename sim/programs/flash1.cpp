// flash1: FlashAttention-1 forward, to the letter. Keys are the outer loop, so O, l and m are read and written in every inner step.
//
//   l2_to_sm = B·Hq·(2·Nk·d + 2·⌈Nk/Bc⌉·Nq·d)·e + 2·B·Hq·⌈Nk/Bc⌉·Nq·4           without a mask
//   sm_to_l2 = B·Hq·(1 + ⌈Nk/Bc⌉)·Nq·d·e + 2·B·Hq·(1 + ⌈Nk/Bc⌉)·Nq·4
#include <limits>

#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash1";

constexpr ListingLine listing[] = {
    {0, "for each query tile i", std::nullopt, "i = 0 … ⌈Nq/Br⌉ − 1",
     "One block has a whole head. Before it starts, its output and statistics are emptied in HBM."},
    {1, "O = 0, l = 0, m = −∞", Tensor::o, "O = 0, l = 0, m = −∞", "The values that stand for no key seen yet."},
    {1, "store Oᵢ, lᵢ, mᵢ → HBM", Tensor::o, "Oᵢ: Br × d, lᵢ, mᵢ: Br",
     "They must be in HBM, because the inner loop reads them from there."},
    {0, "for each key tile j", std::nullopt, "j = 0 … ⌈Nk/Bc⌉ − 1", "Keys and values are the outer loop: each is loaded once."},
    {1, "load Kⱼ → shared", Tensor::k, "Kⱼ: Bc × d, Bc = ⌈M/4d⌉", "A quarter of the fast memory for each of K, V, Q and O."},
    {1, "load Vⱼ → shared", Tensor::v, "Vⱼ: Bc × d", "Stays for the whole inner loop."},
    {1, "for each query tile i", std::nullopt, "i = 0 … ⌈Nq/Br⌉ − 1",
     "With a causal mask pairs wholly above the diagonal are skipped."},
    {2, "load Qᵢ → shared", Tensor::q, "Qᵢ: Br × d, Br = min(Bc, d)", "All of Q once for each key tile."},
    {2, "load Oᵢ, lᵢ, mᵢ", Tensor::o, "Oᵢ: Br × d, lᵢ, mᵢ: Br",
     "The result so far comes back from HBM. This is the price of having keys outside; FlashAttention-2 turns the loops round."},
    {2, "S = τ Qᵢ Kⱼᵀ", Tensor::s, "S = τ Q Kᵀ, τ = 1/√d", "The tile of scores exists only on chip."},
    {2, "mask S where key > query", Tensor::s, "S[r,c] = −∞ if c > r + Nk − Nq", "Only on tiles that the diagonal crosses."},
    {2, "m̃ = rowmax S", Tensor::m, "m̃ = max S", "The maximum of this tile alone."},
    {2, "P̃ = exp(S − m̃)", Tensor::p, "P̃ = exp(S − m̃)", "As seen from the maximum of this tile."},
    {2, "l̃ = rowsum P̃", Tensor::l, "l̃ = Σ P̃", "The sum of this tile alone."},
    {2, "m′ = max(m, m̃)", Tensor::m, "m′ = max(m, m̃)", "The maximum of all keys seen so far."},
    {2, "α = exp(m − m′)", Tensor::m, "α = exp(m − m′)", "Brings what was there to the new maximum."},
    {2, "β = exp(m̃ − m′)", Tensor::m, "β = exp(m̃ − m′)", "Brings this tile to the new maximum. One of α and β is 1."},
    {2, "l′ = α l + β l̃", Tensor::l, "l′ = α·l + β·l̃", "Two sums with different maxima become one."},
    {2, "PV = β P̃ Vⱼ", Tensor::o, "PV = diag(β)·P̃·V", "What this tile adds, not yet divided by the sum."},
    {2, "O = (l α O + PV) / l′", Tensor::o, "O = diag(1/l′)·(diag(l·α)·O + PV)",
     "The old output is multiplied by its old sum, and the result divided by the new one: after every step O is the exact "
     "attention over the keys seen so far."},
    {2, "store Oᵢ, l′ᵢ, m′ᵢ → HBM", Tensor::o, "Oᵢ: Br × d, lᵢ, mᵢ: Br", "And back to HBM, in every inner step."},
};

class Flash1 final : public TileProgram {
 public:
  Flash1(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile), plan_(problem, tile) {
    launches_ = {
        {"attention", problem.query_planes(), 1, 1, flash1_needs(problem, tile, gpu), 1, static_cast<int>(std::size(listing))}};
  }

  std::span<const Tensor> inputs() const override {
    static constexpr Tensor tensors[] = {Tensor::q, Tensor::k, Tensor::v};
    return tensors;
  }
  std::span<const Tensor> outputs() const override {
    static constexpr Tensor tensors[] = {Tensor::o, Tensor::l, Tensor::m};
    return tensors;
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, block, {0, problem_.seq_q});
    std::int32_t written = -1;  // the last store: O, l and m of HBM are whole after it
    for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
      b.queries(i, grid.queries(i));
      b.fill(2, Slot::o, 0.0F);
      b.fill(2, Slot::l, 0.0F);
      b.fill(2, Slot::m, -std::numeric_limits<float>::infinity());
      b.store(3, Slot::o);
      b.store(3, Slot::l);
      written = b.store(3, Slot::m);
    }
    std::int64_t n = 0;
    std::int64_t first_tile = 0;  // the first query tile that sees key tile j; it never goes back
    for (std::int64_t j = 0; j < grid.key_tiles; ++j) {
      while (first_tile < grid.query_tiles && grid.visible_key_tiles(first_tile) <= j) ++first_tile;
      if (first_tile == grid.query_tiles) break;
      const TileRange keys = grid.keys(j);
      b.keys(j, keys);
      b.queries(-1, {});
      b.iteration(n, 0);
      b.load(5, Slot::k);
      b.load(6, Slot::v);
      for (std::int64_t i = first_tile; i < grid.query_tiles; ++i) {
        const TileRange rows = grid.queries(i);
        b.queries(i, rows);
        b.iteration(n++, 0);
        written = emit_pair(b, grid.needs_mask(rows, keys), written, problem_.head_dim <= 64 ? 106 : 146);
      }
    }
    out.iterations = static_cast<std::int32_t>(n);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(Tensor::q)) return std::nullopt;
    return plan_.place(block, {0, 0}, plan_.place_in_sector(block, 0));  // every block has all rows of its plane
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  /// `written` is the store after which O, l and m may be read again; `beside` the instructions on either side of the arithmetic.
  std::int32_t emit_pair(BlockBuilder& b, bool masked, std::int32_t written, int beside) const {
    // The compiler cannot know that an element of O that it writes to shared memory is not the next one that it reads: one way
    // there and back after another, two elements of 16 rows at a time.
    const auto trips = static_cast<int>(problem_.head_dim * 27 / 128);
    // With 128 columns the compiled kernel asks for l once O is there, and for m once l is; with 64 for all three at once.
    const bool in_turn = problem_.head_dim > 64;
    b.load(8, Slot::q, written);
    const std::int32_t o = b.load(9, Slot::o, written);
    const std::int32_t l = b.load(9, Slot::l, in_turn ? o : written);
    const std::int32_t m = b.load(9, Slot::m, in_turn ? l : written);
    b.scores(10);
    b.wait_for(m);
    b.beside({.instructions = beside, .trips = 2, .barriers = 1});  // addresses and guards of the loads
    if (masked) b.mask(11, Slot::s);
    b.row_max(12, Slot::m_tile, Slot::none, Slot::s);
    b.exp(13, Slot::p, Slot::s, Slot::m_tile);
    b.row_sum(14, Slot::l_tile, Slot::none, Slot::p, Slot::none);
    b.beside({.trips = 5});  // shuffles, and l and m of the rows
    b.row_max(15, Slot::m_new, Slot::m, Slot::m_tile);
    b.exp_rows(16, Slot::alpha, Slot::m, Slot::m_new);
    b.exp_rows(17, Slot::beta, Slot::m_tile, Slot::m_new);
    b.merge(18, Slot::l_new, {Slot::alpha, Slot::l, Slot::beta, Slot::l_tile});
    b.weigh(19, Slot::pv, false);
    b.rescale(19, Slot::pv, Slot::beta);
    b.rescale(20, Slot::o, Slot::l, Slot::alpha);
    b.add(20, Slot::o, Slot::pv);
    b.beside({.trips = trips});
    b.divide(20, Slot::o, Slot::l_new);
    b.store(21, Slot::o);
    b.store(21, Slot::l_new);
    const std::int32_t last = b.store(21, Slot::m_new);
    b.beside({.instructions = beside, .trips = 2, .barriers = 2});  // O through shared memory, addresses and guards of the stores
    return last;
  }

  BlockPlan plan_;
};

std::optional<ClosedForm> Flash1::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t planes = problem_.query_planes();
  const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
  // The last query row sees every key of a causal problem, so no key tile is left out.
  const Bytes kv(planes * problem_.seq_kv * row_bytes), pairs(planes * sums.rows_pairs * row_bytes);
  const Bytes read(statistic_bytes(problem_, tile_, Visits::every_pair));
  const Bytes zeroed(statistic_bytes(problem_, tile_, Visits::once));
  const std::string visits = formula_for(problem_, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  ClosedForm form;
  form.terms = {
      {Tensor::q, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {Tensor::k, Link::l2_to_sm, kv, "B·Hq·Nk·d·e"},
      {Tensor::v, Link::l2_to_sm, kv, "B·Hq·Nk·d·e"},
      {Tensor::o, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {Tensor::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes) + pairs, "B·Hq·d·e·(Nq + " + visits + ")"},
      {Tensor::l, Link::l2_to_sm, read, "B·Hq·4·" + visits},
      {Tensor::l, Link::sm_to_l2, zeroed + read, "B·Hq·4·(Nq + " + visits + ")"},
      {Tensor::m, Link::l2_to_sm, read, "B·Hq·4·" + visits},
      {Tensor::m, Link::sm_to_l2, zeroed + read, "B·Hq·4·(Nq + " + visits + ")"},
  };
  form.flops = planes * 4 * problem_.head_dim * sums.rows_keys;
  form.exps = planes * (sums.rows_keys + 2 * sums.rows_pairs);
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Flash1>(id, CausalMask::taken, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash1_program() {
  return {id,
          "FlashAttention-1",
          "attention",
          "arXiv:2205.14135, Algorithm 1",
          "Over standard attention: S and P never leave the chip; running m and l make the softmax exact tile by tile.",
          listing,
          flash1_tile,
          make};
}

}  // namespace tilescope
