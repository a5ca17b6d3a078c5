// Fuzzes the command line: the input's lines are its arguments. Nothing is looked up or run.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command_line.h"
#include "tests/fuzz/fuzz_target.h"

namespace tilescope {

namespace {

void check_line(const CommandLine& line) {
  const auto positive = [](std::int64_t size) { return size >= 1 && size <= 0x7FFFFFFF; };
  fuzz_check(positive(line.batch) && positive(line.heads), "accepted sizes are positive and below 2^31");
  for (const auto& size : {line.kv_heads, line.seq, line.seq_kv, line.head_dim, line.block_q, line.block_kv})
    fuzz_check(!size || positive(*size), "accepted sizes are positive and below 2^31");
  fuzz_check(!line.step || *line.step >= 0, "an accepted step is not negative");
  fuzz_check(!line.size || (line.size->width >= 64 && line.size->height >= 64), "an accepted picture has pixels");
  fuzz_check(!line.scale || (*line.scale >= 0.5 && *line.scale <= 4), "an accepted scale is in its range");
  fuzz_check((line.command != CommandKind::render && line.command != CommandKind::exported) || !line.out.empty(),
             "a picture has a file");
  fuzz_check(!line.steps || (line.steps->first >= 0 && line.steps->last.value_or(line.steps->first) >= line.steps->first),
             "accepted steps are in order");
  fuzz_check((line.command == CommandKind::print) == !line.text.empty(), "only --help and --version print a text");
}

}  // namespace

}  // namespace tilescope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    // As execve() would hand it over: without zero bytes.
    arguments.emplace_back(text.substr(0, std::min(text.find('\0'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (const auto line = parse_command_line(arguments)) {
    check_line(*line);
  } else {
    fuzz_check_sentence(line.error().sentence.text());
    fuzz_check(line.error().kind == Error::Kind::wrong_request, "a bad command line is a wrong request");
  }
  return 0;
}
