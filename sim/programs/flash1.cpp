// flash1: FlashAttention-1 forward, exactly as published. Keys are the outer loop, so every inner step reads and writes O, l and m.
//
//   l2_to_sm = B·Hq·(2·Nk·d + 2·⌈Nk/Bc⌉·Nq·d)·e + 2·B·Hq·⌈Nk/Bc⌉·Nq·4           without a mask
//   sm_to_l2 = B·Hq·(1 + ⌈Nk/Bc⌉)·Nq·d·e + 2·B·Hq·(1 + ⌈Nk/Bc⌉)·Nq·4
#include <limits>

#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash1";

enum class Line {
  init_loop,
  init,
  store_init,
  key_loop,
  load_k,
  load_v,
  query_loop,
  load_q,
  load_o,
  scores,
  mask,
  tile_max,
  exp,
  tile_sum,
  row_max,
  alpha,
  beta,
  row_sum,
  weigh,
  rescale,
  store,
  count
};
constexpr ListingLine listing[] = {
    {0, "for each query tile i", Tensor(), "i = 0 … ⌈Nq/Br⌉ − 1",
     "One block handles a whole head. First it zeroes its output and statistics in HBM.", ListingLine::heading},
    {1, "O = 0, l = 0, m = −∞", tensors::o, "O = 0, l = 0, m = −∞", "The initial values, before any key."},
    {1, "store Oᵢ, lᵢ, mᵢ → HBM", tensors::o, "Oᵢ: Br × d, lᵢ, mᵢ: Br",
     "They must be in HBM, because the inner loop reads them from there."},
    {0, "for each key tile j", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1", "Keys and values are the outer loop: each is loaded once.",
     ListingLine::heading},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d, Bc = ⌈M/4d⌉", "A quarter of the fast memory for each of K, V, Q and O."},
    {1, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Stays for the whole inner loop."},
    {1, "for each query tile i", Tensor(), "i = 0 … ⌈Nq/Br⌉ − 1", "With a causal mask pairs wholly above the diagonal are skipped.",
     ListingLine::heading},
    {2, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d, Br = min(Bc, d)", "All of Q once for each key tile."},
    {2, "load Oᵢ, lᵢ, mᵢ", tensors::o, "Oᵢ: Br × d, lᵢ, mᵢ: Br",
     "The result so far comes back from HBM. This is the price of keys as the outer loop; FlashAttention-2 swaps the loops."},
    {2, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d", "The tile of scores exists only on chip."},
    {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if hidden; causal: c > r + Nk − Nq",
     "Only on tiles that are partly hidden: with a causal mask, those that the diagonal crosses."},
    {2, "m̃ = rowmax S", tensors::m, "m̃ = max S", "The maximum of this tile alone."},
    {2, "P̃ = exp(S − m̃)", tensors::p, "P̃ = exp(S − m̃)", "As seen from the maximum of this tile."},
    {2, "l̃ = rowsum P̃", tensors::l, "l̃ = Σ P̃", "The sum of this tile alone."},
    {2, "m′ = max(m, m̃)", tensors::m, "m′ = max(m, m̃)", "The maximum of all keys seen so far."},
    {2, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "Rescales the earlier result to the new maximum."},
    {2, "β = exp(m̃ − m′)", tensors::m, "β = exp(m̃ − m′)", "Rescales this tile to the new maximum. One of α and β is 1."},
    {2, "l′ = α l + β l̃", tensors::l, "l′ = α·l + β·l̃", "Two sums with different maxima become one."},
    {2, "PV = β P̃ Vⱼ", tensors::o, "PV = diag(β)·P̃·V", "What this tile adds, not yet divided by the sum."},
    {2, "O = (l α O + PV) / l′", tensors::o, "O = diag(1/l′)·(diag(l·α)·O + PV)",
     "The old output is multiplied by its old sum, and the result divided by the new one: after every step O is the exact "
     "attention over the keys seen so far."},
    {2, "store Oᵢ, l′ᵢ, m′ᵢ → HBM", tensors::o, "Oᵢ: Br × d, lᵢ, mᵢ: Br", "And back to HBM, in every inner step."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// S and P exist only on chip.
Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, s, p, o, m, l},
          .inputs = {q, k, v},
          .outputs = {o, l, m},
          .tiles = {tiles::q, tiles::k, tiles::v, tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::m_tile, tiles::l, tiles::l_new,
                    tiles::l_tile, tiles::alpha, tiles::beta, tiles::o, tiles::pv}};
}

/// The kernel's overhead instructions in one inner step.
struct Flash1Overhead {
  explicit Flash1Overhead(const AttentionProblem& problem) {
    const auto of = [&](std::string_view part) { return kernel_profile(id).overhead("attention", part, problem); };
    requests = of("requests");
    arrival = of("arrival");
    statistics = of("statistics");
    rescale = of("rescale");
    // The compiler must assume that an element of O written to shared memory is the next one read. So the round trips to shared
    // memory cannot overlap; each carries two elements of 16 rows.
    rescale.shared_round_trips = static_cast<int>(rescale.shared_round_trips * problem.head_dim / compiled_head_dim(problem));
    store = of("store");
  }
  Overhead requests;    // addresses and guards of the loads
  Overhead arrival;     // O, l and m go from registers to shared memory
  Overhead statistics;  // shuffles, and updates of l and m
  Overhead rescale;     // O in shared memory: read, widened, packed, written
  Overhead store;
};

class Flash1 final : public TileProgram {
 public:
  Flash1(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()), overhead_(problem) {
    launches_ = {
        {"attention", problem.query_planes(), 1, 1, flash1_needs(problem, tile, gpu), 1, static_cast<int>(std::size(listing))}};
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, BlockPlan::query_rows(block, {0, problem_.seq_q}),
                   tile_bits(tiles::q, tiles::k, tiles::v));
    std::int32_t written = -1;  // the last store; O, l and m are complete in HBM after it
    for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
      b.queries(i, grid.queries(i));
      b.fill(Line::init, tiles::o, 0.0F);
      b.fill(Line::init, tiles::l, 0.0F);
      b.fill(Line::init, tiles::m, -std::numeric_limits<float>::infinity());
      b.store(Line::store_init, tiles::o);
      b.store(Line::store_init, tiles::l);
      written = b.store(Line::store_init, tiles::m);
    }
    std::int64_t n = 0;
    for (std::int64_t step = 0; step < grid.key_tiles; ++step) {
      const std::int64_t j = grid.key_order == KeyOrder::ascending ? step : grid.key_tiles - 1 - step;
      bool loaded = false;  // a key tile that no query tile visits is never loaded
      for (std::int64_t i = 0; i < grid.query_tiles; ++i) {
        const TileVisibility seen = grid.visibility(block, i, j);
        if (seen == TileVisibility::empty) continue;
        if (!loaded) {
          b.keys(j, grid.keys(j));
          b.queries(-1, {});
          b.iteration(n, 0);
          b.load(Line::load_k, tiles::k);
          b.load(Line::load_v, tiles::v);
          loaded = true;
        }
        b.queries(i, grid.queries(i));
        b.iteration(n++, 0);
        written = emit_pair(b, seen == TileVisibility::partial, written);
      }
    }
    out.iterations = static_cast<std::int32_t>(n);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(tensors::q) || !planes_are_alike(problem_)) return std::nullopt;
    return plan_.place(block, {0, problem_.seq_q}, plan_.place_in_sector(block, 0));
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  /// Emits one tile pair; its loads of O, l and m wait for the store `written`. Returns its last store.
  std::int32_t emit_pair(BlockBuilder& b, bool masked, std::int32_t written) const {
    // With 128 columns the compiled kernel requests l after O has arrived, and m after l; with 64 it requests all three at once.
    const bool one_by_one = problem_.head_dim > 64;
    b.load(Line::load_q, tiles::q, written);
    const std::int32_t o = b.load(Line::load_o, tiles::o, written);
    const std::int32_t l = b.load(Line::load_o, tiles::l, one_by_one ? o : written);
    const std::int32_t m = b.load(Line::load_o, tiles::m, one_by_one ? l : written);
    b.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true, .factor = plan_.scale});
    b.after_load(m);
    b.overhead(overhead_.arrival);
    if (masked) b.mask(Line::mask, tiles::s);
    b.row_max(Line::tile_max, tiles::m_tile, ChipTile::none, tiles::s);
    b.exp(Line::exp, tiles::p, tiles::s, tiles::m_tile);
    b.row_sum(Line::tile_sum, tiles::l_tile, ChipTile::none, tiles::p, ChipTile::none);
    b.overhead(overhead_.statistics);
    b.row_max(Line::row_max, tiles::m_new, tiles::m, tiles::m_tile);
    b.exp_rows(Line::alpha, tiles::alpha, tiles::m, tiles::m_new);
    b.exp_rows(Line::beta, tiles::beta, tiles::m_tile, tiles::m_new);
    b.merge(Line::row_sum, tiles::l_new, {tiles::alpha, tiles::l, tiles::beta, tiles::l_tile});
    b.matmul(Line::weigh, tiles::pv, tiles::p, tiles::v, {});
    b.rescale(Line::weigh, tiles::pv, tiles::beta);
    b.rescale(Line::rescale, tiles::o, tiles::l, tiles::alpha);
    b.add(Line::rescale, tiles::o, tiles::pv);
    b.overhead(overhead_.rescale);
    b.divide(Line::rescale, tiles::o, tiles::l_new);
    b.store(Line::store, tiles::o);
    b.staged();
    b.store(Line::store, tiles::l_new);
    const std::int32_t last = b.store(Line::store, tiles::m_new);
    b.overhead(overhead_.store + overhead_.requests);  // those of the next step, which its loads wait for
    return last;
  }

  BlockPlan plan_;
  Flash1Overhead overhead_;
};

std::optional<ClosedForm> Flash1::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_) || !planes_are_alike(problem_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t planes = problem_.query_planes();
  const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
  const Bytes kv(planes * sums.seen_keys * row_bytes), pairs(planes * sums.rows_pairs * row_bytes);
  const Bytes read(statistic_bytes(problem_, tile_, Crossings::every_pair));
  const Bytes zeroed(statistic_bytes(problem_, tile_, Crossings::once));
  const std::string visits = formula_for(problem_, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  ClosedForm form;
  form.terms = {
      {tensors::q, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {tensors::k, Link::l2_to_sm, kv, "B·Hq·Nk·d·e"},
      {tensors::v, Link::l2_to_sm, kv, "B·Hq·Nk·d·e"},
      {tensors::o, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {tensors::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes) + pairs, "B·Hq·d·e·(Nq + " + visits + ")"},
      {tensors::l, Link::l2_to_sm, read, statistic_formula(problem_, tile_, "B·Hq·4·" + visits)},
      {tensors::l, Link::sm_to_l2, zeroed + read, statistic_formula(problem_, tile_, "B·Hq·4·(Nq + " + visits + ")")},
      {tensors::m, Link::l2_to_sm, read, statistic_formula(problem_, tile_, "B·Hq·4·" + visits)},
      {tensors::m, Link::sm_to_l2, zeroed + read, statistic_formula(problem_, tile_, "B·Hq·4·(Nq + " + visits + ")")},
  };
  form.flops = planes * 4 * problem_.head_dim * sums.rows_keys;
  form.exps = planes * (sums.rows_keys + 2 * sums.rows_pairs);
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Flash1>(id, Masks::taken, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash1_program() {
  return {
      .id = id,
      .title = "FlashAttention-1",
      .family = "attention",
      .source = "arXiv:2205.14135, Algorithm 1",
      .summary = "Over standard attention: S and P never leave the chip; running m and l make the softmax exact tile by tile.",
      .listing = listing,
      .default_tile = flash1_tile,
      .make = make,
      .button = "Flash-1",
      .tooltip = "FlashAttention: one kernel, outer loop over key tiles, O is read and written every iteration",
      .accumulates_in_hbm = true,
  };
}

}  // namespace tilescope
