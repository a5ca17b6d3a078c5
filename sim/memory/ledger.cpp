// Sums and listings of the ledger's cells.
#include "sim/memory/ledger.h"

namespace tilescope {

Ledger::Ledger(int launches, int lines)
    : launches_(launches),
      lines_(lines),
      cells_(static_cast<std::size_t>(launches) * tensor_count * link_count * static_cast<std::size_t>(lines + 1), 0) {}

Bytes Ledger::total(int launch, Tensor tensor, Link link) const {
  std::int64_t sum = 0;
  for (int line = 0; line <= lines_; ++line) sum += cells_[index(launch, tensor, link, line)];
  return Bytes(sum);
}

Bytes Ledger::total(Tensor tensor, Link link) const {
  Bytes sum;
  for (int launch = 0; launch < launches_; ++launch) sum += total(launch, tensor, link);
  return sum;
}

Bytes Ledger::total(Link link) const {
  Bytes sum;
  for (Tensor tensor : all_tensors) sum += total(tensor, link);
  return sum;
}

TrafficTable Ledger::table() const {
  TrafficTable table{};
  for (Tensor tensor : all_tensors)
    for (Link link : all_links) table[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(link)] = total(tensor, link).value;
  return table;
}

std::vector<LedgerEntry> Ledger::entries() const {
  std::vector<LedgerEntry> found;
  for (int launch = 0; launch < launches_; ++launch)
    for (Tensor tensor : all_tensors)
      for (Link link : all_links)
        for (int line = 0; line <= lines_; ++line)
          if (const std::int64_t bytes = cells_[index(launch, tensor, link, line)]; bytes != 0)
            found.push_back({launch, tensor, link, line, bytes});
  return found;
}

}  // namespace tilescope
