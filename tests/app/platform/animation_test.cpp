// Films, read back by readers that share nothing with the writer: stb's GIF decoder, and libavformat's demuxer with a decoder.
#include "app/platform/animation.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/platform/palette.h"
#include "app/platform/video_libraries.h"
#include "tests/app/temporary_folder.h"
#include "tests/skip.h"

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#include <stb_image.h>

namespace tilescope {

namespace {

constexpr int width = 64, height = 48;

/// A ground, a square that moves, and a line of single pixels.
Picture picture_of(int step) {
  Picture picture{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height * 4, 255)};
  const auto put = [&](int x, int y, std::array<std::uint8_t, 3> color) {
    std::copy(color.begin(), color.end(), picture.rgba.begin() + (static_cast<std::ptrdiff_t>(y) * width + x) * 4);
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const bool square = x >= 8 * step && x < 8 * step + 16 && y >= 16 && y < 32;
      put(x, y, square ? std::array<std::uint8_t, 3>{230, 159, 0} : std::array<std::uint8_t, 3>{15, 20, 27});
      if (y == 40 && x % 2 == 0) put(x, y, {230, 237, 243});
    }
  return picture;
}

/// False where this machine has no encoder: the test is then skipped.
bool can_encode(AnimationKind kind) {
  const Status possible = Animation::check(kind);
  if (!possible) skip_test(possible.error().sentence.text());
  return static_cast<bool>(possible);
}

Result<std::string> film_of(AnimationKind kind, const std::vector<int>& frames) {
  Animation::Options options;
  options.kind = kind;
  options.width = width;
  options.height = height;
  options.frames_per_second = 20;
  PaletteBuilder colors;
  for (std::size_t i = 0; i < frames.size(); ++i) colors.add(picture_of(static_cast<int>(i)));
  options.palette = colors.build();
  auto film = Animation::make(options);
  if (!film) return film.error();
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (Status added = (*film)->add(picture_of(static_cast<int>(i)), frames[i]); !added) return added.error();
  return (*film)->finish();
}

}  // namespace

TEST_CASE("animation: another decoder reads every picture of a GIF, exactly, with its times") {
  if (!can_encode(AnimationKind::gif)) return;
  const Result<std::string> gif = film_of(AnimationKind::gif, {10, 1, 1, 30});
  REQUIRE_MESSAGE(gif, gif.error().sentence.text());
  int* delays = nullptr;
  int w = 0, h = 0, frames = 0, channels = 0;
  stbi_uc* pixels = stbi_load_gif_from_memory(reinterpret_cast<const stbi_uc*>(gif->data()), static_cast<int>(gif->size()), &delays,
                                              &w, &h, &frames, &channels, 4);
  REQUIRE(pixels != nullptr);
  CHECK(w == width);
  CHECK(h == height);
  REQUIRE(frames == 4);
  for (int i = 0; i < frames; ++i) {
    CAPTURE(i);
    CHECK(delays[i] == std::array{500, 50, 50, 1500}[static_cast<std::size_t>(i)]);
    const Picture wanted = picture_of(i);
    const std::vector<std::uint8_t> read(pixels + static_cast<std::ptrdiff_t>(i) * width * height * 4,
                                         pixels + static_cast<std::ptrdiff_t>(i + 1) * width * height * 4);
    CHECK(read == wanted.rgba);
  }
  stbi_image_free(pixels);
  std::free(delays);
}

#ifdef TILESCOPE_VIDEO

namespace {

/// The functions that read a film.
struct Reader {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define TILESCOPE_READ(name) decltype(&::name) name = reinterpret_cast<decltype(&::name)>(VideoLibraries::find(#name));
  TILESCOPE_READ(avformat_open_input)
  TILESCOPE_READ(avformat_find_stream_info)
  TILESCOPE_READ(avformat_close_input)
  TILESCOPE_READ(av_read_frame)
  TILESCOPE_READ(avcodec_find_decoder)
  TILESCOPE_READ(avcodec_parameters_to_context)
  TILESCOPE_READ(avcodec_send_packet)
  TILESCOPE_READ(avcodec_receive_frame)
#undef TILESCOPE_READ
};

}  // namespace

TEST_CASE("animation: an MP4 demuxed and decoded has every frame, in its colours") {
  if (!can_encode(AnimationKind::mp4)) return;
  const Result<std::string> mp4 = film_of(AnimationKind::mp4, {10, 1, 1, 30});
  REQUIRE_MESSAGE(mp4, mp4.error().sentence.text());
  const TemporaryFolder folder;
  const VideoLibraries& av = **VideoLibraries::open();
  const Reader read;
  AVFormatContext* format = nullptr;
  REQUIRE(read.avformat_open_input(&format, folder.file("film.mp4", *mp4).c_str(), nullptr, nullptr) == 0);
  REQUIRE(read.avformat_find_stream_info(format, nullptr) >= 0);
  REQUIRE(format->nb_streams == 1);
  const AVCodecParameters& shape = *format->streams[0]->codecpar;
  CHECK(shape.width == width);
  CHECK(shape.height == height);
  CHECK(static_cast<double>(format->duration) / AV_TIME_BASE == doctest::Approx(42 / 20.0).epsilon(0.02));
  AVCodecContext* codec = av.avcodec_alloc_context3(read.avcodec_find_decoder(shape.codec_id));
  REQUIRE(read.avcodec_parameters_to_context(codec, &shape) >= 0);
  REQUIRE(av.avcodec_open2(codec, nullptr, nullptr) == 0);
  AVPacket* packet = av.av_packet_alloc();
  AVFrame* frame = av.av_frame_alloc();
  int frames = 0;
  double worst = 0;
  const auto take = [&] {
    while (read.avcodec_receive_frame(codec, frame) == 0) {
      // Luma of the ground and of the square: BT.709, studio range.
      const int step = frames < 10 ? 0 : frames == 10 ? 1 : frames == 11 ? 2 : 3;
      const auto luma = [&](int x, int y) { return static_cast<double>(frame->data[0][y * frame->linesize[0] + x]); };
      const auto expected = [](double r, double g, double b) { return 16 + 219 * (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255; };
      worst = std::max(
          {worst, std::fabs(luma(60, 4) - expected(15, 20, 27)), std::fabs(luma(8 * step + 8, 24) - expected(230, 159, 0))});
      ++frames;
    }
  };
  while (read.av_read_frame(format, packet) == 0) {
    read.avcodec_send_packet(codec, packet);
    av.av_packet_unref(packet);
    take();
  }
  read.avcodec_send_packet(codec, nullptr);
  take();
  CHECK(frames == 42);
  CHECK(worst < 4);
  av.av_frame_free(&frame);
  av.av_packet_free(&packet);
  av.avcodec_free_context(&codec);
  read.avformat_close_input(&format);
}

#endif

TEST_CASE("animation: without its libraries a film is one sentence that says what is lacking") {
  for (AnimationKind kind : {AnimationKind::gif, AnimationKind::mp4}) {
    const Status possible = Animation::check(kind);
    if (possible) continue;
    CHECK(possible.error().kind == Error::Kind::machine_lacks);
    CHECK(possible.error().sentence.text().find("install") != std::string::npos);
  }
}

TEST_CASE("palette: colours of large areas are kept exactly, and all where they are few") {
  PaletteBuilder few;
  few.add(picture_of(0));
  CHECK(few.build().size() == 3);

  PaletteBuilder many;
  Picture picture = picture_of(1);
  for (int y = 0; y < 12; ++y)  // a gradient of more colours than a GIF has
    for (int x = 0; x < width; ++x) {
      picture.rgba[(static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)) * 4] = static_cast<std::uint8_t>(4 * x);
      picture.rgba[(static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x)) * 4 + 2] = static_cast<std::uint8_t>(20 * y);
    }
  many.add(picture);
  PaletteMap map(many.build());
  CHECK(map.palette().size() == most_colors);
  CHECK(map.palette()[map.nearest(15, 20, 27)] == 0x0F141B);
  CHECK(map.palette()[map.nearest(230, 159, 0)] == 0xE69F00);
  const std::uint32_t near = map.palette()[map.nearest(100, 20, 100)];
  CHECK(std::abs(static_cast<int>(near >> 16) - 100) <= 8);
  CHECK(std::abs(static_cast<int>(near & 255) - 100) <= 12);
}

}  // namespace tilescope
