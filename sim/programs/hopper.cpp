// One launch, its places and its closed form.
//
//   l2_to_sm = B·Hq·(64·⌈Nq/64⌉·d + 2·Σᵢ Wᵢ·d)·e      sm_to_l2 = B·Hq·(Nq·d·e + Nq·4)
//
// Wᵢ: Bc times the tiles that query tile i visits. A ticket and the end of a block that draws add 32 bytes to both.
#include "sim/programs/hopper.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/flex_lists.h"
#include "sim/programs/hopper_block.h"
#include "sim/programs/hopper_lines.h"
#include "sim/programs/hopper_needs.h"
#include "sim/programs/occupancy.h"
#include "sim/programs/planes_together.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

Schema declared(bool has_lists, bool has_pages, bool draws) {
  using namespace tensors;
  Schema schema = {.tensors = {q, k, v, s, p, o, lse, m, l},
                   .inputs = {q, k, v},
                   .outputs = {o, lse},
                   .tiles = {hopper_strips::q, tiles::k, tiles::v, hopper_strips::s, hopper_strips::p, hopper_strips::m,
                             hopper_strips::m_new, hopper_strips::l, hopper_strips::alpha, hopper_strips::o, hopper_strips::lse}};
  if (has_lists) add_lists(schema);
  if (has_pages) add_page_table(schema);
  if (draws) schema.tensors.push_back(tickets);
  return schema;
}

class Hopper final : public TileProgram {
 public:
  Hopper(HopperRungId id, const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu)
      : TileProgram(problem, in_order_of(id, tile),
                    declared(has_lists(id, problem), problem.page_size > 0, hopper_rung(id).draws())),
        rung_(hopper_rung(id)),
        common_{rung_, hopper_listing(id), BlockPlan(problem, tile_, schema())} {
    const auto overhead = [&](std::string_view at) { return hopper_overheads(rung_).overhead("attention", at, problem); };
    common_.of_tile = overhead("tile");
    if (!rung_.producer) common_.of_request = overhead("request");
    common_.of_store = overhead("store");
    if (has_lists(id, problem)) common_.lists.emplace(grid(), tile_);
    if (problem.score_change) common_.cost = problem.score_change->cost();
    LaunchSpec launch;
    launch.name = "attention";
    launch.grid_x = grid().query_tiles;
    launch.grid_y = problem.heads;
    launch.grid_z = problem.batch;
    launch.needs = hopper_needs(id, problem, tile, gpu);
    launch.first_line = 1;
    launch.last_line = static_cast<int>(common_.lines.lines().size());
    launch.grouped = rung_.grouped;
    launch.equal_sets = false;
    launch.persistent = rung_.persistent;
    launch.draws = rung_.draws();
    launch.reversed = common_.lists && common_.lists->is_reversed();
    launches_.push_back(launch);
    if (rung_.draws()) {
      planes_of_set_ =
          std::clamp<std::int64_t>(planes_together_of_kernel(problem, launch.grid_x, half_of_l2(gpu)), 1, problem.query_planes());
      const auto resident = occupancy(*this, launch, gpu);
      const std::int64_t of_sm = resident ? resident->blocks_per_sm : 1;  // what does not fit is refused later
      common_.staying = std::min<std::int64_t>(launch.blocks(), of_sm * static_cast<std::int64_t>(gpu.sm_count));
    }
    common_.blocks = launch.blocks();
    common_.strip_rows = hopper_strip_rows(rung_, problem, tile_);
    common_.box_rows = ceil_div(tile_.block_q, std::int64_t{hopper_groups(rung_, problem)});
    common_.key_box = problem.page_size > 0 ? std::min(problem.page_size, tile_.block_kv) : tile_.block_kv;
    for (int turn = 0; turn < hopper_most_groups; ++turn)
      common_.plan.tokens[static_cast<std::size_t>(BufferToken::other(turn))] =
          rung_.producer ? "turn " + std::to_string(turn) : "all groups are done";
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    HopperBlock own{
        .query_tile = launches_.front().row_tile_of(block), .plane = block / grid().query_tiles, .ticket = ticket_of(block)};
    const TileRange rows = grid().queries(own.query_tile);
    if (common_.lists) own.lists = common_.lists->of(grid(), own.plane, own.query_tile);
    own.visits = common_.lists ? common_.lists->visits(grid(), own.lists) : grid().visits(own.plane, own.query_tile);
    own.strips = strips_of(rows);
    const KernelNeeds& needs = launches_.front().needs;
    BlockBuilder b(out, common_.plan, needs, launch, block, BlockPlan::query_rows(own.plane, rows),
                   tile_bits(hopper_strips::q, tiles::k, tiles::v));
    out.whole_rows = static_cast<std::int32_t>(common_.strip_rows);
    out.iterations = static_cast<std::int32_t>(own.visits.size());
    emit_hopper_block(b, common_, own, needs.stages);
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!common_.plan.rows_are_whole(tensors::q) || (problem_.mask && !common_.lists)) return std::nullopt;
    const std::int64_t i = launches_.front().row_tile_of(block), plane = block / grid().query_tiles;
    const TileRange rows = grid().queries(i);
    const std::int64_t ends = std::max<std::int64_t>(0, ticket_of(block) + common_.staying + 1 - launches_.front().blocks());
    const std::int64_t way = ends == 0 ? 0 : ends == common_.staying ? 2 : 1;  // the last ticket of a block, of the last block
    return common_.plan.place_with_statistic(plane, rows, grid().row_class(plane, i) * 3 + way);
  }

  std::shared_ptr<const TableValues> tables() const override {
    const std::shared_ptr<const TableValues> of_lists = common_.lists ? common_.lists->values() : nullptr;
    return common_.plan.pages ? page_values(common_.plan.pages, of_lists) : of_lists;
  }

  std::optional<ClosedForm> closed_form() const override {
    if (!head_rows_are_whole(problem_) || (!rung_.lists && !planes_are_alike(problem_))) return std::nullopt;
    const FlexSums sums =
        rung_.lists ? flex_sums(problem_, tile_, *grid().mask, common_.box_rows, common_.key_box) : sums_of_visits();
    const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
    const std::string kv =
        common_.key_box < tile_.block_kv
            ? formula_for(problem_, "B·Hq·⌈Nq/Br⌉·P·⌈Nk/P⌉·d·e", "B·Hq·d·e·Σᵢ pages of the listed blocks·P")
            : formula_for(problem_, "B·Hq·⌈Nq/Br⌉·Bc·⌈Nk/Bc⌉·d·e",
                          rung_.lists ? "B·Hq·d·e·Σᵢ tiles of the listed blocks·Bc" : "B·Hq·d·e·Σᵢ Bc·⌈vis(i)/Bc⌉");
    ClosedForm form;
    form.terms = {
        {tensors::q, Link::l2_to_sm, Bytes(sums.box_rows * row_bytes), query_formula()},
        {tensors::k, Link::l2_to_sm, Bytes(sums.keys * row_bytes), kv},
        {tensors::v, Link::l2_to_sm, Bytes(sums.keys * row_bytes), kv},
        {tensors::o, Link::sm_to_l2, Bytes(problem_.query_planes() * problem_.seq_q * row_bytes), "B·Hq·Nq·d·e"},
        {tensors::lse, Link::sm_to_l2, Bytes(statistic_bytes_of_strips()),
         statistic_formula(problem_, {common_.strip_rows, tile_.block_kv}, "B·Hq·Nq·4")},
    };
    if (rung_.draws()) {
      const std::int64_t drawn = (launches_.front().blocks() + common_.staying) * sector_size;
      form.terms.push_back({tickets, Link::l2_to_sm, Bytes(drawn), "(B·Hq·⌈Nq/Br⌉ + resident blocks)·32"});
      form.terms.push_back(
          {tickets, Link::sm_to_l2, Bytes(drawn + ticket_counters * sector_size), "(B·Hq·⌈Nq/Br⌉ + resident blocks + 2)·32"});
    }
    if (common_.lists) add_list_terms(form, sums);
    if (common_.plan.pages) add_page_term(form, problem_, sums);
    form.flops = 4 * problem_.head_dim * sums.rows_keys;
    form.exps = sums.rows_keys * (1 + common_.cost.exps) + sums.rows_tiles;
    form.order = "Θ(N²d²/M)";
    return form;
  }

 private:
  const TileGrid& grid() const { return common_.plan.grid; }
  /// The rows of Q in whole boxes, one a group.
  std::string query_formula() const {
    std::string seen = fmt::format("B·Hq·d·e·(rows of tiles that see a key, in boxes of {})", common_.box_rows);
    if (tile_.block_q % common_.box_rows != 0) return seen;
    return formula_for(problem_, fmt::format("B·Hq·{0}·⌈Nq/{0}⌉·d·e", common_.box_rows), seen);
  }
  static bool has_lists(HopperRungId id, const AttentionProblem& problem) { return hopper_rung(id).lists && problem.has_mask(); }
  /// Returns the ticket of a block in the kernel's own order; -1 where blocks draw none.
  std::int64_t ticket_of(std::int64_t block) const {
    return rung_.draws() ? position_in_sets(block, grid().query_tiles, problem_.query_planes(), planes_of_set_) : -1;
  }
  /// Returns the tile with the order of the rung's kernel: from the last key, or that of the lists.
  static ProgramTile in_order_of(HopperRungId id, ProgramTile tile) {
    if (!hopper_rung(id).lists) tile.key_order = KeyOrder::descending;
    return tile;
  }

  /// Returns the sums of a rung that visits what its mask shows, tile by tile.
  FlexSums sums_of_visits() const {
    const VisitSums of_plane = visit_sums(problem_, tile_);
    const std::int64_t planes = problem_.query_planes();
    // TMA moves whole boxes: the zeros past the last row of a tile cross the link too.
    const auto in_boxes = [&](std::int64_t rows) { return ceil_div(rows, common_.box_rows) * common_.box_rows; };
    FlexSums sums;
    sums.box_rows = planes * (of_plane.rows / tile_.block_q * in_boxes(tile_.block_q) + in_boxes(of_plane.rows % tile_.block_q));
    sums.keys = planes * of_plane.pairs * tile_.block_kv;
    sums.rows_keys = planes * of_plane.rows_keys;
    sums.rows_tiles = planes * of_plane.rows_pairs;
    return sums;
  }

  /// Returns the rows of each group; a group may have none (see is_past_the_end()).
  std::vector<TileRange> strips_of(TileRange rows) const {
    std::vector<TileRange> found;
    for (std::int64_t first = 0; first < tile_.block_q; first += common_.strip_rows)
      found.push_back({rows.first + first, std::clamp(rows.count - first, std::int64_t{0}, common_.strip_rows)});
    return found;
  }

  /// Returns the bytes of L in whole sectors: each group stores the numbers of its own rows.
  std::int64_t statistic_bytes_of_strips() const {
    constexpr std::int64_t in_a_sector = sector_size / 4;
    std::int64_t sectors = 0;
    for (std::int64_t plane = 0; plane < problem_.query_planes(); ++plane)
      for (std::int64_t tile = 0; tile < problem_.seq_q; tile += tile_.block_q)
        for (std::int64_t row = tile; row < std::min(tile + tile_.block_q, problem_.seq_q); row += common_.strip_rows) {
          const std::int64_t first = plane * problem_.seq_q + row;
          const std::int64_t end = first + std::min({common_.strip_rows, tile + tile_.block_q - row, problem_.seq_q - row});
          sectors += ceil_div(end, in_a_sector) - first / in_a_sector;
        }
    return sectors * sector_size;
  }

  const HopperRung& rung_;
  HopperCommon common_;
  std::int64_t planes_of_set_ = 1;  // planes whose tiles are drawn together
};

}  // namespace

Result<std::unique_ptr<TileProgram>> make_hopper_rung(HopperRungId id, std::string_view name, const AttentionProblem& problem,
                                                      const ProgramTile& tile, const GpuSpec& gpu) {
  const HopperRung& rung = hopper_rung(id);
  const ScoreChanges scores = rung.lists ? ScoreChanges::taken : ScoreChanges::refused;
  const Pages pages = rung.lists ? Pages::taken : Pages::refused;
  if (Status status = check_request(name, problem, tile, Masks::taken, scores, pages); !status) return status.error();
  if (rung.lists)
    if (Status status = check_mask_block(problem, tile); !status) return status.error();
  if (Status status = check_pages(problem, tile); !status) return status.error();
  return std::unique_ptr<TileProgram>(std::make_unique<Hopper>(id, problem, tile, gpu));
}

}  // namespace tilescope
