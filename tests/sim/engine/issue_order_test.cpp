// IssueOrder against the rule as it reads: the earliest, and of several the oldest, which waits for pipes of its own.
#include "sim/engine/issue_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace tilescope {
namespace {

struct Block {
  IssueOrder::Candidate candidate;
  int age = 0;
};

TEST_CASE("sm order: the earliest event comes first, and of several at one time that of the lowest SM") {
  std::mt19937 random(4);
  for (std::size_t sms : {1, 2, 3, 4, 7, 132}) {
    std::vector<double> times(sms, IssueOrder::never);
    SmOrder order;
    order.reset(sms);
    CHECK(order.time() == IssueOrder::never);
    for (int round = 0; round < 1000; ++round) {
      const std::size_t sm = random() % sms;
      times[sm] = random() % 8 == 0 ? IssueOrder::never : static_cast<double>(random() % 32) / 2;
      order.set(sm, times[sm]);
      const auto first = std::min_element(times.begin(), times.end());
      REQUIRE(order.time() == *first);
      if (*first < IssueOrder::never) REQUIRE(order.sm() == static_cast<std::size_t>(first - times.begin()));
    }
  }
}

}  // namespace

TEST_CASE("issue order: who can start first, the oldest of several, or order_key load is due by then") {
  const std::uint32_t seed = std::random_device{}();
  std::mt19937 random(seed);
  INFO("seed ", seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Block> blocks(static_cast<std::size_t>(draw(1, trial % 2 == 0 ? 3 : 40)));
    std::array<double, 3> pipes{};  // the last is always free
    IssueOrder order;
    order.reset(blocks.size());
    int youngest = 0;
    double now = 0;
    const auto give = [&](std::size_t slot) {
      // Few different times, so that many are the same.
      Block& block = blocks[slot];
      block.candidate.ready = draw(0, 9) == 0 ? IssueOrder::never : now + draw(0, 6);
      block.candidate.load = draw(0, 2) == 0 ? IssueOrder::never : now + draw(4, 20);
      for (std::uint8_t& pipe : block.candidate.pipe) pipe = static_cast<std::uint8_t>(draw(0, 2));
      block.candidate.port = static_cast<std::uint8_t>(draw(1, 2));
      if (draw(0, 3) == 0 || block.age == 0) order.set_age(slot, static_cast<std::uint64_t>(block.age = ++youngest));
      order.set(slot, block.candidate);
    };
    for (std::size_t slot = 0; slot < blocks.size(); ++slot) give(slot);
    for (int round = 0; round < 100; ++round) {
      int oldest = youngest;
      for (const Block& block : blocks) oldest = std::min(oldest, block.age);
      const auto start = [&](const Block& b) {
        return std::max({b.candidate.ready, pipes[b.candidate.pipe[b.age == oldest ? 1 : 0]], pipes[b.candidate.port]});
      };
      const auto time = [&](const Block& b) { return std::min(start(b), b.candidate.load); };
      const auto before = [&](const Block& a, const Block& b) { return time(a) != time(b) ? time(a) < time(b) : a.age < b.age; };
      std::size_t first = 0;
      for (std::size_t slot = 1; slot < blocks.size(); ++slot)
        if (before(blocks[slot], blocks[first])) first = slot;
      if (time(blocks[first]) == IssueOrder::never) break;
      const IssueOrder::Choice choice = order.next(pipes);
      REQUIRE(choice.slot == first);
      REQUIRE(choice.time == time(blocks[first]));
      REQUIRE(choice.load_first == (blocks[first].candidate.load <= start(blocks[first])));
      REQUIRE(order.key(first, choice.time) < choice.rival);
      for (std::size_t slot = 0; slot < blocks.size(); ++slot)
        if (slot != first && time(blocks[slot]) < IssueOrder::never) REQUIRE(choice.rival <= order.key(slot, time(blocks[slot])));
      now = choice.time;
      for (std::size_t pipe : {0U, 1U})
        if (draw(0, 1) == 0) pipes[pipe] = std::max(pipes[pipe], now) + draw(0, 4);
      give(first);
    }
  }
}

TEST_CASE("issue order: slots in which nothing happens wait for ever") {
  IssueOrder order;
  order.reset(20);
  const std::array<double, 1> pipes{};
  CHECK(order.next(pipes).time == IssueOrder::never);
  order.set(7, {.ready = 3.0});
  CHECK(order.next(pipes).slot == 7);
  order.set(7, {});
  CHECK(order.next(pipes).time == IssueOrder::never);
}

TEST_CASE("issue order: when the oldest block leaves, the next oldest takes its place") {
  IssueOrder order;
  order.reset(2);
  const std::array<double, 2> pipes{5, 0};  // the first is what all but the oldest wait for
  for (const std::size_t slot : {0U, 1U}) {
    order.set_age(slot, slot + 1);
    order.set(slot, {.ready = 1.0 + static_cast<double>(slot), .pipe = {0, 1}, .port = 1});
  }
  CHECK(order.next(pipes).slot == 0);
  CHECK(order.next(pipes).time == 1);
  order.clear(0);
  CHECK(order.next(pipes).slot == 1);
  CHECK(order.next(pipes).time == 2);
}

}  // namespace tilescope
