// One child at a time: another scene waits until the child of the scene before has ended.
#include "app/next_picture.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/state/state_file.h"
#include "app/platform/files.h"
#include "app/platform/png.h"

namespace tilescope {

std::vector<std::string> next_picture_arguments(const SessionView& view) {
  std::vector<std::string> out;
  const Lesson* const lesson = view.lesson.lesson;
  if (lesson != nullptr && !view.lecture->shows(view.lesson)) {
    if (view.lesson.page + 1 >= lesson->pages.size()) return {};
    out = {"--lesson", fmt::format("{}:{}", lesson->id, view.lesson.page + 2)};
  } else {
    const int next = view.lecture->scene() + 1;
    if (view.lecture->at(next) == nullptr) return {};
    if (const auto& page = view.lecture->at(next)->lesson)
      out = {"--lesson", fmt::format("{}:{}", page->lesson, page->page + 1)};
    else
      out = {"--open", to_link(view.lecture->state_of(next, false))};
  }
  const Workspace& workspace = *view.workspace;
  out.insert(out.end(), {"--theme", workspace.theme == ThemeKind::light ? "light" : "dark", "--language", workspace.language,
                         "--present", "--size", fmt::format("{}x{}", class_picture_width, class_picture_height), "--quiet"});
  return out;
}

NextPicture::~NextPicture() {
  child_.reset();
  if (!path_.empty()) std::remove(path_.c_str());
}

bool NextPicture::follow(const SessionView& view) {
  constexpr auto pause = std::chrono::milliseconds(400);  // who pages on quickly wants no picture on the way
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::string> next = next_picture_arguments(view);
  const bool other = next != wanted_;
  if (other) {
    wanted_ = std::move(next);
    since_ = now;
    picture_.reset();
  }
  if (child_ != nullptr && child_->exit_code()) take_drawn();
  if (read_.valid() && read_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    std::optional<Picture> picture = read_.get();
    if (drawn_ != wanted_) return other;
    picture_ = std::move(picture);
    return true;
  }
  if (child_ == nullptr && !read_.valid() && !wanted_.empty() && drawn_ != wanted_ && now - since_ >= pause) begin();
  return other;
}

void NextPicture::begin() {
  const std::string program = this_program();
  const auto beside = state_file_path();
  drawn_ = wanted_;
  if (program.empty() || !beside) return;
  path_ = (beside->parent_path() / fmt::format("next-scene-{}.png", ::getpid())).native();
  std::vector<std::string> arguments = {program, "render"};
  arguments.insert(arguments.end(), drawn_.begin(), drawn_.end());
  arguments.insert(arguments.end(), {"--out", path_});
  if (auto started = ChildProcess::start(arguments)) child_ = std::move(*started);
}

/// Decodes what the child has drawn on a thread of its own: that takes longer than a frame may.
void NextPicture::take_drawn() {
  const bool good = child_->exit_code() == 0;
  child_.reset();
  if (!good) return;
  read_ = std::async(std::launch::async, [path = path_]() -> std::optional<Picture> {
    const Result<std::string> bytes = read_binary_file(path);
    std::remove(path.c_str());
    if (!bytes) return std::nullopt;
    Result<Picture> picture = decode_png(*bytes, path);
    return picture ? std::optional(std::move(*picture)) : std::nullopt;
  });
}

}  // namespace tilescope
