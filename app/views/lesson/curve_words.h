// What came of a drawn curve, in words.
#pragma once

#include <string>
#include <vector>

#include "app/model/lessons/drawn_curve.h"
#include "app/model/lessons/lesson.h"

namespace tilescope {

/// "Your curve is too flat. At N = 128 … The two part after N = 64.": how steep both are, and where they part or meet.
std::string curve_course(const LessonQuestion& ask, const std::vector<double>& drawn, const std::vector<double>& real,
                         const CurveDifference& difference);

/// "Right: every point is within 50 %.", "Every point is within 50 %. But the curve rises ever more steeply, and yours does not.",
/// "Too low at N = 96, 128. Farthest: N = 128, 10 kB instead of 164 kB."
std::string curve_verdict(const LessonQuestion& ask, const std::vector<double>& drawn, const std::vector<double>& real);

}  // namespace tilescope
