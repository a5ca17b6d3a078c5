// KernelProfile: the compiled properties of each kernel, from kernels/<id>/profile.toml. They need no CUDA toolkit.
//
//   kernels/<id>/profile.toml ── cmake/kernel_profiles.awk, at build time ──► kernel_profiles() ──► kernel_profile("flash2")
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// Overhead instructions per warp, besides the arithmetic of an operation, counted in the SASS.
///   instructions  all of them, from one operation to the next
///   shared_round_trips, l2_round_trips   round trips to shared memory and to the L2 that cannot overlap
///   barriers      barriers of all warps of the block
///   alu, exps     part of `instructions`: those on the ALU pipe (maxima, conversions) and on the exponential pipe
///   stall_cycles  the stall counts that the compiler encoded in `instructions`, added up; 0: not counted, so that they take as
///   long
///                 as the launch's other instructions (LaunchReading::dependent_share)
///   wavefronts    wavefronts of shuffles and broadcast reads in the memory pipe
struct Overhead {
  int instructions = 0, shared_round_trips = 0, barriers = 0, l2_round_trips = 0, alu = 0, exps = 0, wavefronts = 0,
      stall_cycles = 0;

  constexpr Overhead& operator+=(const Overhead& other) {
    instructions += other.instructions, shared_round_trips += other.shared_round_trips, barriers += other.barriers,
        l2_round_trips += other.l2_round_trips;
    alu += other.alu, exps += other.exps, wavefronts += other.wavefronts, stall_cycles += other.stall_cycles;
    return *this;
  }
  friend constexpr Overhead operator+(Overhead a, const Overhead& b) { return a += b; }
  friend constexpr Overhead operator*(Overhead a, int times) {
    a.instructions *= times, a.shared_round_trips *= times, a.barriers *= times, a.l2_round_trips *= times;
    a.alu *= times, a.exps *= times, a.wavefronts *= times, a.stall_cycles *= times;
    return a;
  }
};

/// One compiled function, as read from the cubin by kernels/lab/kernel_profile.py.
struct KernelBuild {
  std::string_view launch;
  DataType dtype = DataType::fp16;
  std::int64_t head_dim = 0;        // 0: one function for all
  std::optional<bool> causal = {};  // absent: one function for both
  int threads = 0, registers = 0;
  int setmaxnreg_dec = 0, setmaxnreg_inc = 0;  // registers of a thread that gives some away, and of one that takes them; 0: none
  std::int64_t static_shared_bytes = 0;
  std::int64_t local_bytes = 0;  // stack of a thread
  int spill_store_bytes = 0, spill_load_bytes = 0;
  int instructions = 0;  // in the code
  int stall_cycles = 0;  // sum of the stall counts that the compiler encoded in them
  // Of a warp before its first load, and the divisions among them; 0: not counted, as in kernels that ask TMA for nothing.
  int setup_instructions = 0, setup_divisions = 0;
};

/// Properties of a launch that were read by hand from its SASS; the names are those of KernelNeeds.
struct LaunchReading {
  std::string_view launch;
  std::optional<DataType> dtype = {};
  std::int64_t head_dim = 0;
  double dependent_share = 0;
  int setup_instructions = 0, setup_round_trips = 0;
  double multiply_add_instructions = 0;
};

/// The overhead of one operation: what a script counted in the SASS, and what was read by hand.
struct OverheadReading {
  std::string_view launch, at;  // "attention", "store"
  std::int64_t head_dim = 0;
  int times = 1;  // how often the kernel executes the operation's instructions per element
  Overhead what;
};

/// Returns the head dimension of the kernel that runs the problem, or of the nearest kernel: 64 up to 64, and 128 above.
std::int64_t compiled_head_dim(const AttentionProblem& problem);

struct KernelProfile {
  std::string_view id;
  std::span<const KernelBuild> builds;
  std::span<const LaunchReading> readings;
  std::span<const OverheadReading> overheads;

  /// Returns the build of a launch. fp32 has no kernel, so it gets the build of the type with more registers.
  const KernelBuild& build(std::string_view launch, const AttentionProblem& problem) const;
  /// Return the values that were counted or read by hand, else those of the profile "common"; fp32 gets those of fp16.
  const LaunchReading& reading(std::string_view launch, const AttentionProblem& problem) const;
  const OverheadReading& overhead_reading(std::string_view launch, std::string_view at, const AttentionProblem& problem) const;
  const Overhead& overhead(std::string_view launch, std::string_view at, const AttentionProblem& problem) const {
    return overhead_reading(launch, at, problem).what;
  }
};

/// Returns one row per profile.toml, sorted by id. "common" has the values that several kernels share.
std::span<const KernelProfile> kernel_profiles();
const KernelProfile& kernel_profile(std::string_view id);

}  // namespace tilescope
