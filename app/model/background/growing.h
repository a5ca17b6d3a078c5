// Growing: a value that a worker replaces piece by piece while the frame reads it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace tilescope {

/// A value that threads replace while the frame reads it.
template <class T>
class Growing {
 public:
  explicit Growing(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  std::shared_ptr<const T> read() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  template <class Change>
  void change(const Change& change) {
    const std::lock_guard lock(mutex_);
    auto copy = std::make_shared<T>(*value_);
    change(*copy);
    value_ = std::move(copy);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace tilescope
