// Encodes and decodes PNG.
#pragma once

#include <string>
#include <string_view>

#include "app/platform/framebuffer.h"

namespace tilescope {

/// Encodes a PNG without alpha. Equal pictures give equal bytes.
std::string encode_png(const Picture& picture);
/// Decodes a PNG.
/// Errors  not a PNG or damaged: names `origin`
Result<Picture> decode_png(std::string_view bytes, std::string_view origin);

}  // namespace tilescope
