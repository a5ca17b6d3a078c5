// The queue before the tensor cores, against what kernels/lab/hopper_units.cu measured on an H200: wgmma m64n128k16, 64 cycles
// each.
#include <doctest/doctest.h>

#include <vector>

#include "sim/engine/product_queue.h"

namespace tilescope {
namespace {

constexpr double cycles = 64, depth = 6.3 * cycles, issue = 12;

QueuedProduct product(std::uint32_t slot, double issued, int count) {
  QueuedProduct made;
  made.slot = slot;
  made.issued = made.ready = issued;
  made.least = issue * count;
  made.work = cycles * count;
  made.depth = depth;
  return made;
}

struct Issued {
  double at, end;
};

/// Issues a chain of `count` in each group, the second one `delay` cycles later.
std::vector<Issued> two_chains(double delay, int count) {
  ProductQueue queue;
  std::vector<Issued> issued(2);
  queue.push(product(0, 0, count));
  const auto take = [&] {
    const double at = queue.next_issued();
    const QueuedProduct done = queue.pop();
    issued[done.slot] = {at, done.end};
  };
  while (queue.next_issued() < delay) take();
  queue.push(product(1, delay, count));
  while (!queue.empty()) take();
  return issued;
}

}  // namespace

TEST_CASE("products: a chain that fits the queue is issued at once; a longer one waits for room") {
  struct Measured {
    int count;
    double issued;
  };
  for (const Measured m : {Measured{1, 19}, Measured{4, 56}, Measured{6, 80}, Measured{16, 624}, Measured{32, 1643}}) {
    ProductQueue queue;
    queue.push(product(0, 0, m.count));
    CAPTURE(m.count);
    CHECK(queue.next_issued() == doctest::Approx(m.issued).epsilon(0.4));
    if (m.count >= 16) CHECK(queue.next_issued() == doctest::Approx(m.issued).epsilon(0.02));
    CHECK(queue.pop().end == cycles * m.count);
    CHECK(queue.empty());
  }
}

TEST_CASE("products: two groups that issue at once take turns, and the later one ends last") {
  const std::vector<Issued> both = two_chains(0, 32);
  CHECK(both[1].end == doctest::Approx(64 * cycles));  // measured: 4180 with its latency of 62
  CHECK(both[0].end == doctest::Approx(3910 - 62).epsilon(0.08));
}

TEST_CASE("products: what a group has issued goes before what another one issues later") {
  // Measured: the first group ends at 2117 instead of 2106 cycles if the second begins 1536 cycles later.
  const std::vector<Issued> late = two_chains(1536, 32);
  CHECK(late[0].end + 62 == doctest::Approx(2117).epsilon(0.08));
  CHECK(late[1].end + 62 == doctest::Approx(4179).epsilon(0.01));
  // The sooner the second begins, the later the first ends.
  double before = late[0].end;
  for (const double delay : {1024.0, 512.0, 256.0, 0.0}) {
    const std::vector<Issued> both = two_chains(delay, 32);
    CHECK(both[0].end > before);
    CHECK(both[1].end + 62 == doctest::Approx(4180).epsilon(0.01));
    before = both[0].end;
  }
}

TEST_CASE("products: an idle queue keeps no work, whatever the pauses") {
  ProductQueue queue;
  double time = 100;
  for (int n = 1; n < 50; ++n) {
    queue.push(product(n % 2, time, 4));
    const double issued = queue.next_issued();
    const QueuedProduct done = queue.pop();
    CHECK(issued == time + 4 * issue);
    CHECK(done.start == time);
    CHECK(done.end == time + 4 * cycles);
    time = done.end + n;
  }
}

}  // namespace tilescope
