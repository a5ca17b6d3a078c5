// One sentence for each kind of work and each notice.
#include "app/views/work_words.h"

#include "app/ui/language.h"
#include "app/ui/window_words.h"

namespace tilescope {

const char* words_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::unnamed:
      break;
    case WorkKind::simulation:
      return tr("simulating");
    case WorkKind::timeline:
      return tr("laying out the timeline");
    case WorkKind::other_sms:
      return tr("looking into the SMs");
    case WorkKind::values:
      return tr("working out the values");
    case WorkKind::probe_comparison:
      return tr("holding the kernel's row against the tile machine");
    case WorkKind::validation:
      return tr("holding the model against the measurements");
    case WorkKind::measurement:
      return tr("measuring");
    case WorkKind::roofline:
      return tr("placing the launches under the roofline");
    case WorkKind::variants:
      return tr("simulating the variants");
    case WorkKind::fit_maps:
      return tr("working out the maps of tiles");
    case WorkKind::next_limit:
      return tr("looking for the next limit");
    case WorkKind::sweep:
      return tr("sweeping");
  }
  return "";
}

std::string words_of(const ControlMessage& message) {
  switch (message.notice) {
    case Notice::none:
      break;
    case Notice::block_not_in_trace:
      return tr("The block of that row is not in the trace, which is too long to hold all of them.");
  }
  return window_words(message.error.sentence);
}

}  // namespace tilescope
