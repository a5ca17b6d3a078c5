// VideoLibraries: libavcodec, libavformat, libavutil and libswscale, opened when a film is written.
//
// They are 130 shared libraries together. Linked, they would be loaded by every command.
#pragma once

#ifdef TILESCOPE_VIDEO

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include "sim/core/result.h"

namespace tilescope {

// The functions in use, by library.
// clang-format off
#define TILESCOPE_AVUTIL(X) \
  X(av_log_set_level) X(av_frame_alloc) X(av_frame_free) X(av_frame_get_buffer) X(av_frame_make_writable) X(av_malloc) \
  X(av_freep) X(av_opt_set) X(av_strerror)
#define TILESCOPE_AVCODEC(X) \
  X(avcodec_find_encoder_by_name) X(avcodec_alloc_context3) X(avcodec_free_context) X(avcodec_open2) X(avcodec_send_frame) \
  X(avcodec_receive_packet) X(avcodec_parameters_from_context) X(av_packet_alloc) X(av_packet_free) X(av_packet_unref) \
  X(av_packet_rescale_ts)
#define TILESCOPE_AVFORMAT(X) \
  X(avformat_alloc_output_context2) X(avformat_free_context) X(avformat_new_stream) X(avformat_write_header) \
  X(av_write_frame) X(av_write_trailer) X(avio_alloc_context) X(avio_context_free)
#define TILESCOPE_SWSCALE(X) X(sws_getContext) X(sws_scale) X(sws_freeContext) X(sws_getCoefficients) X(sws_setColorspaceDetails)
// clang-format on

struct VideoLibraries {
#define TILESCOPE_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
  TILESCOPE_AVUTIL(TILESCOPE_MEMBER)
  TILESCOPE_AVCODEC(TILESCOPE_MEMBER)
  TILESCOPE_AVFORMAT(TILESCOPE_MEMBER)
  TILESCOPE_SWSCALE(TILESCOPE_MEMBER)
#undef TILESCOPE_MEMBER

  /// Opens the libraries of the versions that the program was built for; once, for good.
  /// Errors  one is not installed: names it
  static Result<const VideoLibraries*> open();
  /// A function of libavcodec or libavformat that is not in the table; null where there is none. For tests, which read films back.
  static void* find(const char* name);
};

}  // namespace tilescope

#endif
