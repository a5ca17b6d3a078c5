// What views of many simulations share: headline, progress, messages and keys.
#pragma once

#include <cstddef>
#include <string_view>

#include "app/views/view.h"

namespace tilescope {

/// Draws the finding in one large sentence, then its conditions in small text; both wrap.
void study_head(const View& view, std::string_view finding, std::string_view detail);
/// Draws "12 of 25 simulated", a bar and a stop or resume button; nothing when done.
void study_progress(const View& view, Commands& commands, std::size_t done, std::size_t total);
/// Returns whether the progress of a study that runs is on screen: Esc stops it.
bool shows_running_study();
/// Draws a sentence instead of an empty view.
void study_empty(const View& view, std::string_view sentence);
/// Whether a key without Ctrl, Alt or Super is meant for the view in the middle: no popup, text field or black screen takes it.
bool study_takes_keys(const View& view);
/// Shows the latest refusal, if it belongs to `control`.
void study_message(const View& view, std::string_view control);

}  // namespace tilescope
