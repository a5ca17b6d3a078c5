// Workspace: what is chosen in the window, and what it says beside a control.
#pragma once

#include <optional>
#include <string>

#include "app/model/run_data/time_range.h"
#include "app/model/state/bank_choice.h"
#include "app/model/state/center_views.h"
#include "app/model/state/link_choice.h"
#include "app/model/state/view_choices.h"
#include "app/platform/theme_kind.h"
#include "sim/core/result.h"
#include "sim/core/tensor.h"

namespace tilescope {

/// What the session itself has to say, which no error of the model says. The views put it into words.
enum class Notice {
  none,
  block_not_in_trace,
  link_copied,
  text_copied,
  scene_kept,
  deck_saved,
  lesson_waits,
  lesson_holds,
  run_pinned,
  pinned_again,
  program_for_mask,
  program_for_pages,
  mask_shows_nothing
};

/// What stands beside the control that caused it; the last good simulation stays.
struct ControlMessage {
  std::string control;  // "seq", "heads", "gpu", "block_q", …; empty for the window as a whole
  Error error;
  Notice notice = Notice::none;  // in place of the error
  std::string program = {};      // of program_for_mask and program_for_pages: the one that is chosen now
};

/// Returns whether it is a notice that something was done.
bool is_good(const ControlMessage& message);

struct Workspace {
  int row = 0;              // the chosen row of the query tile
  bool row_chosen = false;  // by the user, or for them
  bool row_by_user = false;
  std::optional<Tensor> hovered_tensor;  // lit everywhere
  ThemeKind theme = ThemeKind::dark;
  std::string language = "en";
  CenterView center = CenterView::stage;  // what the middle of the window shows
  BankChoice banks;                       // what the Banks view shows
  std::string rung;                       // of the ladder, whose code the Ladder view shows; empty: none
  ViewChoices views;                      // what each view shows of its subject
  std::string alone;                      // the panel that has the window for itself; empty: none
  std::string side = "listing";           // the panel beside the middle where there is one column for three
  LinkChoice traffic{};                   // the link whose bytes the Traffic panel shows
  bool by_sm = false;                     // the timeline's lanes are SMs
  bool present = false;                   // large text, no controls but the transport
  bool help = false;                      // the sheet of keys is open
  std::optional<std::string> find;        // the search is open, with this text at first
  std::optional<TimeRange> range;         // that is chosen on the timeline
  bool blank = false;                     // the screen is black
  std::optional<ControlMessage> message;
  double clock_seconds = 0;  // since the window opened

  /// Returns whether anything on screen shows numbers of the step: the stage, the listing or the softmax row.
  bool shows_values() const;

  /// Says what is wrong with a control until something else is asked for.
  void refuse(std::string control, Error error);
  /// Says something about the window as a whole, for some seconds.
  void notify(Error error);
  void notify(Notice notice, std::string program = {});
  /// Lets go of what was refused: what was asked for is there. A notice that something was done stays for its time.
  void settle();
  void choose_row(int chosen);
  /// Why what was asked for is not on screen, whatever notice stands before it; null where it is.
  const Error* refused() const;
  /// Lets wall time pass: a message about the window as a whole goes away by itself.
  void tick(double seconds);

 private:
  /// Puts a refusal aside while a notice is shown.
  void keep_refusal();

  double notice_until_ = 0;
  std::optional<ControlMessage> behind_;  // the refusal that a notice stands before
};

}  // namespace tilescope
