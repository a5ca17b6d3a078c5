// Says errors of predicted times in sentences.
#include "app/views/error_words.h"

#include <fmt/format.h>

#include "app/ui/say.h"
#include "app/views/study_panel.h"
#include "sim/analysis/format.h"

namespace tilescope {

std::string error_mark(const PredictionErrors& errors) {
  return errors.time ? "±" + format_percent(errors.time->mean) : std::string();
}

std::string time_errors_text(const std::optional<TimeErrors>& errors, const SimulationRequest& request) {
  const std::string& gpu = request.gpu.id;
  if (!errors)
    return say(tr("No run of {} is recorded on {}: the error of its times is unknown."), algorithm_title(request.algorithm), gpu);
  const std::string mean = format_percent(errors->mean), worst = format_percent(errors->worst);
  if (errors->held_out)
    return say(
        tr("Predicted times of {} on {} were off by {} on average, {} at worst: {} recorded runs, not seen by the model before."),
        algorithm_title(errors->kernel), gpu, mean, worst, errors->runs);
  return say(
      tr("Predicted times of {} on {} were off by {} on average, {} at worst: {} recorded runs, with which the model was made."),
      algorithm_title(errors->kernel), gpu, mean, worst, errors->runs);
}

std::string prediction_errors_text(const PredictionErrors& errors, const SimulationRequest& request) {
  std::string text = time_errors_text(errors.time, request);
  if (errors.clock)
    text += ' ' + say(tr("The borrowed clock adds {} on average, {} at worst."), format_percent(errors.clock->mean),
                      format_percent(errors.clock->worst));
  return text;
}

}  // namespace tilescope
