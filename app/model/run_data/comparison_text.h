// Figures of a comparison as text, for the Compare view and `tilescope compare` alike.
#pragma once

#include <string>

#include "sim/analysis/run_comparison.h"

namespace tilescope {

/// Returns a figure in its unit, shortened: "33.6 MB", "1.75 µs".
std::string figure_text(RunFigure figure, double value);
/// Returns a count of bytes to the byte: "33 554 432 B".
std::string exact_bytes_text(double value);
/// Returns "−38 %", "4.0×" or "1/4.0"; nothing where one side is zero.
std::string ratio_text(const ComparedFigure& figure);

struct FigureTexts {
  std::string first, second;      // "–" where a run has no such figure. Two that differ read differently
  std::string difference, ratio;  // "+1.2 MB", and ratio_text(); empty where both are equal
  bool is_points = false;         // the difference is one of percentages, without its unit
  bool is_range = false;          // of the busy share of the L2: no difference where the ranges meet
};
FigureTexts texts_of(const ComparedFigure& figure, const RunComparison& comparison);

}  // namespace tilescope
