// Standard output, and files that appear together.
#include "app/cli/output.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "app/cli/command_words.h"
#include "app/platform/asset_files.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

struct NamedFile {
  std::string_view flag;
  std::string path;
};

std::vector<NamedFile> given(std::vector<NamedFile> files) {
  std::erase_if(files, [](const NamedFile& file) { return file.path.empty(); });
  return files;
}

std::vector<NamedFile> outputs_of(const CommandLine& line) {
  std::string json = line.json.value_or("");
  if (line.json && json.empty()) json = "-";
  return given({{"--out", line.command == CommandKind::run ? "" : line.out},  // a folder, which run looks at itself
                {"--json", json},
                {"--trace", line.trace},
                {"--csv", line.csv},
                {"--png", line.png},
                {"--markdown", line.markdown},
                {"--probe", line.probe},
                {"--samples", line.samples}});
}

/// The spec that --gpu names. `calibrate` may write it anew: it is what the command is for.
std::string gpu_file(const CommandLine& line) {
  if (line.gpu.ends_with(".toml") || line.gpu.find('/') != std::string::npos) return line.gpu;
  if (line.command == CommandKind::calibrate) return {};
  const auto found = find_asset(fmt::format("gpus/{}.toml", line.gpu));
  return found ? found->native() : std::string();
}

std::vector<NamedFile> inputs_of(const CommandLine& line) {
  std::vector<NamedFile> files = given({{"--gpu", gpu_file(line)},
                                        {"--q", line.q_file},
                                        {"--k", line.k_file},
                                        {"--v", line.v_file},
                                        {"--do", line.do_file},
                                        {"--bundle", line.bundle},
                                        {"--ncu", line.ncu},
                                        {"compare", line.compared[0]},
                                        {"compare", line.compared[1]},
                                        {"--suite", line.suite == "default" || pass_from(line.suite) ? "" : line.suite}});
  for (const std::string& table : line.tables)
    if (const std::size_t at = table.find('='); at != std::string::npos && at + 1 < table.size())
      files.push_back({"--table", table.substr(at + 1)});
  return files;
}

std::string shown(const std::string& path) {
  return printable(path, 200);
}

/// A picture is a PNG: another ending promises what is not written.
Status check_picture_name(const CommandLine& line, const NamedFile& output) {
  const bool picture = output.flag == "--png" || (output.flag == "--out" && line.command == CommandKind::render);
  if (!picture) return Done{};
  std::string ending = std::filesystem::path(output.path).extension().native();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending.empty() || ending == ".png") return Done{};
  const Sentence other = line.command == CommandKind::render ? phrase(", or use tilescope export for other formats") : Sentence();
  return refuse("{} {} would be a PNG: end its name in .png{}", output.flag, shown(output.path), other);
}

Status check_apart(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const bool printed = is_standard_output(output->path);
    for (const NamedFile& input : inputs)
      if (!printed && same_file(output->path, input.path))
        return refuse("{} {} would overwrite the file that {} reads: name another file", output->flag, shown(output->path),
                      input.flag);
    for (auto other = outputs.begin(); other != output; ++other) {
      if (printed && is_standard_output(other->path))
        return refuse("{} and {} both go to standard output: give one of them a file", other->flag, output->flag);
      if (!printed && !is_standard_output(other->path) && same_file(output->path, other->path))
        return refuse("{} and {} both write {}: give each a file of its own", other->flag, output->flag, shown(output->path));
    }
  }
  return Done{};
}

}  // namespace

void say_unread(const Measurements& known, std::FILE* err) {
  if (!known.problem.empty())
    fmt::print(err, "tilescope: {}; what it recorded is left out\n", printable(command_words(known.problem), 1000));
}

Status print(std::FILE* out, std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0) return Done{};
  return Error{phrase("cannot write to standard output: {}", std::generic_category().message(errno)), Error::Kind::machine_lacks};
}

Status write_or_print(const std::string& path, std::string_view text, std::FILE* out) {
  return path.empty() || is_standard_output(path) ? print(out, text) : write_file(path, text);
}

Status Outputs::add(const std::string& path, std::string_view text) {
  if (!path.empty() && !is_standard_output(path)) return files_.add(path, text);
  printed_ += text;
  return Done{};
}

Status Outputs::finish() {
  // What can still fail comes first: devices, then standard output, then the files that are already on the disk.
  if (Status written = files_.write_streams(); !written) return written;
  if (!printed_.empty())
    if (Status printed = print(out_, printed_); !printed) return printed;
  return files_.commit();
}

Status check_outputs_spare(const CommandLine& line, const std::string& input) {
  for (const NamedFile& output : outputs_of(line))
    if (!is_standard_output(output.path) && same_file(output.path, input))
      return refuse("{} {} would overwrite the file that {} reads: name another file", output.flag, shown(output.path),
                    to_string(line.command));
  return Done{};
}

Status check_outputs(const CommandLine& line) {
  const std::vector<NamedFile> outputs = outputs_of(line);
  if (Status apart = check_apart(outputs, inputs_of(line)); !apart) return apart;
  for (const NamedFile& output : outputs)
    if (Status picture = check_picture_name(line, output); !picture) return picture;
  for (const NamedFile& output : outputs)
    if (!is_standard_output(output.path))
      if (Status writable = check_writable(output.path); !writable) return writable;
  return Done{};
}

bool is_standard_output(std::string_view path) {
  return path == "-";
}

bool standard_output_taken(const CommandLine& line) {
  const std::vector<NamedFile> outputs = outputs_of(line);
  return std::any_of(outputs.begin(), outputs.end(), [](const NamedFile& output) { return is_standard_output(output.path); });
}

bool json_to_output(const CommandLine& line) {
  return line.json && (line.json->empty() || is_standard_output(*line.json));
}

}  // namespace tilescope
