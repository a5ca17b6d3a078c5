// Tooltips of the timeline: an operation, a stall, the use of a unit, or a bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "app/model/run_data/timeline_axis.h"
#include "app/views/timeline/timeline_picture.h"

namespace tilescope {

struct HoverText {
  std::string title, body;  // both empty: no tooltip
};

/// Intervals of the focused SM; none if the row shows density.
struct UnderMouse {
  std::optional<std::size_t> bar, wait;
};
UnderMouse find_under_mouse(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout,
                            const TimelineRow& row, const TimeWindow& window, ImVec2 mouse);

/// Describes `row` at `mouse`: operation, stall or density.
HoverText lane_hover(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout, const TimelineRow& row,
                     const TimeWindow& window, ImVec2 mouse);
/// Describes a bandwidth curve at `mouse`, with its ceiling.
HoverText curve_hover(const Simulation& simulation, const TimelineData& data, const TimelineLayout& layout, const TimelineRow& row,
                      const TimeWindow& window, ImVec2 mouse);
/// Returns "Stalled 210 cycles on data: K₂, from HBM"; empty without a stall.
std::string wait_sentence(const Simulation& simulation, const TimelineData& data, std::size_t interval);

/// Names an operation: "K₂", "m′", or its line of the listing where it only waits.
std::string operation_text(const Simulation& simulation, const StepLabel& label);

/// Returns "Ticket 17, drawn from the counter: head 3, query tile 30"; empty where a launch does not draw its tiles.
std::string ticket_sentence(const Simulation& simulation, const BlockRun& run);

/// What a stalled operation can find a unit busy with.
enum class BusyWith : std::uint8_t { block, group, block_or_group };
/// Returns it for one launch; for a whole run, what all of its launches can.
BusyWith busy_with(const Simulation& simulation, int launch);
BusyWith busy_with(const Simulation& simulation);
/// Returns what both can.
BusyWith either(BusyWith a, BusyWith b);
/// Names a cause ("a free buffer", "tensor cores, busy with another group"); empty for none.
std::string cause_text(WaitCause cause, BusyWith busy);
/// Returns the ceiling of a curve, that of the L2 from lookups of their own to shared ones: "6 340–15 324 GB/s".
std::string ceiling_text(const BandwidthCurve& curve, const GpuSpec& gpu);
/// Returns "cycles 200 to 450 (250)".
std::string range_text(double from, double to);
/// Returns the length of a stretch; of a long one, the difference of the rounded ends that are shown.
double range_cycles(double from, double to);

/// Returns the name of a row in the current language.
const char* lane_name(Unit unit);
/// Returns the name of a lane: of its warp group, or of its unit.
std::string lane_title(const UnitLane& lane);
/// Says what a row shows, for the tooltip of its name. Without `data` the lanes are units.
HoverText row_meaning(const TimelineRow& row, const TimelineData* data = nullptr);

}  // namespace tilescope
