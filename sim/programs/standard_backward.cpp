// standard_backward: the gradients of standard attention in five launches. P comes from the forward pass; dP and dS go to HBM and
// back.
//
//   dV: P, dO → dV      dP: dO, V → dP      dS: P, dP → dS      dQ: dS, K → dQ      dK: dS, Q → dK
//   l2_to_sm = B·Hq·5·Nq·Nk·e [P twice, dP, dS twice] + …      sm_to_l2 = B·Hq·2·Nq·Nk·e [dP, dS] + …      without a mask
#include "sim/programs/backward_lines.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/key_blocks.h"
#include "sim/programs/programs.h"
#include "sim/programs/scores_overhead.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "standard_backward";

enum class Line {
  d_v_tiles,
  init_d_v,
  d_v_loop,
  load_p,
  load_d_o,
  d_v,
  store_d_v,
  pairs,
  load_d_o_again,
  load_v,
  d_p,
  store_d_p,
  rows,
  init_row,
  sum_loop,
  load_p_row,
  load_d_p_row,
  product,
  row_sum,
  result_loop,
  load_again,
  subtract,
  d_s,
  store_d_s,
  d_q_tiles,
  init_d_q,
  d_q_loop,
  load_d_s,
  load_k,
  d_q,
  store_d_q,
  d_k_tiles,
  init_d_k,
  d_k_loop,
  load_d_s_again,
  load_q,
  d_k,
  store_d_k,
  count
};
namespace lines = backward_lines;
constexpr ListingLine listing[] = {
    because(lines::key_blocks, "The first launch."),
    {1, "dV = 0", tensors::d_v, "dV = 0", "Summed in registers."},
    because(lines::query_loop_of_heads, "Down a column of P."),
    {2, "load Pᵢⱼ → shared", tensors::p, "Pᵢⱼ: Br × Bc",
     "The forward pass kept all of P: N × N numbers for as long as training waits."},
    because(lines::load_d_o, "Every key tile walks all of dO."),
    {2, "dV = dV + Pᵢⱼᵀ dOᵢ", tensors::d_v, "dV = dV + Pᵀ·dO", "The first product."},
    {1, "store dVⱼ → HBM", tensors::d_v, "dVⱼ: Bc × d", "A result."},
    {0, "for each tile pair (i, j), a block:", Tensor(), "⌈Nq/Br⌉ · ⌈Nk/Bc⌉ blocks", "The second launch.", ListingLine::heading},
    because(lines::load_d_o_of_block, "Every block of the same row of tiles loads it again."),
    because(lines::load_v_once, "Every block of the same column loads it again."),
    {1, "dP = dOᵢ Vⱼᵀ", tensors::d_p, "dP = dO·Vᵀ", "The second product."},
    {1, "store dPᵢⱼ → HBM", tensors::d_p, "dPᵢⱼ: Br × Bc", "N × N numbers leave the chip."},
    {0, "for each group of rows, a block:", Tensor(), "R rows of P and dP a block", "The third launch: the derivative of softmax.",
     ListingLine::heading},
    {1, "D = 0", tensors::row_dot, "D = 0", "Starts empty."},
    {1, "for each key tile j", Tensor(), "pass 1", "The first pass finds the sum of each row.", ListingLine::heading},
    {2, "load Pⱼ → shared", tensors::p, "Pⱼ: R × Bc", "P comes back a second time."},
    {2, "load dPⱼ → shared", tensors::d_p, "dPⱼ: R × Bc", "And so does dP. Both rows then stay in shared memory."},
    {2, "P∘dP", tensors::d_p, "P∘dP", "Element by element."},
    {2, "D = D + rowsum(P∘dP)", tensors::row_dot, "D = D + Σ P∘dP",
     "The same number as rowsum(dO∘O), which needs no N × N matrix. FlashAttention makes it that way."},
    {1, "for each key tile j", Tensor(), "pass 2", "The second pass has the sum of the whole row.", ListingLine::heading},
    {2, "load Pⱼ, dPⱼ → shared again", tensors::p, "Pⱼ, dPⱼ: R × Bc",
     "Only if shared memory cannot hold one row of both: then both are read a second time."},
    {2, "dS = dP − D", tensors::d_s, "dS = dP − D", "A row of P sums to 1, so only differences within the row count."},
    {2, "dS = P ∘ dS", tensors::d_s, "dS = P∘(dP − D)", "The derivative of softmax."},
    {2, "store dSⱼ → HBM", tensors::d_s, "dSⱼ: R × Bc", "N × N numbers leave the chip."},
    because(lines::query_blocks, "The fourth launch."),
    because(lines::init_queries, "Summed in registers."),
    because(lines::key_loop, "Along a row of dS and down K."),
    {2, "load dSᵢⱼ → shared", tensors::d_s, "dSᵢⱼ: Br × Bc", "dS comes back."},
    because(lines::load_k, "Every block of a head walks all of K."),
    {2, "dQ = dQ + τ dSᵢⱼ Kⱼ", tensors::d_q, "dQ = dQ + τ dS·K, τ = 1/√d", "The third product."},
    because(lines::store_queries, "A result."),
    because(lines::key_blocks, "The fifth launch."),
    {1, "dK = 0", tensors::d_k, "dK = 0", "Summed in registers."},
    because(lines::query_loop_of_heads, "Down a column of dS."),
    {2, "load dSᵢⱼ → shared", tensors::d_s, "dSᵢⱼ: Br × Bc", "dS comes back once more."},
    because(lines::load_q, "Every key tile walks all of Q."),
    {2, "dK = dK + τ dSᵢⱼᵀ Qᵢ", tensors::d_k, "dK = dK + τ dSᵀ·Q", "The fourth product."},
    {1, "store dKⱼ → HBM", tensors::d_k, "dKⱼ: Bc × d", "A result."},
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// P∘dP of a tile, whose row sums are added to D.
constexpr ChipTileSpec declared_p_d_p{
    .name = "P∘dP", .tensor = tensors::d_p, .index = tile_index::p_d_p, .part = TilePart::of_tile};
constexpr ChipTile p_d_p = declared_p_d_p;

/// D exists only on chip.
Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, p, d_o, d_q, d_k, d_v, d_s, d_p, row_dot},
          .inputs = {q, k, v, p, d_o},
          .outputs = {d_v, d_p, d_s, d_q, d_k},
          .tiles = {tiles::q_ring, tiles::k, tiles::v, tiles::p, tiles::d_o, tiles::d_o_ring, tiles::row_dot, tiles::d_p,
                    tiles::d_p_ring, p_d_p, tiles::d_s, tiles::d_s_ring, tiles::d_q, tiles::d_k, tiles::d_v}};
}

enum LaunchIndex { d_v_launch, d_p_launch, d_s_launch, d_q_launch, d_k_launch };

class StandardBackward final : public TileProgram {
 public:
  StandardBackward(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()),
        plan_(problem, tile, schema()),
        rows_(gradient_rows(problem, tile, gpu)),
        scores_(problem) {
    const TileGrid& grid = plan_.grid;
    // Row groups do not straddle query tiles, because each query tile visits its own set of key tiles.
    groups_of_tile_ = ceil_div(tile.block_q, rows_.rows);
    const std::int64_t last_rows = grid.queries(grid.query_tiles - 1).count;
    const std::int64_t groups = (grid.query_tiles - 1) * groups_of_tile_ + ceil_div(last_rows, rows_.rows);
    const auto launch = [&](std::string_view name, std::int64_t x, Axis axis, const KernelNeeds& needs, Line first, Line last) {
      LaunchSpec spec{name,
                      x,
                      axis == Axis::key ? problem.kv_heads : problem.heads,
                      problem.batch,
                      needs,
                      LineId(first).number,
                      LineId(last).number};
      spec.axis = axis;
      return spec;
    };
    const KernelNeeds by_keys = sum_product_needs(problem, tile, gpu, Axis::key);
    launches_ = {
        launch("dV", grid.key_tiles, Axis::key, by_keys, Line::d_v_tiles, Line::store_d_v),
        launch("dP", grid.key_tiles * grid.query_tiles, Axis::query, pair_product_needs(problem, tile), Line::pairs,
               Line::store_d_p),
        launch("dS", groups, Axis::query, gradient_rows_needs(problem, tile, gpu), Line::rows, Line::store_d_s),
        launch("dQ", grid.query_tiles, Axis::query, sum_product_needs(problem, tile, gpu, Axis::query), Line::d_q_tiles,
               Line::store_d_q),
        launch("dK", grid.key_tiles, Axis::key, by_keys, Line::d_k_tiles, Line::store_d_k),
    };
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    switch (launch) {
      case d_v_launch:
      case d_k_launch:
        return emit_keys(launch, block, out);
      case d_p_launch:
        return emit_d_p(block, out);
      case d_s_launch:
        return emit_d_s(block, out);
      default:
        return emit_d_q(block, out);
    }
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    // Tiles of P and dS may share sectors with their neighbours, so every key tile has its own shape.
    if (launch == d_v_launch || launch == d_k_launch)
      return place_of_keys(plan_, block / grid.key_tiles, block % grid.key_tiles, false);
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    if (launch == d_s_launch) {
      const std::int64_t groups = launches_[d_s_launch].grid_x, group = block % groups, plane = block / groups;
      return plan_.place(plane, rows_of_group(group), grid.row_class(plane, group / groups_of_tile_));
    }
    if (launch == d_q_launch) {
      const auto [i, plane] = grid.query_block(block);
      return plan_.place(plane, grid.queries(i), grid.row_class(plane, i));
    }
    const auto [i, j, plane] = grid.pair_block(block);
    const bool empty = grid.visibility(plane, i, j) == TileVisibility::empty;
    return plan_.place(plane, grid.queries(i), empty ? grid.key_tiles : j);
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  const KernelNeeds& needs(int launch) const { return launches_[static_cast<std::size_t>(launch)].needs; }

  /// Emits dV = Pᵀ dO or dK = τ dSᵀ Q for a key tile.
  void emit_keys(int launch, std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const std::int64_t j = block % grid.key_tiles, kv_plane = block / grid.key_tiles;
    const std::vector<GroupVisit> visits = group_visits(grid, kv_plane, j);
    const bool is_d_v = launch == d_v_launch;
    BlockBuilder b(out, plan_, needs(launch), launch, block, BlockPlan::along(Axis::key, kv_plane, grid.keys(j)),
                   is_d_v ? tile_bits(tiles::p, tiles::d_o_ring) : tile_bits(tiles::d_s_ring, tiles::q_ring));
    out.iterations = static_cast<std::int32_t>(visits.size());
    b.keys(j, grid.keys(j));
    b.fill(is_d_v ? LineId(Line::init_d_v) : LineId(Line::init_d_k), is_d_v ? tiles::d_v : tiles::d_k, 0.0F);
    std::int64_t n = 0;
    for (const GroupVisit& visit : visits) {
      b.query_plane(visit.plane);
      b.queries(visit.tile.index, grid.queries(visit.tile.index));
      b.iteration(n, n % needs(launch).stages);
      ++n;
      if (is_d_v) {
        b.load(Line::load_p, tiles::p);
        b.load(Line::load_d_o, tiles::d_o_ring);
        b.matmul(Line::d_v, tiles::d_v, tiles::p, tiles::d_o_ring, {.accumulate = true, .transpose_left = true});
      } else {
        b.load(Line::load_d_s_again, tiles::d_s_ring);
        b.load(Line::load_q, tiles::q_ring);
        b.matmul(Line::d_k, tiles::d_k, tiles::d_s_ring, tiles::q_ring,
                 {.accumulate = true, .factor = plan_.scale, .transpose_left = true});
      }
      b.overhead(key_sum_);
    }
    b.queries(-1, {});
    b.iteration(n, 0);
    b.store(is_d_v ? LineId(Line::store_d_v) : LineId(Line::store_d_k), is_d_v ? tiles::d_v : tiles::d_k);
  }

  void emit_d_p(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const auto [i, j, plane] = grid.pair_block(block);
    BlockBuilder b(out, plan_, needs(d_p_launch), d_p_launch, block, BlockPlan::query_rows(plane, grid.queries(i)),
                   tile_bits(tiles::d_o, tiles::v));
    if (grid.visibility(plane, i, j) == TileVisibility::empty) return;
    out.iterations = 1;
    b.queries(i, grid.queries(i));
    b.keys(j, grid.keys(j));
    b.iteration(0, 0);
    b.load(Line::load_d_o_again, tiles::d_o);
    b.load(Line::load_v, tiles::v);
    b.matmul(Line::d_p, tiles::d_p, tiles::d_o, tiles::v, {.transpose = true});
    b.overhead(scores_.product(grid.keys(j).count < tile_.block_kv));
    b.store(Line::store_d_p, tiles::d_p);
    b.overhead(scores_.store());
  }

  TileRange rows_of_group(std::int64_t group) const {
    const TileRange tile_rows = plan_.grid.queries(group / groups_of_tile_);
    const std::int64_t first = tile_rows.first + group % groups_of_tile_ * rows_.rows;
    return {std::min(first, tile_rows.end()), std::clamp<std::int64_t>(tile_rows.end() - first, 0, rows_.rows)};
  }

  void emit_d_s(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const std::int64_t groups = launches_[d_s_launch].grid_x, group = block % groups, plane = block / groups;
    const std::int64_t i = group / groups_of_tile_;
    const TileRange rows = rows_of_group(group);
    BlockBuilder b(out, plan_, needs(d_s_launch), d_s_launch, block, BlockPlan::query_rows(plane, rows),
                   tile_bits(tiles::p, tiles::d_p_ring));
    const std::vector<KeyTile> visits = grid.visits(plane, i);
    const auto visited = static_cast<std::int64_t>(visits.size());
    if (visited == 0 || rows.count == 0) return;
    out.iterations = static_cast<std::int32_t>(2 * visited);
    const auto buffer = [&](std::int64_t n) { return rows_.kept ? n : 0; };  // a kept row has a buffer for each tile
    b.queries(i, rows);
    b.fill(Line::init_row, tiles::row_dot, 0.0F);
    const auto visit = [&](std::int64_t n) {
      const std::int64_t j = visits[static_cast<std::size_t>(n)].index;
      b.keys(j, grid.keys(j));
    };
    // The kernel's loop is not unrolled: a warp asks for its next pieces of P and dP, 8 keys a lane, once it has used the last
    // ones.
    constexpr std::int64_t piece_of_warp = 8 * warp_lanes;
    const std::int64_t piece = std::max<std::int64_t>(1, piece_of_warp * (4 / rows_.rows) / tile_.block_kv);
    const auto after_tile = [&](std::int64_t n, const Overhead& of_piece) {
      if ((n + 1) % piece != 0 && n + 1 != visited) return;
      b.overhead(of_piece);
      b.pace_loads(b.latest());
    };
    const auto load_both = [&](LineId p, LineId d_p) {
      b.load(p, tiles::p);
      b.asked_at_once(2 * piece_of_warp);
      b.load(d_p, tiles::d_p_ring);
      b.asked_at_once(2 * piece_of_warp);
    };
    std::vector<std::int32_t> loaded;
    for (std::int64_t n = 0; n < visited; ++n) {
      visit(n);
      b.iteration(n, buffer(n));
      load_both(Line::load_p_row, Line::load_d_p_row);
      loaded.push_back(b.latest() - 1);
      b.copy(Line::product, p_d_p, tiles::d_p_ring);
      b.multiply(Line::product, p_d_p, tiles::p);
      b.row_sum(Line::row_sum, tiles::row_dot, tiles::row_dot, p_d_p, ChipTile::none);
      after_tile(n, row_sum_);
    }
    for (std::int64_t n = 0; n < visited; ++n) {
      visit(n);
      b.iteration(visited + n, buffer(n));
      if (rows_.kept) {
        b.select(tiles::p, loaded[static_cast<std::size_t>(n)]);
        b.select(tiles::d_p_ring, loaded[static_cast<std::size_t>(n)] + 1);
      } else {
        load_both(Line::load_again, Line::load_again);
      }
      b.copy(Line::subtract, tiles::d_s, tiles::d_p_ring);
      b.subtract_rows(Line::subtract, tiles::d_s, tiles::row_dot);
      b.multiply(Line::d_s, tiles::d_s, tiles::p);
      after_tile(n, gradient_);
      b.store(Line::store_d_s, tiles::d_s);
    }
  }

  void emit_d_q(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    BlockBuilder b(out, plan_, needs(d_q_launch), d_q_launch, block, BlockPlan::query_rows(plane, rows),
                   tile_bits(tiles::d_s_ring, tiles::k));
    const std::vector<KeyTile> visits = grid.visits(plane, i);
    out.iterations = static_cast<std::int32_t>(visits.size());
    b.queries(i, rows);
    b.fill(Line::init_d_q, tiles::d_q, 0.0F);
    b.walk_keys(
        visits, needs(d_q_launch).stages, [&](const KeyTile& tile) { return grid.is_whole(tile); },
        [&](const KeyTile&) {
          b.load(Line::load_d_s, tiles::d_s_ring);
          b.load(Line::load_k, tiles::k);
          b.matmul(Line::d_q, tiles::d_q, tiles::d_s_ring, tiles::k, {.accumulate = true, .factor = plan_.scale});
          b.overhead(query_sum_);
        });
    b.store(Line::store_d_q, tiles::d_q);
  }

  BlockPlan plan_;
  KeptRows rows_;
  ScoresOverhead scores_;  // its kernel also computes dP
  Overhead key_sum_ = kernel_profile(id).overhead("dV", "product", problem_);
  Overhead row_sum_ = kernel_profile(id).overhead("dS", "sum", problem_);
  Overhead gradient_ = kernel_profile(id).overhead("dS", "gradient", problem_);
  Overhead query_sum_ = kernel_profile(id).overhead("dQ", "product", problem_);
  std::int64_t groups_of_tile_ = 1;
};

std::optional<ClosedForm> StandardBackward::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_) || !planes_are_alike(problem_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t planes = problem_.query_planes(), kv_planes = problem_.kv_planes();
  const std::int64_t row = problem_.head_dim * element_bytes(problem_.dtype);
  const Bytes matrix(planes * sums.matrix_bytes), keys(planes * sums.keys * row), pairs(planes * sums.rows_pairs * row);
  const Bytes gradient(kv_planes * problem_.seq_kv * row);
  const std::string square = matrix_formula(problem_);
  const std::string kv = formula_for(problem_, "B·Hq·⌈Nq/Br⌉·Nk·d·e", "B·Hq·d·e·Σᵢ min(Nk, Bc·⌈vis(i)/Bc⌉)");
  const std::string visits = formula_for(problem_, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  const int passes = rows_.kept ? 1 : 2;
  const auto times = [&](int n) { return (n > 1 ? std::to_string(n) + "·" : "") + square; };
  ClosedForm form;
  form.terms = {
      {tensors::q, Link::l2_to_sm, pairs, "B·Hq·d·e·" + visits},
      {tensors::k, Link::l2_to_sm, keys, kv},
      {tensors::v, Link::l2_to_sm, keys, kv},
      {tensors::p, Link::l2_to_sm, matrix * (1 + passes), times(1 + passes)},
      {tensors::d_o, Link::l2_to_sm, pairs * 2, "2·B·Hq·d·e·" + visits},
      {tensors::d_p, Link::sm_to_l2, matrix, square},
      {tensors::d_p, Link::l2_to_sm, matrix * passes, times(passes)},
      {tensors::d_s, Link::sm_to_l2, matrix, square},
      {tensors::d_s, Link::l2_to_sm, matrix * 2, times(2)},
      {tensors::d_q, Link::sm_to_l2, Bytes(planes * problem_.seq_q * row), "B·Hq·Nq·d·e"},
      {tensors::d_k, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
      {tensors::d_v, Link::sm_to_l2, gradient, "B·Hkv·Nk·d·e"},
  };
  form.flops = planes * 8 * problem_.head_dim * sums.rows_keys;
  form.order = "Θ(Nd + N²)";
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_backward<StandardBackward>(id, problem, tile, gpu);
}

}  // namespace

ProgramInfo standard_backward_program() {
  return {
      .id = id,
      .title = "Standard backward",
      .family = "backward",
      .source = "arXiv:2205.14135, Algorithm 3",
      .summary = "Five launches; P is kept by the forward pass, and N × N matrices cross the memory bus seven times.",
      .listing = listing,
      .default_tile = standard_backward_tile,
      .make = make,
      .pass = Pass::backward,
      .forward = "standard",
      .label = "Standard backward",
      .scores_computed = 0,
      .may_spill = true,
  };
}

}  // namespace tilescope
