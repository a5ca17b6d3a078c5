// Gathers the files of a rung by their includes, pairs them with those of the rung before, and compares them line by line.
#include "app/model/session/rung_code.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/embedded_sources.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

const EmbeddedSource* find_source(std::string_view path) {
  for (const EmbeddedSource& source : embedded_kernel_sources())
    if (source.name == path) return &source;
  return nullptr;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// "kernels/hopper_causal/"
std::string folder_of(std::string_view id) {
  return fmt::format("kernels/{}/", id);
}

/// The file that a rung begins with: what plans its launch, or the choice where it has no kernel of its own.
const EmbeddedSource* first_source(std::string_view id) {
  if (const EmbeddedSource* plan = find_source(fmt::format("{0}{1}.cu", folder_of(id), id))) return plan;
  return find_source(fmt::format("sim/programs/{}_choice.h", id));
}

/// The file that a line includes; null for one that is not embedded, and for another line.
const EmbeddedSource* included_by(std::string_view line) {
  constexpr std::string_view begin = "#include \"";
  if (!line.starts_with(begin)) return nullptr;
  line.remove_prefix(begin.size());
  return find_source(line.substr(0, line.find('"')));
}

/// A rung's sources, each once, in the order in which they are included.
std::vector<const EmbeddedSource*> sources_of(std::string_view id) {
  std::vector<const EmbeddedSource*> sources;
  if (const EmbeddedSource* first = first_source(id)) sources.push_back(first);
  for (std::size_t next = 0; next < sources.size(); ++next)
    for (const std::string_view line : lines_of(sources[next]->text))
      if (const EmbeddedSource* included = included_by(line);
          included != nullptr && std::ranges::find(sources, included) == sources.end())
        sources.push_back(included);
  return sources;
}

std::string with_name(std::string_view text, std::string_view name, std::string_view other) {
  std::string out(text);
  for (std::size_t at = out.find(name); at != std::string::npos; at = out.find(name, at + other.size()))
    out.replace(at, name.size(), other);
  return out;
}

/// A rung's file, compared with the one of the same path, or of the same name but for the rung's.
RungFile compared(const EmbeddedSource& source, std::string_view id, std::string_view over,
                  const std::vector<const EmbeddedSource*>& before) {
  RungFile file{source.name, {}, lines_of(source.text), {}};
  file.is_new.assign(file.lines.size(), !over.empty());
  for (const EmbeddedSource* other : before) {
    if (other != &source && with_name(other->name, over, id) != source.name) continue;
    file.against = other->name;
    const std::string renamed = with_name(other->text, over, id);
    file.is_new = added_lines(lines_of(other->text), lines_of(renamed), file.lines);
  }
  return file;
}

/// What a reader looks at first has the least: what is new before what is not, the rung's own before what it shares, a file that it
/// brings before its kernel, the kernel before the plan of its launch.
auto reading_order(const RungFile& file, std::string_view id) {
  const bool is_own = file.path.starts_with(folder_of(id));
  const int kind = is_own && !file.is_new.empty() && file.is_whole_new() ? 0
                   : file.path.ends_with("_kernel.cuh")                  ? 1
                   : file.path.ends_with(".cu")                          ? 3
                                                                         : 2;
  return std::array{file.new_count() > 0 ? 0 : 1, is_own ? 0 : 1, kind};
}

}  // namespace

std::size_t RungFile::new_count() const {
  return static_cast<std::size_t>(std::ranges::count(is_new, true));
}

std::size_t RungCode::new_count() const {
  std::size_t count = 0;
  for (const RungFile& file : files) count += file.new_count();
  return count;
}

std::string RungCode::text() const {
  std::string text;
  for (const RungFile& file : files) {
    text += fmt::format("{}// {}\n", text.empty() ? "" : "\n", file.path);
    for (const std::string_view line : file.lines) text.append(line) += '\n';
  }
  return text;
}

bool is_rung(std::string_view id) {
  return std::ranges::find(ladder(), id, &LadderStep::id) != ladder().end();
}

RungCode rung_code(std::string_view id) {
  const auto step = std::ranges::find(ladder(), id, &LadderStep::id);
  if (step == ladder().end()) return {};
  RungCode code{step->id, step->over, {}};
  const std::vector<const EmbeddedSource*> before =
      step->over.empty() ? std::vector<const EmbeddedSource*>() : sources_of(step->over);
  for (const EmbeddedSource* source : sources_of(id)) code.files.push_back(compared(*source, id, step->over, before));
  std::ranges::stable_sort(code.files, {}, [&](const RungFile& file) { return reading_order(file, id); });
  return code;
}

std::vector<bool> added_lines(std::span<const std::string_view> before, std::span<const std::string_view> renamed,
                              std::span<const std::string_view> after) {
  const auto same = [&](std::size_t i, std::size_t j) { return before[i] == after[j] || renamed[i] == after[j]; };
  // longest[i][j]: of before from i on and after from j on
  std::vector<std::vector<int>> longest(before.size() + 1, std::vector<int>(after.size() + 1, 0));
  for (std::size_t i = before.size(); i-- > 0;)
    for (std::size_t j = after.size(); j-- > 0;)
      longest[i][j] = same(i, j) ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
  std::vector<bool> added(after.size(), true);
  for (std::size_t i = 0, j = 0; i < before.size() && j < after.size();) {
    if (same(i, j)) {
      added[j] = false;
      ++i, ++j;
    } else if (longest[i + 1][j] >= longest[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return added;
}

}  // namespace tilescope
