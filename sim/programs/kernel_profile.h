// What the compiler made of the kernels, for programs to know without a toolkit: the numbers of kernels/<id>/profile.toml.
//
//   kernels/<id>/profile.toml ── cmake/kernel_profiles.awk, at build time ──► kernel_profiles() ── kernel_profile("flash2") ──► needs
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/core/attention_problem.h"

namespace tilescope {

/// One compiled function, as kernels/lab/profile.py read it from the cubin.
struct KernelBuild {
  std::string_view launch;
  DataType dtype = DataType::fp16;
  std::int64_t head_dim = 0;   // 0: one function for all
  std::optional<bool> causal;  // none: one function for both
  int threads = 0, registers = 0;
  std::int64_t static_shared_bytes = 0;
  std::int64_t local_bytes = 0;  // of a thread, on the stack: spills
  int instructions = 0;          // of the code
  int stall_cycles = 0;          // sum of the stall counts that the compiler wrote beside them
};

/// What was read by hand in a launch's machine code and stall counters.
struct LaunchReading {
  std::string_view launch;
  std::optional<DataType> dtype;
  std::int64_t head_dim = 0;
  double waiting = 0;  // as in KernelNeeds, also the next ones
  int setup_instructions = 0, setup_trips = 0;
  double multiply_add_instructions = 0;
};

/// What a warp does beside the arithmetic of one operation, read by hand in the machine code; as in Overhead.
struct OverheadReading {
  std::string_view launch, at;  // "attention", "store"
  std::int64_t head_dim = 0;
  int instructions = 0, trips = 0, barriers = 0, alu = 0, exps = 0, wavefronts = 0;
};

struct KernelProfile {
  std::string_view id;
  std::span<const KernelBuild> builds;
  std::span<const LaunchReading> readings;
  std::span<const OverheadReading> overheads;

  /// The function that a launch runs for this problem. fp32 and other head dimensions have no kernel: then it is the build of the
  /// nearest head dimension, 64 up to 64 and 128 above, and of the type with the most registers.
  const KernelBuild& build(std::string_view launch, const AttentionProblem& problem) const;
  /// fp32 is read as fp16.
  const LaunchReading& reading(std::string_view launch, const AttentionProblem& problem) const;
  const OverheadReading& overhead(std::string_view launch, std::string_view at, const AttentionProblem& problem) const;
};

/// One a kernel, sorted by id; generated.
std::span<const KernelProfile> kernel_profiles();
const KernelProfile& kernel_profile(std::string_view id);

}  // namespace tilescope
