// How an SM's products and its other operations slow one another down: both read the register file (docs/model.md).
#pragma once

#include <algorithm>
#include <utility>

#include "sim/engine/running_sm.h"

namespace tilescope {

/// Returns how much longer an operation takes beside `cycles` of products, and charges the products for it.
inline double share_with_products(RunningSm& sm, const BesideProducts& beside, double start, double cycles) {
  if (cycles <= 0 || beside.waits + beside.takes <= 0) return 0;
  const double waits = cycles * beside.waits, takes = cycles * beside.takes;
  if (sm.products.busy_until() > start)
    sm.products.delay(takes);
  else
    sm.free[pipe_of(Pipe::tensor)] += takes;
  // While an instruction waits for the register file, no exponential issues on that scheduler either.
  double& exp = sm.free[pipe_of(Pipe::exp)];
  exp = std::max(exp, start) + waits;
  return waits;
}

/// Returns by how much products delay an operation of `group` that starts at `start`: those that are known now, and those that came
/// while the operation before it ran. Lets the products wait for what the operation takes from them. `beside`: the operation's.
inline double wait_beside_products(RunningSm& sm, ResidentGroup& group, const BesideProducts& beside, double start,
                                   double duration) {
  const double owed = std::max(0.0, group.compute_end + std::exchange(group.owed, 0.0) - start);
  const double whole = duration + beside.waits, until = std::max(sm.products.all_done(), sm.free[pipe_of(Pipe::tensor)]);
  const float rate = whole > 0 ? static_cast<float>(1 / whole) : 0;
  group.beside = {beside.waits * rate, beside.takes * rate};
  group.beside_until = std::max(start, until);
  return owed + share_with_products(sm, group.beside, start, std::min(until - start, whole));
}

/// Charges the operations that other groups are in the middle of for a product of `issuer` that begins at `start`. The products
/// before it keep the tensor cores busy until `from`.
inline void disturb(RunningSm& sm, const ResidentGroup& issuer, double start, double from) {
  const double until = sm.products.all_done();
  for (ResidentGroup& other : sm.groups) {
    if (&other == &issuer || other.stream == nullptr) continue;
    if (other.compute_end == ResidentGroup::never || other.compute_end <= start) continue;
    const double end = std::min(other.compute_end, until), begin = std::max(from, other.beside_until);
    other.owed += share_with_products(sm, other.beside, start, end - begin);
    other.beside_until = std::max(other.beside_until, until);
  }
}

}  // namespace tilescope
