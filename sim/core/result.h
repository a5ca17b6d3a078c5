// Result<T>: a value, or an error with one sentence that a user can act on.
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "sim/core/sentence.h"

namespace tilescope {

/// An error that a user can cause. `wrong_request` ends the program with exit code 2, `machine_lacks` with 3.
struct Error {
  enum class Kind { wrong_request, machine_lacks, cancelled };
  Sentence sentence;
  Kind kind = Kind::wrong_request;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() {
    assert(*this);
    return std::get<0>(state_);
  }
  const T& operator*() const {
    assert(*this);
    return std::get<0>(state_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  const Error& error() const {
    assert(!*this);
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

struct Done {};
/// The result of a function that returns nothing but may fail.
using Status = Result<Done>;

}  // namespace tilescope
