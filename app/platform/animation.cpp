// Encodes with libavcodec and writes with libavformat.
#include "app/platform/animation.h"

#include <array>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/platform/video_libraries.h"
#include "sim/core/refuse.h"

namespace tilescope {

#ifdef TILESCOPE_VIDEO

namespace {

constexpr int gif_ticks = 100;  // a second

struct EncoderName {
  const char* id;
  const char* notice;
};

std::initializer_list<EncoderName> encoders_of(AnimationKind kind) {
  static constexpr std::initializer_list<EncoderName> gif = {{"gif", ""}};
  static constexpr std::initializer_list<EncoderName> mp4 = {
      {"libx264", ""},
      {"libopenh264", ""},
      {"mpeg4", "the installed libavcodec has no H.264 encoder: the film is MPEG-4 part 2, which browsers do not play"}};
  return kind == AnimationKind::gif ? gif : mp4;
}

Error no_encoder(AnimationKind kind) {
  return Error{
      kind == AnimationKind::gif
          ? phrase("the installed libavcodec has no GIF encoder: install Debian's libavcodec, or write an .mp4")
          : phrase("the installed libavcodec has no encoder for .mp4 (libx264, libopenh264 or mpeg4): install Debian's libavcodec, "
                   "or write a .gif"),
      Error::Kind::machine_lacks};
}

/// What the muxer has written: it goes back to fill in sizes.
struct Written {
  std::string bytes;
  std::size_t at = 0;
  bool full = false;
};

#if LIBAVFORMAT_VERSION_MAJOR >= 61
int write_bytes(void* to, const std::uint8_t* data, int size) {
#else
int write_bytes(void* to, std::uint8_t* data, int size) {
#endif
  auto& out = *static_cast<Written*>(to);
  try {
    const auto count = static_cast<std::size_t>(size);
    if (out.bytes.size() < out.at + count) out.bytes.resize(out.at + count);
    std::memcpy(out.bytes.data() + out.at, data, count);
    out.at += count;
    return size;
  } catch (const std::bad_alloc&) {
    out.full = true;
    return AVERROR(ENOMEM);
  }
}

std::int64_t seek_bytes(void* to, std::int64_t offset, int whence) {
  auto& out = *static_cast<Written*>(to);
  const auto size = static_cast<std::int64_t>(out.bytes.size());
  if (whence == AVSEEK_SIZE) return size;
  const std::int64_t from = whence == SEEK_CUR ? static_cast<std::int64_t>(out.at) : whence == SEEK_END ? size : 0;
  if (from + offset < 0) return AVERROR(EINVAL);
  out.at = static_cast<std::size_t>(from + offset);
  return from + offset;
}

class Film final : public Animation {
 public:
  Film(const VideoLibraries& av, const Options& options) : av_(av), options_(options) {}
  ~Film() override {
    av_.sws_freeContext(scaler_);
    av_.av_packet_free(&packet_);
    av_.av_frame_free(&frame_);
    av_.avcodec_free_context(&codec_);
    if (io_ != nullptr) av_.av_freep(&io_->buffer);
    av_.avio_context_free(&io_);
    av_.avformat_free_context(format_);
  }
  Film(const Film&) = delete;
  Film& operator=(const Film&) = delete;

  Status open() {
    const AVCodec* encoder = nullptr;
    for (const EncoderName& name : encoders_of(options_.kind)) {
      encoder = av_.avcodec_find_encoder_by_name(name.id);
      notice_ = name.notice;
      if (encoder != nullptr) break;
    }
    if (encoder == nullptr) return no_encoder(options_.kind);
    codec_ = av_.avcodec_alloc_context3(encoder);
    frame_ = av_.av_frame_alloc();
    packet_ = av_.av_packet_alloc();
    if (codec_ == nullptr || frame_ == nullptr || packet_ == nullptr) throw std::bad_alloc();
    codec_->width = frame_->width = options_.width;
    codec_->height = frame_->height = options_.height;
    gif() ? describe_gif() : describe_mp4(encoder->name);
    frame_->format = codec_->pix_fmt;
    if (Status opened = open_format(); !opened) return opened;
    if (const int code = av_.avcodec_open2(codec_, encoder, nullptr); code < 0) return failed(encoder->name, code);
    if (const int code = av_.av_frame_get_buffer(frame_, 0); code < 0) return failed("memory for a frame", code);
    if (const int code = av_.avcodec_parameters_from_context(format_->streams[0]->codecpar, codec_); code < 0)
      return failed("the stream", code);
    format_->streams[0]->time_base = codec_->time_base;
    if (const int code = av_.avformat_write_header(format_, nullptr); code < 0) return failed("the file's head", code);
    return Done{};
  }

  Status add(const Picture& picture, int frames) override {
    if (Status drawn = gif() ? draw_indexed(picture) : draw_yuv(picture); !drawn) return drawn;
    // A GIF says how long a picture stays; a film repeats it, since players expect a steady rate.
    const int pictures = gif() ? 1 : frames;
    for (int i = 0; i < pictures; ++i) {
      last_ = frame_->pts = ticks(frames_ + i);
      const int code = av_.avcodec_send_frame(codec_, frame_);
      if (code < 0) return failed("a frame", code);
      if (Status written = write_packets(); !written) return written;
    }
    frames_ += frames;
    end_ = ticks(frames_);
    return Done{};
  }

  Result<std::string> finish() override {
    if (const int code = av_.avcodec_send_frame(codec_, nullptr); code < 0) return failed("the last frame", code);
    if (Status written = write_packets(); !written) return written.error();
    if (gif()) av_.av_opt_set(format_->priv_data, "final_delay", fmt::format("{}", end_ - last_).c_str(), 0);
    if (const int code = av_.av_write_trailer(format_); code < 0) return failed("the file's end", code);
    if (written_.full) throw std::bad_alloc();
    return std::move(written_.bytes);
  }

  std::string notice() const override { return notice_; }

 private:
  std::int64_t ticks(std::int64_t frames) const { return gif() ? frames * gif_ticks / options_.frames_per_second : frames; }
  bool gif() const { return options_.kind == AnimationKind::gif; }

  Error failed(const char* what, int code) const {
    if (code == AVERROR(ENOMEM) || written_.full) throw std::bad_alloc();
    char text[AV_ERROR_MAX_STRING_SIZE] = {};
    av_.av_strerror(code, text, sizeof text);
    return Error{phrase("the film could not be encoded ({}: {}): try another --size, or write numbered .png files", what, text),
                 Error::Kind::machine_lacks};
  }

  void describe_gif() {
    codec_->pix_fmt = AV_PIX_FMT_PAL8;
    codec_->time_base = {1, gif_ticks};
    colors_.emplace(options_.palette);
  }

  void describe_mp4(std::string_view encoder) {
    codec_->pix_fmt = AV_PIX_FMT_YUV420P;
    codec_->time_base = {1, options_.frames_per_second};
    codec_->framerate = {options_.frames_per_second, 1};
    codec_->gop_size = 2 * options_.frames_per_second;
    codec_->colorspace = AVCOL_SPC_BT709;
    codec_->color_primaries = AVCOL_PRI_BT709;
    codec_->color_trc = AVCOL_TRC_BT709;
    codec_->color_range = AVCOL_RANGE_MPEG;
    codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (encoder == "libx264") {  // letters stay sharp at this quality
      av_.av_opt_set(codec_->priv_data, "preset", "veryfast", 0);
      av_.av_opt_set(codec_->priv_data, "tune", "animation", 0);
      av_.av_opt_set(codec_->priv_data, "crf", "17", 0);
    } else if (encoder == "libopenh264") {
      codec_->bit_rate = std::int64_t{8} * options_.width * options_.height;
    } else {
      codec_->flags |= AV_CODEC_FLAG_QSCALE;
      codec_->global_quality = 2 * FF_QP2LAMBDA;
    }
  }

  Status open_format() {
    const char* name = gif() ? "gif" : "mp4";
    if (const int code = av_.avformat_alloc_output_context2(&format_, nullptr, name, nullptr); code < 0) return failed(name, code);
    constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
    auto* buffer = static_cast<unsigned char*>(av_.av_malloc(buffer_bytes));
    if (buffer == nullptr) throw std::bad_alloc();
    io_ = av_.avio_alloc_context(buffer, buffer_bytes, 1, &written_, nullptr, &write_bytes, &seek_bytes);
    if (io_ == nullptr || av_.avformat_new_stream(format_, nullptr) == nullptr) throw std::bad_alloc();
    format_->pb = io_;
    format_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    return Done{};
  }

  Status draw_indexed(const Picture& picture) {
    if (const int code = av_.av_frame_make_writable(frame_); code < 0) return failed("memory for a frame", code);
    for (int y = 0; y < picture.height; ++y) {
      const std::uint8_t* from = picture.rgba.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) * 4;
      std::uint8_t* to = frame_->data[0] + static_cast<std::ptrdiff_t>(y) * frame_->linesize[0];
      for (int x = 0; x < picture.width; ++x, from += 4) to[x] = colors_->nearest(from[0], from[1], from[2]);
    }
    std::array<std::uint32_t, 256> table{};  // entries beyond the palette stay transparent
    const Palette& palette = colors_->palette();
    for (std::size_t i = 0; i < palette.size(); ++i) table[i] = 0xFF000000U | palette[i];
    std::memcpy(frame_->data[1], table.data(), sizeof table);
    return Done{};
  }

  Status draw_yuv(const Picture& picture) {
    if (const int code = av_.av_frame_make_writable(frame_); code < 0) return failed("memory for a frame", code);
    if (scaler_ == nullptr) {
      scaler_ = av_.sws_getContext(picture.width, picture.height, AV_PIX_FMT_RGBA, picture.width, picture.height, codec_->pix_fmt,
                                   SWS_AREA | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr, nullptr, nullptr);
      if (scaler_ == nullptr) throw std::bad_alloc();
      const int* bt709 = av_.sws_getCoefficients(SWS_CS_ITU709);
      constexpr int one = 1 << 16;
      av_.sws_setColorspaceDetails(scaler_, bt709, 1, bt709, 0, 0, one, one);
    }
    const std::array<const std::uint8_t*, 4> planes = {picture.rgba.data(), nullptr, nullptr, nullptr};
    const std::array<int, 4> strides = {picture.width * 4, 0, 0, 0};
    av_.sws_scale(scaler_, planes.data(), strides.data(), 0, picture.height, frame_->data, frame_->linesize);
    return Done{};
  }

  Status write_packets() {
    while (true) {
      const int code = av_.avcodec_receive_packet(codec_, packet_);
      if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return Done{};
      if (code < 0) return failed("a frame", code);
      packet_->stream_index = 0;
      if (packet_->duration == 0 && !gif()) packet_->duration = 1;
      av_.av_packet_rescale_ts(packet_, codec_->time_base, format_->streams[0]->time_base);
      const int wrote = av_.av_write_frame(format_, packet_);
      av_.av_packet_unref(packet_);
      if (wrote < 0) return failed("the file", wrote);
    }
  }

  const VideoLibraries& av_;
  Options options_;
  std::optional<PaletteMap> colors_;  // of a GIF
  std::string notice_;
  AVCodecContext* codec_ = nullptr;
  AVFormatContext* format_ = nullptr;
  AVIOContext* io_ = nullptr;
  AVFrame* frame_ = nullptr;
  AVPacket* packet_ = nullptr;
  SwsContext* scaler_ = nullptr;
  Written written_;
  std::int64_t frames_ = 0;          // so far
  std::int64_t last_ = 0, end_ = 0;  // when the last picture begins and ends
};

}  // namespace

Status Animation::check(AnimationKind kind) {
  const auto av = VideoLibraries::open();
  if (!av) return av.error();
  for (const EncoderName& name : encoders_of(kind))
    if ((*av)->avcodec_find_encoder_by_name(name.id) != nullptr) return Done{};
  return no_encoder(kind);
}

Result<std::unique_ptr<Animation>> Animation::make(const Options& options) {
  const auto av = VideoLibraries::open();
  if (!av) return av.error();
  auto film = std::make_unique<Film>(**av, options);
  if (Status opened = film->open(); !opened) return opened.error();
  return std::unique_ptr<Animation>(std::move(film));
}

#else

Status Animation::check(AnimationKind) {
  return Error{
      phrase("this program was built without libavcodec, libavformat and libswscale, which write .gif and .mp4: install their "
             "development packages and build again, or write numbered .png files or .html"),
      Error::Kind::machine_lacks};
}

Result<std::unique_ptr<Animation>> Animation::make(const Options& options) {
  return check(options.kind).error();
}

#endif

}  // namespace tilescope
