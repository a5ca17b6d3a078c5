// A sequence of random actions on one session, and what must hold after each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilescope {

/// Action `index` of a seed depends on nothing but the two and what the window shows. So any subset of a sequence can run.
struct Sequence {
  std::uint64_t seed = 0;
  std::vector<std::size_t> actions;
};

struct SequenceWatch {
  std::function<void(std::size_t position)> at;         // before each action, and once after the last
  std::function<void(const std::string& action)> said;  // what the action was; may be empty
  std::function<void()> rests = {};                     // of a soak: before it finishes all work; may be empty
};

struct SequenceResult {
  std::string broken;  // the property that did not hold; empty where all did
  std::size_t commands = 0;
  bool has_screen = true;
};

SequenceResult run_sequence(const Sequence& sequence, const SequenceWatch& watch);

/// What the process holds while the window rests in its opening state, bytes.
struct SoakSample {
  double seconds = 0;
  std::size_t actions = 0;
  std::size_t heap = 0, resident = 0;
};

struct Soak {
  std::uint64_t seed = 0;
  std::string gpu = "h200";  // what the window opens with, and what most commands that name a GPU name
  double seconds = 0, seconds_between_samples = 60;
};

/// Runs the actions 0, 1, 2 … of a seed on one session until the time is over, and takes a sample between them: the window then
/// rests in its opening state, without undo.
SequenceResult run_soak(const Soak& soak, const SequenceWatch& watch, const std::function<void(const SoakSample&)>& take);

}  // namespace tilescope
