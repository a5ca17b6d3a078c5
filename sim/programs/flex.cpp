// flex: FlashAttention-2's loop over the key tiles that a mask's lists name, with changed scores. Partial tiles first, then full
// ones. K and V may lie in pages.
//
//   l2_to_sm = B·Hq·(Nq·d + 2·Σᵢ Wᵢ·d)·e + lists + page table      sm_to_l2 = B·Hq·(Nq·d·e + Nq·4)
//   Wᵢ: keys of the listed blocks of query tile i. A list is a count, in a sector of its own, and four bytes a block. A block of
//   threads reads four bytes for each page from the first to the last that its query tile visits. A kernel that spills registers
//   stores them too: four bytes a thread for each word (flex_spills.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/flex_lists.h"
#include "sim/programs/flex_spills.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/moved_maxima.h"
#include "sim/programs/online_softmax.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flex";

enum class Line {
  load_counts,
  load_lists,
  load_pages,
  load_q,
  init,
  key_loop,
  load_k,
  scores,
  modify,
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
    {0, "load the lists' lengths", lists::partial_count, "kv_num_blocks[i], full_kv_num_blocks[i]",
     "The mask was cut into blocks before the kernel ran. A query tile whose lists are empty loads nothing else."},
    {0, "load the two lists", lists::partial, "kv_indices[i, …], full_kv_indices[i, …]",
     "Empty blocks are in no list: they are neither loaded nor computed."},
    {0, "load page table entries", paged::table, "page_table[b, first … last page]",
     "Only if K and V lie in pages. All heads of a sequence share its row of the table."},
    {0, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d", "As in FlashAttention-2, the block keeps its queries on chip."},
    {0, "O = 0, m = −∞, l = 0", tensors::o, "m = −∞, l = 0, O = 0",
     "A row that sees no key ends with l = 0: its O is 0 and its L is −∞."},
    {0, "for each listed tile j", Tensor(), "j in kv_indices[i], then in full_kv_indices[i]",
     "So the masked and the unmasked loop are two pieces of code, and only one of them looks at indices.", ListingLine::heading},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "Its address comes from the list: the first load waits for that."},
    {1, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d", "The tile of scores exists only in registers."},
    {1, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)",
     "Applied to every element, of full and of partial tiles. It changes numbers, not bytes.", ListingLine::conditional},
    {1, "mask hidden scores", tensors::s, "S[r,c] = −∞ if not visible(b, h, q, kv)",
     "Only in partial tiles, and after the change of scores."},
    {1, "m′ = max(m, rowmax S)", tensors::m, "m′ = max(m, max S)",
     "Tiles come in another order than in FlashAttention-2, so m takes another path to the same end."},
    {1, "P = exp(S − m′)", tensors::p, "P = exp(S − m′)", "Never above 1, so nothing overflows, whatever the scores are."},
    {1, "α = exp(m − m′)", tensors::m, "α = exp(m − m′)", "The rescale factor for the earlier tiles."},
    {1, "l = α l + rowsum P", tensors::l, "l = α·l + Σ P", "The sum of all exponentials so far, as seen from the new maximum."},
    {1, "O = α O", tensors::o, "O = diag(α)·O", "The output so far is brought to the new maximum."},
    {1, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Asked for early, needed only now."},
    {1, "O = O + P Vⱼ", tensors::o, "O = O + P·V", "The second product."},
    {1, "m = m′", tensors::m, "m = m′", "The new maximum is the old one of the next tile."},
    {0, "O = O / l,  L = m + log l", tensors::o, "O = O / l, L = m + log l", "One division a row instead of one a tile."},
    {0, "store Oᵢ, Lᵢ → HBM", tensors::o, "Oᵢ: Br × d, Lᵢ: Br",
     "Each element of O is written exactly once, also where no key is visible."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// The spilled registers. A word of every thread of a block has as many bytes as a number for each of its rows: as such it lies in
/// the model's memory, so that all words of a block share those bytes.
constexpr TensorSpec spills_spec{
    .name = "spills", .meaning = Meaning::table, .index = tensor_index::spills, .cols = Axis::one, .type = DataType::fp32};
constexpr Tensor spilled = spills_spec;
constexpr std::int64_t flex_threads = 128, spilled_word_bytes = 4 * flex_threads, flex_warps = flex_threads / warp_lanes;

/// Without a mask there are no lists: every tile is visited.
Schema declared(const AttentionProblem& problem, bool spills) {
  using namespace tensors;
  Schema schema = {.tensors = {q, k, v, s, p, o, lse, m, l},
                   .inputs = {q, k, v},
                   .outputs = {o, lse},
                   .tiles = {tiles::q, tiles::k, tiles::v, tiles::s, tiles::p, tiles::m, tiles::m_new, tiles::l, tiles::alpha,
                             tiles::o, tiles::lse}};
  if (problem.has_mask()) add_lists(schema);
  if (problem.page_size > 0) add_page_table(schema);
  if (spills) schema.tensors.push_back(spilled);
  return schema;
}

class Flex final : public TileProgram {
 public:
  Flex(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu, const FlexSpills& spills)
      : TileProgram(problem, tile, declared(problem, spills.any())),
        plan_(problem, tile, schema()),
        spills_(spills),
        moved_(plan_.grid),
        store_(kernel_profile("flash2").overhead("attention", "store", problem)) {
    if (problem.has_mask()) lists_.emplace(plan_.grid, tile);
    if (problem.score_change) cost_ = problem.score_change->cost();
    LaunchSpec launch;
    launch.name = "attention";
    launch.grid_x = plan_.grid.query_tiles;
    launch.grid_y = problem.heads;
    launch.grid_z = problem.batch;
    launch.needs = flex_needs(problem, tile, gpu);
    // Where later query tiles visit more, the last comes first, so that the launch ends with its shortest blocks.
    launch.reversed = lists_ && lists_->is_reversed();
    launch.first_line = 1;
    launch.last_line = static_cast<int>(std::size(listing));
    launches_.push_back(launch);
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    const std::int64_t i = launches_.front().row_tile_of(block), plane = block / grid.query_tiles;
    const TileRange rows = grid.queries(i);
    const KernelNeeds& needs = launches_.front().needs;
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows), tile_bits(tiles::q, tiles::k, tiles::v));
    b.queries(i, rows);
    auto [visits, listed] = load_visits(b, {Line::load_counts, Line::load_lists}, lists_, grid, plane, i);
    out.iterations = static_cast<std::int32_t>(visits.size());
    if (plan_.pages && !visits.empty()) listed = load_pages(b, visits, listed);
    if (!visits.empty()) {
      b.load(Line::load_q, tiles::q);
      spill(b, out, Line::load_q, spills_.of_block);
    }
    b.fill(Line::init, tiles::o, 0.0F);
    b.fill(Line::init, tiles::m, -std::numeric_limits<float>::infinity());
    b.fill(Line::init, tiles::l, 0.0F);
    const double moved = moved_.share(grid, plane, i, visits);
    b.walk_keys(
        visits, needs.stages, [&](const KeyTile& tile) { return !tile.partial && grid.is_whole(tile); },
        [&, listed = listed, first = visits.empty() ? -1 : visits.front().index](const KeyTile& tile) {
          emit_pair(b, tile.partial, in_eighths(moved), listed);
          if (spills_.any()) spill(b, out, Line::scores, spilled_words(plane, rows, tile, tile.index == first, moved));
        });
    b.divide(Line::finish, tiles::o, tiles::l);
    if (visits.empty() && lists_) b.after_operation(listed);  // before the lengths arrive, nobody knows that the lists are empty
    b.log_sum_exp(Line::finish, tiles::lse, tiles::m, tiles::l);
    b.overhead(store_);
    b.store(Line::store, tiles::o);
    b.store(Line::store, tiles::lse);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const std::int64_t i = launches_.front().row_tile_of(block), plane = block / plan_.grid.query_tiles;
    const TileRange rows = plan_.grid.queries(i);
    return plan_.place_with_statistic(plane, rows, plan_.grid.row_class(plane, i));
  }

  std::shared_ptr<const TableValues> tables() const override {
    const std::shared_ptr<const TableValues> of_lists = lists_ ? lists_->values() : nullptr;
    return plan_.pages ? page_values(plan_.pages, of_lists) : of_lists;
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  /// Loads the entries of all pages from the first visited one to the last, once the lists name them.
  std::int32_t load_pages(BlockBuilder& b, std::span<const KeyTile> visits, std::int32_t listed) const {
    const TileRange pages = pages_of_visits(plan_, visits);
    b.pages(pages.first, pages.count);
    return b.load_after(Line::load_pages, paged::entries, listed);
  }

  /// Stores `words` of every thread.
  static void spill(BlockBuilder& b, BlockOperations& out, Line line, double words) {
    if (words <= 0) return;
    b.write(line, spilled, 0);
    out.operations.back().bytes = std::llround(words * static_cast<double>(spilled_word_bytes));
  }
  /// Returns whether all blocks spill as many words: no mask, and none that the scores decide about.
  bool blocks_spill_alike() const { return !problem_.has_mask() && spills_.of_rescaling == 0; }
  /// Returns the words that a thread stores for a key tile, on average over the warps. `moved`: the share of the tiles in which a
  /// maximum of a warp grows.
  double spilled_words(std::int64_t plane, TileRange rows, const KeyTile& tile, bool is_first, double moved) const {
    const double seen = spills_.of_sight == 0 ? 1 : seeing_share(plane, rows, tile);
    double words = spills_.of_tile + seen * spills_.of_sight + moved * spills_.of_rescaling;
    if (tile.partial) words += spills_.of_partial;
    if (tile.partial && !is_first) words += spills_.of_columns * column_share();
    if (!plan_.grid.is_whole(tile)) words += spills_.of_end;
    return words;
  }
  /// Returns the share of the threads that compute what the mask needs of a key: one each.
  double column_share() const { return std::min(1.0, static_cast<double>(tile_.block_kv) / flex_threads); }
  /// Returns the share of the warps that see a key of the tile: the others skip the second product.
  double seeing_share(std::int64_t plane, TileRange rows, const KeyTile& tile) const {
    if (!tile.partial) return 1;
    const std::int64_t each = tile_.block_q / flex_warps;
    int seeing = 0;
    for (std::int64_t first = 0; first < tile_.block_q; first += each) {
      const TileRange own = {rows.first + first, std::clamp<std::int64_t>(rows.count - first, 0, each)};
      // Rows behind the last query are computed as if they were there; the mask says the same of them as of the last one.
      const TileRange looked = own.count > 0 ? own : TileRange{rows.end() - 1, 1};
      seeing += plan_.grid.mask->tile(plane, looked, plan_.grid.keys(tile.index)) != TileVisibility::empty ? 1 : 0;
    }
    return static_cast<double>(seeing) / flex_warps;
  }

  void emit_pair(BlockBuilder& b, bool masked, int moved, std::int32_t listed) const {
    b.load(Line::load_k, tiles::k, listed);
    b.matmul(Line::scores, tiles::s, tiles::q, tiles::k, {.transpose = true, .factor = plan_.scale});
    if (problem_.score_change) b.modify(Line::modify, tiles::s, cost_.operations, cost_.exps);
    if (masked) b.mask(Line::mask, tiles::s);
    emit_online_softmax(
        b, {Line::row_max, Line::exp, Line::alpha, Line::row_sum, Line::rescale, Line::load_v, Line::weigh, Line::keep_max}, moved,
        listed);
  }

  BlockPlan plan_;
  FlexSpills spills_;
  MovedMaxima moved_;
  std::optional<FlexLists> lists_;  // none: no mask
  Overhead store_;                  // as in flash2, whose loop this is
  ScoreCost cost_;
};

std::optional<ClosedForm> Flex::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_) || (spills_.any() && !blocks_spill_alike())) return std::nullopt;
  const AttentionProblem& p = problem_;
  const std::int64_t row_bytes = p.head_dim * element_bytes(p.dtype);
  if (p.page_size * row_bytes % sector_size != 0) return std::nullopt;  // two pages share a sector
  const FlexSums sums = flex_sums(p, tile_, *plan_.grid.mask, 1, 1);
  ClosedForm form;
  const auto add = [&](Tensor tensor, Link link, std::int64_t bytes, std::string formula) {
    form.terms.push_back({tensor, link, Bytes(bytes), std::move(formula)});
  };
  add(tensors::q, Link::l2_to_sm, sums.rows * row_bytes, formula_for(p, "B·Hq·Nq·d·e", "B·Hq·d·e·(rows of tiles that see a key)"));
  for (const Tensor tensor : {tensors::k, tensors::v})
    add(tensor, Link::l2_to_sm, sums.keys * row_bytes,
        formula_for(p, "B·Hq·⌈Nq/Br⌉·Nk·d·e", "B·Hq·d·e·Σᵢ keys of the listed blocks"));
  if (p.has_mask()) add_list_terms(form, sums);
  if (p.page_size > 0) add_page_term(form, p, sums);
  add(tensors::o, Link::sm_to_l2, p.query_planes() * p.seq_q * row_bytes, "B·Hq·Nq·d·e");
  add(tensors::lse, Link::sm_to_l2, statistic_bytes(p, tile_, Crossings::once), statistic_formula(p, tile_, "B·Hq·Nq·4"));
  if (spills_.any()) {
    const TileGrid& grid = plan_.grid;
    const int of_tile = spills_.of_tile + spills_.of_sight, of_end = p.seq_kv % tile_.block_kv != 0 ? spills_.of_end : 0;
    add(spilled, Link::sm_to_l2,
        p.query_planes() * grid.query_tiles * (spills_.of_block + of_end + of_tile * grid.key_tiles) * spilled_word_bytes,
        fmt::format("B·Hq·⌈Nq/Br⌉·({} + {}·⌈Nk/Bc⌉)·{}", spills_.of_block + of_end, of_tile, spilled_word_bytes));
  }
  form.flops = 4 * p.head_dim * sums.rows_keys;
  form.exps = sums.rows_keys * (1 + cost_.exps) + sums.rows_tiles;
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  if (Status status = check_request(id, problem, tile, Masks::taken, ScoreChanges::taken, Pages::taken); !status)
    return status.error();
  if (Status status = check_mask_block(problem, tile); !status) return status.error();
  if (Status status = check_pages(problem, tile); !status) return status.error();
  return std::unique_ptr<TileProgram>(std::make_unique<Flex>(problem, tile, gpu, flex_spills_of(problem, tile)));
}

}  // namespace

ProgramInfo flex_program() {
  return {
      .id = id,
      .title = "FlexAttention",
      .family = "attention",
      .source = "arXiv:2412.05496",
      .summary = "Over FlashAttention-2: lists of key blocks from any mask expression, and a score expression.",
      .listing = listing,
      .default_tile = flash2_tile,
      .make = make,
      .has_lists = true,
      .takes_pages = true,
      .may_spill = true,
  };
}

}  // namespace tilescope
