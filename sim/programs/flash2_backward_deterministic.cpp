// flash2_backward_deterministic: flash2_backward with additions in a fixed order. A block visits a run of key tiles in order and
// adds to its own copy of dQ's accumulator. The last launch sums the copies in order.
//
//   l2_to_sm, sm_to_l2 = those of flash2_backward + B·Hq·(copies − 1)·4·Nq·d each [copies read; zeros]
#include "sim/programs/added_gradients.h"
#include "sim/programs/backward_lines.h"
#include "sim/programs/backward_needs.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/key_blocks.h"
#include "sim/programs/pair_gradients.h"
#include "sim/programs/programs.h"

#include <array>

namespace tilescope {

namespace {

constexpr std::string_view id = "flash2_backward_deterministic";

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
  add_sum,
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
    because(lines::zero, "Every copy of it must start at zero: one a run of key tiles."),
    lines::store_zero,
    {0, "for each key tile j of a run, a block:", Tensor(), "c = min(⌈SMs/(B·Hkv)⌉, 4) runs a key head",
     "The second launch. A block takes the key tiles of its run in order, and each run has a copy of dQ's sums.",
     ListingLine::heading},
    because(lines::init_keys, "Summed in registers until the next key tile."),
    because(lines::load_k_once, "Stays on chip for this key tile."),
    because(lines::load_v_once, "Stays on chip for this key tile."),
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
            "Into the copy that no other block adds to, so the order is that of the loop: every run gives the same bits."),
    lines::d_k,
    lines::store_keys,
    because(lines::query_blocks, "The third launch."),
    because(lines::load_sum, "Every copy, one after the other."),
    {1, "dQ_acc = dQ_acc + next copy", tensors::d_q_acc, "dQ_acc = Σ copies", "In the order of the runs, and so of the keys."},
    lines::convert,
    lines::store_queries,
};

static_assert(std::size(listing) == static_cast<std::size_t>(Line::count));

/// The accumulators of dQ, one copy per run of key tiles. The first is that of flash2_backward.
constexpr TensorSpec second{
    .name = "dQ_acc₂", .meaning = Meaning::query, .index = tensor_index::d_q_acc_2, .type = DataType::fp32, .gradient = true};
constexpr TensorSpec third{
    .name = "dQ_acc₃", .meaning = Meaning::query, .index = tensor_index::d_q_acc_3, .type = DataType::fp32, .gradient = true};
constexpr TensorSpec fourth{
    .name = "dQ_acc₄", .meaning = Meaning::query, .index = tensor_index::d_q_acc_4, .type = DataType::fp32, .gradient = true};
constexpr std::array<Tensor, most_gradient_sums> gradient_sums = {tensors::d_q_acc, Tensor(second), Tensor(third), Tensor(fourth)};
/// The contribution of a tile pair to a copy; in the last launch, the copy itself.
constexpr ChipTileSpec second_part{.name = "dSK₂", .tensor = second, .index = tile_index::d_q_part_2, .part = TilePart::of_tile};
constexpr ChipTileSpec third_part{.name = "dSK₃", .tensor = third, .index = tile_index::d_q_part_3, .part = TilePart::of_tile};
constexpr ChipTileSpec fourth_part{.name = "dSK₄", .tensor = fourth, .index = tile_index::d_q_part_4, .part = TilePart::of_tile};
constexpr std::array<ChipTile, most_gradient_sums> parts = {tiles::d_q_part, ChipTile(second_part), ChipTile(third_part),
                                                            ChipTile(fourth_part)};

/// S, P, dP and dS exist only on chip.
Schema declared(std::int64_t copies) {
  using namespace tensors;
  Schema schema = {.tensors = {q, k, v, s, p, o, lse, d_o, d_q, d_k, d_v, d_s, d_p, row_dot},
                   .inputs = {q, k, v, o, lse, d_o},
                   .outputs = {row_dot, d_q, d_k, d_v},
                   .tiles = {tiles::q_ring, tiles::k_kept, tiles::v_kept, tiles::s, tiles::p, tiles::p_kept, tiles::lse,
                             tiles::row_dot, tiles::d_o, tiles::d_o_ring, tiles::d_o_o, tiles::o, tiles::d_p, tiles::d_s,
                             tiles::d_q_acc, tiles::d_q, tiles::d_k, tiles::d_v}};
  for (std::size_t copy = 0; copy < static_cast<std::size_t>(copies); ++copy) {
    schema.tensors.push_back(gradient_sums[copy]);
    schema.outputs.push_back(gradient_sums[copy]);
    schema.tiles.push_back(parts[copy]);
  }
  return schema;
}

constexpr KeyBlockLines key_lines = {Line::init, Line::load_k, Line::load_v, Line::store};
enum LaunchIndex { row_dot_launch, key_launch, convert_launch };

class Deterministic final : public TileProgram {
 public:
  Deterministic(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, tile, declared(gradient_sum_copies(problem, tile, gpu.sm_count))),
        plan_(problem, tile, schema()),
        runs_(gradient_sum_copies(problem, tile, gpu.sm_count)),
        run_tiles_(ceil_div(plan_.grid.key_tiles, runs_)) {
    launches_ = added_gradient_launches<Line>(id, plan_.grid, tile, runs_, flash2_backward_needs(id, problem, tile, gpu));
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    if (launch == key_launch) return emit_keys(block, out);
    const TileGrid& grid = plan_.grid;
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    BlockBuilder b(out, plan_, launches_[static_cast<std::size_t>(launch)].needs, launch, block, BlockPlan::query_rows(plane, rows),
                   0);
    b.queries(i, rows);
    if (launch == row_dot_launch) {
      emit_row_dot(b, {Line::load_o, Line::load_d_o_once, Line::row_dot, Line::store_row_dot}, problem_,
                   launches_[row_dot_launch].needs, rows.count);
      for (std::size_t copy = 0; copy < copies(); ++copy) {
        b.fill(Line::zero, parts[copy], 0.0F);
        b.store(Line::store_zero, parts[copy]);
      }
    } else {
      const RowSteps steps =
          row_steps(rows.count, problem_.head_dim * element_bytes(DataType::fp32), launches_[convert_launch].needs, 1);
      for (std::size_t copy = 0; copy < copies(); ++copy) {
        b.load(Line::load_sum, parts[copy]);
        b.in_rounds(steps.rounds);
      }
      b.copy(Line::add_sum, tiles::d_q_acc, parts[0]);
      for (std::size_t copy = 1; copy < copies(); ++copy) b.add(Line::add_sum, tiles::d_q_acc, parts[copy]);
      b.copy(Line::convert, tiles::d_q, tiles::d_q_acc);
      b.overhead({.shared_round_trips = static_cast<int>(steps.round_trips)});
      b.store(Line::store_d_q, tiles::d_q);
    }
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    const TileGrid& grid = plan_.grid;
    if (!plan_.rows_are_whole(tensors::q) || (launch == key_launch && problem_.mask)) return std::nullopt;
    if (launch == key_launch) {
      const std::int64_t kv_plane = block / runs_, run = block % runs_;
      return BlockPlace{plan_.with_statistic(run, problem_.first_query_plane_of(kv_plane), 0),
                        BlockPlan::along(Axis::key, kv_plane, keys_of(run))};
    }
    const auto [i, plane] = grid.query_block(block);
    const TileRange rows = grid.queries(i);
    return plan_.place_with_statistic(plane, rows, 0);
  }

  std::optional<ClosedForm> closed_form() const override;

 private:
  std::size_t copies() const { return static_cast<std::size_t>(runs_); }
  std::int64_t run_end(std::int64_t run) const { return std::min((run + 1) * run_tiles_, plan_.grid.key_tiles); }
  TileRange keys_of(std::int64_t run) const {
    const std::int64_t first = plan_.grid.keys(run * run_tiles_).first;
    return {first, plan_.grid.keys(run_end(run) - 1).end() - first};
  }

  void emit_keys(std::int64_t block, BlockOperations& out) const {
    const TileGrid& grid = plan_.grid;
    const std::int64_t run = block % runs_, kv_plane = block / runs_;
    const KernelNeeds& needs = launches_[key_launch].needs;
    BlockBuilder b(out, plan_, needs, key_launch, block, BlockPlan::along(Axis::key, kv_plane, keys_of(run)),
                   key_block_tiles(needs, true));
    const PairWork pairs = pair_work(id, "key_step", plan_, needs, 2);
    std::int64_t n = 0;
    for (std::int64_t j = run * run_tiles_; j < run_end(run); ++j) {
      const std::vector<GroupVisit> visits = group_visits(grid, kv_plane, j);
      b.keys(j, grid.keys(j));
      b.queries(-1, {});
      b.iteration(n, n % needs.stages);
      begin_keys(b, key_lines, !visits.empty());
      for (const GroupVisit& visit : visits) {
        b.query_plane(visit.plane);
        b.queries(visit.tile.index, grid.queries(visit.tile.index));
        b.iteration(n, n % needs.stages);
        ++n;
        emit_adding_pair<Line>(b, plan_, pairs, visit.tile.partial, parts[static_cast<std::size_t>(run)]);
      }
      b.queries(-1, {});
      b.iteration(n, n % needs.stages);
      store_keys(b, key_lines, id, problem_);
    }
    out.iterations = static_cast<std::int32_t>(n);
  }

  BlockPlan plan_;
  std::int64_t runs_, run_tiles_;
};

std::optional<ClosedForm> Deterministic::closed_form() const {
  if (!head_tiles_are_whole(problem_, tile_) || !planes_are_alike(problem_)) return std::nullopt;
  const VisitSums sums = visit_sums(problem_, tile_);
  const std::int64_t planes = problem_.query_planes(), sum_row = problem_.head_dim * 4;
  const std::int64_t row = problem_.head_dim * element_bytes(problem_.dtype);
  const std::string visits = formula_for(problem_, "⌈Nk/Bc⌉·Nq", "Σᵢ rowsᵢ·⌈vis(i)/Bc⌉");
  ClosedForm form = added_gradients_form(problem_, tile_,
                                         {.queries = Bytes(planes * sums.rows_pairs * row),
                                          .keys = Bytes(problem_.kv_planes() * sums.seen_keys * row),
                                          .query_rows = visits,
                                          .key_rows = "Nk"});
  // Copies of the sums take the place of the one accumulator.
  std::erase_if(form.terms, [](const auto& term) { return term.tensor == tensors::d_q_acc; });
  form.reduced = Bytes();
  for (std::size_t copy = 0; copy < copies(); ++copy) {
    const TileRange keys = keys_of(static_cast<std::int64_t>(copy));
    const Bytes added(planes * rows_pairs_of_keys(problem_, tile_, keys.first, keys.end()) * sum_row);
    const Bytes once(planes * problem_.seq_q * sum_row);
    form.terms.push_back({gradient_sums[copy], Link::l2_to_sm, once, "B·Hq·Nq·d·4"});
    form.terms.push_back({gradient_sums[copy], Link::sm_to_l2, once + added, "B·Hq·d·4·(Nq + " + visits + "), keys of its run"});
    form.reduced += added;
  }
  return form;
}

Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_backward<Deterministic>(id, problem, tile, gpu);
}

}  // namespace

ProgramInfo flash2_backward_deterministic_program() {
  return {
      .id = id,
      .title = "FlashAttention-2 backward, deterministic",
      .family = "backward",
      .source = "arXiv:2307.08691, Algorithm 2; flash-attention's deterministic mode",
      .summary = "Over FlashAttention-2 backward: blocks add to copies of their own, in a fixed order; memory and zeroing grow.",
      .listing = listing,
      .default_tile = flash2_backward_tile,
      .make = make,
      .pass = Pass::backward,
      .forward = "flash2",
      .label = "Flash-2 fixed order",
      .warp_tile = warp_edge,
      .is_part = [](Tensor tensor) { return std::find(gradient_sums.begin(), gradient_sums.end(), tensor) != gradient_sums.end(); },
      .may_spill = true,
  };
}

}  // namespace tilescope
