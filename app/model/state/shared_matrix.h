// SharedMatrix: a person's matrix. Copies of a state share it, so that each entry of undo keeps a pointer and not its numbers.
#pragma once

#include <memory>
#include <utility>

#include "sim/core/matrix.h"

namespace tilescope {

/// A matrix that nobody changes, or none. Two are equal if their numbers are.
class SharedMatrix {
 public:
  SharedMatrix() = default;
  SharedMatrix(Matrix matrix) : matrix_(std::make_shared<const Matrix>(std::move(matrix))) {}
  SharedMatrix(std::shared_ptr<const Matrix> matrix) : matrix_(std::move(matrix)) {}

  explicit operator bool() const { return matrix_ != nullptr; }
  const Matrix& operator*() const { return *matrix_; }
  const Matrix* operator->() const { return matrix_.get(); }
  const std::shared_ptr<const Matrix>& pointer() const { return matrix_; }

  friend bool operator==(const SharedMatrix& a, const SharedMatrix& b) { return a.matrix_ == b.matrix_ || (a && b && *a == *b); }

 private:
  std::shared_ptr<const Matrix> matrix_;
};

}  // namespace tilescope
