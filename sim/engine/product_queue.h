// ProductQueue: the wgmma products of one SM on their way to the tensor cores.
//
//   group 0 ──┐  issues while there is room              queue, `depth` cycles of work        tensor cores
//             ├──────────────────────────────────► ▒▒▒▒▒▒▒▒▒▒░░░░░░░░▒▒▒▒ ──────────────────► first in, first out
//   group 1 ──┘  both issue: they alternate
//
// A group is free to go on once its whole product is in the queue. Until then the issues of other groups slow it down, so that
// moment is known only when it comes. The end of the product is known from then on. Measured by kernels/lab/hopper_units.cu.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tilescope {

/// A product that a group issues.
struct QueuedProduct {
  std::uint32_t slot = 0;        // the group, as a slot of its SM
  std::uint32_t number = 0;      // its index in the group's stream
  double issued = 0, ready = 0;  // when the group began to issue it, and when it had ended what came before
  double least = 0;              // cycles that the group takes to issue it when there is room
  double work = 0;               // cycles that it occupies the tensor cores
  double depth = 0;              // cycles of its work that the queue can hold
  double reads = 0;              // cycles that it reads shared memory
  double* moment = nullptr;      // where its end is noted; null: nobody of its group waits for it
  double start = -1;             // when the tensor cores begin it; below 0: not known yet
  double end = 0;                // when they end it
  double left = 0;               // work that is not in the queue yet
};

class ProductQueue {
  static constexpr double never = std::numeric_limits<double>::infinity();

 public:
  bool empty() const { return issuing_.empty(); }
  void clear() { *this = ProductQueue(); }

  /// Adds a product at `product.issued`; times never decrease from one call to the next.
  void push(QueuedProduct product) {
    advance(product.issued);
    product.left = product.work;
    double ahead = std::max(0.0, free_ - now_);
    for (const QueuedProduct& other : issuing_) ahead += other.left;
    reading_ = (reading_ * ahead + product.reads) / std::max(1e-9, ahead + product.work);
    product.start = std::max(now_, free_);
    issuing_.push_back(product);
    fill();
  }
  /// Returns when the tensor cores have done all that is in the queue.
  double busy_until() const { return free_; }
  /// Returns when they have done all that groups have begun to issue.
  double all_done() const {
    double until = free_;
    for (const QueuedProduct& product : issuing_) until += product.left;
    return until;
  }
  /// Returns how much longer than `cycles` shared memory needs for other accesses that begin at `time`: products come first.
  double wait_for_reads(double time, double cycles) const {
    const double busy = std::max(0.0, free_ - time), share = std::min(1.0, reading_);
    return std::min(share * busy, share < 1 ? cycles * share / (1 - share) : never);
  }
  /// Lets what is queued from now on wait for `cycles` more.
  void delay(double cycles) { free_ += cycles; }
  /// Returns when the next group has issued its product, if no other begins before; infinite if none is issuing.
  double next_issued() const { return issuing_.empty() ? never : issued_at(issuing_[next()]); }
  /// Removes the product that is issued next, and returns it with its end.
  QueuedProduct pop() {
    const std::size_t first = next();
    advance(issued_at(issuing_[first]));
    QueuedProduct done = issuing_[first];
    if (done.left > 0) put(done, done.left);  // what rounding left
    issuing_.erase(issuing_.begin() + static_cast<std::ptrdiff_t>(first));
    return done;
  }

 private:
  std::size_t waiting() const {
    return static_cast<std::size_t>(
        std::count_if(issuing_.begin(), issuing_.end(), [](const QueuedProduct& product) { return product.left > 0; }));
  }
  /// Returns how long the queue has no room for a product.
  double wait_of(const QueuedProduct& product) const { return std::max(0.0, free_ - now_ - product.depth); }
  double issued_at(const QueuedProduct& product) const {
    const double queued = product.left > 0 ? now_ + wait_of(product) + product.left * static_cast<double>(waiting()) : now_;
    return std::max(queued, product.issued + product.least);
  }
  std::size_t next() const {
    const auto sooner = [this](const QueuedProduct& a, const QueuedProduct& b) { return issued_at(a) < issued_at(b); };
    return static_cast<std::size_t>(std::min_element(issuing_.begin(), issuing_.end(), sooner) - issuing_.begin());
  }
  /// Puts `work` of a product into the queue.
  void put(QueuedProduct& product, double work) {
    free_ = std::max(free_, now_) + work;
    take(product, work);
  }
  void take(QueuedProduct& product, double work) const {
    product.left = product.left - work < 1e-9 ? 0 : product.left - work;
    product.end = free_;
  }
  /// Puts as much into the queue as it has room for.
  void fill() {
    for (QueuedProduct& product : issuing_)
      if (const double room = product.depth - std::max(0.0, free_ - now_); product.left > 0 && room > 0)
        put(product, std::min(product.left, room));
  }
  /// Lets the tensor cores work until `time`. What they take out of the full queue makes room for all groups alike.
  void advance(double time) {
    fill();
    for (std::size_t others = waiting(); others > 0 && now_ < time; others = waiting()) {
      double least = never, wait = never;
      for (const QueuedProduct& product : issuing_)
        if (product.left > 0) least = std::min(least, product.left), wait = std::min(wait, wait_of(product));
      const double from = now_ + wait, each = std::min(least, (time - from) / static_cast<double>(others));
      if (each <= 0) break;
      now_ = from + each * static_cast<double>(others);
      free_ += each * static_cast<double>(others);
      for (QueuedProduct& product : issuing_)
        if (product.left > 0) take(product, each);
    }
    now_ = std::max(now_, time);
    fill();
  }

  std::vector<QueuedProduct> issuing_;  // in order of issue
  double now_ = 0;
  double reading_ = 0;  // share of the time that what is queued reads shared memory
  double free_ = 0;     // when the tensor cores have done all that is in the queue
};

}  // namespace tilescope
