// render_picture(): one step of one simulation as a PNG, without a display and without a clock.
#include <optional>
#include <utility>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/next_picture.h"
#include "app/platform/png.h"
#include "app/step_pictures.h"
#include "app/window.h"

namespace tilescope {

namespace {

/// What shows the class the page or the scene after this one; nullopt after the last.
std::optional<Command> to_next(const SessionView& view) {
  const Lesson* const lesson = view.lesson.lesson;
  if (lesson != nullptr && !view.lecture->shows(view.lesson)) {
    if (view.lesson.page + 1 >= lesson->pages.size()) return std::nullopt;
    return OpenLesson{lesson->id, view.lesson.page + 1};
  }
  if (view.lecture->next() == nullptr) return std::nullopt;
  return GoToScene{view.lecture->scene() + 1};
}

/// The small pictures of the presenter's window.
struct ClassPictures {
  Picture now;
  std::optional<Picture> next;
};

Result<ClassPictures> class_pictures(RenderOptions options) {
  options.panel.clear();
  options.present = true;
  options.width = class_picture_width;
  options.height = class_picture_height;
  options.scale = 1;
  const Result<std::unique_ptr<StepPictures>> pictures = StepPictures::make(options, false);
  if (!pictures) return pictures.error();
  Result<Picture> now = (*pictures)->draw();
  if (!now) return now.error();
  ClassPictures out{std::move(*now), std::nullopt};
  const std::optional<Command> forward = to_next((*pictures)->view());
  if (!forward) return out;
  (*pictures)->carry_out(*forward);
  Result<Picture> next = (*pictures)->draw();
  if (!next) return next.error();
  out.next = std::move(*next);
  return out;
}

}  // namespace

Result<RenderedPicture> render_picture(const RenderOptions& options) {
  std::optional<ClassPictures> small;
  if (options.panel == "presenter") {
    Result<ClassPictures> drawn = class_pictures(options);
    if (!drawn) return drawn.error();
    small = std::move(*drawn);
  }
  const Result<std::unique_ptr<StepPictures>> pictures = StepPictures::make(options, false);
  if (!pictures) return pictures.error();
  if (small) (*pictures)->add_small_pictures(small->now, small->next ? &*small->next : nullptr);
  const Result<Picture> picture = (*pictures)->draw();
  if (!picture) return picture.error();
  return RenderedPicture{encode_png(*picture), (*pictures)->notice()};
}

}  // namespace tilescope
