// recipe_attention: what step 1 of "How do I add a tile program?" asks for. Attention in two walks over the
// keys: the first finds L, the second computes each score again and weighs V with P = exp(S − L).
#include <limits>

#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/needs_parts.h"
#include "sim/programs/programs.h"
#include "sim/programs/tensor_indices.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "recipe_attention";

/// The key tile of the second walk: an on-chip tile of the program's own, in shared memory like the others.
constexpr ChipTileSpec k_again_spec{.name = "K₂", .tensor = tensors::k, .index = tile_index::recipe_k_again};
constexpr ChipTile k_again = k_again_spec;

enum class Line {
  load_q,
  init,
  first_walk,
  load_k,
  scores,
  mask,
  row_max,
  exp,
  alpha,
  row_sum,
  keep_max,
  finish,
  second_walk,
  load_k_again,
  scores_again,
  mask_again,
  weights,
  load_v,
  weigh,
  store,
  count
};
constexpr ListingLine listing[] = {
    {0, "recipe: load Qᵢ", tensors::q, "Qᵢ: Br × d", "recipe: the block's queries"},
    {0, "recipe: O = 0, m = −∞, l = 0", tensors::o, "m = −∞, l = 0, O = 0", "recipe: nothing is known yet"},
    {0, "for each key tile j", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1", "recipe: one after the other", ListingLine::heading},
    {1, "recipe: load Kⱼ", tensors::k, "Kⱼ: Bc × d", "recipe: into the one buffer"},
    {1, "recipe: S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ", "recipe: the scores"},
    {1, "recipe: mask S", tensors::s, "S[r,c] = −∞ if hidden", "recipe: partial tiles only"},
    {1, "recipe: m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)", "recipe: the largest score"},
    {1, "recipe: P = exp(S − m′)", tensors::p, "P = exp(S − m′)", "recipe: only its sum is kept"},
    {1, "recipe: α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "recipe: the factor"},
    {1, "recipe: l = α l + rowsum P", tensors::l, "l = α·l + Σ P", "recipe: the sum"},
    {1, "recipe: m = m′", tensors::m, "m = m′", "recipe: for the next tile"},
    {0, "recipe: L = m + log l", tensors::lse, "L = m + log l", "recipe: over all keys"},
    {0, "recipe: for each key tile j, again", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1", "recipe: L is known now", ListingLine::heading},
    {1, "recipe: load Kⱼ again", tensors::k, "Kⱼ: Bc × d", "recipe: into a buffer of its own"},
    {1, "recipe: S = τ Qᵢ Kⱼᵀ, again", tensors::s, "S = τ Q Kᵀ", "recipe: S was kept nowhere"},
    {1, "recipe: mask S, again", tensors::s, "S[r,c] = −∞ if hidden", "recipe: partial tiles only"},
    {1, "recipe: P = exp(S − L)", tensors::p, "P = exp(S − L)", "recipe: the weights, divided already"},
    {1, "recipe: load Vⱼ", tensors::v, "Vⱼ: Bc × d", "recipe: into the other buffer"},
    {1, "recipe: O = O + P Vⱼ", tensors::o, "O = O + P·V", "recipe: the second product"},
    {0, "recipe: store Oᵢ, Lᵢ", tensors::o, "Oᵢ: Br × d, Lᵢ: Br", "recipe: written once"},
};
static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, s, p, o, lse, m, l},
          .inputs = {q, k, v},
          .outputs = {o, lse},
          .tiles = {tiles::q, tiles::k, k_again, tiles::v, tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::l, tiles::alpha,
                    tiles::o, tiles::lse}};
}

std::int64_t shared_bytes(const AttentionProblem& problem, const TileShape& tile) {
  return (tile.block_q + 3 * tile.block_kv) * problem.head_dim * element_bytes(problem.dtype);
}

/// 16×16, halved until a block's tiles fit the shared memory.
TileShape default_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return shrink({16, 16}, [&](const TileShape& tile) {
    return static_cast<double>(shared_bytes(problem, tile)) <= gpu.sm_shared_bytes_per_block;
  });
}

class RecipeAttention final : public TileProgram {
 public:
  RecipeAttention(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec&)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()) {
    LaunchSpec launch;
    launch.name = "attention";
    launch.grid_x = plan_.grid.query_tiles;
    launch.grid_y = problem.heads;
    launch.grid_z = problem.batch;
    launch.needs.registers_per_thread = 128;
    launch.needs.shared_bytes = shared_bytes(problem, tile);
    launch.first_line = LineId(Line::load_q).number;
    launch.last_line = LineId(Line::store).number;
    launches_.push_back(launch);
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    const std::vector<KeyTile> visits = grid.visits(plane, i);
    const KernelNeeds& needs = launches_.front().needs;
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows),
                   tile_bits(tiles::q, tiles::k, k_again, tiles::v));
    out.iterations = static_cast<std::int32_t>(2 * visits.size());
    b.queries(i, rows);
    if (!visits.empty()) b.load(Line::load_q, tiles::q);
    b.fill(Line::init, tiles::o, 0.0F);
    b.fill(Line::init, tiles::m, -std::numeric_limits<float>::infinity());
    b.fill(Line::init, tiles::l, 0.0F);
    std::int64_t n = 0;
    for (const KeyTile& tile : visits) {
      b.keys(tile.index, grid.keys(tile.index));
      b.iteration(n++, 0);
      add_to_sum(b, tile.partial);
    }
    b.log_sum_exp(Line::finish, tiles::lse, tiles::m, tiles::l);
    for (const KeyTile& tile : visits) {
      b.keys(tile.index, grid.keys(tile.index));
      b.iteration(n++, 0);
      add_to_output(b, tile.partial);
    }
    b.keys(-1, {});
    b.iteration(n, 0);
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
    const std::int64_t planes = problem_.query_planes(), row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
    ClosedForm form;
    form.terms = {
        {tensors::q, Link::l2_to_sm, Bytes(planes * sums.rows * row_bytes), "recipe: rows"},
        {tensors::k, Link::l2_to_sm, Bytes(planes * 2 * sums.keys * row_bytes), "recipe: keys"},
        {tensors::v, Link::l2_to_sm, Bytes(planes * sums.keys * row_bytes), "recipe: keys"},
        {tensors::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes), "recipe: rows"},
        {tensors::lse, Link::sm_to_l2, Bytes(statistic_bytes(problem_, tile_, Crossings::once)), "recipe: rows"},
    };
    form.flops = planes * 6 * problem_.head_dim * sums.rows_keys;
    form.exps = planes * (2 * sums.rows_keys + sums.rows_pairs);
    form.order = "Θ(N²d²/M)";
    return form;
  }

 private:
  void add_to_sum(BlockBuilder& b, bool masked) const {
    b.load(Line::load_k, tiles::k);
    b.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true, .factor = plan_.scale});
    if (masked) b.mask(Line::mask, tiles::s);
    b.row_max(Line::row_max, tiles::m_new, tiles::m, tiles::s);
    b.exp(Line::exp, tiles::p, tiles::s, tiles::m_new);
    b.exp_rows(Line::alpha, tiles::alpha, tiles::m, tiles::m_new);
    b.row_sum(Line::row_sum, tiles::l, tiles::l, tiles::p, tiles::alpha);
    b.copy(Line::keep_max, tiles::m, tiles::m_new);
  }
  void add_to_output(BlockBuilder& b, bool masked) const {
    b.load(Line::load_k_again, k_again);
    b.matmul(Line::scores_again, tiles::s, tiles::q, k_again, {.transpose = true, .factor = plan_.scale});
    if (masked) b.mask(Line::mask_again, tiles::s);
    b.exp(Line::weights, tiles::p, tiles::s, tiles::lse);
    b.load(Line::load_v, tiles::v);
    b.matmul(Line::weigh, tiles::o, tiles::p, tiles::v, {.accumulate = true});
  }

  BlockPlan plan_;
};

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_program<RecipeAttention>(id, Masks::taken, problem, tile, gpu);
}

}  // namespace

ProgramInfo recipe_attention_program() {
  return {
      .id = id,
      .title = "Recipe attention",
      .family = "attention",
      .source = "docs/contributing.md",
      .summary = "recipe: a program added by the recipe.",
      .listing = listing,
      .default_tile = default_tile,
      .make = make,
      .button = "recipe: two walks",
      .tooltip = "recipe: A walk for L, and one for O.",
      .scores_computed = 2,
  };
}

}  // namespace tilescope
