// output_of(): compiles CUDA text for the CPU, runs it and reads what it prints, for tests of generated expressions.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/masks/captured_table.h"

namespace tilescope {

// What CUDA has and C++ has not. Functions are rounded once from float64, as in apply_function().
inline constexpr std::string_view before_prelude = R"(#include <math.h>
#include <stdio.h>
#include <string.h>
#define __device__
#define __forceinline__ inline
static float __int_as_float(int bits) { float value; memcpy(&value, &bits, 4); return value; }
static float rounded_exp(float x) { return (float)exp((double)x); }
static float rounded_exp2(float x) { return (float)exp2((double)x); }
static float rounded_log(float x) { return (float)log((double)x); }
static float rounded_tanh(float x) { return (float)tanh((double)x); }
static float rounded_sin(float x) { return (float)sin((double)x); }
static float rounded_cos(float x) { return (float)cos((double)x); }
#define expf rounded_exp
#define exp2f rounded_exp2
#define logf rounded_log
#define tanhf rounded_tanh
#define sinf rounded_sin
#define cosf rounded_cos
)";

inline std::string array_of(const CapturedTable& table, std::string_view name) {
  std::string text = fmt::format("static const {} {}[] = {{", table.type == ValueType::real ? "float" : "int", name);
  for (std::int64_t i = 0; i < table.elements(); ++i)
    text += table.type == ValueType::real ? fmt::format("{:a}f,", table.reals[static_cast<std::size_t>(i)])
                                          : fmt::format("{},", table.integers[static_cast<std::size_t>(i)]);
  return text + "};\n";
}

/// Compiles and runs a program, and returns what it prints; empty where it does not compile.
inline std::string output_of(const std::string& source) {
  std::string folder = (std::filesystem::temp_directory_path() / "tilescope-test-XXXXXX").native();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string program = folder + "/values";
  std::ofstream(program + ".cpp") << source;
  const std::string compile = fmt::format("'{}' -w -O0 -std=c++20 -ffp-contract=off -I '" TILESCOPE_SOURCE_DIR "' '{}.cpp' -o '{}'",
                                          TILESCOPE_COMPILER, program, program);
  const std::string run = fmt::format("'{}' > '{}.txt'", program, program);
  std::string printed;
  if (std::system(compile.c_str()) == 0 && std::system(run.c_str()) == 0) {
    std::ifstream file(program + ".txt");
    printed.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::filesystem::remove_all(folder);
  return printed;
}

}  // namespace tilescope
