// render_picture(): one step of one simulation as a PNG, without a display and without a clock.
#include "app/platform/png.h"
#include "app/step_pictures.h"
#include "app/window.h"

namespace tilescope {

Result<RenderedPicture> render_picture(const RenderOptions& options) {
  const Result<std::unique_ptr<StepPictures>> pictures = StepPictures::make(options, false);
  if (!pictures) return pictures.error();
  const Result<Picture> picture = (*pictures)->draw();
  if (!picture) return picture.error();
  return RenderedPicture{encode_png(*picture), (*pictures)->notice()};
}

}  // namespace tilescope
