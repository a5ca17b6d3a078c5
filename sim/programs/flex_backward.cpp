// flex_backward: the gradients of flex. The two kinds of block of flash2_backward_two_pass, over the tiles that a mask's lists
// name: those that own keys follow the lists by column. The gradient of a changed score is multiplied by the derivative of the
// change.
//
//   l2_to_sm = those of flash2_backward_two_pass over the tiles of the listed blocks, plus lists: by column for every key tile and
//              query head, by row for every query tile
//   sm_to_l2 = B·Hkv·2·Nk·d·e [dK, dV] + B·Hq·Nq·(d·e [dQ] + 4 [D])
#include "sim/masks/score_change.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_parts.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/flex_lists.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flex_backward";

enum class Line {
  rows,
  load_o,
  load_d_o_once,
  row_dot,
  store_row_dot,
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
  modify_again,
  mask_again,
  exp_again,
  load_v_again,
  d_p_again,
  subtract_again,
  d_s_again,
  chain_again,
  d_q,
  store_queries,
  count
};
constexpr ListingLine listing[] = {
    {0, "for each query tile i, a block:", Tensor(), "⌈Nq/Br⌉ blocks a head", "The first launch makes D."},
    {1, "load Oᵢ", tensors::o, "Oᵢ: Br × d", "The output of the forward pass."},
    {1, "load dOᵢ", tensors::d_o, "dOᵢ: Br × d", "The gradient that arrives from the next layer."},
    {1, "D = rowsum(dO ∘ O)", tensors::row_dot, "D = Σ dO·O", "A mask or a change of scores does not change what D is."},
    {1, "store Dᵢ → HBM", tensors::row_dot, "Dᵢ: Br", "Four bytes a row."},
    {0, "for each key tile j, a block:", Tensor(), "⌈Nk/Bc⌉ blocks a key head", "The second launch, its first kind of block."},
    {1, "dK = 0, dV = 0", tensors::d_k, "dK = 0, dV = 0", "A key tile that no query sees keeps these zeros."},
    {1, "load list lengths", lists::query_partial_count, "q_num_blocks[j], full_q_num_blocks[j]",
     "The lists by column: which query blocks see this key block. Once for each query head that reads the key head."},
    {1, "load the two lists", lists::query_partial, "q_indices[j, …], full_q_indices[j, …]",
     "The mask is the same, so the lists by column name the same pairs of blocks as those by row."},
    {1, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "Stays on chip. Not loaded if no query sees it."},
    {1, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Stays on chip."},
    {1, "for each listed tile i", Tensor(), "i in q_indices[j], then in full_q_indices[j]",
     "Of every query head that reads this key head. Hidden pairs cost nothing in the backward pass either."},
    {2, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d", "A ring of buffers."},
    {2, "load Lᵢ, Dᵢ", tensors::lse, "Lᵢ, Dᵢ: Br", "L is of the changed and masked scores."},
    {2, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ, τ = 1/√d", "The first of seven products."},
    {2, "f′ = df/dS", tensors::d_s, "f′[r,c] = ∂f/∂S at S[r,c]",
     "The derivative of the change of scores, by symbolic rules. Taken now, because S is about to be replaced."},
    {2, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)", "The same change as in the forward pass."},
    {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if not visible(b, h, q, kv)", "Only in partial tiles."},
    {2, "P = exp(S − L)", tensors::p, "P = exp(S − L)", "The final probabilities at once; 0 where the key is hidden."},
    {2, "load dOᵢ → shared", tensors::d_o, "dOᵢ: Br × d", "Asked for early, needed only now."},
    {2, "dV = dV + Pᵀ dOᵢ", tensors::d_v, "dV = dV + Pᵀ·dO", "The second product."},
    {2, "dP = dOᵢ Vⱼᵀ", tensors::d_p, "dP = dO·Vᵀ", "The third product."},
    {2, "dP = dP − D", tensors::d_p, "dP = dP − D", "A row of P sums to 1, so only differences within the row count."},
    {2, "dS = P ∘ dP", tensors::d_s, "dS = P∘(dP − D)", "The derivative of softmax: the gradient of the changed score."},
    {2, "dS = dS ∘ f′", tensors::d_s, "dS = dS∘f′", "The chain rule: from the gradient of the changed score to that of S."},
    {2, "dK = dK + τ dSᵀ Qᵢ", tensors::d_k, "dK = dK + τ dSᵀ·Q", "The fourth product. dQ is left to the other kind of block."},
    {1, "store dKⱼ, dVⱼ → HBM", tensors::d_k, "dKⱼ, dVⱼ: Bc × d", "Each element is written exactly once."},
    {0, "for each query tile i, a block:", Tensor(), "⌈Nq/Br⌉ blocks a head", "The second launch, its other kind of block."},
    {1, "dQ = 0", tensors::d_q, "dQ = 0", "Summed in registers, so nothing is added in memory."},
    {1, "load list lengths", lists::partial_count, "kv_num_blocks[i], full_kv_num_blocks[i]", "The lists of the forward pass."},
    {1, "load the two lists", lists::partial, "kv_indices[i, …], full_kv_indices[i, …]", "As in the forward pass."},
    {1, "load Qᵢ → shared", tensors::q, "Qᵢ: Br × d", "Stays on chip, as in the forward pass."},
    {1, "load dOᵢ → shared", tensors::d_o, "dOᵢ: Br × d", "Stays on chip."},
    {1, "load Lᵢ, Dᵢ", tensors::lse, "Lᵢ, Dᵢ: Br", "Once a block."},
    {1, "for each listed tile j", Tensor(), "j in kv_indices[i], then in full_kv_indices[i]", "As in the forward pass."},
    {2, "load Kⱼ → shared", tensors::k, "Kⱼ: Bc × d", "A ring of buffers."},
    {2, "S = τ Qᵢ Kⱼᵀ", tensors::s, "S = τ Q Kᵀ", "The fifth product."},
    {2, "f′ = df/dS", tensors::d_s, "f′[r,c] = ∂f/∂S at S[r,c]", "As in the block of keys."},
    {2, "S = f(S, b, h, q, kv)", tensors::s, "S[r,c] = f(S[r,c], b, h, q, kv)", "As in the block of keys."},
    {2, "mask hidden scores", tensors::s, "S[r,c] = −∞ if not visible(b, h, q, kv)", "Only in partial tiles."},
    {2, "P = exp(S − L)", tensors::p, "P = exp(S − L)", "The same bits as in the block of keys."},
    {2, "load Vⱼ → shared", tensors::v, "Vⱼ: Bc × d", "Asked for early, needed only now."},
    {2, "dP = dOᵢ Vⱼᵀ", tensors::d_p, "dP = dO·Vᵀ", "The sixth product."},
    {2, "dP = dP − D", tensors::d_p, "dP = dP − D", "As in the block of keys."},
    {2, "dS = P ∘ dP", tensors::d_s, "dS = P∘(dP − D)", "As in the block of keys."},
    {2, "dS = dS ∘ f′", tensors::d_s, "dS = dS∘f′", "As in the block of keys."},
    {2, "dQ = dQ + τ dS Kⱼ", tensors::d_q, "dQ = dQ + τ dS·K", "The seventh product."},
    {1, "store dQᵢ → HBM", tensors::d_q, "dQᵢ: Br × d", "Written once, in one order: every run gives the same bits."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// Without a mask there are no lists, and without a change of scores no derivative.
Schema declared(const AttentionProblem& problem) {
  using namespace tensors;
  Schema schema = {{q, k, v, s, p, o, lse, d_o, d_q, d_k, d_v, d_s, d_p, row_dot},
                   {q, k, v, o, lse, d_o},
                   {row_dot, d_q, d_k, d_v},
                   {tiles::q, tiles::q_ring, tiles::k,   tiles::k_kept,  tiles::v,   tiles::v_kept,   tiles::s,
                    tiles::p, tiles::p_kept, tiles::lse, tiles::row_dot, tiles::d_o, tiles::d_o_ring, tiles::d_o_o,
                    tiles::o, tiles::d_p,    tiles::d_s, tiles::d_q,     tiles::d_k, tiles::d_v}};
  if (problem.score_change && problem.score_change->slope() != nullptr) schema.tiles.push_back(tiles::slope);
  if (problem.has_mask()) add_lists(schema, ListsBy::both);
  return schema;
}

enum LaunchIndex { row_dot_launch, gradient_launch };

/// The change of scores of a kind of block, and the derivative's part in their gradient. See PlainScores.
struct ChangedScores {
  const ScoreChange* change_of;  // null: none
  LineId slope, modify, chain;
  std::int32_t listed;  // the last load of a list

  std::int32_t after() const { return listed; }
  bool has_slope() const { return change_of != nullptr && change_of->slope() != nullptr; }
  void change(BlockBuilder& b) const {
    if (change_of == nullptr) return;
    const ScoreCost cost = change_of->cost(), of_slope = change_of->slope_cost();
    if (has_slope()) b.slope(slope, tiles::slope, tiles::s, of_slope.operations, of_slope.exps);
    b.modify(modify, tiles::s, cost.operations, cost.exps);
  }
  void chain_gradient(BlockBuilder& b) const {
    if (has_slope()) b.multiply(chain, tiles::d_p, tiles::slope);
  }
};

class FlexBackward final : public TileProgram {
 public:
  FlexBackward(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared(problem)), plan_(problem, tile, schema()) {
    if (problem.has_mask()) lists_.emplace(plan_.grid, tile, ListsBy::both);
    const TileGrid& grid = plan_.grid;
    LaunchSpec gradients{"gradients",
                         grid.key_tiles + group_of(problem) * grid.query_tiles,
                         problem.kv_heads,
                         problem.batch,
                         flex_backward_needs(problem, tile, gpu),
                         LineId(Line::key_tiles).number,
                         LineId(Line::store_queries).number};
    gradients.mixed = true;
    launches_ = {
        {"row dots", grid.query_tiles, problem.heads, problem.batch, row_dot_needs("flash2_backward_two_pass", problem, tile),
         LineId(Line::rows).number, LineId(Line::store_row_dot).number},
        gradients};
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const TileGrid& grid = plan_.grid;
    if (launch == row_dot_launch) {
      const std::int64_t i = block % grid.query_tiles, plane = block / grid.query_tiles;
      BlockBuilder b(out, plan_, launches_[row_dot_launch].needs, launch, block, BlockPlan::query_rows(plane, grid.queries(i)), 0);
      b.queries(i, grid.queries(i));
      return emit_row_dot(b, {Line::load_o, Line::load_d_o_once, Line::row_dot, Line::store_row_dot});
    }
    const GradientWork work = gradient_work(grid, block);
    if (work.axis == Axis::key)
      emit_keys(block, work, out);
    else
      emit_queries(block, work, out);
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    if (launch == gradient_launch && lists_) return std::nullopt;
    GradientWork work{Axis::query, block / grid.query_tiles, block % grid.query_tiles};
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
  /// The lines and tiles of the lists that a kind of block loads.
  struct ListLoads {
    LineId counts, lists;
    Slot partial_count, partial, full_count, full;
  };
  /// Returns the last load of a list: what the first tile's address waits for.
  static std::int32_t load_lists(BlockBuilder& b, const ListLoads& loads, const FlexLists::OfTile& own) {
    b.mask_list(own.plane, own.row, 1);
    b.load(loads.counts, loads.partial_count);
    std::int32_t latest = b.load(loads.counts, loads.full_count);
    const std::int32_t counted = latest;
    const auto load_entries = [&](Slot list, std::int64_t entries) {
      if (entries == 0) return;
      b.mask_list(own.plane, own.row, entries);
      latest = b.load_after(loads.lists, list, counted);
    };
    load_entries(loads.partial, std::ssize(own.partial));
    load_entries(loads.full, std::ssize(own.full));
    return latest;
  }

  void emit_keys(std::int64_t block, const GradientWork& work, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[gradient_launch].needs;
    const TileRange keys = grid.keys(work.tile);
    BlockBuilder b(out, plan_, needs, gradient_launch, block, BlockPlan::along(Axis::key, work.plane, keys),
                   key_block_slots(needs, false));
    b.keys(work.tile, keys);
    b.fill(Line::init_keys, tiles::d_k, 0.0F);
    b.fill(Line::init_keys, tiles::d_v, 0.0F);
    std::int64_t n = 0;
    const std::int64_t first = first_query_plane(problem_, work.plane);
    std::int32_t listed = -1;
    for (std::int64_t plane = first; plane < first + group_of(problem_); ++plane) {
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
      for (const KeyTile& tile : visits) {
        b.queries(tile.index, grid.queries(tile.index));
        b.iteration(n, n % needs.stages);
        ++n;
        emit_key_gradients(
            b,
            {Line::load_q, Line::load_stats, Line::scores, Line::mask, Line::exp, Line::load_d_o, Line::d_v, Line::d_p,
             Line::subtract, Line::d_s, Line::d_k},
            plan_.scale, tile.partial, [] {}, change);
      }
    }
    out.iterations = static_cast<std::int32_t>(n);
    b.queries(-1, {});
    b.iteration(n, 0);
    b.store(Line::store_keys, tiles::d_k);
    if (n == 0 && lists_) b.after(listed);  // before the lengths arrive, nobody knows that the lists are empty
    b.store(Line::store_keys, tiles::d_v);
  }

  void emit_queries(std::int64_t block, const GradientWork& work, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const KernelNeeds& needs = launches_[gradient_launch].needs;
    const TileRange rows = grid.queries(work.tile);
    BlockBuilder b(out, plan_, needs, gradient_launch, block, BlockPlan::query_rows(work.plane, rows),
                   slot_bits(tiles::q, tiles::k, tiles::v, tiles::d_o));
    b.queries(work.tile, rows);
    b.fill(Line::init_queries, tiles::d_q, 0.0F);
    const FlexLists::OfTile own = lists_ ? lists_->of(grid, work.plane, work.tile) : FlexLists::OfTile();
    const std::vector<KeyTile> visits = lists_ ? lists_->visits(grid, own) : grid.visits(work.plane, work.tile);
    out.iterations = static_cast<std::int32_t>(visits.size());
    std::int32_t listed = -1;
    if (lists_)
      listed = load_lists(b,
                          {Line::load_counts, Line::load_lists, lists::partial_count_tile, lists::partial_tile,
                           lists::full_count_tile, lists::full_tile},
                          own);
    if (!visits.empty()) {
      b.load(Line::load_q_once, tiles::q, listed);
      b.load(Line::load_d_o_again, tiles::d_o, listed);
      b.load(Line::load_stats_once, tiles::lse, listed);
      b.load(Line::load_stats_once, tiles::row_dot, listed);
    }
    const ChangedScores change{problem_.score_change.get(), Line::slope_again, Line::modify_again, Line::chain_again, listed};
    b.walk_keys(
        visits, needs.stages, [&](const KeyTile& tile) { return !tile.partial && grid.is_whole(tile); },
        [&](const KeyTile& tile) {
          emit_query_gradients(b,
                               {Line::load_k_again, Line::scores_again, Line::mask_again, Line::exp_again, Line::load_v_again,
                                Line::d_p_again, Line::subtract_again, Line::d_s_again, Line::d_q},
                               plan_.scale, tile.partial, change);
        });
    b.store(Line::store_queries, tiles::d_q);
    if (visits.empty() && lists_) b.after(listed);
  }

  BlockPlan plan_;
  std::optional<FlexLists> lists_;  // none: no mask
};

std::optional<ClosedForm> FlexBackward::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_)) return std::nullopt;
  const AttentionProblem& p = problem_;
  const FlexSums by_row = flex_sums(p, tile_, *plan_.grid.mask, 1, 1);
  const FlexKeySums by_key = flex_key_sums(p, tile_, *plan_.grid.mask);
  const std::int64_t row = p.head_dim * element_bytes(p.dtype), kv_planes = key_planes(p);
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
  const std::string of_stats = "B·Hq·4·(" + rows + " + " + visits + ")";
  for (const Tensor tensor : {tensors::lse, tensors::row_dot}) add(tensor, Link::l2_to_sm, stats, of_stats);
  if (p.has_mask()) {
    add_list_terms(form, by_key);
    add_list_terms(form, by_row);
  }
  add(tensors::row_dot, Link::sm_to_l2, Bytes(statistic_bytes(p, tile_, Visits::once)), "B·Hq·Nq·4");
  add(tensors::d_q, Link::sm_to_l2, all, "B·Hq·Nq·d·e");
  add(tensors::d_k, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e");
  add(tensors::d_v, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e");
  const ScoreCost cost = p.score_change ? p.score_change->cost() : ScoreCost(),
                  slope = p.score_change ? p.score_change->slope_cost() : ScoreCost();
  form.flops = 14 * p.head_dim * by_row.rows_keys;
  form.exps = 2 * by_row.rows_keys * (1 + cost.exps + slope.exps);
  form.order = "Θ(N²d²/M)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  if (Status status = check_mask_block(problem, tile); !status) return status.error();
  return make_backward<FlexBackward>(id, problem, tile, gpu, ScoreChanges::taken);
}

}  // namespace

ProgramInfo flex_backward_program() {
  ProgramInfo info;
  info.id = id;
  info.title = "FlexAttention backward";
  info.family = "backward";
  info.source = "arXiv:2412.05496; FlexAttention's backward kernel";
  info.summary = "Over the two passes: lists of blocks by row and by column, and the derivative of the score expression.";
  info.listing = listing;
  info.default_tile = flex_backward_tile;
  info.make = make;
  info.pass = Pass::backward;
  info.forward = "flex";
  info.label = "Flex backward";
  info.has_lists = true;
  return info;
}

}  // namespace tilescope
