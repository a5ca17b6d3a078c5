// Messages come and go.
#include "app/model/state/workspace.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

constexpr double seconds_of_a_notice = 12, seconds_of_good_news = 4;

/// Another program than the chosen one runs: that has to be read, not only seen.
bool is_switch(Notice notice) {
  return notice == Notice::program_for_mask || notice == Notice::program_for_pages;
}

}  // namespace

bool is_good(const ControlMessage& message) {
  return message.notice != Notice::none && message.notice != Notice::block_not_in_trace &&
         message.notice != Notice::mask_shows_nothing;
}

bool Workspace::shows_values() const {
  if (alone.empty()) return center == CenterView::stage;
  return alone == "stage" || alone == "race" || alone == "listing" || alone == "softmax";
}

void Workspace::refuse(std::string control, Error error) {
  message = ControlMessage{std::move(control), std::move(error)};
  notice_until_ = 0;  // that of an earlier notice
}

const Error* Workspace::refused() const {
  for (const std::optional<ControlMessage>* one : {&message, &behind_})
    if (*one && (*one)->notice == Notice::none) return &(*one)->error;
  return nullptr;
}

void Workspace::keep_refusal() {
  if (message && notice_until_ > 0 && message->control.empty()) return;  // a notice stands before it already
  behind_ = message;
}

void Workspace::notify(Error error) {
  keep_refusal();
  message = ControlMessage{{}, std::move(error)};
  notice_until_ = clock_seconds + seconds_of_a_notice;
}

void Workspace::notify(Notice notice, std::string program) {
  keep_refusal();
  message = ControlMessage{{}, {}, notice, std::move(program)};
  notice_until_ = clock_seconds + (is_good(*message) && !is_switch(notice) ? seconds_of_good_news : seconds_of_a_notice);
}

void Workspace::settle() {
  behind_.reset();
  if (message && !is_good(*message)) message.reset();
}

void Workspace::choose_row(int chosen) {
  row = std::max(0, chosen);
  row_chosen = row_by_user = true;
}

void Workspace::tick(double seconds) {
  clock_seconds += seconds;
  if (!message || !message->control.empty() || notice_until_ <= 0 || clock_seconds <= notice_until_) return;
  message = std::move(behind_);
  behind_.reset();
  notice_until_ = 0;
}

}  // namespace tilescope
