// Loads, stores and write-backs: their bytes, and when they land.
#include "sim/engine/memory_system.h"

#include <algorithm>

#include "sim/engine/device_links.h"
#include "sim/engine/sm_order.h"

namespace tilescope {

namespace {

/// Chooses the size of tracked tiles: the smaller the tensors, the finer. If they nearly fit the L2, it matters which part of a
/// tile stays. That holds most for tensors that the program writes and reads again: a quarter of the tile size changes their HBM
/// reads by 2 to 5 %, and smaller tiles change hardly more.
TrackedBytes tracked_bytes(const GpuSpec& gpu, const TensorLayouts& layouts, std::span<const Tensor> tensors, bool comes_back) {
  TrackedBytes tracked;
  if (gpu.l2_ways <= 0) return tracked;
  // A bound on the total number of tiles keeps the simulation fast.
  const std::int64_t tiles = comes_back ? 131072 : 32768;
  if (comes_back) tracked.least /= 4;
  std::int64_t all = 0;
  for (const Tensor tensor : tensors) all += layouts[tensor.index()].bytes().value;
  tracked.most = std::max(tracked.least, all / tiles);
  return tracked;
}

TileRef tile_of(const PlacedAccess& access, const OpClass& op) {
  return {op.tensor, access.plane, access.row, op.tile_rows, access.col, op.tile_cols};
}

}  // namespace

MemorySystem::MemorySystem(const GpuSpec& gpu, const TensorLayouts& layouts, const TensorUse& use, const ScheduleBuilder& builder,
                           Ledger& ledger, Recorder& recorder)
    : l2_read_cycles_per_byte_(gpu.has_l2() ? cycles_per(gpu.l2_bytes_per_cycle) : 0),
      l2_write_cycles_per_byte_(gpu.has_l2() && gpu.l2_write_bytes_per_cycle > 0 ? cycles_per(gpu.l2_write_bytes_per_cycle)
                                                                                 : l2_read_cycles_per_byte_),
      l2_add_cycles_per_byte_(gpu.has_l2() && gpu.l2_reduce_bytes_per_cycle > 0 ? cycles_per(gpu.l2_reduce_bytes_per_cycle)
                                                                                : l2_write_cycles_per_byte_),
      // A copy of equal reads and writes takes 2 / rate cycles a byte. What its reads do not need is what its writes cost reads.
      l2_beside_cycles_per_byte_(
          gpu.has_l2() ? std::max(0.0, 2 * cycles_per(gpu.l2_copy_bytes_per_cycle) - l2_read_cycles_per_byte_) : 0),
      fabric_cycles_per_byte_(cycles_per(gpu.l2_fabric_bytes_per_cycle)),
      near_latency_(gpu.has_l2() ? gpu.l2_latency_cycles : 0),
      far_latency_(gpu.has_l2() ? std::max(gpu.l2_far_latency_cycles, gpu.l2_latency_cycles) : 0),
      hbm_latency_(gpu.hbm_latency_cycles),
      builder_(builder),
      ledger_(ledger),
      recorder_(recorder),
      tensors_(use.tensors),
      pages_(use.pages),
      map_(layouts, tracked_bytes(gpu, layouts, use.tensors, use.comes_back)),
      ports_(static_cast<std::size_t>(gpu.sm_count)),
      lookups_(gpu.has_l2() ? gpu.l2_merge_cycles : 0, layouts, use.tensors),
      hbm_(gpu) {
  for (const Tensor tensor : use.tensors)
    if (const std::int64_t bytes = layouts[tensor.index()].row_bytes(); PageTable::holds(tensor) && bytes % sector_size == 0)
      pool_row_bytes_ = bytes;
  const std::vector<int> sides = sm_sides(gpu);
  for (std::size_t sm = 0; sm < ports_.size() && gpu.l2_partitions >= 2; ++sm) ports_[sm].side = sides[sm];
  if (!gpu.has_l2()) return;
  CachePolicy policy{static_cast<int>(gpu.l2_ways), 0, gpu.l2_dirty_fraction};
  for (const Tensor tensor : use.tensors) policy.tile_bytes = std::max(policy.tile_bytes, map_.tile_bytes(tensor));
  cache_.emplace(map_, Bytes(static_cast<std::int64_t>(gpu.usable_l2_bytes())), static_cast<int>(gpu.l2_partitions), policy);
}

Transfer MemorySystem::finish(double cycle, double port_end, double l2_end, double hbm_end, double latency) const {
  Transfer transfer;
  const double served = std::max(port_end, l2_end) + latency;
  transfer.end = std::max(served, hbm_end);
  transfer.limit = limit_of(cycle, served, hbm_end, latency);
  return transfer;
}

WaitCause MemorySystem::limit_of(double cycle, double served, double hbm_end, double latency) const {
  // Blame bandwidth only if queueing and streaming took longer than the latency itself.
  if (hbm_end >= served) return hbm_end - cycle > 2 * hbm_latency_ ? WaitCause::hbm : WaitCause::data;
  return served - cycle > 2 * latency ? WaitCause::l2_path : WaitCause::data;
}

void MemorySystem::write_back(double cycle, int launch) {
  TensorBytes written;
  if (!cache_->take_written_back(written)) return;
  for (Tensor tensor : tensors_) {
    const std::int64_t bytes = written[tensor.index()];
    if (bytes == 0) continue;
    ledger_.add(launch, tensor, Link::hbm_write, 0, bytes, device_);
    recorder_.traffic(cycle, tensor, Link::hbm_write, bytes);
    hbm_.write_back(cycle, bytes);
  }
}

double MemorySystem::cross(int side, double cycle, std::int64_t bytes) {
  if (bytes == 0) return 0;
  return serve(fabric_free_[static_cast<std::size_t>(side)], cycle, static_cast<double>(bytes) * fabric_cycles_per_byte_);
}

void MemorySystem::join(DeviceId device, DeviceLinks& links) {
  device_ = device;
  links_ = &links;
  links.add(*this);
}

inline MemorySystem::L2Read MemorySystem::read_l2(int side, double cycle, const OpClass& op, const TileRef& logical) {
  if (!pages_) return read_place(side, cycle, op, logical, op.bytes);
  TileRef tile = logical;
  // A box that ends behind the last key reads what lies there in its page, where without pages it would read nothing.
  if (PageTable::holds(tile.tensor) && pool_row_bytes_ > 0) tile.rows = static_cast<std::int32_t>(op.bytes / pool_row_bytes_);
  if (!pages_->is_parted(tile)) return read_place(side, cycle, op, pages_->place(tile), op.bytes);
  L2Read all;
  std::int64_t left = op.bytes;
  pages_->for_each_part(tile, [&](const TileRef& part) {
    const bool is_last = part.row + part.rows == tile.row + tile.rows;
    const std::int64_t bytes = is_last ? left : op.bytes * part.rows / tile.rows;
    left -= bytes;
    const L2Read read = read_place(side, cycle, op, pages_->place(part), bytes);
    all.served = std::max(all.served, read.served);
    all.hbm_end = std::max(all.hbm_end, read.hbm_end);
    all.latency = std::max(all.latency, read.latency);
    all.round_trip = std::max(all.round_trip, read.round_trip);
    all.hbm_bytes += read.hbm_bytes;
    all.streams += read.streams;
  });
  hits_[static_cast<std::size_t>(side)].forget_latest();  // the L2 was read in between
  return all;
}

inline MemorySystem::L2Read MemorySystem::read_place(int side, double cycle, const OpClass& op, const TileRef& tile,
                                                     std::int64_t read_bytes) {
  const auto bytes = static_cast<double>(read_bytes);
  const double l2_cycles = cache_ ? bytes * l2_read_cycles_per_byte_ * lookups_.part_looked_up(tile, cycle) : 0;
  const double l2_end = serve(l2_read_free_, cycle, l2_cycles);
  l2_read_busy_ += l2_cycles;
  TileAccess access;
  if (cache_) {
    recorder_.l2_before(cycle, cache_->contents());
    access = cache_->read(tile, side);
  } else {
    access.hbm_read_bytes = read_bytes;
  }
  double hbm_end = access.arrival;
  const double latency = access.crossed_bytes != 0 ? far_latency_ : near_latency_;
  double round_trip = latency;
  if (access.hbm_read_bytes != 0) {
    const double read_end = hbm_.read(cycle, access.hbm_read_bytes);
    round_trip = op.hbm_latency + op.hbm_write_wait * std::min(1.0, hbm_.part_writing(cycle));
    const double arrival = read_end + round_trip;
    if (cache_) cache_->note_arrival(arrival);
    hbm_end = std::max(hbm_end, arrival);
    ledger_.add(op.launch, op.tensor, Link::hbm_read, op.line, access.hbm_read_bytes, device_);
  }
  const double served = std::max(l2_end, cross(side, cycle, access.crossed_bytes));
  return {served,
          hbm_end,
          latency,
          round_trip,
          access.hbm_read_bytes,
          std::max(l2_cycles, hbm_.read_cycles(access.hbm_read_bytes)),
          access.is_hit ? std::optional(access.unchanged) : std::nullopt};
}

bool MemorySystem::finds_earlier(RecentHits& hits, int side, const PlacedAccess& access) {
  if (!hits.find(access)) return false;
  cache_->note_other_read(side);
  return true;
}

void MemorySystem::note_hit(int side, const PlacedAccess& access, const OpClass& op, const L2Read& read) {
  SharedLookups::Readers& readers = lookups_.readers_of_latest();
  hits_[static_cast<std::size_t>(side)].note({.access = access,
                                              .readers = &readers,
                                              .key = readers.key,
                                              .port_cycles = op.busy_cycles,
                                              .l2_cycles = static_cast<double>(op.bytes) * l2_read_cycles_per_byte_,
                                              .arrival = read.hbm_end,
                                              .unchanged = *read.unchanged});
}

Transfer MemorySystem::load(int sm, double cycle, const ScheduledAccess& access, const BlockOrigin& origin) {
  const PlacedAccess placed = access.placed(origin.shift_of(builder_.op_class(access.op_class).tensor));
  if (!takes_repeated(sm, placed)) return load_anew(sm, cycle, placed);
  const RepeatedLoad again = load_again(sm, cycle);
  recorder_.operation(access.op_class, again.start, again.busy_end, again.end, again.streams);
  const double hbm_latency = builder_.op_class(access.op_class).hbm_latency;
  return {.end = again.end,
          .streams = again.streams,
          .hbm_wait = again.arrival >= again.end ? std::max(0.0, again.arrival - hbm_latency - cycle) : 0,
          .limit = limit_of(cycle, again.end, again.arrival, near_latency_)};
}

Transfer MemorySystem::load_anew(int sm, double cycle, const PlacedAccess& access) {
  const OpClass& op = builder_.op_class(access.op_class);
  const TileRef tile = tile_of(access, op);
  if (links_ != nullptr)
    if (const DeviceId home = links_->homes().home_of(tile, device_); home != device_)
      return load_from(home, sm, cycle, access.op_class, tile);
  const double port_cycles = op.busy_cycles;
  Port& port = ports_[static_cast<std::size_t>(sm)];
  const double port_end = serve_port_in(port, cycle, port_cycles);
  const int side = port.side;
  const L2Read read = read_l2(side, cycle, op, tile);
  if (read.unchanged && op.later_rounds == 0) note_hit(side, access, op, read);
  Transfer transfer = finish(cycle, port_end, read.served, read.hbm_end, read.latency);
  if (read.hbm_end >= transfer.end) transfer.hbm_wait = std::max(0.0, read.hbm_end - op.hbm_latency - cycle);
  transfer.end += op.later_rounds * read.round_trip;
  transfer.hbm_bytes = read.hbm_bytes;
  transfer.streams = std::max(port_cycles, read.streams);
  end_load(*this, cycle, access.op_class, port_end, transfer);
  return transfer;
}

Transfer MemorySystem::load_from(DeviceId home, int sm, double cycle, std::uint32_t op_class, const TileRef& tile) {
  const OpClass& op = builder_.op_class(op_class);
  MemorySystem& far = links_->memory(home);
  const double port_end = serve_port_in(ports_[static_cast<std::size_t>(sm)], cycle, op.busy_cycles);
  // The link is attached to one side of the home's L2, whatever SM reads.
  const L2Read read = far.read_l2(0, cycle, op, tile);
  far.hits_[0].forget_latest();  // its L2 was read in between
  const double served = std::max(read.served, links_->cross(home, device_, cycle, op.bytes));
  Transfer transfer = finish(cycle, port_end, served, read.hbm_end + links_->latency(), read.latency + links_->latency());
  transfer.end += op.later_rounds * (read.round_trip + links_->latency());
  transfer.hbm_bytes = read.hbm_bytes;
  transfer.streams = std::max({op.busy_cycles, read.streams, links_->cycles(op.bytes)});
  ledger_.add(op.launch, op.tensor, Link::peer_read, op.line, op.bytes, device_);
  end_load(far, cycle, op_class, port_end, transfer);
  return transfer;
}

inline void MemorySystem::end_load(MemorySystem& home, double cycle, std::uint32_t op_class, double port_end,
                                   const Transfer& transfer) {
  const OpClass& op = builder_.op_class(op_class);
  recorder_.operation(op_class, port_end - op.busy_cycles, port_end, transfer.end, transfer.streams);
  if (&home != this) recorder_.traffic(transfer.end, op.tensor, Link::peer_read, op.bytes, transfer.streams);
  if (transfer.hbm_bytes != 0)
    home.recorder_.traffic(transfer.end, op.tensor, Link::hbm_read, transfer.hbm_bytes, transfer.streams);
  if (home.cache_) {
    if (home.cache_->any_written_back()) home.write_back(cycle, op.launch);
    home.recorder_.l2_after(cycle, home.cache_->contents());
  }
}

Transfer MemorySystem::store(int sm, double cycle, const ScheduledAccess& access, const BlockOrigin& origin) {
  const OpClass& op = builder_.op_class(access.op_class);
  const TileRef tile = tile_of(access.placed(origin.shift_of(op.tensor)), op);
  Port& port = ports_[static_cast<std::size_t>(sm)];
  const auto bytes = static_cast<double>(op.bytes);
  const double port_cycles = op.busy_cycles;
  const double l2_cycles = bytes * (adds_to_memory(op.kind) ? l2_add_cycles_per_byte_ : l2_write_cycles_per_byte_);
  const double port_end = serve(port.out, cycle, port_cycles);
  // A write delays later reads by the read time that it costs. Writes wait only for writes.
  double l2_end = serve(l2_write_free_, cycle, l2_cycles);
  serve(l2_read_free_, cycle, bytes * l2_beside_cycles_per_byte_);
  port_out_busy_ += port_cycles;
  l2_write_busy_ += l2_cycles;
  double hbm_end = 0, streams = std::max(port_cycles, l2_cycles);
  if (cache_) {
    const int side = port.side;
    recorder_.l2_before(cycle, cache_->contents());
    if (adds_to_memory(op.kind)) {
      const TileAccess added = cache_->add(tile, side);
      hbm_end = fetch_sums(op, cycle, added.hbm_read_bytes);
      l2_end = std::max(l2_end, cross(1 - side, cycle, added.crossed_bytes));
    } else {
      l2_end = std::max(l2_end, cross(1 - side, cycle, cache_->write(tile, side)));
    }
    write_back(cycle, op.launch);
    recorder_.l2_after(cycle, cache_->contents());
  } else {
    if (adds_to_memory(op.kind)) hbm_end = fetch_sums(op, cycle, op.bytes);
    streams = std::max(streams, hbm_.write_cycles(op.bytes));
    hbm_end = hbm_.write(std::max(cycle, hbm_end), op.bytes) + hbm_latency_;
  }
  Transfer transfer = finish(cycle, port_end, l2_end, hbm_end, near_latency_);
  transfer.sent = std::max(port_end, l2_end);
  transfer.streams = streams;
  recorder_.operation(access.op_class, port_end - port_cycles, port_end, transfer.end, transfer.streams);
  if (!cache_) {
    ledger_.add(op.launch, op.tensor, Link::hbm_write, op.line, op.bytes, device_);
    recorder_.traffic(transfer.end, op.tensor, Link::hbm_write, op.bytes, transfer.streams);
  }
  return transfer;
}

double MemorySystem::fetch_sums(const OpClass& op, double cycle, std::int64_t bytes) {
  if (bytes == 0) return 0;
  const double arrival = hbm_.read(cycle, bytes) + hbm_latency_;
  ledger_.add(op.launch, op.tensor, Link::hbm_read, op.line, bytes, device_);
  recorder_.traffic(arrival, op.tensor, Link::hbm_read, bytes);
  return arrival;
}

CacheContents MemorySystem::contents() const {
  return cache_ ? cache_->contents() : CacheContents{};
}

}  // namespace tilescope
