// TurnOrder against looking at every slot.
#include "sim/engine/turn_order.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace tilescope {
namespace {

struct Slot {
  double time = TurnOrder::never, load_time = TurnOrder::never;
  bool store = false;
  double turn(double pipe_free) const { return store ? std::min(load_time, std::max(time, pipe_free)) : time; }
};

std::size_t earliest(const std::vector<Slot>& slots, double pipe_free) {
  std::size_t first = 0;
  for (std::size_t slot = 1; slot < slots.size(); ++slot)
    if (slots[slot].turn(pipe_free) < slots[first].turn(pipe_free)) first = slot;
  return first;
}

}  // namespace

TEST_CASE("turn order: the earliest slot, the lower of two, stores when the pipe is free or their load when that is due") {
  const std::uint32_t seed = std::random_device{}();
  std::mt19937 random(seed);
  INFO("seed ", seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Slot> slots(static_cast<std::size_t>(trial % 3 == 0 ? draw(1, 4) : draw(1, 90)));
    TurnOrder order;
    order.reset(slots.size());
    double now = 0, pipe_free = 0;
    const auto give = [&](std::size_t slot) {
      // Few different times, so that many are the same.
      slots[slot] = {now + draw(0, 6), now + draw(8, 20), draw(0, 2) == 0};
      if (slots[slot].store)
        order.set_store(slot, slots[slot].time, slots[slot].load_time);
      else
        order.set(slot, slots[slot].time);
    };
    for (std::size_t slot = 0; slot < slots.size(); ++slot) give(slot);
    for (int turns = 0; turns < 200; ++turns) {
      const std::size_t first = earliest(slots, pipe_free);
      const double time = slots[first].turn(pipe_free);
      const TurnOrder::Turn turn = slots.size() <= 4 ? order.next_of_few(pipe_free) : order.next_in_tree(pipe_free);
      REQUIRE(order.few() == (slots.size() <= 4));
      REQUIRE(turn.slot == first);
      REQUIRE(turn.time == time);
      REQUIRE(turn.load_first == (slots[first].store && slots[first].load_time == time));
      if (!slots[first].store) {  // the rival may be too early, never too late
        double rival = TurnOrder::never;
        std::size_t rival_slot = slots.size();
        for (std::size_t slot = 0; slot < slots.size(); ++slot)
          if (slot != first && slots[slot].turn(pipe_free) < rival) rival = slots[slot].turn(pipe_free), rival_slot = slot;
        REQUIRE(turn.rival_time <= rival);
        if (turn.rival_time == rival && rival < TurnOrder::never) REQUIRE(turn.rival <= rival_slot);
      }
      now = time;
      if (draw(0, 1) == 0) pipe_free = std::max(pipe_free, now) + draw(0, 4);
      give(first);
    }
  }
}

TEST_CASE("turn order: slots in which nothing happens wait for ever") {
  TurnOrder order;
  order.reset(20);
  order.set(7, 3.0);
  CHECK(order.next_in_tree(0).slot == 7);
  order.set(7, TurnOrder::never);
  CHECK(order.next_in_tree(0).time == TurnOrder::never);
}

}  // namespace tilescope
