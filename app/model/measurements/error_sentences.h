// How far predictions are off, in the same sentences everywhere.
#pragma once

#include <string>
#include <string_view>

#include "app/model/measurements/ratio_errors.h"
#include "app/model/measurements/time_errors.h"

namespace tilescope {

/// Returns "±5.7 %", the mean; empty where it is unknown.
std::string error_mark(const Result<FigureErrors>& errors);
/// Returns "40.1 µs ±5.7 %": the time of a run with the mean error of such times, or the time alone where that is unknown.
std::string predicted_time_text(const Simulation& run, const Measurements& known);

/// Says errors of a ratio in one sentence: "Ratios of a time of flash3 to one of flash2 are ±4.5 %: …".
Sentence ratio_errors_sentence(const Result<RatioErrors>& errors, std::string_view a, std::string_view b);
/// Says the same of two predicted runs, whose programs have these names. Empty where the GPU of one was never built: the sentence
/// on its times says it all.
Sentence ratio_errors_sentence(const Measurements& known, const PredictedRun& first, const PredictedRun& second,
                               std::string_view name_of_first, std::string_view name_of_second);

/// Says errors of times in one sentence: "Times of flash3 are ±5.7 %: …". `program`: its name there. A GPU that was
/// never built has no times to be off from, and the sentence says that.
Sentence time_errors_sentence(const Result<FigureErrors>& errors, std::string_view program, std::string_view gpu);
/// The same of bytes: "HBM reads of flash3 are ±1.2 %: …". Empty where they are unknown: the sentence of the times then
/// says why, unless only the counters are missing.
Sentence byte_errors_sentence(const Result<FigureErrors>& errors, Link link, std::string_view program);
/// "toy was never built, so its times have nothing to be compared with."
Sentence imagined_gpu_sentence(std::string_view gpu);

}  // namespace tilescope
