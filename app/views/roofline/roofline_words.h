// The sentences of the roofline panel: its headline, what that divides, and the closest ceiling of each launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/views/view.h"

namespace tilescope {

/// Translates the name of a level or rate.
const char* ceiling_name(Ceiling ceiling);

/// Returns the names of a kernel's launches, in their order.
std::vector<std::string_view> launches_of(const RooflineKernel& kernel);
/// Returns all launches of a kernel at the level, or null.
const RooflinePoint* whole_at(const RooflineKernel& kernel, Ceiling level);

/// Writes operations per byte: "61.8".
std::string per_byte(const RooflinePoint& point);

/// Names the bottleneck of the run, in the words of the line above the views, and compares the chosen algorithm with the other at
/// one level.
std::string roofline_headline(const RooflineStudy& study, const Simulation& timed, const NextLimit* limit);
/// Says what the headline divides, and the bytes that HBM still gets after the run.
std::string divided_text(const RooflineStudy& study);
/// Says the clock of the roofs, and the one of the bar below where that is another.
std::string roof_clock_text(const View& view, const RooflineStudy& study);

/// Describes a launch by the ceiling that it comes closest to, which need not be the bottleneck of the run. `shown` is the chosen
/// algorithm's simulation: its busy tensor time is the figure of the bottleneck above the views, so it says what it is of.
std::string ceiling_sentence(const RooflineStudy& study, const RooflineKernel& kernel, std::string_view launch,
                             const Simulation& shown);
/// Writes the HBM bytes of a run of several launches as the sum of theirs; empty for one launch. HBM also writes between two
/// launches and after the last, and no launch has those bytes.
std::string sum_of_launches(const RooflineKernel& kernel);

}  // namespace tilescope
