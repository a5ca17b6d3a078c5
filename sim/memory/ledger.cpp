// Sums and listings of the ledger's cells.
#include "sim/memory/ledger.h"

namespace tilescope {

Ledger::Ledger(int launches, int lines, std::span<const Tensor> tensors)
    : launches_(launches),
      lines_(lines),
      tensors_(tensors.begin(), tensors.end()),
      cells_(static_cast<std::size_t>(launches) * most_tensors * link_count * static_cast<std::size_t>(lines + 1), 0) {}

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
  for (Tensor tensor : tensors_) sum += total(tensor, link);
  return sum;
}

TrafficTable Ledger::table() const {
  TrafficTable table{};
  for (Tensor tensor : tensors_)
    for (Link link : all_links) table[tensor.index()][static_cast<std::size_t>(link)] = total(tensor, link).value;
  return table;
}

std::vector<LedgerEntry> Ledger::entries() const {
  std::vector<LedgerEntry> found;
  for (int launch = 0; launch < launches_; ++launch)
    for (Tensor tensor : tensors_)
      for (Link link : all_links)
        for (int line = 0; line <= lines_; ++line)
          if (const std::int64_t bytes = cells_[index(launch, tensor, link, line)]; bytes != 0)
            found.push_back({launch, tensor, link, line, bytes});
  return found;
}

}  // namespace tilescope
