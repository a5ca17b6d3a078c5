// Each rung does what it has: the same steps, in the order that its groups take them.
#include "sim/programs/hopper_block.h"

#include <limits>

namespace tilescope {

namespace {

using Line = HopperLine;

/// Emits one block. `own`: the lists of its query tile, none without lists.
struct Emission {
  BlockBuilder& b;
  const HopperCommon& common;
  std::int64_t q_tile, plane, ticket;
  const std::vector<KeyTile>& visits;
  const std::vector<TileRange>& strips;
  FlexLists::OfTile own;
  std::int64_t stages;

  static constexpr int all_groups = 0;  // the barrier of a block without a producer

  const HopperRung& rung() const { return common.rung; }
  LineId at(Line line) const { return common.lines[line]; }
  std::int64_t groups() const { return static_cast<std::int64_t>(strips.size()); }
  bool has_rows(std::size_t s) const { return strips[s].count > 0; }

  void emit() const {
    b.tokens_by_hand();
    if (rung().draws()) b.fetch_add(at(Line::draw), tickets, 1);
    if (common.lists) load_lists();
    if (common.plan.pages && !visits.empty()) load_pages();
    if (!visits.empty())
      for_each_strip([&](std::size_t s) {
        if (!has_rows(s)) return;
        b.group(0);
        b.load_boxes(at(Line::load_q), hopper_strips::q, common.box_rows);
        if (common.plan.pages)
          b.await_token(BufferToken::full(paged::entries, 0), 1);
        else
          after_lists();
        b.signals(BufferToken::full(hopper_strips::q, static_cast<std::int64_t>(s)));
      });
    for_each_strip([&](std::size_t s) {
      clear();
      if (visits.empty()) return;
      for (std::size_t rows = rung().producer ? s : 0; rows < (rung().producer ? s + 1 : strips.size()); ++rows) {
        if (!has_rows(rows)) continue;
        b.emit_wait(at(Line::wait_q), hopper_strips::q, WaitOn::mbarrier);
        b.await_token(BufferToken::full(hopper_strips::q, static_cast<std::int64_t>(rows)), 1);
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
    if (ticket >= common.blocks - common.staying) hand_back();
  }

  /// Counts the block as done when no ticket is left. The last block sets both counters to 0.
  void hand_back() const {
    b.group(0);
    b.fetch_add(at(Line::hand_back), tickets, 1);
    if (ticket + 1 < common.blocks) return;
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
    const TileRange pages = pages_of_visits(common.plan, visits);
    b.pages(pages.first, pages.count);
    b.load_after(at(Line::load_pages), paged::entries, -1);
    after_lists();
    b.signals(BufferToken::full(paged::entries, 0));
  }
  /// Makes the latest operation wait for the lists.
  void after_lists() const {
    if (!common.lists) return;
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
    with_tile(n, [&] { b.load_boxes(at(line), chip_tile, common.key_box); });
    b.await_token(BufferToken::empty(rung().producer ? chip_tile : tiles::k, n % stages), groups() * (n / stages));
    b.signals(BufferToken::full(chip_tile, n % stages));
  }

  template <class Emit>
  void walk(Emit emit) const {
    const TileGrid& grid = common.plan.grid;
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
    b.fill(at(Line::init), hopper_strips::o, 0.0F);
    b.fill(at(Line::init), hopper_strips::m, -std::numeric_limits<float>::infinity());
    b.fill(at(Line::init), hopper_strips::l, 0.0F);
  }
  void end(std::size_t s) const {
    b.divide(at(Line::finish), hopper_strips::o, hopper_strips::l);
    if (visits.empty()) after_lists();  // before the lengths arrive, nobody knows that the lists are empty
    b.log_sum_exp(at(Line::finish), hopper_strips::lse, hopper_strips::m, hopper_strips::l);
    if (!has_rows(s)) return;
    b.store(at(Line::store), hopper_strips::o);
    b.overhead(common.of_store);
    b.store(at(Line::store), hopper_strips::lse);
  }
  void product_of_scores() const {
    b.matmul(at(Line::scores), hopper_strips::s, hopper_strips::q, tiles::k, {.transpose = true, .factor = common.plan.scale});
  }
  void product_with_values(Line line) const {
    b.matmul(at(line), hopper_strips::o, hopper_strips::p, tiles::v, {.accumulate = true});
  }
  void softmax(std::size_t s, const KeyTile& tile) const {
    maxima(s, tile);
    exponentials();
  }
  void maxima(std::size_t s, const KeyTile& tile) const {
    const TileGrid& grid = common.plan.grid;
    if (common.plan.grid.problem.score_change)
      b.modify(at(Line::modify), hopper_strips::s, common.cost.operations, common.cost.exps);
    // A kernel that follows lists masks the whole of a partial tile.
    const auto sees_all = [&] {
      return !has_rows(s) || grid.mask->tile(plane, strips[s], grid.keys(tile.index)) == TileVisibility::full;
    };
    if (tile.partial && (common.lists || !sees_all())) b.mask(at(Line::mask), hopper_strips::s);
    b.row_max(at(Line::row_max), hopper_strips::m_new, hopper_strips::m, hopper_strips::s);
    // By now Q has been read. The last of these signals lets the next rows of a persistent block in.
    if (rung().persistent) b.signals(BufferToken::empty(hopper_strips::q, static_cast<std::int64_t>(s)));
  }
  void exponentials() const {
    b.exp(at(Line::exp), hopper_strips::p, hopper_strips::s, hopper_strips::m_new);
    b.exp_rows(at(Line::alpha), hopper_strips::alpha, hopper_strips::m, hopper_strips::m_new);
    b.row_sum(at(Line::row_sum), hopper_strips::l, hopper_strips::l, hopper_strips::p, hopper_strips::alpha);
  }
  void rescale() const { b.rescale(at(Line::rescale), hopper_strips::o, hopper_strips::alpha); }
  /// Ends the work on a key tile.
  void keep_max() const {
    b.copy(at(Line::keep_max), hopper_strips::m, hopper_strips::m_new);
    b.overhead(common.of_tile);
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
    b.overhead(common.of_request);
  }
  void scores_of(std::size_t s, std::int64_t n) const {
    wait_for_keys(s, n);
    product_of_scores();
    issued(hopper_strips::s, s);
  }
  bool takes_turns() const { return rung().ping_pong && groups() > 1; }
  /// Group s has its n-th turn once the group before it has passed on its own; the first one begins.
  void wait_turn(std::size_t s, std::int64_t n) const {
    if (!takes_turns()) return;
    b.emit_wait(at(Line::wait_turn), hopper_strips::s, WaitOn::named_barrier);
    b.await_token(BufferToken::other(static_cast<int>(s)), s == 0 ? n : n + 1);
  }
  void pass_turn(std::size_t s) const {
    if (!takes_turns()) return;
    b.emit_wait(at(Line::pass_turn), hopper_strips::s, WaitOn::named_barrier);
    b.signals(BufferToken::other(static_cast<int>((s + 1) % strips.size())));
  }

  void in_order(std::size_t s, const KeyTile& tile) const {
    const std::int64_t n = b.iteration();
    scores_of(s, n);
    wait_for_product(Line::wait_s, hopper_strips::s, s, n, tiles::k);
    softmax(s, tile);
    rescale();
    wait_for_tile(Line::wait_v, tiles::v, n);
    product_with_values(Line::weigh);
    issued(hopper_strips::o, s);
    wait_for_product(Line::wait_o, hopper_strips::o, s, n, tiles::v);
    keep_max();
    if (!rung().producer) b.signals(BufferToken::other(all_groups));
  }
  /// Waits until all groups are done with the tile.
  void meet() const {
    b.emit_wait(at(Line::wait_groups), hopper_strips::s, WaitOn::named_barrier);
    b.await_token(BufferToken::other(all_groups), groups() * (b.iteration() + 1));
    b.signals(BufferToken::empty(tiles::k, stage()));
  }

  /// Makes `emit` see key tile n.
  template <class Emit>
  void with_tile(std::int64_t n, Emit emit) const {
    const TileGrid& grid = common.plan.grid;
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
        issued(hopper_strips::o, s);
      });
    pass_turn(s);
    const auto wait_o = [&] {
      if (n > 0) with_tile(n - 1, [&] { wait_for_product(Line::wait_o_early, hopper_strips::o, s, n - 1, tiles::v); });
    };
    wait_for_product(Line::wait_s, hopper_strips::s, s, n, tiles::k);
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
      issued(hopper_strips::o, s);
      wait_for_product(Line::last_wait, hopper_strips::o, s, n, tiles::v);
    });
    b.keys(-1, {});
  }
};

}  // namespace

void emit_hopper_block(BlockBuilder& b, const HopperCommon& common, const HopperBlock& block, std::int64_t stages) {
  Emission{b, common, block.query_tile, block.plane, block.ticket, block.visits, block.strips, block.lists, stages}.emit();
}

}  // namespace tilescope
