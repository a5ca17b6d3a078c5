// The profiles of the kernels, held against what ran on the GPUs that were recorded.
#include "sim/programs/kernel_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "kernels/kernel_table.h"
#include "kernels/measure/bundle.h"
#include "tests/skip.h"

using namespace tilescope;

namespace {

std::string path_of(const std::string& name) {
  return TILESCOPE_SOURCE_DIR "/assets/measured/" + name + ".json";
}

MeasurementBundle recorded_bundle(const std::string& name) {
  std::ifstream file(path_of(name));
  const Result<MeasurementBundle> bundle = bundle_from_json(std::string(std::istreambuf_iterator<char>(file), {}));
  REQUIRE_MESSAGE(bundle, bundle.error().sentence);
  return *bundle;
}

bool has_profile(std::string_view id) {
  const auto all = kernel_profiles();
  return std::any_of(all.begin(), all.end(), [&](const KernelProfile& profile) { return profile.id == id; });
}

}  // namespace

TEST_CASE("profile: every recorded launch has the registers, threads and shared memory of its kernel's profile") {
  // Backward passes and the ladder have bundles of their own.
  for (const char* gpu : {"h200", "h100", "h200-backward", "h100-backward", "h200-ladder", "h100-ladder"}) {
    const bool backward = std::string_view(gpu).ends_with("-backward");
    if (backward && !std::filesystem::exists(path_of(gpu))) {
      skip_test(std::string(gpu) + " is not recorded");
      continue;
    }
    std::set<std::string> kernels;
    for (const MeasuredCase& recorded : recorded_bundle(gpu).cases) {
      const KernelInfo& kernel = **find_kernel(recorded.kernel);
      if (kernel.is_library || kernel.takes_masks) continue;  // what is compiled for a request has its own registers
      kernels.insert(recorded.kernel);
      CAPTURE(gpu);
      CAPTURE(recorded.kernel);
      CAPTURE(recorded.problem.head_dim);
      CAPTURE(to_string(recorded.problem.dtype));
      const std::vector<LaunchNeeds> needs = kernel.needs(recorded.problem);
      REQUIRE(recorded.launches.size() == needs.size());
      for (std::size_t i = 0; i < needs.size(); ++i) {
        CHECK(recorded.launches[i].name == needs[i].name);
        CHECK(recorded.launches[i].registers == needs[i].registers);
        CHECK(recorded.launches[i].threads == needs[i].threads);
        CHECK(recorded.launches[i].shared_bytes == needs[i].shared_bytes);
      }
    }
    const bool ladder = std::string_view(gpu).ends_with("-ladder");
    for (const KernelInfo& kernel : kernel_table())
      if (!kernel.is_library && kernel.is_hopper == ladder && kernel.choice == nullptr && !kernel.takes_masks &&
          kernel.variant_of.empty() && (kernel.pass == Pass::backward) == backward &&
          !(std::string_view(gpu) == "h200-ladder" && kernel.id == "hopper_overlap"))  // the kernel changed after that recording
        CHECK_MESSAGE(kernels.contains(std::string(kernel.id)), kernel.id);
  }
}

TEST_CASE("profile: every kernel of ours has one, with each type and head dimension") {
  for (const KernelInfo& kernel : kernel_table()) {
    if (kernel.is_library || kernel.choice != nullptr) continue;
    CAPTURE(kernel.id);
    REQUIRE(has_profile(kernel.id));
    for (const KernelBuild& build : kernel_profile(kernel.id).builds) {
      CHECK(build.registers <= 255);
      // A kernel whose groups exchange registers has those launched between the two.
      CHECK((build.setmaxnreg_dec == 0) == (build.setmaxnreg_inc == 0));
      if (build.setmaxnreg_dec > 0) CHECK((build.setmaxnreg_dec < build.registers && build.registers < build.setmaxnreg_inc));
      CHECK(build.instructions > 0);
      CHECK(build.stall_cycles > build.instructions);
      CHECK((kernel.is_hopper ? 0 < build.setup_instructions && build.setup_instructions < build.instructions
                              : build.setup_instructions == 0));
      if (kernel.variant_of.empty() && !kernel.takes_masks)
        CHECK(build.spill_store_bytes + build.spill_load_bytes + build.local_bytes == 0);
    }
    for (const DataType type : {DataType::fp16, DataType::bf16})
      for (const std::int64_t d : {64, 128})
        for (const bool causal : {false, true}) {
          AttentionProblem problem;
          problem.dtype = type;
          problem.head_dim = d;
          problem.causal = causal;
          problem.pass = kernel.pass;
          for (const LaunchNeeds& needs : kernel.needs(problem)) CHECK(needs.registers > 0);
        }
  }
}
