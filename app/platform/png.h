// PNG files of pictures.
#pragma once

#include <string>
#include <string_view>

#include "app/platform/framebuffer.h"

namespace tilescope {

/// The bytes of a PNG file, without alpha. The same picture gives the same bytes.
std::string encode_png(const Picture& picture);
/// Errors  not a PNG, or one that is damaged: names `origin`.
Result<Picture> decode_png(std::string_view bytes, std::string_view origin);

}  // namespace tilescope
