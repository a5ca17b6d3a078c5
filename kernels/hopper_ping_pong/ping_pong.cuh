// Turns of the consumer groups: only the group whose turn it is starts products, while the others compute their softmax.
#pragma once

#include "kernels/hopper_overlap/overlapped_consumer.cuh"

namespace tilescope::device {

/// Named barrier `first_id + g` opens for group g once group g - 1 has passed the turn on.
template <int groups>
struct PingPong {
  static constexpr bool are_taken = true;
  static constexpr int first_id = 4, two_groups = 256;
  const int group;

  __device__ __forceinline__ explicit PingPong(int index) : group(index) {
    if (group == groups - 1) pass();  // the first group begins
  }
  __device__ __forceinline__ void await() const { named_sync(first_id + group, two_groups); }
  __device__ __forceinline__ void pass() const { named_arrive(first_id + (group == groups - 1 ? 0 : group + 1), two_groups); }
};

}  // namespace tilescope::device
