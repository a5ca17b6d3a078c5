// One sentence for each kind of work and each notice.
#include "app/views/work_words.h"

#include "app/ui/language.h"
#include "app/ui/say.h"
#include "app/views/algorithm_style.h"

namespace tilescope {

const char* words_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::unnamed:
      break;
    case WorkKind::simulation:
      return tr("simulating");
    case WorkKind::timeline:
      return tr("preparing the timeline");
    case WorkKind::other_sms:
      return tr("simulating the SMs in view");
    case WorkKind::values:
      return tr("computing the values");
    case WorkKind::probe_comparison:
      return tr("comparing the kernel's row with the tile machine");
    case WorkKind::validation:
      return tr("comparing the model with the measurements");
    case WorkKind::measurement:
      return tr("measuring");
    case WorkKind::calibration:
      return tr("measuring this machine's GPU");
    case WorkKind::roofline:
      return tr("computing the roofline");
    case WorkKind::variants:
      return tr("simulating the variants");
    case WorkKind::fit_maps:
      return tr("simulating the tile maps");
    case WorkKind::ladder:
      return tr("simulating the rungs");
    case WorkKind::next_limit:
      return tr("simulating without the bottleneck");
    case WorkKind::sweep:
      return tr("sweeping");
    case WorkKind::pinned:
      return tr("simulating the pinned run");
    case WorkKind::lesson:
      return tr("simulating for the lesson");
  }
  return "";
}

std::string words_of(const ControlMessage& message) {
  switch (message.notice) {
    case Notice::none:
      break;
    case Notice::block_not_in_trace:
      return tr("The trace is too long to keep every block, and the block of this row is missing.");
    case Notice::link_copied:
      return tr("Copied: the link to this state.");
    case Notice::text_copied:
      return tr("Copied as text.");
    case Notice::scene_kept:
      return tr("Kept as a scene: D shows the list.");
    case Notice::deck_saved:
      return tr("The deck is saved.");
    case Notice::run_pinned:
      return tr("Pinned. Compare shows it beside the next run.");
    case Notice::pinned_again:
      return tr("Pinned. Compare holds several runs: choose A and B there.");
    case Notice::program_for_mask:
      return say(tr("Algorithm is now {}: its kernel takes any mask. Ctrl Z goes back."), algorithm_title(message.program));
    case Notice::program_for_pages:
      return say(tr("Algorithm is now {}: its kernel reads K and V in pages. Ctrl Z goes back."), algorithm_title(message.program));
    case Notice::mask_shows_nothing:
      return tr("This mask shows nothing: no query sees a key, and every row of O is 0");
    case Notice::lesson_waits:
      return tr("Answer the question first: the run waits for it.");
    case Notice::lesson_holds:
      return tr("This page of the lesson keeps the setting. Close the lesson to change it.");
  }
  return say(message.error.sentence);
}

}  // namespace tilescope
