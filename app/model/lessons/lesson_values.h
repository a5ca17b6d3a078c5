// Values that figures of lessons name: elements of on-chip tiles at a step, products of their rows, and results of two runs.
//
//   P.r0.c3         the element of the tile P in its row 0 and column 3; rows and columns count from 0
//   dO.r0.V.r5      Σ of the products of two lines of equal length: row 0 of dO and row 5 of V; a line may be a column, as c3
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "app/model/lessons/lesson_figures.h"
#include "sim/core/matrix.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// The values of a block after one of its operations.
struct StepValues {
  std::shared_ptr<const BlockValues> block;
  int op = -1;
};

/// Returns the values after the last operation that was done by the step, of the block of that operation.
/// Errors  no step; those of run_block()
Result<StepValues> values_at(const FigureRun& run);

Status check_element(std::string_view element);
Status check_product(std::string_view product);

/// Errors  those of the check; a tile that the block lacks or that holds nothing yet; a place outside of it
Result<double> element_of(const StepValues& values, std::string_view element);
Result<double> product_of(const StepValues& values, std::string_view product);

/// What a run leaves of a tensor in HBM, plane after plane, with its additions in the order of the simulation.
/// Errors  no such result; too large; those of run_as_simulated()
Result<std::vector<Matrix>> results_of(const FigureRun& run, std::string_view tensor);

bool have_other_bits(float a, float b);
/// How two results differ.
struct Difference {
  std::int64_t elements = 0, all = 0;   // with other bits; of the result
  std::int64_t rows = 0, all_rows = 0;  // with such elements; of the result
  double largest = 0;
};
/// Compares results of equal sizes, plane by plane.
Difference difference_of(std::span<const Matrix> first, std::span<const Matrix> second);
/// Errors  those of results_of(); results of other sizes
Result<Difference> difference_of(const FigureRun& first, const FigureRun& second, std::string_view tensor);

}  // namespace tilescope
