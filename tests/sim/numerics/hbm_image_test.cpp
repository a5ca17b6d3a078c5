// The image of HBM against a plain array, with tiles that overlap, tile shapes that differ, and places nobody wrote.
#include <doctest/doctest.h>

#include <random>

#include "sim/numerics/hbm_image.h"
#include "sim/programs/attention_tensors.h"

using namespace tilescope;

TEST_CASE("hbm image: a tile that was stored comes back as the same matrix") {
  HbmImage image;
  const auto values = std::make_shared<const Matrix>(4, 8, 2.5F);
  image.store({tensors::o, 3, 16, 4, 0, 8}, values, 12);
  const HbmImage::Found found = image.load({tensors::o, 3, 16, 4, 0, 8});
  CHECK(found.values == values);
  CHECK(found.missing == 0);
  CHECK(found.oldest_stamp == 12);
  CHECK(image.load({tensors::p, 3, 16, 4, 0, 8}).missing == 32);
  CHECK(image.load({tensors::o, 2, 16, 4, 0, 8}).missing == 32);
  image.settle();
  CHECK(image.load({tensors::o, 3, 16, 4, 0, 8}).oldest_stamp == -1);
}

TEST_CASE("hbm image: a tile is as old as its own stores, whatever its neighbours are") {
  HbmImage image;
  const auto put = [&](std::int32_t row, std::int32_t rows, std::int32_t col, std::int32_t stamp) {
    image.store({tensors::o, 0, row, rows, col, 8}, std::make_shared<const Matrix>(rows, 8, 1.0F), stamp);
  };
  put(100, 32, 100, 1);  // one that is larger, far away
  for (const std::int32_t row : {0, 4, 8})
    for (const std::int32_t col : {0, 8, 16}) put(row, 4, col, row == 4 && col == 8 ? 9 : 2);
  CHECK(image.load({tensors::o, 0, 4, 4, 8, 8}).oldest_stamp == 9);
  CHECK(image.load({tensors::o, 0, 5, 2, 9, 6}).oldest_stamp == 9);
  CHECK(image.load({tensors::o, 0, 3, 4, 8, 8}).oldest_stamp == 2);
}

TEST_CASE("hbm image: loads of any shape see what an array would hold after the same stores") {
  std::random_device device;
  const auto seed = device();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 30; ++round) {
    HbmImage image;
    Matrix array(40, 50, -1);
    std::vector<int> stamps(2000, -1);
    for (int store = 0; store < 25; ++store) {
      TileRef tile = {tensors::p, 1, pick(0, 39), 1, pick(0, 49), 1};
      tile.rows = pick(1, std::min(12, 40 - tile.row));
      tile.cols = pick(1, std::min(20, 50 - tile.col));
      image.store(tile, std::make_shared<const Matrix>(tile.rows, tile.cols, static_cast<float>(store)), store);
      for (int r = 0; r < tile.rows; ++r)
        for (int c = 0; c < tile.cols; ++c) {
          array.at(tile.row + r, tile.col + c) = static_cast<float>(store);
          stamps[static_cast<std::size_t>((tile.row + r) * 50 + tile.col + c)] = store;
        }
      TileRef wanted = {tensors::p, 1, pick(0, 39), 1, pick(0, 49), 1};
      wanted.rows = pick(1, 40 - wanted.row);
      wanted.cols = pick(1, 50 - wanted.col);
      const HbmImage::Found found = image.load(wanted);
      std::int64_t missing = 0;
      int oldest = 1000;
      for (int r = 0; r < wanted.rows; ++r)
        for (int c = 0; c < wanted.cols; ++c) {
          const float expected = array.at(wanted.row + r, wanted.col + c);
          missing += expected < 0 ? 1 : 0;
          CHECK(found.values->at(r, c) == (expected < 0 ? 0.0F : expected));
          if (expected >= 0) oldest = std::min(oldest, stamps[static_cast<std::size_t>((wanted.row + r) * 50 + wanted.col + c)]);
        }
      CHECK(found.missing == missing);
      if (oldest < 1000) CHECK(found.oldest_stamp <= oldest);  // a store that is wholly covered by later ones may count too
    }
  }
}
