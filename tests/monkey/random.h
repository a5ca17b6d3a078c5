// Random: numbers that depend on a seed and an index alone, the same with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace tilescope {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index) {
    std::seed_seq sequence{seed, seed >> 32, index, index >> 32};
    generator_.seed(sequence);
  }
  std::uint64_t next() { return generator_(); }
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : static_cast<std::size_t>(next() % limit); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  /// Returns a number of [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace tilescope
