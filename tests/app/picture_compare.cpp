// Compares pictures with a summed-area table.
#include "tests/app/picture_compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tilescope {

PictureDifference compare_pictures(const Picture& a, const Picture& b) {
  constexpr int reach = 4;
  const auto width = static_cast<std::size_t>(a.width), height = static_cast<std::size_t>(a.height);
  PictureDifference out;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    // Signed sums, so that an edge moved by half a pixel cancels out.
    std::vector<double> sums((width + 1) * (height + 1), 0);
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t at = (y * width + x) * 4 + channel;
        const int difference = static_cast<int>(a.rgba[at]) - static_cast<int>(b.rgba[at]);
        out.mean += std::abs(difference);
        sums[(y + 1) * (width + 1) + x + 1] =
            difference + sums[y * (width + 1) + x + 1] + sums[(y + 1) * (width + 1) + x] - sums[y * (width + 1) + x];
      }
    for (std::size_t y = reach; y + reach < height; ++y)
      for (std::size_t x = reach; x + reach < width; ++x) {
        const std::size_t x0 = x - reach, x1 = x + reach + 1, y0 = y - reach, y1 = y + reach + 1;
        const double total =
            sums[y1 * (width + 1) + x1] - sums[y0 * (width + 1) + x1] - sums[y1 * (width + 1) + x0] + sums[y0 * (width + 1) + x0];
        out.blurred = std::max(out.blurred, std::fabs(total) / ((2 * reach + 1) * (2 * reach + 1)));
      }
  }
  out.mean /= static_cast<double>(width * height * 3);
  return out;
}

}  // namespace tilescope
