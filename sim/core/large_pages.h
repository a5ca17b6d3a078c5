// LargePages: an allocator for vectors that grow to tens of megabytes.
//
// The first touch of each 4 KiB page costs the host about as much as simulating a load. Of a run whose trace keeps 300,000
// intervals that is a fifth of the time. Linux gives large pages to whoever asks; elsewhere this is the ordinary allocator.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tilescope {

template <class T>
struct LargePages {
  using value_type = T;
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(std::size_t count) {
    if (!is_large(count)) return static_cast<T*>(::operator new(count * sizeof(T)));
    const std::size_t bytes = (count * sizeof(T) + page_bytes - 1) / page_bytes * page_bytes;
    void* const memory = ::operator new (bytes, std::align_val_t{page_bytes});
#if defined(__linux__)
    madvise(memory, bytes, MADV_HUGEPAGE);  // no more than a wish: if it fails, small pages do
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (is_large(count))
      ::operator delete (memory, std::align_val_t{page_bytes});
    else
      ::operator delete(memory);
  }
  friend bool operator==(const LargePages&, const LargePages&) {
    return true;
  }

 private:
  static bool is_large(std::size_t count) {
    return count * sizeof(T) >= 2 * page_bytes;
  }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace tilescope
