// L2Lab: a buffer of lines with known home partitions, the side of each SM, and readings of the L2's counters. The experiments in
// l2_policy_*.cpp are written with it. A "side" is the group of SMs next to one L2 partition; a line's "home" is the partition that
// its address maps to.
//
//   flush ─► preparing steps (not counted) ─► counted steps ─► bytes of HBM and of the fabric between the partitions
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/measure/counters.h"

namespace tilescope {

enum class Lines { all, home0, home1 };  // lines of the buffer in address order, by home
/// Which SMs take part. all: the SMs of both sides share the lines. side0, side1: those of one side share them. each_side: each
/// side shares all lines, so both sides touch every line. one: a single SM.
enum class Who { all, side0, side1, each_side, one };

/// One pass over lines [first, first + count) of a list.
struct Touch {
  Lines lines = Lines::all;
  double first_mib = 0, mib = 0;
  Who who = Who::all;
  bool write = false;
  int shift = 0;        // rotates the assignment of lines to the participating SMs by `shift` SMs
  int bytes = 128;      // bytes touched from the start of each line; less than a sector: as many bytes of each sector, for writes
  bool pieces = false;  // each SM owns one contiguous piece instead of every n-th 8 KiB
  bool random = false;  // draw the lines at random, with replacement
  std::uint32_t seed = 0;
};

/// Each side reads or writes lines of one home, shared among its SMs. A side without lines is idle.
struct Stream {
  std::array<std::optional<Lines>, 2> lines;  // by side; nullopt or `all`: idle
  std::array<bool, 2> write{};
  double first_mib = 0, mib = 0;  // size for each side
};

/// A list of line numbers on the device.
struct LineList {
  DeviceMemory memory;
  int count = 0;
  const std::uint32_t* numbers() const { return static_cast<const std::uint32_t*>(memory.address()); }
};

/// In MiB.
struct L2Bytes {
  double hbm_read = 0, hbm_write = 0, fabric_read = 0, fabric_write = 0;
};

struct SmPlace {
  int side = 0, gpc = 0;
  double own_latency = 0, first_latency = 0;  // cycles for lines that SM 0 loaded first: second read, first read
};

/// Returns the threshold that splits the values into the two tightest groups.
double parting(std::vector<double> values);

class L2Lab {
 public:
  /// Makes a lab with a buffer of `buffer_mib` MiB. Finds the side of each SM and the home of each line.
  static Result<L2Lab> make(int buffer_mib);
  const DeviceInfo& device() const { return device_; }
  const std::vector<SmPlace>& sms() const { return sms_; }
  const std::vector<std::uint8_t>& homes() const { return homes_; }  // home of each line of the buffer
  const std::vector<std::uint16_t>& first_touches() const {
    return first_touches_;
  }                                                    // latencies in cycles of a sample of lines, from side 1
  double disagreeing() const { return disagreeing_; }  // fraction of a sample of lines whose home looks different from side 0
  double mib_of(Lines lines) const;

  using Steps = std::function<void()>;
  /// Returns the traffic of `counted` after a flush and `prepare`. Returns zeros after any failure: see status().
  L2Bytes bytes(const Steps& prepare, const Steps& counted);
  void touch(const Touch& touch);
  LineList list_of(const std::vector<std::uint32_t>& lines);
  /// Touches whole lines, shared among the participating SMs.
  void touch_lines(const LineList& lines, Who who, bool write);
  /// Returns each side's bytes a cycle for a stream, after a flush and `prepare`; median of five runs.
  std::array<double, 2> rates(const Steps& prepare, const Stream& stream);
  void flush();
  void idle(double milliseconds);
  /// Returns the SM and start of each block of a grid, in block order. With `uneven`, every fifth block lasts twice as long.
  struct Placed {
    int sm = 0;
    std::int64_t start_ns = 0;
  };
  std::vector<Placed> place_blocks(int blocks, int blocks_per_sm, bool uneven);
  const Status& status() const { return status_; }
  /// Records a failure; only the first one is kept.
  void note(const Status& status);

  // For kernels in other files, which run one block an SM.
  struct Rank {
    int rank = -1, of = 0;  // among the participating SMs
  };
  const Rank* ranks(Who who) const;                                       // device array, by SM
  char* buffer() const { return static_cast<char*>(buffer_.address()); }  // device memory, lines of 128 bytes

 private:
  Status find_sides();
  Status find_gpcs();
  Status find_homes();

  DeviceInfo device_;
  CounterSession counters_;
  DeviceMemory buffer_, scratch_, lists_, ranks_, touches_;
  std::vector<SmPlace> sms_;
  std::vector<std::uint8_t> homes_;
  std::vector<std::uint16_t> first_touches_;
  std::vector<std::int64_t> list_first_, list_count_;  // index: Lines; positions in lists_
  double disagreeing_ = 0;
  Status status_ = Done{};
};

}  // namespace tilescope
