// GPU specs as they come with the program.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/core/gpu_spec.h"

namespace tilescope {

inline GpuSpec shipped_spec(const std::string& id) {
  std::ifstream file(fmt::format("{}/assets/gpus/{}.toml", TILESCOPE_SOURCE_DIR, id));
  const Result<GpuSpec> gpu = parse_gpu_spec(std::string(std::istreambuf_iterator<char>(file), {}), id);
  REQUIRE(gpu);
  return *gpu;
}

}  // namespace tilescope
