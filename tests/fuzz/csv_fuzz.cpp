// Fuzzes the reader of a user's matrix.
#include <cmath>
#include <string_view>

#include "sim/numerics/tile_machine.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const auto matrix = parse_csv_matrix(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.csv");
  if (!matrix) {
    fuzz_check_sentence(matrix.error().sentence.text());
    return 0;
  }
  fuzz_check(matrix->rows >= 1 && matrix->rows <= 1024 && matrix->cols >= 1 && matrix->cols <= 256,
             "an accepted matrix is 1 x 1 to 1024 x 256");
  fuzz_check(matrix->values.size() == static_cast<std::size_t>(matrix->rows) * static_cast<std::size_t>(matrix->cols),
             "an accepted matrix has all of its elements");
  for (const float value : matrix->values) fuzz_check(std::isfinite(value), "an accepted element is finite");
  return 0;
}
