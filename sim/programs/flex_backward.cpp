// flex_backward: the gradients of flex. The two kinds of block of flash2_backward_two_pass, over the tiles that a mask's lists
// name: those that own keys follow the lists by column. The gradient of a changed score is multiplied by the derivative of the
// change.
//
//   l2_to_sm = those of flash2_backward_two_pass over the tiles of the listed blocks, plus lists: by column for every key tile and
//              query head, by row for every query tile
//   sm_to_l2 = B·Hkv·2·Nk·d·e [dK, dV] + B·Hq·Nq·(d·e [dQ] + 4 [D])
//
// Gradients of captured tables: the blocks that own queries have the scores of one head, so what a table's index has of b and h is
// the same for the whole block, and what it has of q stays for all key tiles. Such a block gathers the scores that meet at one
// element and adds their sum to HBM: once a tile pair, or once at its end where the index does not change with kv. Blocks that own
// keys go through several heads and could keep neither. The first launch writes the zeros.
//
//   sm_to_l2 += tables' elements·4 [zeros] + the gathered sums·4, in sectors [added]
//
// In order, the sums are stored instead, each in a place of its own, over zeros that the first launch writes; a last launch adds
// them up, head after head and tile after tile.
//
//   sm_to_l2 += places·4 [zeros] + the gathered sums·4 [stored] + tables' elements·4;   l2_to_sm += the gathered sums·4, in sectors
#include "sim/masks/score_change.h"
#include "sim/programs/backward_lines.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/flex_lists.h"
#include "sim/programs/gathered_reads.h"
#include "sim/programs/gradient_work.h"
#include "sim/programs/key_blocks.h"
#include "sim/programs/pair_gradients.h"
#include "sim/programs/programs.h"
#include "sim/programs/row_dot.h"
#include "sim/programs/table_sums.h"
#include "sim/programs/table_tensors.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flex_backward";

enum class Line {
  rows,
  load_o,
  load_d_o_once,
  row_dot,
  store_row_dot,
  zero_tables,
  store_zero_tables,
  key_tiles,
  init_keys,
  load_query_counts,
  load_query_lists,
  load_k,
  load_v,
  query_loop,
  load_q,
  load_stats,
  scores,
  slope,
  modify,
  mask,
  exp,
  load_d_o,
  d_v,
  d_p,
  subtract,
  d_s,
  chain,
  d_k,
  store_keys,
  query_tiles,
  init_queries,
  load_counts,
  load_lists,
  load_q_once,
  load_d_o_again,
  load_stats_once,
  key_loop,
  load_k_again,
  scores_again,
  slope_again,
  factors,
  modify_again,
  mask_again,
  exp_again,
  load_v_again,
  d_p_again,
  subtract_again,
  d_s_again,
  table_products,
  gather_tables,
  add_tables,
  store_parts,
  chain_again,
  d_q,
  add_gathered,
  store_gathered,
  store_queries,
  tables,
  zero_sums,
  load_parts,
  sum_parts,
  store_tables,
  count
};
namespace lines = backward_lines;
constexpr ListingLine listing[] = {
    because(lines::query_blocks, "The first launch makes D."),
    lines::load_o,
    lines::load_d_o_once,
    because(lines::row_dot, "A mask or a change of scores does not change what D is."),
    lines::store_row_dot,
    {1, "dT = 0", Tensor(), "dT = 0", "Only with gradients of tables: each block makes its share of the zeros.",
     ListingLine::conditional},
    {1, "store dT → HBM", Tensor(), "dT: the table, fp32", "Blocks of queries add to it. In order: zeros for all places of ΔT.",
     ListingLine::conditional},
    because(lines::key_blocks, "The second launch, its first kind of block."),
    because(lines::init_keys, "A key tile that no query sees keeps these zeros."),
    {1, "load list lengths", lists::query_partial_count, "q_num_blocks[j], full_q_num_blocks[j]",
     "The lists by column: which query blocks see this key block. Once for each query head that reads the key head."},
    {1, "load the two lists", lists::query_partial, "q_indices[j, …], full_q_indices[j, …]",
     "The mask is the same, so the lists by column name the same pairs of blocks as those by row."},
    because(lines::load_k_once, "Stays on chip. Not loaded if no query sees it."),
    lines::load_v_once,
    {1, "for each listed tile i", Tensor(), "i in q_indices[j], then in full_q_indices[j]",
     "Of every query head that reads this key head. Hidden pairs cost nothing in the backward pass either.", ListingLine::heading},
    because(lines::load_q, "A ring of buffers."),
    because(lines::load_stats, "L is of the changed and masked scores."),
    because(lines::scores, "The first of seven products."),
    {2, "f′ = df/dS", tensors::d_s, "f′[r,c] = ∂f/∂S at S[r,c]",
     "The derivative of the change of scores, by symbolic rules. Taken now, because S is about to be replaced.",
     ListingLine::conditional},
    {2, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)", "The same change as in the forward pass.",
     ListingLine::conditional},
    {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if not visible(b, h, q, kv)", "Only in partial tiles."},
    because(lines::exp, "The final probabilities at once; 0 where the key is hidden."),
    lines::load_d_o,
    lines::d_v,
    lines::d_p,
    lines::subtract,
    because(lines::d_s, "The derivative of softmax: the gradient of the changed score."),
    {2, "dS = dS ∘ f′", tensors::d_s, "dS = dS∘f′", "The chain rule: from the gradient of the changed score to that of S.",
     ListingLine::conditional},
    because(lines::d_k, "The fourth product. dQ is left to the other kind of block."),
    lines::store_keys,
    because(lines::query_blocks, "The second launch, its other kind of block."),
    lines::init_queries,
    {1, "load list lengths", lists::partial_count, "kv_num_blocks[i], full_kv_num_blocks[i]", "The lists of the forward pass."},
    {1, "load the two lists", lists::partial, "kv_indices[i, …], full_kv_indices[i, …]", "As in the forward pass."},
    lines::load_q_once,
    lines::load_d_o_of_block,
    lines::load_stats_once,
    {1, "for each listed tile j", Tensor(), "j in kv_indices[i], then in full_kv_indices[i]", "As in the forward pass.",
     ListingLine::heading},
    lines::load_k,
    because(lines::scores_again, "The fifth product."),
    {2, "f′ = df/dS", tensors::d_s, "f′[r,c] = ∂f/∂S at S[r,c]", "As in the block of keys.", ListingLine::conditional},
    {2, "∂T = df/dT", tensors::d_s, "∂T[r,c] = ∂f/∂T at S[r,c]",
     "How much the score changes with the number that it reads of table T. Not needed where it is 1, as for a bias.",
     ListingLine::conditional},
    {2, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)", "As in the block of keys.",
     ListingLine::conditional},
    {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if not visible(b, h, q, kv)", "Only in partial tiles."},
    because(lines::exp, "The same bits as in the block of keys."),
    lines::load_v,
    because(lines::d_p, "The sixth product."),
    because(lines::subtract, "As in the block of keys."),
    because(lines::d_s, "As in the block of keys."),
    {2, "dS∘∂T", tensors::d_s, "dS∘∂T", "What each score gives to the number that it read.", ListingLine::conditional},
    {2, "ΔT = Σ dS∘∂T", Tensor(), "ΔT[i] = Σ dS∘∂T of the scores that read T[i]",
     "Rows, columns or diagonals of the tile: a block adds up what meets at one number before it writes.",
     ListingLine::conditional},
    {2, "dT += ΔT, in HBM", Tensor(), "dT = dT + ΔT, fp32",
     "Other blocks read the same numbers. The L2 adds in the order of arrival: the last bits of dT change from run to run.",
     ListingLine::conditional},
    {2, "store ΔT → HBM", Tensor(), "ΔT: a place for each pair of tiles", "In order: nothing is added yet.",
     ListingLine::conditional},
    {2, "dS = dS ∘ f′", tensors::d_s, "dS = dS∘f′", "As in the block of keys.", ListingLine::conditional},
    lines::d_q,
    {1, "dT += ΔT, in HBM", Tensor(), "dT = dT + ΔT, fp32", "Where the index does not change with the key, once a block.",
     ListingLine::conditional},
    {1, "store ΔT → HBM", Tensor(), "ΔT: a place for each query tile", "In order, in the same way.", ListingLine::conditional},
    because(lines::store_queries, "Written once, in one order: every run gives the same bits."),
    {0, "for each piece t of T, a block:", Tensor(), "a piece: 32 numbers in a row of T",
     "The third launch, if tables are added in order.", ListingLine::heading},
    {1, "dT = 0", Tensor(), "dT = 0", "In registers.", ListingLine::conditional},
    {1, "load the next ΔT", Tensor(), "head by head, query tile by query tile, key tile by key tile",
     "Those that hold sums of these numbers.", ListingLine::conditional},
    {1, "dT = dT + ΔT", Tensor(), "dT = dT + ΔT", "In one order: every run gives the same bits.", ListingLine::conditional},
    {1, "store dT → HBM", Tensor(), "dT: 32 numbers, fp32", "Each element is written exactly once.", ListingLine::conditional},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// Without a mask there are no lists, and without a change of scores no derivative.
Schema declared(const AttentionProblem& problem, const TileShape& tile) {
  using namespace tensors;
  Schema schema = {.tensors = {q, k, v, s, p, o, lse, d_o, d_q, d_k, d_v, d_s, d_p, row_dot},
                   .inputs = {q, k, v, o, lse, d_o},
                   .outputs = {row_dot, d_q, d_k, d_v},
                   .tiles = {tiles::q, tiles::q_ring, tiles::k,   tiles::k_kept,  tiles::v,   tiles::v_kept,   tiles::s,
                             tiles::p, tiles::p_kept, tiles::lse, tiles::row_dot, tiles::d_o, tiles::d_o_ring, tiles::d_o_o,
                             tiles::o, tiles::d_p,    tiles::d_s, tiles::d_q,     tiles::d_k, tiles::d_v}};
  if (problem.score_change && problem.score_change->slope() != nullptr) schema.tiles.push_back(tiles::slope);
  bool has_product = false;
  const auto write = [&](Tensor tensor) {
    if (schema.writes(tensor)) return false;
    schema.tensors.push_back(tensor);
    schema.outputs.push_back(tensor);
    return true;
  };
  for (const GatheredRead& read : gathered_reads(problem, tile)) {
    if (write(read.gradient)) schema.tiles.push_back(tables::zeros(static_cast<std::size_t>(read.gradient->table), read.gradient));
    write(read.gathered.tensor());
    schema.tiles.push_back(read.gathered);
    if (read.factor != ChipTile::none) schema.tiles.push_back(read.factor);
    if (read.factor != ChipTile::none && !has_product) schema.tiles.push_back(tables::product());
    has_product = has_product || read.factor != ChipTile::none;
  }
  if (problem.has_mask()) add_lists(schema, ListsBy::both);
  return schema;
}

enum LaunchIndex { row_dot_launch, gradient_launch, table_launch };

/// The change of scores of a kind of block, and the derivative's part in their gradient. See PlainScores.
struct ChangedScores {
  const ScoreChange* change_of;  // null: none
  LineId slope, modify, chain;
  std::int32_t listed;  // the last load of a list

  std::int32_t after() const { return listed; }
  bool has_slope() const { return change_of != nullptr && change_of->slope() != nullptr; }
  void change(BlockBuilder& b) const {
    change(b, [] {});
  }
  /// `before` emits what needs the scores as they were.
  template <class Before>
  void change(BlockBuilder& b, const Before& before) const {
    if (change_of == nullptr) return;
    const ScoreCost cost = change_of->cost(), of_slope = change_of->slope_cost();
    if (has_slope()) b.slope(slope, tiles::slope, tiles::s, of_slope.operations, of_slope.exps);
    before();
    b.modify(modify, tiles::s, cost.operations, cost.exps);
  }
  void chain_gradient(BlockBuilder& b) const {
    if (has_slope()) b.multiply(chain, tiles::d_p, tiles::slope);
  }
};

/// The same for a block that owns queries, which also gathers the gradients of tables.
struct GatheringScores {
  ChangedScores scores;
  std::span<const GatheredRead> reads;
  const TensorLayouts* layouts;
  BlockOperations* out;
  std::int64_t plane, i;
  TileRange queries;
  std::int64_t j = 0;
  TileRange keys = {};

  std::int32_t after() const { return scores.after(); }
  void change(BlockBuilder& b) const {
    scores.change(b, [&] {
      for (const GatheredRead& read : reads)
        if (read.factor != ChipTile::none)
          b.factor(Line::factors, read.factor, tiles::s, read.number, read.cost.operations, read.cost.exps);
    });
  }
  void chain_gradient(BlockBuilder& b) const {
    gather(b, false);
    scores.chain_gradient(b);
    gather(b, true);
  }
  /// `with_slope`: those whose factor is the derivative by the score.
  void gather(BlockBuilder& b, bool with_slope) const {
    for (const GatheredRead& read : reads) {
      const TableBox box = read.box(plane, i, queries, j, keys);
      if (read.read->takes_slope != with_slope || box.empty()) continue;
      ChipTile from = tiles::d_p;
      if (read.factor != ChipTile::none) {
        from = tables::product();
        b.copy(Line::table_products, from, tiles::d_p);
        b.multiply(Line::table_products, from, read.factor);
      }
      b.table_box(read.gathered, box);
      b.gather(Line::gather_tables, read.gathered, from, read.number, gather_operations(read.read->reach), read.is_kept());
      if (!read.is_kept()) leave(b, Line::add_tables, Line::store_parts, read, box);
    }
  }
  /// Adds what was gathered to the table, or stores it in its place.
  void leave(BlockBuilder& b, LineId adds, LineId stores, const GatheredRead& read, const TableBox& box) const {
    if (read.parts) {
      b.store(stores, read.gathered);
      return;
    }
    b.reduce_add(adds, read.gathered);
    out->operations.back().bytes = read.read->is_exact() ? exact_bytes(read, box) : scattered_bytes();
  }

 private:
  std::int64_t exact_bytes(const GatheredRead& read, const TableBox& box) const {
    return tables::sectors_added(*read.read, (*layouts)[read.gradient.index()], tile_of(read.gradient, box)) * sector_size;
  }
  /// Returns the most bytes that single additions move: a sector each. Lanes of a warp that meet at one number are not combined.
  std::int64_t scattered_bytes() const { return queries.count * keys.count * sector_size; }
};

class FlexBackward final : public TileProgram {
 public:
  FlexBackward(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared(problem, tile)),
        plan_(problem, tile, schema()),
        tables_(
            problem, tile, plan_,
            {Line::zero_tables, Line::store_zero_tables, Line::zero_sums, Line::load_parts, Line::sum_parts, Line::store_tables}) {
    if (problem.has_mask()) lists_.emplace(plan_.grid, tile, ListsBy::both);
    const TileGrid& grid = plan_.grid;
    LaunchSpec gradients{"gradients",
                         grid.key_tiles + problem.heads_of_kv_head() * grid.query_tiles,
                         problem.kv_heads,
                         problem.batch,
                         flex_backward_needs(problem, tile, gpu),
                         LineId(Line::key_tiles).number,
                         LineId(Line::store_queries).number};
    gradients.mixed = true;
    launches_ = {
        {"row dots", grid.query_tiles, problem.heads, problem.batch, row_dot_needs("flash2_backward_two_pass", problem, tile),
         LineId(Line::rows).number, LineId(Line::store_zero_tables).number},
        gradients};
    if (const std::int64_t blocks = tables_.blocks(); blocks > 0) {
      KernelNeeds needs;
      needs.threads = static_cast<int>(table_chunk);
      needs.has_products = false;
      launches_.push_back({"table sums", blocks, 1, 1, needs, LineId(Line::tables).number, LineId(Line::store_tables).number});
    }
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    if (launch == table_launch) return emit_table_sums(block, out);
    if (launch == row_dot_launch) {
      const auto [i, plane] = grid.query_block(block);
      BlockBuilder b(out, plan_, launches_[row_dot_launch].needs, launch, block, BlockPlan::query_rows(plane, grid.queries(i)), 0);
      b.queries(i, grid.queries(i));
      emit_row_dot(b, {Line::load_o, Line::load_d_o_once, Line::row_dot, Line::store_row_dot}, problem_,
                   launches_[row_dot_launch].needs, grid.queries(i).count);
      return tables_.emit_zeros(b, block, launches_[row_dot_launch].blocks());
    }
    const GradientWork work = gradient_work(grid, block);
    if (work.axis == Axis::key)
      emit_keys(block, work, out);
    else
      emit_queries(block, work, out);
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    if (!tables_.reads().empty() || (launch == gradient_launch && lists_))
      return std::nullopt;  // tables have other rows than the blocks
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
    BlockPlace place = plan_.place(work.plane, rows, plan_.place_in_sector(work.plane, rows.first));
    place.shape = place.shape * 2 + 1;
    return place;
  }

  std::shared_ptr<const TableValues> tables() const override { return lists_ ? lists_->values() : nullptr; }

  std::optional<Domain> domain_of(int launch, std::int64_t block) const override {
    if (launch == gradient_launch) return gradient_domain(plan_.grid, block);
    return TileProgram::domain_of(launch, block);
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  void emit_table_sums(std::int64_t block, BlockOperations& out) const {
    BlockBuilder b(out, plan_, launches_[table_launch].needs, table_launch, block, BlockPlan::query_rows(0, {}), 0);
    out.iterations = static_cast<std::int32_t>(tables_.emit_sums(b, block));
  }

  void emit_keys(std::int64_t block, const GradientWork& work, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[gradient_launch].needs;
    const TileRange keys = grid.keys(work.tile);
    BlockBuilder b(out, plan_, needs, gradient_launch, block, BlockPlan::along(Axis::key, work.plane, keys),
                   key_block_tiles(needs, false));
    b.keys(work.tile, keys);
    b.fill(Line::init_keys, tiles::d_k, 0.0F);
    b.fill(Line::init_keys, tiles::d_v, 0.0F);
    std::int64_t n = 0;
    const std::int64_t first = problem_.first_query_plane_of(work.plane);
    std::int32_t listed = -1;
    for (std::int64_t plane = first; plane < first + problem_.heads_of_kv_head(); ++plane) {
      b.query_plane(plane);
      std::vector<KeyTile> visits;
      if (lists_) {
        const FlexLists::OfTile own = lists_->of_keys(grid, plane, work.tile);
        b.queries(-1, {});
        b.iteration(n == 0 ? -1 : n, n % needs.stages);
        listed = load_lists(b,
                            {Line::load_query_counts, Line::load_query_lists, lists::query_partial_count_tile,
                             lists::query_partial_tile, lists::query_full_count_tile, lists::query_full_tile},
                            own);
        visits = lists_->query_visits(grid, own);
      } else {
        for (const QueryTile& tile : query_visits(grid, plane, work.tile)) visits.push_back({tile.index, tile.partial});
      }
      if (n == 0 && !visits.empty()) {
        b.load(Line::load_k, tiles::k_kept, listed);
        b.load(Line::load_v, tiles::v_kept, listed);
      }
      const ChangedScores change{problem_.score_change.get(), Line::slope, Line::modify, Line::chain, listed};
      const PairWork pairs = pair_work(id, "key_step", plan_, needs, needs.warps_sharing_rows);
      for (const KeyTile& tile : visits) {
        b.queries(tile.index, grid.queries(tile.index));
        b.iteration(n, n % needs.stages);
        ++n;
        emit_key_gradients(
            b, key_gradient_lines<Line>(), pairs, tile.partial, [] {}, change);
      }
    }
    out.iterations = static_cast<std::int32_t>(n);
    b.queries(-1, {});
    b.iteration(n, 0);
    b.store(Line::store_keys, tiles::d_k);
    if (n == 0 && lists_) b.after_operation(listed);  // before the lengths arrive, nobody knows that the lists are empty
    b.store(Line::store_keys, tiles::d_v);
    b.overhead(kernel_profile(id).overhead("gradients", "key_store", problem_));
  }

  void emit_queries(std::int64_t block, const GradientWork& work, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[gradient_launch].needs;
    const TileRange rows = grid.queries(work.tile);
    BlockBuilder b(out, plan_, needs, gradient_launch, block, BlockPlan::query_rows(work.plane, rows),
                   tile_bits(tiles::q, tiles::k, tiles::v, tiles::d_o));
    b.queries(work.tile, rows);
    b.fill(Line::init_queries, tiles::d_q, 0.0F);
    const ListedVisits walk = load_visits(b, {Line::load_counts, Line::load_lists}, lists_, grid, work.plane, work.tile);
    const std::vector<KeyTile>& visits = walk.visits;
    const std::int32_t listed = walk.listed;
    out.iterations = static_cast<std::int32_t>(visits.size());
    if (!visits.empty()) {
      b.load(Line::load_q_once, tiles::q, listed);
      b.load(Line::load_d_o_again, tiles::d_o, listed);
      b.load(Line::load_stats_once, tiles::lse, listed);
      b.load(Line::load_stats_once, tiles::row_dot, listed);
    }
    GatheringScores change{{problem_.score_change.get(), Line::slope_again, Line::modify_again, Line::chain_again, listed},
                           tables_.reads(),
                           &plan_.layouts,
                           &out,
                           work.plane,
                           work.tile,
                           rows};
    const auto each_kept = [&](const auto& emit) {
      for (const GatheredRead& read : tables_.reads())
        if (const TableBox box = read.box(work.plane, work.tile, rows, 0, {0, 1});
            read.is_kept() && !visits.empty() && !box.empty())
          emit(read, box);
    };
    each_kept([&](const GatheredRead& read, const TableBox& box) {
      b.table_box(read.gathered, box);
      b.fill(Line::init_queries, read.gathered, 0.0F);
    });
    const PairWork pairs = pair_work(id, "query_step", plan_, needs, 2);
    b.walk_keys(
        visits, needs.stages, [&](const KeyTile& tile) { return tables_.reads().empty() && !tile.partial && grid.is_whole(tile); },
        [&](const KeyTile& tile) {
          change.j = tile.index;
          change.keys = grid.keys(tile.index);
          emit_query_gradients(b, query_gradient_lines<Line>(), pairs, tile.partial, change);
        });
    each_kept([&](const GatheredRead& read, const TableBox& box) {
      change.leave(b, Line::add_gathered, Line::store_gathered, read, box);
    });
    b.store(Line::store_queries, tiles::d_q);
    b.overhead(kernel_profile(id).overhead("gradients", "query_store", problem_));
    if (visits.empty() && lists_) b.after_operation(listed);
  }

  BlockPlan plan_;
  std::optional<FlexLists> lists_;  // none: no mask
  TableSums tables_;
};

std::optional<ClosedForm> FlexBackward::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
  const AttentionProblem& p = problem_;
  const FlexSums by_row = flex_sums(p, tile_, *plan_.grid.mask, 1, 1);
  const FlexKeySums by_key = flex_key_sums(p, tile_, *plan_.grid.mask);
  const std::int64_t row = p.head_dim * element_bytes(p.dtype), kv_planes = p.kv_planes();
  const Bytes all(p.query_planes() * p.seq_q * row), pairs(by_row.rows_tiles * row), seen(by_row.rows * row);
  const Bytes kv((by_key.seen_keys + by_row.keys) * row), gradient(kv_planes * p.seq_kv * row);
  const std::string visits = formula_for(p, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·tiles of the listed blocks");
  const std::string rows = formula_for(p, "Nq", "(rows of tiles that see a key)");
  const std::string keys =
      formula_for(p, "B·Hkv·Nk·d·e + B·Hq·d·e·⌈Nq/Br⌉·Nk", "B·d·e·(keys of tiles that are seen + Hq·Σᵢ keys of the listed blocks)");
  ClosedForm form;
  const auto add = [&](Tensor tensor, Link link, Bytes bytes, std::string formula) {
    form.terms.push_back({tensor, link, bytes, std::move(formula)});
  };
  add(tensors::q, Link::l2_to_sm, pairs + seen, "B·Hq·d·e·(" + rows + " + " + visits + ")");
  add(tensors::k, Link::l2_to_sm, kv, keys);
  add(tensors::v, Link::l2_to_sm, kv, keys);
  add(tensors::o, Link::l2_to_sm, all, "B·Hq·Nq·d·e");
  add(tensors::d_o, Link::l2_to_sm, all + pairs + seen, "B·Hq·d·e·(Nq + " + rows + " + " + visits + ")");
  const Bytes stats(by_row.pair_statistic_bytes + by_row.own_statistic_bytes);
  const std::string of_stats = statistic_formula(p, tile_, "B·Hq·4·(" + rows + " + " + visits + ")");
  for (const Tensor tensor : {tensors::lse, tensors::row_dot}) add(tensor, Link::l2_to_sm, stats, of_stats);
  if (p.has_mask()) {
    add_list_terms(form, by_key);
    add_list_terms(form, by_row);
  }
  add(tensors::row_dot, Link::sm_to_l2, Bytes(statistic_bytes(p, tile_, Crossings::once)),
      statistic_formula(p, tile_, "B·Hq·Nq·4"));
  add(tensors::d_q, Link::sm_to_l2, all, "B·Hq·Nq·d·e");
  add(tensors::d_k, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e");
  add(tensors::d_v, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e");
  if (!tables_.add_terms(form, launches_[row_dot_launch].blocks())) return std::nullopt;
  const ScoreCost cost = p.score_change ? p.score_change->cost() : ScoreCost(),
                  slope = p.score_change ? p.score_change->slope_cost() : ScoreCost();
  form.flops = 14 * p.head_dim * by_row.rows_keys;
  form.exps = 2 * by_row.rows_keys * (1 + cost.exps + slope.exps);
  for (const GatheredRead& read : tables_.reads()) form.exps += by_row.rows_keys * read.cost.exps;
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  if (Status status = check_mask_block(problem, tile); !status) return status.error();
  return make_backward<FlexBackward>(id, problem, tile, gpu, ScoreChanges::taken);
}

}  // namespace

ProgramInfo flex_backward_program() {
  ProgramInfo info{};
  info.id = id;
  info.title = "FlexAttention backward";
  info.family = "backward";
  info.source = "arXiv:2412.05496; FlexAttention's backward kernel";
  info.summary = "Over the two passes: lists of blocks by row and by column, and the derivative of the score expression.";
  info.listing = listing;
  info.default_tile = flex_backward_tile;
  info.make = make;
  info.pass = Pass::backward;
  info.may_spill = true;
  info.forward = "flex";
  info.label = "Flex backward";
  info.has_lists = true;
  info.scores_computed = 2;
  info.warp_tile = warp_edge;
  return info;
}

}  // namespace tilescope
