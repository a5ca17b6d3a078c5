// Sums and listings of the ledger's cells.
#include "sim/memory/ledger.h"

namespace tilescope {

namespace {

constexpr Link link_at(std::size_t number) {
  return static_cast<Link>(number);
}

}  // namespace

Ledger::Ledger(int launches, int lines, std::span<const Tensor> tensors, int devices)
    : launches_(launches),
      lines_(lines),
      devices_(devices),
      tensors_(tensors.begin(), tensors.end()),
      cells_(static_cast<std::size_t>(devices * launches) * most_tensors * link_count * static_cast<std::size_t>(lines + 1), 0) {}

Bytes Ledger::total(int launch, Tensor tensor, Link link) const {
  std::int64_t sum = 0;
  for (DeviceId device; device.number < devices_; ++device.number)
    for (int line = 0; line <= lines_; ++line) sum += cells_[index(device, launch, tensor, link, line)];
  return Bytes(sum);
}

Bytes Ledger::total(DeviceId device, Tensor tensor, Link link) const {
  std::int64_t sum = 0;
  for (int launch = 0; launch < launches_; ++launch)
    for (int line = 0; line <= lines_; ++line) sum += cells_[index(device, launch, tensor, link, line)];
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
    for (std::size_t link = 0; link < link_count; ++link) table[tensor.index()][link] = total(tensor, link_at(link)).value;
  return table;
}

TrafficTable Ledger::table(DeviceId device) const {
  TrafficTable table{};
  for (Tensor tensor : tensors_)
    for (std::size_t link = 0; link < link_count; ++link) table[tensor.index()][link] = total(device, tensor, link_at(link)).value;
  return table;
}

std::vector<LedgerEntry> Ledger::entries() const {
  std::vector<LedgerEntry> found;
  for (DeviceId device; device.number < devices_; ++device.number)
    for (int launch = 0; launch < launches_; ++launch)
      for (Tensor tensor : tensors_)
        for (std::size_t link = 0; link < link_count; ++link)
          for (int line = 0; line <= lines_; ++line)
            if (const std::int64_t bytes = cells_[index(device, launch, tensor, link_at(link), line)]; bytes != 0)
              found.push_back({launch, tensor, link_at(link), line, bytes, device});
  return found;
}

}  // namespace tilescope
