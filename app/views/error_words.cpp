// Says errors of predicted times in sentences.
#include "app/views/error_words.h"

#include <fmt/format.h>

#include "app/model/measurements/error_sentences.h"
#include "app/ui/say.h"
#include "app/views/algorithm_style.h"
#include "sim/analysis/format.h"

namespace tilescope {

std::string error_mark(const PredictionErrors& errors) {
  return error_mark(errors.time);
}

std::string time_errors_text(const Result<FigureErrors>& errors, const SimulationRequest& request) {
  return say(time_errors_sentence(errors, algorithm_title(request.algorithm), request.gpu.id));
}

std::string prediction_errors_text(const PredictionErrors& errors, const SimulationRequest& request) {
  std::string text = time_errors_text(errors.time, request);
  if (errors.clock)
    text += ' ' + say(tr("The borrowed clock adds {} on average, {} at worst."), format_percent(errors.clock->mean),
                      format_percent(errors.clock->worst));
  return text;
}

}  // namespace tilescope
