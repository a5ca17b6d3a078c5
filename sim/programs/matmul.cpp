// matmul_naive, matmul_tiled: S = τ Q Kᵀ without and with reuse of loaded data. All other programs build on tiling.
//
//   naive  l2_to_sm = B·Hq·(⌈Nk/Bc⌉·Nq + Nq·Nk)·d·e            K is loaded again for each row of Q
//   tiled  l2_to_sm = B·Hq·(⌈Nk/Bc⌉·Nq + ⌈Nq/Br⌉·Nk)·d·e       a K tile is loaded once for Br rows
#include <type_traits>

#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/programs.h"
#include "sim/programs/scores_overhead.h"

namespace tilescope {

namespace {

enum class NaiveLine { row_loop, load_q, load_k, scores, store, count };
constexpr ListingLine naive_listing[] = {
    {0, "for each row r of the tile", Tensor(), "r = 0 … Br − 1",
     "The block computes the same tile of S as the tiled product, but keeps nothing from one row to the next.",
     ListingLine::heading},
    {1, "load q → shared", tensors::q, "q: 1 × d", "One row of Q."},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "The same K tile again, for every row."},
    {1, "s = τ q Kⱼᵀ", tensors::s, "s = τ q Kᵀ, τ = 1/√d", "Each loaded element of K is used for one multiplication."},
    {1, "store s → HBM", tensors::s, "s: 1 × Bc", "One row of the tile of S."},
};

enum class TiledLine { load_q, load_k, scores, store, count };
constexpr ListingLine tiled_listing[] = {
    {0, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d", "A tile of rows of Q, once."},
    {0, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "A tile of rows of K, once."},
    {0, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d",
     "Each loaded element of K is used Br times, each of Q Bc times: that is all there is to tiling."},
    {0, "store Sᵢⱼ → HBM", tensors::s, "Sᵢⱼ: Br × Bc", "The tile of S."},
};

static_assert(std::size(naive_listing) == static_cast<std::size_t>(NaiveLine::count));
static_assert(std::size(tiled_listing) == static_cast<std::size_t>(TiledLine::count));

Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, s}, .inputs = {q, k}, .outputs = {s}, .tiles = {tiles::q, tiles::k, tiles::s}};
}

template <bool tiled>
class Matmul final : public TileProgram {
 public:
  using Line = std::conditional_t<tiled, TiledLine, NaiveLine>;

  Matmul(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec&)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()), scores_(problem) {
    const KernelProfile& naive = kernel_profile("matmul_naive");
    // The kernel reads four 16-byte pieces of K at a time, and with each the matching piece of q, which takes two wavefronts.
    const auto pieces = static_cast<int>(problem.head_dim / 8);
    untiled_ =
        naive.overhead("product", "scores", problem) + Overhead{.shared_round_trips = (pieces + 3) / 4, .wavefronts = 2 * pieces};
    untiled_store_ = naive.overhead("product", "store", problem);
    launches_ = {{"product", plan_.grid.key_tiles, plan_.grid.query_tiles, problem.query_planes(),
                  tiled ? scores_needs(problem, tile) : untiled_needs(problem, tile), 1,
                  static_cast<int>(tiled ? std::size(tiled_listing) : std::size(naive_listing))}};
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const auto [i, j, plane] = grid.pair_block(block);
    const TileRange rows = grid.queries(i);
    BlockBuilder b(out, plan_, launches_.front().needs, launch, block, BlockPlan::query_rows(plane, rows),
                   tile_bits(tiles::q, tiles::k));
    b.keys(j, grid.keys(j));
    const std::int64_t steps = tiled ? 1 : rows.count;
    out.iterations = static_cast<std::int32_t>(steps);
    for (std::int64_t n = 0; n < steps; ++n) {
      b.iteration(n, 0);
      b.queries(i, tiled ? rows : TileRange{rows.first + n, 1});
      const std::int32_t before = b.latest();  // the untiled product loads nothing before it has stored the previous row
      b.load(Line::load_q, tiles::q, before);
      b.load(Line::load_k, tiles::k, before);
      b.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true, .factor = plan_.scale});
      b.overhead(tiled ? scores_.product(grid.keys(j).count < tile_.block_kv) : untiled_);
      b.store(Line::store, tiles::s);
      b.overhead(tiled ? scores_.store() : untiled_store_);
    }
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const auto [i, j, plane] = plan_.grid.pair_block(block);
    return plan_.place(plane, plan_.grid.queries(i), j);
  }

  std::optional<ClosedForm> closed_form() const override {
    if (!head_rows_are_whole(problem_)) return std::nullopt;
    const VisitSums sums = visit_sums(problem_, tile_);
    const std::int64_t planes = problem_.query_planes();
    const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
    const std::int64_t key_loads = tiled ? sums.keys : sums.rows_keys;
    ClosedForm form;
    form.terms = {
        {tensors::q, Link::l2_to_sm, Bytes(planes * sums.rows_pairs * row_bytes), "B·Hq·⌈Nk/Bc⌉·Nq·d·e"},
        {tensors::k, Link::l2_to_sm, Bytes(planes * key_loads * row_bytes), tiled ? "B·Hq·⌈Nq/Br⌉·Nk·d·e" : "B·Hq·Nq·Nk·d·e"},
        {tensors::s, Link::sm_to_l2, Bytes(planes * sums.matrix_bytes), matrix_formula(problem_)},
    };
    form.flops = planes * 2 * problem_.head_dim * sums.rows_keys;
    form.order = tiled ? "Θ(N² + N²d²/M)" : "Θ(N²d)";
    return form;
  }

 private:
  BlockPlan plan_;
  ScoresOverhead scores_;
  Overhead untiled_, untiled_store_;
};

Result<std::unique_ptr<TileProgram>> make_naive(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Matmul<false>>("matmul_naive", Masks::refused, problem, tile, gpu);
}
Result<std::unique_ptr<TileProgram>> make_tiled(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<Matmul<true>>("matmul_tiled", Masks::refused, problem, tile, gpu);
}

}  // namespace

ProgramInfo matmul_naive_program() {
  return {
      .id = "matmul_naive",
      .title = "Untiled matrix product",
      .family = "matmul",
      .summary = "S = τ Q Kᵀ; K is loaded again for each row of Q.",
      .listing = naive_listing,
      .default_tile = untiled_matmul_tile,
      .make = make_naive,
  };
}

ProgramInfo matmul_tiled_program() {
  return {
      .id = "matmul_tiled",
      .title = "Tiled matrix product",
      .family = "matmul",
      .summary = "Over the untiled product: a tile of K is loaded once for all rows of a tile of Q.",
      .listing = tiled_listing,
      .default_tile = tiled_matmul_tile,
      .make = make_tiled,
  };
}

}  // namespace tilescope
