// Matrix: a small row-major float matrix, the value of an on-chip tile.
#pragma once

#include <vector>

namespace tilescope {

struct Matrix {
  int rows = 0, cols = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(int r, int c, float fill = 0)
      : rows(r), cols(c), values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c), fill) {}
  float& at(int r, int c) {
    return values[static_cast<std::size_t>(r) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(c)];
  }
  float at(int r, int c) const {
    return values[static_cast<std::size_t>(r) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(c)];
  }
  bool operator==(const Matrix&) const = default;
};

}  // namespace tilescope
