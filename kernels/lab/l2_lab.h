// L2Lab: a buffer whose lines have known home partitions, SMs of known sides, and readings of the L2's counters; what the
// experiments of l2_policy_*.cpp are written in.
//
//   flush ─► steps that prepare (not counted) ─► steps that are counted ─► bytes of HBM and of the fabric between the partitions
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

enum class Lines { all, home0, home1 };  // of the buffer, in order of address; by their home
/// Who takes part: all SMs share the lines out; those of one side do; those of each side do, so that both sides touch each line;
/// one SM alone.
enum class Who { all, side0, side1, each_side, one };

/// One pass over lines [first, first + count) of a list.
struct Touch {
  Lines lines = Lines::all;
  double first_mib = 0, mib = 0;
  Who who = Who::all;
  bool write = false;
  int shift = 0;        // the SM that has a line is so many places further on among those that take part
  int bytes = 128;      // of each line, from its start; writes of less than a sector write `bytes` in each sector
  bool pieces = false;  // each SM has one piece of the lines, and not each n-th 8 KiB
  bool random = false;  // as many lines, drawn with replacement
  std::uint32_t seed = 0;
};

/// Each side reads or writes lines of one home, all SMs of it sharing them out; a side without lines does nothing.
struct Stream {
  std::array<std::optional<Lines>, 2> lines;  // by side; all: nothing
  std::array<bool, 2> write{};
  double first_mib = 0, mib = 0;  // of each side
};

/// Lines of the buffer by number, on the device.
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
  double own_latency = 0, first_latency = 0;  // of lines that SM 0 brought in: read again, read first; cycles
};

/// Where to part values into two groups so that they are as tight as can be.
double parting(std::vector<double> values);

class L2Lab {
 public:
  /// Finds the sides of the SMs and the homes of `buffer_mib` of lines.
  static Result<L2Lab> make(int buffer_mib);
  const DeviceInfo& device() const { return device_; }
  const std::vector<SmPlace>& sms() const { return sms_; }
  const std::vector<std::uint8_t>& homes() const { return homes_; }                   // of each line of the buffer
  const std::vector<std::uint16_t>& first_touches() const { return first_touches_; }  // cycles, of a sample, all from side 1
  double disagreeing() const { return disagreeing_; }  // part of a sample of lines that side 0 sees otherwise
  double mib_of(Lines lines) const;

  using Steps = std::function<void()>;
  /// What `counted` moves after a flush and `prepare`. Zeros once something has failed: see status().
  L2Bytes bytes(const Steps& prepare, const Steps& counted);
  void touch(const Touch& touch);
  LineList list_of(const std::vector<std::uint32_t>& lines);
  /// Whole lines, shared out among those that take part.
  void touch_lines(const LineList& lines, Who who, bool write);
  /// Bytes a cycle at which each side gets on with a stream, once `prepare` is done after a flush; median of five times.
  std::array<double, 2> rates(const Steps& prepare, const Stream& stream);
  void flush();
  void idle(double milliseconds);
  /// The SM of each block of a grid, in order of number; every fifth block lasts twice as long as the others where `uneven`.
  struct Placed {
    int sm = 0;
    std::int64_t start_ns = 0;
  };
  std::vector<Placed> place_blocks(int blocks, int blocks_per_sm, bool uneven);
  const Status& status() const { return status_; }
  /// Keeps the first failure.
  void note(const Status& status);

  // For kernels of other files, which have one block an SM.
  struct Rank {
    int rank = -1, of = 0;  // among the SMs that take part
  };
  const Rank* ranks(Who who) const;                                       // by SM, on the device
  char* buffer() const { return static_cast<char*>(buffer_.address()); }  // on the device, lines of 128 bytes

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
  std::vector<std::int64_t> list_first_, list_count_;  // by Lines, in lists_
  double disagreeing_ = 0;
  Status status_ = Done{};
};

}  // namespace tilescope
