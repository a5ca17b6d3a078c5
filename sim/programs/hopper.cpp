// The ladder to Hopper: FlashAttention-2 forward on wgmma and TMA, one idea a rung, each rung a row of a table.
//
//   hopper_wgmma          K and V come in boxes of TMA; wgmma reads them from shared memory
//   hopper_producer       a thread of its own loads, two groups of four warps compute; a ring of buffers with full and empty tokens
//   hopper_three_groups   three groups of 64 rows share each K and V
//   hopper_overlap        the softmax of a tile runs under O += P V of the tile before
//   hopper_ping_pong      the groups take turns on the tensor cores
//   hopper_persistent     blocks stay: the next rows load while the last ones are stored
//   hopper_causal         the longest rows first
//   flash3                the rung that flash3_choice() names, perhaps hopper_wgmma with the longest rows first
//   hopper_flex           hopper_ping_pong over the lists of a mask's blocks, with changed scores: flex on Hopper
//
//   producer     load Q₀ Q₁   load K₀ ─full─►  load V₀ ─full─►          … wait empty, load K₂ …
//   consumer g   wait Q   wait K₀, issue S   wait S ─empty K₀─►  softmax   wait V₀, issue O += P V   wait O ─empty V₀─►
//
//   l2_to_sm = B·Hq·(64·⌈Nq/64⌉·d + 2·Σᵢ Wᵢ·d)·e      sm_to_l2 = B·Hq·(Nq·d·e + Nq·4)
//
// Wᵢ: Bc times the tiles that query tile i visits. A ticket and the end of a block that draws add 32 bytes to both.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/masks/score_change.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/flash3_choice.h"
#include "sim/programs/flex_lists.h"
#include "sim/programs/hopper_lines.h"
#include "sim/programs/hopper_needs.h"
#include "sim/programs/occupancy.h"
#include "sim/programs/planes_together.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

// On-chip tiles: those of the other attention programs, but each group has its own strip of every tile of query rows.
namespace strips {
namespace declared {
inline constexpr ChipTileSpec q = tiles::declared::q.in_strips(), s = tiles::declared::s.in_strips(),
                              p = tiles::declared::p.in_strips(), m = tiles::declared::m.in_strips(),
                              m_new = tiles::declared::m_new.in_strips(), l = tiles::declared::l.in_strips(),
                              alpha = tiles::declared::alpha.in_strips(), lse = tiles::declared::lse.in_strips();
inline constexpr ChipTileSpec o = ChipTileSpec{.name = "O", .tensor = tensors::o, .index = tile_index::o_strips}.in_strips();
}  // namespace declared
inline constexpr ChipTile q = declared::q, s = declared::s, p = declared::p, m = declared::m, m_new = declared::m_new,
                          l = declared::l, alpha = declared::alpha, o = declared::o, lse = declared::lse;
}  // namespace strips

using Line = HopperLine;

constexpr int ticket_counters = 2;

Schema declared(bool has_lists, bool has_pages, bool draws) {
  using namespace tensors;
  Schema schema = {.tensors = {q, k, v, s, p, o, lse, m, l},
                   .inputs = {q, k, v},
                   .outputs = {o, lse},
                   .tiles = {strips::q, tiles::k, tiles::v, strips::s, strips::p, strips::m, strips::m_new, strips::l,
                             strips::alpha, strips::o, strips::lse}};
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
        lines_(hopper_listing(id)),
        of_tile_(hopper_overheads(rung_).overhead("attention", "tile", problem)),
        of_request_(rung_.producer ? Overhead() : hopper_overheads(rung_).overhead("attention", "request", problem)),
        of_store_(hopper_overheads(rung_).overhead("attention", "store", problem)),
        plan_(problem, tile_, schema()) {
    if (has_lists(id, problem)) lists_.emplace(plan_.grid, tile_);
    if (problem.score_change) cost_ = problem.score_change->cost();
    LaunchSpec launch;
    launch.name = "attention";
    launch.grid_x = plan_.grid.query_tiles;
    launch.grid_y = problem.heads;
    launch.grid_z = problem.batch;
    launch.needs = hopper_needs(id, problem, tile, gpu);
    launch.first_line = 1;
    launch.last_line = static_cast<int>(lines_.lines().size());
    launch.grouped = rung_.grouped;
    launch.equal_sets = false;
    launch.persistent = rung_.persistent;
    launch.draws = rung_.draws();
    launch.reversed = lists_ && lists_->is_reversed();
    launches_.push_back(launch);
    if (rung_.draws()) {
      planes_of_set_ =
          std::clamp<std::int64_t>(planes_together_of_kernel(problem, launch.grid_x, half_of_l2(gpu)), 1, problem.query_planes());
      const auto resident = occupancy(*this, launch, gpu);
      const std::int64_t of_sm = resident ? resident->blocks_per_sm : 1;  // what does not fit is refused later
      staying_ = std::min<std::int64_t>(launch.blocks(), of_sm * static_cast<std::int64_t>(gpu.sm_count));
    }
    strip_rows_ = hopper_strip_rows(rung_, problem, tile_);
    box_rows_ = ceil_div(tile_.block_q, std::int64_t{hopper_groups(rung_, problem)});
    key_box_ = problem.page_size > 0 ? std::min(problem.page_size, tile_.block_kv) : tile_.block_kv;
    for (int turn = 0; turn < hopper_most_groups; ++turn)
      plan_.tokens[static_cast<std::size_t>(BufferToken::other(turn))] =
          rung_.producer ? "turn " + std::to_string(turn) : "all groups are done";
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    const std::int64_t i = launches_.front().row_tile_of(block), plane = block / plan_.grid.query_tiles;
    const TileRange rows = plan_.grid.queries(i);
    const FlexLists::OfTile own = lists_ ? lists_->of(plan_.grid, plane, i) : FlexLists::OfTile();
    const std::vector<KeyTile> visits = lists_ ? lists_->visits(plan_.grid, own) : plan_.grid.visits(plane, i);
    const KernelNeeds& needs = launches_.front().needs;
    BlockBuilder b(out, plan_, needs, launch, block, BlockPlan::query_rows(plane, rows), tile_bits(strips::q, tiles::k, tiles::v));
    out.whole_rows = static_cast<std::int32_t>(strip_rows_);
    out.iterations = static_cast<std::int32_t>(visits.size());
    Emission{*this, b, i, plane, ticket_of(block), visits, strips_of(rows), needs.stages, own}.emit();
  }

  std::optional<BlockPlace> place_of(int, std::int64_t block) const override {
    if (!plan_.rows_are_whole(tensors::q) || (problem_.mask && !lists_)) return std::nullopt;
    const std::int64_t i = launches_.front().row_tile_of(block), plane = block / plan_.grid.query_tiles;
    const TileRange rows = plan_.grid.queries(i);
    const std::int64_t ends = std::max<std::int64_t>(0, ticket_of(block) + staying_ + 1 - launches_.front().blocks());
    const std::int64_t way = ends == 0 ? 0 : ends == staying_ ? 2 : 1;  // the last ticket of a block, of the last block
    return plan_.place_with_statistic(plane, rows, plan_.grid.row_class(plane, i) * 3 + way);
  }

  std::shared_ptr<const TableValues> tables() const override {
    const std::shared_ptr<const TableValues> of_lists = lists_ ? lists_->values() : nullptr;
    return plan_.pages ? page_values(plan_.pages, of_lists) : of_lists;
  }

  std::optional<ClosedForm> closed_form() const override {
    if (!head_rows_are_whole(problem_) || (!rung_.lists && !planes_are_alike(problem_))) return std::nullopt;
    const FlexSums sums = rung_.lists ? flex_sums(problem_, tile_, *plan_.grid.mask, box_rows_, key_box_) : sums_of_visits();
    const std::int64_t row_bytes = problem_.head_dim * element_bytes(problem_.dtype);
    const std::string kv =
        key_box_ < tile_.block_kv
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
         statistic_formula(problem_, {strip_rows_, tile_.block_kv}, "B·Hq·Nq·4")},
    };
    if (rung_.draws()) {
      const std::int64_t drawn = (launches_.front().blocks() + staying_) * sector_size;
      form.terms.push_back({tickets, Link::l2_to_sm, Bytes(drawn), "(B·Hq·⌈Nq/Br⌉ + resident blocks)·32"});
      form.terms.push_back(
          {tickets, Link::sm_to_l2, Bytes(drawn + ticket_counters * sector_size), "(B·Hq·⌈Nq/Br⌉ + resident blocks + 2)·32"});
    }
    if (lists_) add_list_terms(form, sums);
    if (plan_.pages) add_page_term(form, problem_, sums);
    form.flops = 4 * problem_.head_dim * sums.rows_keys;
    form.exps = sums.rows_keys * (1 + cost_.exps) + sums.rows_tiles;
    form.order = "Θ(N²d²/M)";
    return form;
  }

 private:
  /// The rows of Q in whole boxes, one a group.
  std::string query_formula() const {
    std::string seen = fmt::format("B·Hq·d·e·(rows of tiles that see a key, in boxes of {})", box_rows_);
    if (tile_.block_q % box_rows_ != 0) return seen;
    return formula_for(problem_, fmt::format("B·Hq·{0}·⌈Nq/{0}⌉·d·e", box_rows_), seen);
  }
  static bool has_lists(HopperRungId id, const AttentionProblem& problem) { return hopper_rung(id).lists && problem.has_mask(); }
  /// Returns the ticket of a block in the kernel's own order; -1 where blocks draw none.
  std::int64_t ticket_of(std::int64_t block) const {
    return rung_.draws() ? position_in_sets(block, plan_.grid.query_tiles, problem_.query_planes(), planes_of_set_) : -1;
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
    const auto in_boxes = [&](std::int64_t rows) { return ceil_div(rows, box_rows_) * box_rows_; };
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
    for (std::int64_t first = 0; first < tile_.block_q; first += strip_rows_)
      found.push_back({rows.first + first, std::clamp(rows.count - first, std::int64_t{0}, strip_rows_)});
    return found;
  }

  /// Returns the bytes of L in whole sectors: each group stores the numbers of its own rows.
  std::int64_t statistic_bytes_of_strips() const {
    constexpr std::int64_t in_a_sector = sector_size / 4;
    std::int64_t sectors = 0;
    for (std::int64_t plane = 0; plane < problem_.query_planes(); ++plane)
      for (std::int64_t tile = 0; tile < problem_.seq_q; tile += tile_.block_q)
        for (std::int64_t row = tile; row < std::min(tile + tile_.block_q, problem_.seq_q); row += strip_rows_) {
          const std::int64_t first = plane * problem_.seq_q + row;
          const std::int64_t end = first + std::min({strip_rows_, tile + tile_.block_q - row, problem_.seq_q - row});
          sectors += ceil_div(end, in_a_sector) - first / in_a_sector;
        }
    return sectors * sector_size;
  }

  /// Emits one block.
  struct Emission {
    const Hopper& program;
    BlockBuilder& b;
    std::int64_t q_tile, plane, ticket;
    const std::vector<KeyTile>& visits;
    std::vector<TileRange> strips;
    std::int64_t stages;
    FlexLists::OfTile own;  // the lists; none without lists_

    static constexpr int all_groups = 0;  // the barrier of a block without a producer

    const HopperRung& rung() const { return program.rung_; }
    LineId at(Line line) const { return program.lines_[line]; }
    std::int64_t groups() const { return static_cast<std::int64_t>(strips.size()); }
    bool has_rows(std::size_t s) const { return strips[s].count > 0; }

    void emit() const {
      b.tokens_by_hand();
      if (rung().draws()) b.fetch_add(at(Line::draw), tickets, 1);
      if (program.lists_) load_lists();
      if (program.plan_.pages && !visits.empty()) load_pages();
      if (!visits.empty())
        for_each_strip([&](std::size_t s) {
          if (!has_rows(s)) return;
          b.group(0);
          b.load_boxes(at(Line::load_q), strips::q, program.box_rows_);
          if (program.plan_.pages)
            b.await_token(BufferToken::full(paged::entries, 0), 1);
          else
            after_lists();
          b.signals(BufferToken::full(strips::q, static_cast<std::int64_t>(s)));
        });
      for_each_strip([&](std::size_t s) {
        clear();
        if (visits.empty()) return;
        for (std::size_t rows = rung().producer ? s : 0; rows < (rung().producer ? s + 1 : strips.size()); ++rows) {
          if (!has_rows(rows)) continue;
          b.emit_wait(at(Line::wait_q), strips::q, WaitOn::mbarrier);
          b.await_token(BufferToken::full(strips::q, static_cast<std::int64_t>(rows)), 1);
        }
      });
      if (ahead() > 0 && !visits.empty()) load_tile(0);
      walk([&](const KeyTile& tile) {
        if (const std::int64_t n = b.iteration() + ahead(); n < std::ssize(visits)) load_tile(n);
        for_each_strip([&](std::size_t s) { rung().overlap ? overlapped(s, tile) : in_order(s, tile); });
        if (!rung().producer) for_each_strip([&](std::size_t) { meet(); });
        // With one buffer, V of this tile takes the place of the tile before, which the overlapped groups read in this iteration.
        if (rung().overlap) load_into_ring(Line::load_v, tiles::v, b.iteration());
      });
      for_each_strip([&](std::size_t s) {
        if (rung().overlap && !visits.empty()) last_product(s);
        end(s);
      });
      if (ticket >= program.launches_.front().blocks() - program.staying_) hand_back();
    }

    /// Counts the block as done when no ticket is left. The last block sets both counters to 0.
    void hand_back() const {
      b.group(0);
      b.fetch_add(at(Line::hand_back), tickets, 1);
      if (ticket + 1 < program.launches_.front().blocks()) return;
      for (int counter = 0; counter < ticket_counters; ++counter) b.write(at(Line::hand_back), tickets, 0);
    }

    /// Loads the two lengths, then the lists that are not empty.
    void load_lists() const {
      b.group(0);
      const auto load = [&](Line line, ChipTile list, std::int64_t entries) {
        b.mask_list(own.plane, own.row, entries);
        b.load_after(at(line), list, -1);
        b.signals(BufferToken::full(list, 0));
      };
      load(Line::load_counts, lists::partial_count_tile, 1);
      load(Line::load_counts, lists::full_count_tile, 1);
      const auto load_entries = [&](ChipTile list, std::int64_t entries) {
        if (entries == 0) return;
        load(Line::load_lists, list, entries);
        b.await_token(BufferToken::full(lists::full_count_tile, 0), 1);
      };
      load_entries(lists::partial_tile, std::ssize(own.partial));
      load_entries(lists::full_tile, std::ssize(own.full));
    }
    /// Loads the entries of all pages from the first visited one to the last.
    void load_pages() const {
      b.group(0);
      const TileRange pages = pages_of_visits(program.plan_, visits);
      b.pages(pages.first, pages.count);
      b.load_after(at(Line::load_pages), paged::entries, -1);
      after_lists();
      b.signals(BufferToken::full(paged::entries, 0));
    }
    /// Makes the latest operation wait for the lists.
    void after_lists() const {
      if (!program.lists_) return;
      const ChipTile last = !own.full.empty()      ? lists::full_tile
                            : !own.partial.empty() ? lists::partial_tile
                                                   : lists::full_count_tile;
      b.await_token(BufferToken::full(last, 0), 1);
    }

    /// Returns how many key tiles ahead of the group's own its copies are. Without a producer, the first group asks for them
    /// between its tiles: those of the next tile, if there is a second buffer. A producer has a stream of its own.
    std::int64_t ahead() const { return rung().producer || stages == 1 ? 0 : 1; }
    /// Loads K of the n-th visited tile, and V where it does not come later.
    void load_tile(std::int64_t n) const {
      load_into_ring(Line::load_k, tiles::k, n);
      if (!rung().overlap) load_into_ring(Line::load_v, tiles::v, n);
    }
    /// Loads once all groups have read the buffer. Without a producer, one barrier at the end of a tile frees K and V together.
    void load_into_ring(Line line, ChipTile chip_tile, std::int64_t n) const {
      b.group(0);
      with_tile(n, [&] { b.load_boxes(at(line), chip_tile, program.key_box_); });
      b.await_token(BufferToken::empty(rung().producer ? chip_tile : tiles::k, n % stages), groups() * (n / stages));
      b.signals(BufferToken::full(chip_tile, n % stages));
    }

    template <class Emit>
    void walk(Emit emit) const {
      const TileGrid& grid = program.plan_.grid;
      const auto is_plain = [&](const KeyTile& tile) { return !tile.partial && grid.is_whole(tile); };
      // A tile whose iteration loads the next one is like others only if that one is whole and as far away.
      const auto loads_alike = [&](const KeyTile& tile) {
        const auto n = &tile - visits.data();
        if (ahead() == 0) return true;
        if (n + 1 == std::ssize(visits) || !grid.is_whole((&tile)[1])) return false;
        return n == 0 || (&tile)[1].index - tile.index == tile.index - (&tile)[-1].index;
      };
      b.walk_keys(
          visits, stages, [&](const KeyTile& tile) { return is_plain(tile) && loads_alike(tile); }, emit);
    }
    template <class Emit>
    void for_each_strip(Emit emit) const {
      for (std::size_t s = 0; s < strips.size(); ++s) {
        b.group(rung().producer ? s + 1 : s);
        b.strip(s, q_tile, strips[s]);
        emit(s);
      }
      b.strip(0, q_tile, strips.front());
    }
    std::int64_t stage() const { return b.iteration() % stages; }

    void clear() const {
      b.fill(at(Line::init), strips::o, 0.0F);
      b.fill(at(Line::init), strips::m, -std::numeric_limits<float>::infinity());
      b.fill(at(Line::init), strips::l, 0.0F);
    }
    void end(std::size_t s) const {
      b.divide(at(Line::finish), strips::o, strips::l);
      if (visits.empty()) after_lists();  // before the lengths arrive, nobody knows that the lists are empty
      b.log_sum_exp(at(Line::finish), strips::lse, strips::m, strips::l);
      if (!has_rows(s)) return;
      b.store(at(Line::store), strips::o);
      b.overhead(program.of_store_);
      b.store(at(Line::store), strips::lse);
    }
    void product_of_scores() const {
      b.matmul(at(Line::scores), strips::s, strips::q, tiles::k, {.transpose = true, .factor = program.plan_.scale});
    }
    void product_with_values(Line line) const { b.matmul(at(line), strips::o, strips::p, tiles::v, {.accumulate = true}); }
    void softmax(std::size_t s, const KeyTile& tile) const {
      maxima(s, tile);
      exponentials();
    }
    void maxima(std::size_t s, const KeyTile& tile) const {
      const TileGrid& grid = program.plan_.grid;
      if (program.problem_.score_change) b.modify(at(Line::modify), strips::s, program.cost_.operations, program.cost_.exps);
      // A kernel that follows lists masks the whole of a partial tile.
      const auto sees_all = [&] {
        return !has_rows(s) || grid.mask->tile(plane, strips[s], grid.keys(tile.index)) == TileVisibility::full;
      };
      if (tile.partial && (program.lists_ || !sees_all())) b.mask(at(Line::mask), strips::s);
      b.row_max(at(Line::row_max), strips::m_new, strips::m, strips::s);
      // By now Q has been read. The last of these signals lets the next rows of a persistent block in.
      if (rung().persistent) b.signals(BufferToken::empty(strips::q, static_cast<std::int64_t>(s)));
    }
    void exponentials() const {
      b.exp(at(Line::exp), strips::p, strips::s, strips::m_new);
      b.exp_rows(at(Line::alpha), strips::alpha, strips::m, strips::m_new);
      b.row_sum(at(Line::row_sum), strips::l, strips::l, strips::p, strips::alpha);
    }
    void rescale() const { b.rescale(at(Line::rescale), strips::o, strips::alpha); }
    /// Ends the work on a key tile.
    void keep_max() const {
      b.copy(at(Line::keep_max), strips::m, strips::m_new);
      b.overhead(program.of_tile_);
    }

    // The pieces of a group that meets others. `n` counts key tiles.
    void wait_for_tile(Line line, ChipTile chip_tile, std::int64_t n) const {
      b.emit_wait(at(line), chip_tile, WaitOn::mbarrier);
      b.await_token(BufferToken::full(chip_tile, n % stages), n / stages + 1);
    }
    void issued(ChipTile result, std::size_t s) const {
      b.asynchronous();
      b.signals(BufferToken::full(result, static_cast<std::int64_t>(s)));
    }
    /// Waits for the n-th product into `result`, and frees the buffer of the tile that it read.
    void wait_for_product(Line line, ChipTile result, std::size_t s, std::int64_t n, ChipTile read) const {
      b.emit_wait(at(line), result, WaitOn::product);
      b.await_token(BufferToken::full(result, static_cast<std::int64_t>(s)), n + 1);
      if (rung().producer) b.signals(BufferToken::empty(read, n % stages));
    }
    /// Group 0 waits for K once it has asked for the next tile.
    void wait_for_keys(std::size_t s, std::int64_t n) const {
      wait_for_tile(Line::wait_k, tiles::k, n);
      if (s > 0 || ahead() == 0 || n + 1 == std::ssize(visits)) return;
      constexpr int key_and_value = 2;
      b.after_requests(key_and_value);
      b.overhead(program.of_request_);
    }
    void scores_of(std::size_t s, std::int64_t n) const {
      wait_for_keys(s, n);
      product_of_scores();
      issued(strips::s, s);
    }
    bool takes_turns() const { return rung().ping_pong && groups() > 1; }
    /// Group s has its n-th turn once the group before it has passed on its own; the first one begins.
    void wait_turn(std::size_t s, std::int64_t n) const {
      if (!takes_turns()) return;
      b.emit_wait(at(Line::wait_turn), strips::s, WaitOn::named_barrier);
      b.await_token(BufferToken::other(static_cast<int>(s)), s == 0 ? n : n + 1);
    }
    void pass_turn(std::size_t s) const {
      if (!takes_turns()) return;
      b.emit_wait(at(Line::pass_turn), strips::s, WaitOn::named_barrier);
      b.signals(BufferToken::other(static_cast<int>((s + 1) % strips.size())));
    }

    void in_order(std::size_t s, const KeyTile& tile) const {
      const std::int64_t n = b.iteration();
      scores_of(s, n);
      wait_for_product(Line::wait_s, strips::s, s, n, tiles::k);
      softmax(s, tile);
      rescale();
      wait_for_tile(Line::wait_v, tiles::v, n);
      product_with_values(Line::weigh);
      issued(strips::o, s);
      wait_for_product(Line::wait_o, strips::o, s, n, tiles::v);
      keep_max();
      if (!rung().producer) b.signals(BufferToken::other(all_groups));
    }
    /// Waits until all groups are done with the tile.
    void meet() const {
      b.emit_wait(at(Line::wait_groups), strips::s, WaitOn::named_barrier);
      b.await_token(BufferToken::other(all_groups), groups() * (b.iteration() + 1));
      b.signals(BufferToken::empty(tiles::k, stage()));
    }

    /// Makes `emit` see key tile n.
    template <class Emit>
    void with_tile(std::int64_t n, Emit emit) const {
      const TileGrid& grid = program.plan_.grid;
      const std::int64_t iteration = b.iteration();
      const auto look_at = [&](std::int64_t tile) {
        const std::int64_t index = visits[static_cast<std::size_t>(tile)].index;
        b.keys(index, grid.keys(index));
        b.iteration(iteration, tile % stages);
      };
      look_at(n);
      emit();
      if (iteration >= 0 && iteration < std::ssize(visits)) return look_at(iteration);
      b.keys(-1, {});  // before the walk and after it
      b.iteration(iteration, 0);
    }

    void overlapped(std::size_t s, const KeyTile& tile) const {
      const std::int64_t n = b.iteration();
      wait_turn(s, n);
      scores_of(s, n);
      if (n > 0)
        with_tile(n - 1, [&] {
          wait_for_tile(Line::wait_v_early, tiles::v, n - 1);
          product_with_values(Line::weigh_early);
          issued(strips::o, s);
        });
      pass_turn(s);
      const auto wait_o = [&] {
        if (n > 0) with_tile(n - 1, [&] { wait_for_product(Line::wait_o_early, strips::o, s, n - 1, tiles::v); });
      };
      wait_for_product(Line::wait_s, strips::s, s, n, tiles::k);
      maxima(s, tile);
      if (rung().ping_pong) wait_o();
      exponentials();
      if (!rung().ping_pong) wait_o();
      if (n > 0) rescale();
      keep_max();
    }
    void last_product(std::size_t s) const {
      const auto n = static_cast<std::int64_t>(visits.size()) - 1;
      with_tile(n, [&] {
        wait_for_tile(Line::last_weigh, tiles::v, n);
        product_with_values(Line::last_weigh);
        issued(strips::o, s);
        wait_for_product(Line::last_wait, strips::o, s, n, tiles::v);
      });
      b.keys(-1, {});
    }
  };

  const HopperRung& rung_;
  const HopperListing& lines_;
  const Overhead of_tile_, of_request_, of_store_;  // of_request_: without a producer
  BlockPlan plan_;
  std::optional<FlexLists> lists_;
  ScoreCost cost_;
  std::int64_t strip_rows_ = 1, box_rows_ = 1;  // box_rows_: of Q, those of one group also where one thread loads for all
  std::int64_t planes_of_set_ = 1;              // planes whose tiles are drawn together
  std::int64_t staying_ = 0;                    // blocks that draw tickets; those of the last ones end
  std::int64_t key_box_ = 1;                    // rows of a box of K and V: those of a page if a tile fills several
};

/// Makes the program of a rung. `name` is what errors call it.
Result<std::unique_ptr<TileProgram>> make_rung(HopperRungId id, std::string_view name, const AttentionProblem& problem,
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

template <HopperRungId id>
Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_rung(id, hopper_rung(id).id(), problem, tile, gpu);
}

template <HopperRungId id>
ProgramInfo info() {
  const HopperRung& rung = hopper_rung(id);
  ProgramInfo info{};
  info.id = rung.id();
  info.title = rung.title;
  info.family = "attention";
  info.instruction = ProductInstruction::wgmma;
  info.source = rung.lists ? "arXiv:2412.05496; arXiv:2407.08608, Algorithm 2" : "arXiv:2407.08608, Algorithms 1 and 2";
  info.summary = rung.summary;
  info.listing = hopper_listing(id).lines();
  info.default_tile = hopper_tile<id>;
  info.make = make<id>;
  info.label = rung.title;
  info.has_lists = rung.lists;
  info.takes_pages = rung.lists;
  info.compared_apart = true;
  if (!rung.lists) info.key_order = KeyOrder::descending;
  return info;
}

Result<std::unique_ptr<TileProgram>> make_flash3(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_rung(flash3_choice(problem), "flash3", problem, tile, gpu);
}
TileShape flash3_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return hopper_default_tile(flash3_choice(problem), problem, gpu);
}
const ProgramInfo& flash3_row(const AttentionProblem& problem);
ProgramInfo flash3_as(HopperRungId rung) {
  ProgramInfo row = info<HopperRungId::causal>();
  row.id = "flash3";
  row.title = row.label = "FlashAttention-3";
  row.summary = "Launches one of the rungs, chosen by head dimension, mask and length.";
  row.listing = hopper_listing(rung).lines();
  row.default_tile = flash3_tile;
  row.make = make_flash3;
  row.row_of = flash3_row;
  row.choice = [](const AttentionProblem& problem) { return hopper_rung(flash3_choice(problem)).id(); };
  row.compared_apart = false;
  return row;
}
const ProgramInfo& flash3_row(const AttentionProblem& problem) {
  return flash3_rows()[static_cast<std::size_t>(flash3_choice(problem))];
}

}  // namespace

std::span<const ProgramInfo> flash3_rows() {
  static const std::vector<ProgramInfo> rows = [] {
    std::vector<ProgramInfo> made;
    for (std::size_t rung = 0; rung < hopper_rungs().size(); ++rung) made.push_back(flash3_as(static_cast<HopperRungId>(rung)));
    return made;
  }();
  return rows;
}

ProgramInfo hopper_wgmma_program() {
  return info<HopperRungId::wgmma>();
}
ProgramInfo hopper_producer_program() {
  return info<HopperRungId::producer>();
}
ProgramInfo hopper_three_groups_program() {
  return info<HopperRungId::three_groups>();
}
ProgramInfo hopper_overlap_program() {
  return info<HopperRungId::overlap>();
}
ProgramInfo hopper_ping_pong_program() {
  return info<HopperRungId::ping_pong>();
}
ProgramInfo hopper_persistent_program() {
  return info<HopperRungId::persistent>();
}
ProgramInfo hopper_causal_program() {
  return info<HopperRungId::causal>();
}
ProgramInfo flash3_program() {
  return flash3_as(HopperRungId::causal);
}
ProgramInfo hopper_flex_program() {
  return info<HopperRungId::flex>();
}

}  // namespace tilescope
