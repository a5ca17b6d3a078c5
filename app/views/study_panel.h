// What the views of many simulations share: the sentence at the top, the line that says how far they are, colours and signs of
// algorithms, and the measured case beside a simulated one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "app/model/measurements.h"
#include "app/model/studies.h"
#include "app/ui/plot.h"
#include "app/views/view.h"

namespace tilescope {

/// The finding in one sentence, large, then what it rests on, small; both wrap.
void study_head(const View& view, std::string_view finding, std::string_view detail);
/// "12 of 25 simulated", a bar, and a button that stops or goes on; nothing once all are done.
void study_progress(const View& view, Commands& commands, std::size_t done, std::size_t total);
/// A sentence in place of the view: there is nothing to show yet, or it cannot be shown.
void study_empty(const View& view, std::string_view sentence);

/// What was refused of the control `control` of the view, where that was the latest thing refused.
void study_message(const View& view, std::string_view control);

/// The place of an algorithm in its family, counted from 0.
std::size_t algorithm_index(std::string_view algorithm);
ImU32 algorithm_color(const Theme& theme, std::string_view algorithm);
Marker algorithm_marker(std::string_view algorithm);
/// "FlashAttention-2"
std::string algorithm_title(std::string_view algorithm);

/// The measured case of `algorithm` on this problem, on the GPU that is shown if none of its numbers is changed; any tile.
/// nullptr where there is none.
const MeasuredCase* measured_case(const View& view, std::string_view algorithm, const AttentionProblem& problem);
/// "measured, recorded 2026-11-21"
std::string measured_label(const View& view);
/// The median of a counter; nullopt where it was not read.
std::optional<double> counter(const MeasuredCase& measured, std::string_view key);

/// A bound in words: "the tensor cores", "HBM bandwidth".
const char* bound_name(Bound bound);
/// What would bound a run next; where latency is lifted and still no resource is busy for half of the time, that.
const char* next_bound_name(const NextLimit& limit);

}  // namespace tilescope
