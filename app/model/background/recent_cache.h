// RecentCache: what was worked out last, newest first; and Retired: what left it, to be freed off the frame.
#pragma once

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace tilescope {

/// Objects that left the screen. Whoever lets go of a simulation last frees it, and that takes longer than a frame may.
class Retired {
 public:
  template <class T>
  void add(std::shared_ptr<T> thing) {
    if (thing != nullptr) things_.push_back(std::move(thing));
  }
  /// Adds what a value is made of: it has retire_into(Retired&).
  template <class T>
  void add(const T& value) {
    value.retire_into(*this);
  }
  /// Returns those that nobody else holds any more.
  std::vector<std::shared_ptr<const void>> take_free() {
    // The same thing can be here several times; only then it is held by nobody else, if these are all that hold it.
    std::sort(things_.begin(), things_.end(), [](const auto& a, const auto& b) { return a.get() < b.get(); });
    things_.erase(std::unique(things_.begin(), things_.end()), things_.end());
    const auto held = std::partition(things_.begin(), things_.end(), [](const auto& thing) { return thing.use_count() > 1; });
    std::vector<std::shared_ptr<const void>> free(std::make_move_iterator(held), std::make_move_iterator(things_.end()));
    things_.erase(held, things_.end());
    return free;
  }

 private:
  std::vector<std::shared_ptr<const void>> things_;
};

/// Values by key, newest first; the oldest go when there are too many, into `retired`. A key has a member `simulation`.
template <class Key, class Value, std::size_t most = 24>
class RecentCache {
 public:
  explicit RecentCache(Retired& retired) : retired_(retired) {}
  const Value* find(const Key& key) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return &found->second;
  }
  bool holds(const Key& key) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
  }
  void put(const Key& key, Value value) {
    entries_.emplace_front(key, std::move(value));
    if (entries_.size() <= most) return;
    retire(entries_.back());
    entries_.pop_back();
  }
  template <class Gone>
  void erase_if(Gone gone) {
    std::erase_if(entries_, [&](const auto& e) { return gone(e.first) && retire(e); });
  }
  void clear() {
    erase_if([](const Key&) { return true; });
  }

 private:
  bool retire(const std::pair<Key, Value>& entry) {
    retired_.add(entry.first.simulation);
    retired_.add(entry.second);
    return true;
  }

  Retired& retired_;
  std::list<std::pair<Key, Value>> entries_;
};

}  // namespace tilescope
