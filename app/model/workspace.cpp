// Messages come and go.
#include "app/model/workspace.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

constexpr double seconds_of_a_notice = 12;

}  // namespace

void Workspace::refuse(std::string control, Error error) {
  message = ControlMessage{std::move(control), std::move(error)};
  notice_until_ = 0;  // that of an earlier notice
}

void Workspace::notify(Error error) {
  message = ControlMessage{{}, std::move(error)};
  notice_until_ = clock_seconds + seconds_of_a_notice;
}

void Workspace::notify(Notice notice) {
  message = ControlMessage{{}, {}, notice};
  notice_until_ = clock_seconds + seconds_of_a_notice;
}

void Workspace::choose_row(int chosen) {
  row = std::max(0, chosen);
  row_chosen = row_by_user = true;
}

void Workspace::tick(double seconds) {
  clock_seconds += seconds;
  if (!message || !message->control.empty() || notice_until_ <= 0 || clock_seconds <= notice_until_) return;
  message.reset();
  notice_until_ = 0;
}

}  // namespace tilescope
