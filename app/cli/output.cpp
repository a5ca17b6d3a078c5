// Prints to standard output and detects failures.
#include "app/cli/output.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "app/platform/files.h"

namespace tilescope {

namespace {

bool is_output(std::string_view path) {
  return path.empty() || path == "-";
}

}  // namespace

Status print(std::FILE* out, std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0) return Done{};
  return Error{fmt::format("cannot write to standard output: {}", std::generic_category().message(errno)),
               Error::Kind::machine_lacks};
}

Status write_or_print(const std::string& path, std::string_view text, std::FILE* out) {
  return is_output(path) ? print(out, text) : write_file(path, text);
}

Status check_outputs(const CommandLine& line) {
  for (const std::string& path : {line.out, line.json.value_or(""), line.trace, line.csv, line.png, line.markdown}) {
    if (is_output(path)) continue;
    if (const Status writable = check_writable(path); !writable) return writable;
  }
  return Done{};
}

bool json_to_output(const CommandLine& line) {
  return line.json && is_output(*line.json);
}

}  // namespace tilescope
