// tilescope_flex_registers: compiles the flex kernels of a suite and prints the registers and the local memory of a thread. Local
// memory is spilled registers. It needs NVRTC and no GPU.
//
//   tilescope_flex_registers FILE.txt [PART [FOLDER]]     PART: only lines that contain it; FOLDER: gets the code of each kernel of
//                                                        flex, KEY.cubin, once: kernels/lab/flex_spills.py reads it
//   Exit codes: 0 all compiled, 1 some not, 2 the request was wrong.
#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "kernels/flex/flex.h"
#include "kernels/lab/read_suite.h"
#include "sim/masks/mask_choice.h"
#include "sim/programs/flex_spills.h"

using namespace tilescope;

namespace {

struct Needs {
  std::uint32_t registers = 0, local_bytes = 0;
};

template <class Value>
Value read_at(const std::string& bytes, std::size_t at) {
  Value value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Reads the needs of the one kernel of a cubin from its section .nv.info: entries of a format, an attribute, a size and a value.
Needs needs_of(const std::string& cubin) {
  constexpr std::uint8_t has_size = 4, frame_size = 0x11, register_count = 0x2f;
  Needs needs;
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](std::size_t i) { return read_at<Elf64_Shdr>(cubin, header.e_shoff + i * header.e_shentsize); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr info = section(i);
    if (std::string_view(cubin.data() + names.sh_offset + info.sh_name) != ".nv.info") continue;
    for (std::size_t at = info.sh_offset, end = at + info.sh_size; at + 4 <= end;) {
      const auto format = read_at<std::uint8_t>(cubin, at), attribute = read_at<std::uint8_t>(cubin, at + 1);
      const std::size_t size = format == has_size ? read_at<std::uint16_t>(cubin, at + 2) : 0;
      if (format == has_size && attribute == frame_size) needs.local_bytes = read_at<std::uint32_t>(cubin, at + 8);
      if (format == has_size && attribute == register_count) needs.registers = read_at<std::uint32_t>(cubin, at + 8);
      at += 4 + size;
    }
  }
  return needs;
}

std::optional<FlexBase> base_of(std::string_view kernel) {
  for (const FlexBase base : {FlexBase::flash2, FlexBase::hopper, FlexBase::backward})
    if (flex_kernel_id(base) == kernel) return base;
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fmt::print("usage: tilescope_flex_registers FILE.txt [PART [FOLDER]]\n");
    return 2;
  }
  const Result<std::vector<SuiteCase>> suite = read_suite(argv[1]);
  if (!suite) {
    fmt::print("{}\n", suite.error().sentence.text());
    return 2;
  }
  int compiled = 0, spilled = 0, failed = 0;
  for (const SuiteCase& one : *suite) {
    const std::optional<FlexBase> base = base_of(one.kernel);
    if (!base || (argc > 2 && to_text(one).find(argv[2]) == std::string::npos)) continue;
    MaskChoice choice;
    choice.presets = one.presets;
    AttentionProblem problem = one.problem;
    const Status settled = settle_masks(choice, problem);
    std::string file;
    if (argc > 3 && settled && *base == FlexBase::flash2) {
      file = fmt::format("{}/{:016x}.cubin", argv[3], flex_kernel_key(problem, flex_kernel_tile(*base, problem)));
      if (std::ifstream(file).good()) continue;
    }
    const Result<FlexText> text = settled ? flex_text(*base, problem) : settled.error();
    const Result<std::string> cubin = text ? compile_flex(text->text, 9, 0) : text.error();
    if (!cubin) {
      fmt::print("{}: {}\n", to_text(one), cubin.error().sentence.text());
      ++failed;
      continue;
    }
    if (!file.empty()) std::ofstream(file, std::ios::binary) << *cubin;
    const Needs needs = needs_of(*cubin);
    ++compiled;
    spilled += needs.local_bytes > 0;
    fmt::print("{:88} {:3} registers, {:4} bytes local {}\n", to_text(one), needs.registers, needs.local_bytes, file);
    std::fflush(stdout);
  }
  fmt::print("{} compiled, {} spill\n", compiled, spilled);
  return failed == 0 ? 0 : 1;
}
