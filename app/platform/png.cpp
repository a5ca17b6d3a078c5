// Encodes and decodes PNG with stb.
#include "app/platform/png.h"

#include "app/platform/stb.h"
#include "sim/core/refuse.h"

namespace tilescope {

std::string encode_png(const Picture& picture) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(picture.rgba.size() / 4 * 3);
  for (std::size_t i = 0; i + 3 < picture.rgba.size(); i += 4)
    rgb.insert(rgb.end(), picture.rgba.begin() + static_cast<std::ptrdiff_t>(i),
               picture.rgba.begin() + static_cast<std::ptrdiff_t>(i + 3));
  std::string out;
  stbi_write_png_compression_level = 8;
  const auto append = [](void* into, void* data, int size) {
    static_cast<std::string*>(into)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  stbi_write_png_to_func(append, &out, picture.width, picture.height, 3, rgb.data(), picture.width * 3);
  return out;
}

Result<Picture> decode_png(std::string_view bytes, std::string_view origin) {
  Picture picture;
  int channels = 0;
  stbi_uc* pixels = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()), static_cast<int>(bytes.size()),
                                          &picture.width, &picture.height, &channels, 4);
  if (pixels == nullptr) return refuse("{} is not a PNG picture: {}", origin, stbi_failure_reason());
  picture.rgba.assign(pixels, pixels + static_cast<std::ptrdiff_t>(picture.width) * picture.height * 4);
  stbi_image_free(pixels);
  return picture;
}

}  // namespace tilescope
