// Opens FFmpeg's libraries by their sonames.
#include "app/platform/video_libraries.h"

#ifdef TILESCOPE_VIDEO

#include <array>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

struct Library {
  const char* name;
  int version;
  void* handle = nullptr;
};

std::array<Library, 4>& libraries() {
  static std::array<Library, 4> all = {{{"avutil", LIBAVUTIL_VERSION_MAJOR},
                                        {"avcodec", LIBAVCODEC_VERSION_MAJOR},
                                        {"avformat", LIBAVFORMAT_VERSION_MAJOR},
                                        {"swscale", LIBSWSCALE_VERSION_MAJOR}}};
  return all;
}

Error lacking(const std::string& what) {
  return Error{phrase("a film needs {}, which is not installed: install libavcodec{}, libavformat{} and libswscale{}, or write "
                      "numbered .png files or .html",
                      what, LIBAVCODEC_VERSION_MAJOR, LIBAVFORMAT_VERSION_MAJOR, LIBSWSCALE_VERSION_MAJOR),
               Error::Kind::machine_lacks};
}

Result<VideoLibraries> load() {
  for (Library& library : libraries()) {
    const std::string file = fmt::format("lib{}.so.{}", library.name, library.version);
    library.handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle == nullptr) return lacking(file);
  }
  VideoLibraries out;
  const char* missing = nullptr;
  const auto take = [&](auto& member, const char* name) {
    void* found = VideoLibraries::find(name);
    if (found == nullptr) missing = name;
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(found);
  };
#define TILESCOPE_TAKE(name) take(out.name, #name);
  TILESCOPE_AVUTIL(TILESCOPE_TAKE)
  TILESCOPE_AVCODEC(TILESCOPE_TAKE)
  TILESCOPE_AVFORMAT(TILESCOPE_TAKE)
  TILESCOPE_SWSCALE(TILESCOPE_TAKE)
#undef TILESCOPE_TAKE
  if (missing != nullptr) return lacking(missing);
  out.av_log_set_level(AV_LOG_QUIET);
  return out;
}

}  // namespace

Result<const VideoLibraries*> VideoLibraries::open() {
  static const Result<VideoLibraries> opened = load();
  if (!opened) return opened.error();
  return &*opened;
}

void* VideoLibraries::find(const char* name) {
  for (const Library& library : libraries())
    if (library.handle != nullptr)
      if (void* found = ::dlsym(library.handle, name)) return found;
  return nullptr;
}

}  // namespace tilescope

#endif
