// The launches of flash3_backward around the gradients, compiled apart from them: they need no shared memory of 1024-byte
// alignment.
#include "kernels/flash3_backward/strip_rows.h"

#include "kernels/common/by_shape.cuh"
#include "kernels/flash3_backward/strip_rows.cuh"

namespace tilescope {

StripRows strip_rows_of(const AttentionProblem& problem) {
  return by_shape(problem, []<class T, int d>() {
    constexpr int rows = strip_rows_tile(d);
    return StripRows{reinterpret_cast<const void*>(&device::row_dot_kernel<T, d, rows, 1>),
                     reinterpret_cast<const void*>(&device::convert_strips_kernel<T, d, rows>), device::row_threads};
  });
}

}  // namespace tilescope
