// Puts errors of predictions into words.
#include "app/model/measurements/error_sentences.h"

#include <string>

#include "app/model/requests/assets.h"
#include "sim/analysis/format.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// Adds how the recorded runs differ from the predicted one.
Sentence with_differences(Sentence said, const FigureErrors& errors) {
  if (errors.other_tile) said = phrase("{} They have the kernel's own tile.", said);
  if (errors.of_unchanged) said = phrase("{} They are of the unchanged GPU.", said);
  return said;
}

}  // namespace

std::string error_mark(const Result<FigureErrors>& errors) {
  return errors ? "±" + format_percent(errors->mean) : std::string();
}

std::string predicted_time_text(const Simulation& run, const Measurements& known) {
  const std::string error = error_mark(time_errors_of(known, predicted(run)));
  return format_time(run.time) + (error.empty() ? "" : " " + error);
}

Sentence ratio_errors_sentence(const Result<RatioErrors>& errors, std::string_view a, std::string_view b) {
  const std::string first(a), second(b);
  if (!errors)
    return first == second ? phrase("How far the ratio of two times of {} is off is unknown: {}.", first, errors.error().sentence)
                           : phrase("How far the ratio of a time of {} to one of {} is off is unknown: {}.", first, second,
                                    errors.error().sentence);
  const std::string mean = format_percent(errors->mean), worst = format_percent(errors->worst);
  const Sentence of = errors->held_out ? phrase("recorded runs that the model had not seen") : phrase("recorded runs");
  if (errors->pairs == 1)
    return first == second ? phrase("The ratio of two times of {} was off by {} in one pair of {}, the only one.", first, mean, of)
                           : phrase("The ratio of a time of {} to one of {} was off by {} in one pair of {}, the only one.", first,
                                    second, mean, of);
  return first == second ? phrase("The ratio of two times of {} is ±{}: mean of {} pairs of {}, {} at worst.", first, mean,
                                  errors->pairs, of, worst)
                         : phrase("The ratio of a time of {} to one of {} is ±{}: mean of {} pairs of {}, {} at worst.", first,
                                  second, mean, errors->pairs, of, worst);
}

Sentence ratio_errors_sentence(const Measurements& known, const PredictedRun& first, const PredictedRun& second,
                               std::string_view name_of_first, std::string_view name_of_second) {
  if (is_imagined(first.request.gpu.id) || is_imagined(second.request.gpu.id)) return {};
  return ratio_errors_sentence(ratio_errors_of(known, first, second), name_of_first, name_of_second);
}

Sentence imagined_gpu_sentence(std::string_view gpu) {
  return phrase("{} was never built, so its times have nothing to be compared with.", std::string(gpu));
}

Sentence time_errors_sentence(const Result<FigureErrors>& errors, std::string_view program, std::string_view gpu) {
  if (is_imagined(gpu)) return imagined_gpu_sentence(gpu);
  const std::string name(program);
  if (!errors) return phrase("How far times of {} are off is unknown: {}.", name, errors.error().sentence);
  const Sentence of = errors->is_short ? phrase("{} under 20 µs", name) : Sentence(name);
  const std::string mean = format_percent(errors->mean), worst = format_percent(errors->worst);
  const Sentence said =
      errors->all_runs == 1 ? phrase("The time of {} was off by {} in one recorded run, the only one.", of, mean)
      : errors->all_runs > errors->runs
          ? phrase(
                "Times of {} are ±{}: mean of {} recorded runs that the model had not seen. Of all {} the worst is "
                "{} off.",
                of, mean, errors->runs, errors->all_runs, worst)
      : errors->held_out ? phrase("Times of {} are ±{}: mean of {} recorded runs that the model had not seen, {} at worst.", of,
                                  mean, errors->runs, worst)
                         : phrase("Times of {} are ±{}: mean of {} recorded runs that the model was made with, {} at worst.", of,
                                  mean, errors->runs, worst);
  return with_differences(said, *errors);
}

Sentence byte_errors_sentence(const Result<FigureErrors>& errors, Link link, std::string_view program) {
  if (!errors) return {};
  const std::string name(program), mean = format_percent(errors->mean), worst = format_percent(errors->worst);
  const Sentence of = link == Link::hbm_read ? phrase("HBM reads") : phrase("HBM writes");
  return with_differences(
      errors->all_runs > errors->runs
          ? phrase("{} of {} are ±{}: mean of {} recorded runs that the model had not seen. Of all {} the worst is "
                   "{} off.",
                   of, name, mean, errors->runs, errors->all_runs, worst)
      : errors->held_out ? phrase("{} of {} are ±{}: mean of {} recorded runs that the model had not seen, {} at worst.", of, name,
                                  mean, errors->runs, worst)
                         : phrase("{} of {} are ±{}: mean of {} recorded runs that the model was made with, {} at worst.", of, name,
                                  mean, errors->runs, worst),
      *errors);
}

}  // namespace tilescope
