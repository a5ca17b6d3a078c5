// TraceData: the raw recording of a simulation, before RecordedTrace orders and indexes it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/large_pages.h"
#include "sim/engine/trace.h"

namespace tilescope {

/// The tile and the buffer of an interval's operation, so that a state needs no look at the program. Up to two million are kept,
/// so it holds small indices into the tables of FocusedSm instead of handles.
struct OpNote {
  std::int32_t plane = 0, row = 0, rows = 0, col = 0, cols = 0;
  std::int32_t iteration = -1;
  std::int32_t ring = 0;       // buffer of the on-chip tile
  std::uint8_t tensor = 0;     // tensor of the tile
  std::uint8_t chip_tile = 0;  // the on-chip tile that it writes; for a store, the on-chip tile that it reads
};

/// The operations of a focused SM: one interval and one note each.
struct FocusedSm {
  int sm = 0;
  LargeVector<Interval> intervals;
  LargeVector<OpNote> notes;
  std::array<Tensor, most_tensors> tensors;  // by index; set once they occur
  std::array<ChipTile, most_chip_tiles> tiles;

  void add(const Interval& interval, const TileRef& tile, std::int32_t iteration, std::int32_t ring, ChipTile chip_tile) {
    tensors[tile.tensor.index()] = tile.tensor;
    tiles[chip_tile.index()] = chip_tile;
    intervals.push_back(interval);
    notes.push_back({tile.plane, tile.row, tile.rows, tile.col, tile.cols, iteration, ring,
                     static_cast<std::uint8_t>(tile.tensor.index()), static_cast<std::uint8_t>(chip_tile.index())});
  }
  TileRef tile(std::size_t i) const {
    const OpNote& note = notes[i];
    return {tensors[note.tensor], note.plane, note.row, note.rows, note.col, note.cols};
  }
  ChipTile chip_tile(std::size_t i) const { return tiles[notes[i].chip_tile]; }
};

/// Bytes that crossed a link at a moment.
struct TrafficEvent {
  double time = 0;  // its last byte has crossed
  std::int64_t bytes = 0;
  Tensor tensor;
  Link link = Link::hbm_read;
  float streams = 0;  // cycles before that in which its bytes cross, evenly
};

/// The change of the L2's contents by one access.
struct L2Event {
  double time = 0;
  std::int64_t resident = 0, copies = 0, dirty = 0;  // differences
  Tensor tensor;
  void change(CacheContents& contents) const {
    contents.resident[tensor.index()] += resident;
    contents.copies[tensor.index()] += copies;
    contents.dirty[tensor.index()] += dirty;
  }
};

struct TraceData {
  int sm_count = 0;
  double end_cycle = 0;
  std::vector<LaunchTime> launches;
  std::vector<BlockRun> runs;
  TimeBins bins;
  std::vector<FocusedSm> focus;
  bool exact = true;  // `traffic` and `l2` hold every event
  LargeVector<TrafficEvent> traffic;
  double longest_stream = 0;  // cycles, of those events
  std::vector<L2Event> l2;
  TrafficTable total{};
};

}  // namespace tilescope
