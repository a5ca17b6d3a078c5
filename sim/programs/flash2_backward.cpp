// flash2_backward: the gradients of flash2. A block owns a key tile and accumulates its dK and dV. It adds its part of dQ to an
// fp32 accumulator in HBM, through the L2.
//
//   l2_to_sm = B·Hkv·2·Nk·d·e [K, V] + B·Hq·⌈Nk/Bc⌉·Nq·(2·d·e + 8) [Q, dO, L, D] + B·Hq·2·Nq·d·e [O, dO] + B·Hq·4·Nq·d [dQ_acc]
//   sm_to_l2 = B·Hq·⌈Nk/Bc⌉·Nq·4·d [added] + B·Hkv·2·Nk·d·e [dK, dV] + B·Hq·Nq·(4·d [zeros] + 4 [D] + d·e [dQ])   without a mask
#include "sim/programs/added_gradients.h"
#include "sim/programs/backward_lines.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/key_blocks.h"
#include "sim/programs/pair_gradients.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

constexpr std::string_view id = "flash2_backward";

enum class Line {
  rows,
  load_o,
  load_d_o_once,
  row_dot,
  store_row_dot,
  zero,
  store_zero,
  key_tiles,
  init,
  load_k,
  load_v,
  query_loop,
  load_q,
  load_stats,
  scores,
  mask,
  exp,
  load_d_o,
  d_v,
  d_p,
  subtract,
  d_s,
  d_q,
  add,
  d_k,
  store,
  convert_rows,
  load_sum,
  convert,
  store_d_q,
  count
};
namespace lines = backward_lines;
constexpr ListingLine listing[] = {
    lines::query_blocks,
    lines::load_o,
    lines::load_d_o_once,
    lines::row_dot,
    lines::store_row_dot,
    lines::zero,
    lines::store_zero,
    lines::key_blocks,
    lines::init_keys,
    lines::load_k_once,
    lines::load_v_once,
    lines::query_loop_of_heads,
    lines::load_q,
    lines::load_stats,
    lines::scores,
    lines::mask,
    lines::exp,
    lines::load_d_o,
    lines::d_v,
    because(lines::d_p, "The third product: how much each weight matters."),
    lines::subtract,
    because(lines::d_s, "The derivative of softmax, without any sum over the row."),
    lines::d_q_part,
    because(lines::add_d_q,
            "Every key tile adds to every query tile. The L2 adds, in the order of arrival: the last bits of dQ change from run to "
            "run."),
    lines::d_k,
    lines::store_keys,
    because(lines::query_blocks, "The third launch."),
    lines::load_sum,
    lines::convert,
    lines::store_queries,
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// S, P, dP and dS exist only on chip.
Schema declared() {
  using namespace tensors;
  return {.tensors = {q, k, v, s, p, o, lse, d_o, d_q, d_k, d_v, d_s, d_p, row_dot, d_q_acc},
          .inputs = {q, k, v, o, lse, d_o},
          .outputs = {row_dot, d_q_acc, d_q, d_k, d_v},
          .tiles = {tiles::q_ring, tiles::k_kept, tiles::v_kept, tiles::s, tiles::p, tiles::p_kept, tiles::lse, tiles::row_dot,
                    tiles::d_o, tiles::d_o_ring, tiles::d_o_o, tiles::o, tiles::d_p, tiles::d_s, tiles::d_q_part, tiles::d_q_acc,
                    tiles::d_q, tiles::d_k, tiles::d_v}};
}

constexpr KeyBlockLines key_lines = {Line::init, Line::load_k, Line::load_v, Line::store};
enum LaunchIndex { row_dot_launch, key_launch, convert_launch };

class Flash2Backward final : public TileProgram {
 public:
  Flash2Backward(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared()), plan_(problem, tile, schema()) {
    launches_ =
        added_gradient_launches<Line>(id, plan_.grid, tile, plan_.grid.key_tiles, flash2_backward_needs(id, problem, tile, gpu));
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    if (launch == key_launch) return emit_keys(block, out);
    const TileGrid& grid = plan_.grid;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    const KernelNeeds& needs = launches_[static_cast<std::size_t>(launch)].needs;
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows), 0);
    b.queries(i, rows);
    emit_added_gradient_rows<Line>(b, launch == convert_launch, problem_, needs, rows.count,
                                   row_steps(rows.count, problem_.head_dim * element_bytes(DataType::fp32), needs, 1));
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    if (launch == key_launch) return place_of_keys(plan_, block / grid.key_tiles, block % grid.key_tiles, true);
    if (!plan_.rows_are_whole(tensors::q)) return std::nullopt;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    return plan_.place_with_statistic(plane, rows, 0);
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  void emit_keys(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const std::int64_t j = block % grid.key_tiles, kv_plane = block / grid.key_tiles;
    const KernelNeeds& needs = launches_[key_launch].needs;
    const std::vector<GroupVisit> visits = group_visits(grid, kv_plane, j);
    BlockBuilder b(out, plan_, needs, key_launch, block, BlockPlan::along(Axis::key, kv_plane, grid.keys(j)),
                   key_block_tiles(needs, true));
    out.iterations = static_cast<std::int32_t>(visits.size());
    b.keys(j, grid.keys(j));
    begin_keys(b, key_lines, !visits.empty());
    const PairWork pairs = pair_work(id, "key_step", plan_, needs, 2);
    std::int64_t n = 0;
    for (const GroupVisit& visit : visits) {
      b.query_plane(visit.plane);
      b.queries(visit.tile.index, grid.queries(visit.tile.index));
      b.iteration(n, n % needs.stages);
      ++n;
      emit_adding_pair<Line>(b, plan_, pairs, visit.tile.partial, tiles::d_q_part);
    }
    b.queries(-1, {});
    b.iteration(n, 0);
    store_keys(b, key_lines, id, problem_);
  }

  BlockPlan plan_;
};

std::optional<ClosedForm> Flash2Backward::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_) || !planes_are_alike(problem_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t row = problem_.head_dim * element_bytes(problem_.dtype);
  return added_gradients_form(problem_, tile_,
                              {.queries = Bytes(problem_.query_planes() * sums.rows_pairs * row),
                               .keys = Bytes(problem_.kv_planes() * sums.seen_keys * row),
                               .query_rows = formula_for(problem_, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉"),
                               .key_rows = "Nk"});
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_backward<Flash2Backward>(id, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash2_backward_program() {
  return {
      .id = id,
      .title = "FlashAttention-2 backward",
      .family = "backward",
      .source = "arXiv:2307.08691, Algorithm 2",
      .summary = "Over FlashAttention-1 backward: one block per key tile; dQ is added in fp32 through the L2.",
      .listing = listing,
      .default_tile = flash2_backward_tile,
      .make = make,
      .pass = Pass::backward,
      .forward = "flash2",
      .label = "Flash-2 backward",
      .warp_tile = warp_edge,
      .may_spill = true,
  };
}

}  // namespace tilescope
