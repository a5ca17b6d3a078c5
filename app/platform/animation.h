// Animation: pictures into a GIF or an MP4, in memory.
#pragma once

#include <memory>
#include <string>

#include "app/platform/framebuffer.h"
#include "app/platform/palette.h"
#include "sim/core/result.h"

namespace tilescope {

enum class AnimationKind { gif, mp4 };

class Animation {
 public:
  struct Options {
    AnimationKind kind = AnimationKind::gif;
    int width = 0, height = 0;  // even for an MP4
    int frames_per_second = 20;
    Palette palette;  // of a GIF
  };

  /// Opens the encoder. H.264 where the library has it, else MPEG-4 part 2.
  /// Errors  the program was built without the libraries, they are not installed, or they have no such encoder (machine_lacks)
  static Result<std::unique_ptr<Animation>> make(const Options& options);
  /// Whether make() would find its libraries and an encoder.
  static Status check(AnimationKind kind);

  virtual ~Animation() = default;
  /// Shows `picture`, of the size in the options, for so many frames.
  virtual Status add(const Picture& picture, int frames) = 0;
  /// Returns the bytes of the file. Nothing can be added afterwards.
  virtual Result<std::string> finish() = 0;
  /// What a user should know about the encoder, in one sentence; empty where there is nothing.
  virtual std::string notice() const = 0;
};

}  // namespace tilescope
