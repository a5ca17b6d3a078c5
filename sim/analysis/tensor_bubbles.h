// TensorBubbles: when the tensor cores of an SM are idle, and what the SM does meanwhile.
//
//   tensor cores   ▒▒▒▒▒▒▒▒        ▒▒▒▒▒▒▒▒▒▒      ▒▒▒▒▒
//   softmax               ░░░░░░░░░░                         a bubble that waits for softmax
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/engine/simulation.h"

namespace tilescope {

/// What an idle tensor core waits for. Of several, the first in this order that goes on.
enum class BubbleCause : std::uint8_t {
  softmax,      // the arithmetic between two products
  block_edges,  // the first loads of a block, its epilogue, and the time without a block
  data,         // a tile that is on its way
  barriers      // groups that wait for one another
};
inline constexpr int bubble_causes = 4;
std::string_view to_string(BubbleCause cause);  // "softmax", "block start and end", "data", "barriers"

struct Bubble {
  double start = 0, end = 0;  // cycles
  BubbleCause cause = BubbleCause::softmax;
};

struct TensorBubbles {
  std::vector<Bubble> bubbles;               // in order of time; one idle stretch can be several
  std::array<double, bubble_causes> idle{};  // by cause: share of the SM's time, 0..1
  double busy = 0;                           // share of the time in which a product is executed
  BubbleCause longest() const;
};

/// Sorts the idle time of the tensor cores of a focused SM, from its first operation to the end of its last one.
/// Leaves out  a program without products: all is empty
TensorBubbles tensor_bubbles(const Simulation& simulation, int sm);

}  // namespace tilescope
