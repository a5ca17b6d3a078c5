// Units as types: a quantity adds only to its own kind. `.value` leaves the type system.
#pragma once

#include <compare>
#include <cstdint>

namespace tilescope {

template <class Tag, class Rep>
struct Quantity {
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}

  friend constexpr bool operator==(Quantity, Quantity) = default;
  friend constexpr auto operator<=>(Quantity a, Quantity b) { return a.value <=> b.value; }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return Quantity(a.value * k); }
  friend constexpr Quantity operator*(Rep k, Quantity a) { return Quantity(a.value * k); }
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
/// SM clock cycles; fractional, because bandwidths are not whole numbers of bytes a cycle.
using Cycles = Quantity<struct CyclesTag, double>;
using Nanoseconds = Quantity<struct NanosecondsTag, double>;
using BytesPerCycle = Quantity<struct BytesPerCycleTag, double>;
using Hertz = Quantity<struct HertzTag, double>;

/// Returns the cycles that `bytes` take at `rate`.
constexpr Cycles operator/(Bytes bytes, BytesPerCycle rate) {
  return Cycles(static_cast<double>(bytes.value) / rate.value);
}
/// Returns the time of `cycles` at `clock`.
constexpr Nanoseconds to_nanoseconds(Cycles cycles, Hertz clock) {
  return Nanoseconds(cycles.value * 1e9 / clock.value);
}
constexpr Cycles to_cycles(Nanoseconds time, Hertz clock) {
  return Cycles(time.value * clock.value / 1e9);
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace tilescope
