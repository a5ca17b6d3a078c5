// standard: attention as three launches, with S and P written to HBM and read back.
//
//   scores: Q, K → S        softmax: S → P        output: P, V → O
//   l2_to_sm = B·Hq·(Σᵢ Jᵢ·rowsᵢ·d + Σᵢ Wᵢ·d + Σᵢ rowsᵢ·Wᵢ′  [S]  + Σᵢ rowsᵢ·Wᵢ′  [P] + Σᵢ Wᵢ·d  [V])·e
//   sm_to_l2 = B·Hq·(2·Σᵢ rowsᵢ·Wᵢ′ + Nq·d)·e                        Wᵢ′: Wᵢ in whole sectors, see row_pitch()
//
// A mask of its own is a matrix in HBM, 0 or −∞ for each pair, that the softmax adds: nothing is skipped, and l2_to_sm grows by
// B·Hq·Nq·Nk′·e.
#include <limits>

#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/programs.h"
#include "sim/programs/scores_overhead.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "standard";

/// The mask as frameworks hand it over: a number for each pair of query and key, in the problem's type.
constexpr TensorSpec mask_spec{
    .name = "mask", .meaning = Meaning::bias, .index = tensor_index::mask, .planes = Planes::mask, .cols = Axis::key};
constexpr Tensor mask_tensor = mask_spec;
constexpr ChipTileSpec mask_tile_spec{.name = "mask", .tensor = mask_spec, .index = tile_index::mask};
constexpr ChipTile mask_tile = mask_tile_spec;

enum class Line {
  pairs,
  load_q,
  load_k,
  scores,
  modify,
  mask,
  store_s,
  rows,
  init,
  sum_loop,
  load_s,
  load_mask,
  add_mask,
  row_max,
  exp_for_sum,
  alpha,
  row_sum,
  keep_max,
  result_loop,
  load_s_again,
  exp,
  divide,
  store_p,
  query_tiles,
  init_output,
  key_loop,
  load_p,
  load_v,
  weigh,
  store_o,
  count
};
constexpr ListingLine listing[] = {
    {0, "for each tile pair (i, j), a block:", Tensor(), "⌈Nq/Br⌉ · ⌈Nk/Bc⌉ blocks",
     "The first launch. With a causal mask the blocks wholly above the diagonal have nothing to do.", ListingLine::heading},
    {1, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d", "Every block of the same row of tiles loads the same Q tile again."},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "And every block of the same column the same K tile."},
    {1, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d", "An ordinary tiled matrix product."},
    {1, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)",
     "Only where scores are changed: element by element, before they leave the chip.", ListingLine::conditional},
    {1, "mask hidden scores", tensors::s, "S[r,c] = −∞ if hidden; causal: c > r + Nk − Nq",
     "Only on tiles that are partly hidden: with a causal mask, those that the diagonal crosses."},
    {1, "store Sᵢⱼ → HBM", tensors::s, "Sᵢⱼ: Br × Bc", "N × N scores leave the chip. This is what FlashAttention does away with."},
    {0, "for each group of rows, a block:", Tensor(), "R rows of S a block", "The second launch: softmax, a few rows a block.",
     ListingLine::heading},
    {1, "m = −∞, l = 0", tensors::m, "m = −∞, l = 0", "Maximum and sum of each row start empty."},
    {1, "for each key tile j", Tensor(), "pass 1", "The first pass finds maximum and sum.", ListingLine::heading},
    {2, "load Sⱼ → shared", tensors::s, "Sⱼ: R × Bc",
     "The scores come back. The row then stays in shared memory, so this is read once."},
    {2, "load maskⱼ", mask_tensor, "maskⱼ: R × Bc",
     "Only with a mask of its own: a matrix as large as S, read once more for every head.", ListingLine::conditional},
    {2, "S = S + mask", tensors::s, "S = S + mask, 0 or −∞",
     "Hidden pairs were computed all the same: nothing tells the kernel to skip them.", ListingLine::conditional},
    {2, "m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)", "The largest score so far."},
    {2, "P̃ = exp(S − m′)", tensors::p, "P̃ = exp(S − m′)", "Only its sum is kept in this pass."},
    {2, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "What the sum so far must be multiplied by."},
    {2, "l = α l + rowsum P̃", tensors::l, "l = α·l + Σ P̃", "The sum of all exponentials so far."},
    {2, "m = m′", tensors::m, "m = m′", "The new maximum is the old one of the next tile."},
    {1, "for each key tile j", Tensor(), "pass 2", "The second pass has the final maximum and sum.", ListingLine::heading},
    {2, "load Sⱼ → shared again", tensors::s, "Sⱼ: R × Bc",
     "Only where not even one row of S fits shared memory: then S is read from HBM a second time."},
    {2, "P = exp(S − m)", tensors::p, "P = exp(S − m)", "The same exponentials again, now with the final maximum."},
    {2, "P = P / l", tensors::p, "P = P / l", "Each row now sums to 1."},
    {2, "store Pⱼ → HBM", tensors::p, "Pⱼ: R × Bc", "N × N probabilities leave the chip."},
    {0, "for each query tile i, a block:", Tensor(), "⌈Nq/Br⌉ blocks a head", "The third launch.", ListingLine::heading},
    {1, "O = 0", tensors::o, "O = 0", "The output tile is summed in registers."},
    {1, "for each key tile j", Tensor(), "j = 0 … ⌈Nk/Bc⌉ − 1", "Along a row of P and down V.", ListingLine::heading},
    {2, "load Pᵢⱼ → shared", tensors::p, "Pᵢⱼ: Br × Bc", "And the probabilities come back."},
    {2, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Every block of a head walks all of V."},
    {2, "O = O + P Vⱼ", tensors::o, "O = O + P·V", "The second product."},
    {1, "store Oᵢ → HBM", tensors::o, "Oᵢ: Br × d", "The result."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

Schema declared(const AttentionProblem& problem) {
  using namespace tensors;
  Schema schema = {
      .tensors = {q, k, v, s, p, o, m, l},
      .inputs = {q, k, v},
      .outputs = {s, p, o},
      .tiles = {tiles::q, tiles::k, tiles::v, tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::l, tiles::alpha, tiles::o}};
  if (!problem.mask) return schema;
  schema.tensors.push_back(mask_tensor);
  schema.inputs.push_back(mask_tensor);
  schema.tiles.push_back(mask_tile);
  return schema;
}

/// 0 where a key is visible, else −∞.
class MaskValues final : public TableValues {
 public:
  explicit MaskValues(const AttentionProblem& problem) : mask_(problem.mask), heads_(problem.heads) {}

  Matrix tile(const TileRef& tile) const override {
    const std::int64_t of_batch = mask_->planes().by_head ? heads_ : 1;
    const std::int64_t plane = tile.plane / of_batch * heads_ + tile.plane % of_batch;
    Matrix values(tile.rows, tile.cols);
    for (int r = 0; r < tile.rows; ++r)
      for (int c = 0; c < tile.cols; ++c)
        values.at(r, c) = mask_->visible(plane, tile.row + r, tile.col + c) ? 0.0F : -std::numeric_limits<float>::infinity();
    return values;
  }

 private:
  std::shared_ptr<const Mask> mask_;
  std::int64_t heads_;
};

/// What the kernels of the second and third launch do beside their arithmetic.
struct StandardOverhead {
  explicit StandardOverhead(const AttentionProblem& problem) {
    const KernelProfile& kernel = kernel_profile(id);
    merges = kernel.overhead("softmax", "merges", problem);
    parted_merge = kernel.overhead("softmax", "parted_merge", problem) +
                   kernel_profile("common").overhead("softmax", "parted_shuffles", problem);
    guards_of_row = kernel.overhead("softmax", "guards_of_row", problem);
    half_empty_fetch = kernel.overhead("softmax", "half_empty_fetch", problem);
    product = kernel.overhead("output", "product", problem);
    store = kernel.overhead("output", "store", problem);
  }
  Overhead merges;         // maximum and sum of a row cross its threads by shuffles and shared memory, twice
  Overhead parted_merge;   // more for one of the two, where lanes part ways
  Overhead guards_of_row;  // conversions of an element, and whether it is in the row at all
  Overhead half_empty_fetch, product, store;
};

enum LaunchIndex { scores_launch, softmax_launch, output_launch };

class Standard final : public TileProgram {
 public:
  Standard(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared(problem)),
        plan_(problem, tile, schema()),
        softmax_(softmax_rows(problem, tile, gpu)),
        scores_(problem),
        overhead_(problem) {
    // Row groups do not straddle query tiles: the scores of a query tile end where that tile's last row does.
    if (problem.score_change) cost_ = problem.score_change->cost();
    groups_of_tile_ = ceil_div(tile.block_q, softmax_.rows);
    const TileGrid& grid = plan_.grid;
    // The kernel launches groups for whole tiles; those of a last tile that the sequence cuts short have no rows, and end at once.
    const std::int64_t last_rows = launches_whole_tiles(gpu) ? tile.block_q : grid.queries(grid.query_tiles - 1).count;
    const std::int64_t groups = (grid.query_tiles - 1) * groups_of_tile_ + ceil_div(last_rows, softmax_.rows);
    launches_ = {
        {"scores", grid.key_tiles, grid.query_tiles, problem.query_planes(), scores_needs(problem, tile),
         LineId(Line::pairs).number, LineId(Line::store_s).number},
        {"softmax", groups, problem.query_planes(), 1, softmax_needs(problem, tile, gpu), LineId(Line::rows).number,
         LineId(Line::store_p).number},
        {"output", grid.query_tiles, problem.heads, problem.batch, output_needs(problem, tile, gpu),
         LineId(Line::query_tiles).number, LineId(Line::store_o).number},
    };
    if (problem.score_change) launches_[scores_launch].needs.score_cost = element_cost(problem.score_change->expression(), gpu);
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
  std::shared_ptr<const TableValues> tables() const override {
    return dense() ? std::make_shared<const MaskValues>(problem_) : nullptr;
  }
  std::optional<ClosedForm> closed_form() const override;

 private:
  static bool launches_whole_tiles(const GpuSpec& gpu) { return gpu.sm_dependent_cycles > 0; }
  /// Whether the mask is a matrix in HBM. The causal one is a comparison in the kernel, which skips tiles.
  bool dense() const { return problem_.mask != nullptr; }
  TileVisibility visibility(std::int64_t plane, std::int64_t i, std::int64_t j) const {
    return dense() ? TileVisibility::full : plan_.grid.visibility(plane, i, j);
  }
  std::vector<KeyTile> visits(std::int64_t plane, std::int64_t i) const {
    if (!dense()) return plan_.grid.visits(plane, i);
    std::vector<KeyTile> all;
    for (std::int64_t j = 0; j < plan_.grid.key_tiles; ++j) all.push_back({j, false});
    return all;
  }
  const KernelNeeds& needs(int launch) const { return launches_[static_cast<std::size_t>(launch)].needs; }

  void emit_scores(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const auto [i, j, plane] = grid.pair_block(block);
    const TileRange rows = grid.queries(i), keys = grid.keys(j);
    BlockBuilder b(out, plan_, needs(scores_launch), scores_launch, block, BlockPlan::query_rows(plane, rows),
                   tile_bits(tiles::q, tiles::k));
    const TileVisibility seen = visibility(plane, i, j);
    if (seen == TileVisibility::empty) return;
    out.iterations = 1;
    b.queries(i, rows);
    b.keys(j, keys);
    b.iteration(0, 0);
    b.load(Line::load_q, tiles::q);
    b.load(Line::load_k, tiles::k);
    b.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true, .factor = plan_.scale});
    const bool masked = seen == TileVisibility::partial;  // by the diagonal; the pad of S goes with it
    b.overhead(scores_.product(!masked && keys.count < tile_.block_kv));
    if (problem_.score_change) b.modify(Line::modify, tiles::s, cost_.operations, cost_.exps);
    if (masked) b.mask(Line::mask, tiles::s);
    b.store(Line::store_s, tiles::s);
    b.overhead(scores_.store());
  }

  TileRange rows_of_group(std::int64_t group) const {
    const TileRange tile_rows = plan_.grid.queries(group / groups_of_tile_);
    const std::int64_t first = tile_rows.first + group % groups_of_tile_ * softmax_.rows;
    return {std::min(first, tile_rows.end()), std::clamp<std::int64_t>(tile_rows.end() - first, 0, softmax_.rows)};
  }

  void emit_softmax(std::int64_t block, BlockOperations& out) const;
  struct SoftmaxBlock;
  /// Turns to the `j`-th key tile that a softmax block visits.
  void begin_softmax_tile(SoftmaxBlock& softmax, std::int64_t j, std::int64_t iteration) const;
  /// Emits the first pass: the maximum and the sum of each row.
  void emit_sums(SoftmaxBlock& softmax) const;
  /// Emits the second pass. A kept row takes the S that the load at `first_load` + j * `stride` brought.
  void emit_probabilities(SoftmaxBlock& softmax, std::int32_t first_load, std::int32_t stride) const;

  void emit_output(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    BlockBuilder b(out, plan_, needs(output_launch), output_launch, block, BlockPlan::query_rows(plane, rows),
                   tile_bits(tiles::p, tiles::v));
    const std::vector<KeyTile> visited = visits(plane, i);
    out.iterations = static_cast<std::int32_t>(visited.size());
    b.queries(i, rows);
    b.fill(Line::init_output, tiles::o, 0.0F);
    const auto alike = [&](const KeyTile& tile) { return grid.is_whole(tile); };
    b.walk_keys(visited, needs(output_launch).stages, alike, [&](const KeyTile&) {
      b.load(Line::load_p, tiles::p);
      b.load(Line::load_v, tiles::v);
      b.matmul(Line::weigh, tiles::o, tiles::p, tiles::v, {.accumulate = true});
      b.overhead(overhead_.product);
    });
    b.store(Line::store_o, tiles::o);
    b.overhead(overhead_.store);
  }

  BlockPlan plan_;
  KeptRows softmax_;
  ScoresOverhead scores_;
  StandardOverhead overhead_;
  std::int64_t groups_of_tile_ = 1;
  ScoreCost cost_;
};

/// What the two passes of a softmax block share.
struct Standard::SoftmaxBlock {
  BlockBuilder& b;
  std::vector<KeyTile> key_tiles;
  Overhead guards;           // of a row
  std::int64_t at_once = 1;  // tiles that the threads fetch together

  std::int64_t visited() const { return std::ssize(key_tiles); }
  /// Returns the overhead of the rows of tile `j`. The last fetch costs its threads the same where half of them have nothing to do.
  Overhead rows_of(std::int64_t j, const Overhead& half_empty_fetch) const {
    return j + 1 == visited() && visited() % at_once != 0 ? guards + half_empty_fetch : guards;
  }
};

void Standard::emit_softmax(std::int64_t block, BlockOperations& out) const {
  const std::int64_t group = block % launches_[softmax_launch].grid_x;
  const std::int64_t i = group / groups_of_tile_;
  const TileRange rows = rows_of_group(group);
  const std::int64_t plane = block / launches_[softmax_launch].grid_x;
  BlockBuilder b(out, plan_, needs(softmax_launch), softmax_launch, block, BlockPlan::query_rows(plane, rows), tile_bits(tiles::s));
  SoftmaxBlock softmax{b, visits(plane, i), {}};
  const std::int64_t visited = softmax.visited();
  if (visited == 0 || rows.count == 0) return;
  out.iterations = static_cast<std::int32_t>(2 * visited);
  const auto rows_of_warp = static_cast<int>(softmax_.rows);
  softmax.guards = overhead_.guards_of_row * rows_of_warp + Overhead{.shared_round_trips = rows_of_warp / 2};
  softmax.at_once = tiles_in_registers(needs(softmax_launch), {softmax_.rows, tile_.block_kv});
  Overhead merges = overhead_.merges;
  if (ends_inside_warp_fetch(std::min(visited * tile_.block_kv, row_pitch(problem_.seq_kv, problem_.dtype))))
    merges += overhead_.parted_merge;
  if (dense()) b.mask_list(mask_plane_of(problem_, plane), 0, 0);
  b.queries(i, rows);
  b.fill(Line::init, tiles::m, -std::numeric_limits<float>::infinity());
  b.overhead(merges);
  b.fill(Line::init, tiles::l, 0.0F);
  const auto first_load = static_cast<std::int32_t>(out.operations.size());
  emit_sums(softmax);
  // Every iteration of the first pass has as many operations, and starts with its load.
  const auto stride = static_cast<std::int32_t>((static_cast<std::int64_t>(out.operations.size()) - first_load) / visited);
  emit_probabilities(softmax, first_load, stride);
}

void Standard::begin_softmax_tile(SoftmaxBlock& softmax, std::int64_t j, std::int64_t iteration) const {
  const std::int64_t tile = softmax.key_tiles[static_cast<std::size_t>(j)].index;
  softmax.b.keys(tile, plan_.grid.keys(tile));
  softmax.b.iteration(iteration, softmax_.kept ? j : 0);  // a kept row has a place for each tile
}

void Standard::emit_sums(SoftmaxBlock& softmax) const {
  BlockBuilder& b = softmax.b;
  std::int32_t seen = b.latest();
  for (std::int64_t j = 0; j < softmax.visited(); ++j) {
    begin_softmax_tile(softmax, j, j);
    // The threads fetch a few tiles at once, and the next ones only when they have seen these.
    if (j % softmax.at_once == 0) seen = b.latest();
    b.load(Line::load_s, tiles::s, seen);
    b.asked_at_once(elements_per_warp_fetch);
    if (dense()) {
      b.load(Line::load_mask, mask_tile, seen);
      b.asked_at_once(elements_per_warp_fetch);
      b.add(Line::add_mask, tiles::s, mask_tile);
    }
    b.row_max(Line::row_max, tiles::m_new, tiles::m, tiles::s);
    b.overhead(softmax.rows_of(j, overhead_.half_empty_fetch));
    b.exp(Line::exp_for_sum, tiles::p, tiles::s, tiles::m_new);
    b.exp_rows(Line::alpha, tiles::alpha, tiles::m, tiles::m_new);
    b.row_sum(Line::row_sum, tiles::l, tiles::l, tiles::p, tiles::alpha);
    b.copy(Line::keep_max, tiles::m, tiles::m_new);
  }
}

void Standard::emit_probabilities(SoftmaxBlock& softmax, std::int32_t first_load, std::int32_t stride) const {
  BlockBuilder& b = softmax.b;
  for (std::int64_t j = 0; j < softmax.visited(); ++j) {
    begin_softmax_tile(softmax, j, softmax.visited() + j);
    if (softmax_.kept)
      b.select(tiles::s, first_load + static_cast<std::int32_t>(j) * stride);
    else
      b.load(Line::load_s_again, tiles::s), b.asked_at_once(elements_per_warp_fetch);
    if (dense() && !softmax_.kept) {
      b.load(Line::load_mask, mask_tile);
      b.asked_at_once(elements_per_warp_fetch);
      b.add(Line::add_mask, tiles::s, mask_tile);
    }
    b.exp(Line::exp, tiles::p, tiles::s, tiles::m);
    b.overhead(softmax.rows_of(j, overhead_.half_empty_fetch));
    b.divide(Line::divide, tiles::p, tiles::l);
    b.store(Line::store_p, tiles::p);
  }
}

std::optional<BlockPlace> Standard::place_of(int launch, std::int64_t block) const {
  if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
  const TileGrid& grid = plan_.grid;
  if (launch == softmax_launch) {
    const std::int64_t groups = launches_[softmax_launch].grid_x, group = block % groups, plane = block / groups;
    return plan_.place(plane, rows_of_group(group), dense() ? 0 : grid.row_class(plane, group / groups_of_tile_));
  }
  if (launch == output_launch) {
    const auto [i, plane] = grid.query_block(block);
    return plan_.place(plane, grid.queries(i), dense() ? 0 : grid.row_class(plane, i));
  }
  const auto [i, j, plane] = grid.pair_block(block);
  // Seen whole: as in every other query tile. Not seen: nothing to do. Else the mask is that of i and j.
  std::int64_t what = j;
  if (const TileVisibility seen = visibility(plane, i, j); seen == TileVisibility::empty)
    what = grid.key_tiles;
  else if (seen == TileVisibility::partial)
    what = (1 + grid.row_class(plane, i)) * (grid.key_tiles + 1) + j;
  return plan_.place(plane, grid.queries(i), what);
}

std::optional<ClosedForm> Standard::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
  AttentionProblem visited = problem_;  // a dense mask hides no tile
  if (dense()) visited.mask = nullptr, visited.causal = false;
  const VisitSums sums = visit_sums(visited, tile_);
  const std::int64_t planes = problem_.query_planes();
  const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
  const Bytes matrix(planes * sums.matrix_bytes), keys(planes * sums.keys * row_bytes);
  const std::string square = matrix_formula(visited);
  const std::string kv = formula_for(visited, "B·Hq·⌈Nq/Br⌉·Nk·d·e", "B·Hq·d·e·Σᵢ min(Nk, Bc·⌈vis(i)/Bc⌉)");
  ClosedForm form;
  form.terms = {
      {tensors::q, Link::l2_to_sm, Bytes(planes * sums.rows_pairs * row_bytes),
       formula_for(visited, "B·Hq·⌈Nk/Bc⌉·Nq·d·e", "B·Hq·d·e·Σᵢ rowsᵢ·⌈vis(i)/Bc⌉")},
      {tensors::k, Link::l2_to_sm, keys, kv},
      {tensors::v, Link::l2_to_sm, keys, kv},
      {tensors::s, Link::sm_to_l2, matrix, square},
      {tensors::s, Link::l2_to_sm, matrix * (softmax_.kept ? 1 : 2), softmax_.kept ? square : "2·" + square},
      {tensors::p, Link::sm_to_l2, matrix, square},
      {tensors::p, Link::l2_to_sm, matrix, square},
      {tensors::o, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row_bytes), "B·Hq·Nq·d·e"},
  };
  form.flops = planes * 4 * problem_.head_dim * sums.rows_keys;
  if (dense())
    form.terms.push_back({mask_tensor, Link::l2_to_sm, matrix * (softmax_.kept ? 1 : 2), softmax_.kept ? square : "2·" + square});
  form.exps = planes * ((2 + cost_.exps) * sums.rows_keys + sums.rows_pairs);
  form.order = "Θ(Nd + N²)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  if (Status status = check_request(id, problem, tile, Masks::taken, ScoreChanges::taken); !status) return status.error();
  return std::unique_ptr<TileProgram>(std::make_unique<Standard>(problem, tile, gpu));
}

}  // namespace

ProgramInfo standard_program() {
  return {
      .id = id,
      .title = "Standard attention",
      .family = "attention",
      .source = "arXiv:2205.14135, Algorithm 0",
      .summary = "Three launches, each simple; the N × N matrices S and P cross the memory bus four times.",
      .listing = listing,
      .default_tile = standard_tile,
      .make = make,
      .button = "Standard",
      .tooltip = "Three kernels; S and P go through HBM",
  };
}

}  // namespace tilescope
