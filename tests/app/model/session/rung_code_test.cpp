// The code of the rungs: the files are those of the tree, and a line is new where the rung before has none like it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/session/rung_code.h"
#include "kernels/embedded_sources.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const RungFile& file_of(const RungCode& code, std::string_view path) {
  const auto found = std::ranges::find(code.files, path, &RungFile::path);
  REQUIRE(found != code.files.end());
  return *found;
}

std::vector<std::string> new_lines(const RungFile& file) {
  std::vector<std::string> lines;
  for (std::size_t n = 0; n < file.lines.size(); ++n)
    if (file.is_new[n]) lines.emplace_back(file.lines[n]);
  return lines;
}

/// Length of a longest common subsequence, by trying all.
std::size_t common(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  if (a.empty() || b.empty()) return 0;
  const std::size_t without = std::max(common(a.subspan(1), b), common(a, b.subspan(1)));
  return a[0] == b[0] ? std::max(without, 1 + common(a.subspan(1), b.subspan(1))) : without;
}

}  // namespace

TEST_CASE("rung code: the marked lines are those that a longest common subsequence leaves out") {
  std::mt19937 random(7);
  const std::vector<std::string_view> words = {"a", "b", "}"};
  const auto text = [&] {
    std::vector<std::string_view> lines(random() % 8);
    for (std::string_view& line : lines) line = words[random() % words.size()];
    return lines;
  };
  for (int round = 0; round < 300; ++round) {
    const std::vector<std::string_view> before = text(), after = text();
    const std::vector<bool> added = added_lines(before, before, after);
    REQUIRE(added.size() == after.size());
    std::size_t kept = 0, at = 0;  // the lines that are kept stand in `before` in their order
    for (std::size_t n = 0; n < after.size(); ++n) {
      if (added[n]) continue;
      while (at < before.size() && before[at] != after[n]) ++at;
      REQUIRE(at < before.size());
      ++at, ++kept;
    }
    CHECK(kept == common(before, after));
  }
}

TEST_CASE("rung code: what is embedded is what stands in the tree") {
  for (const EmbeddedSource& source : embedded_kernel_sources()) {
    CAPTURE(source.name);
    CHECK(source.text == file_text(std::filesystem::path(TILESCOPE_SOURCE_DIR) / source.name));
  }
}

TEST_CASE("rung code: every rung has the whole of its device code, each file once, and all lines") {
  for (const LadderStep& step : ladder()) {
    CAPTURE(step.id);
    const RungCode code = rung_code(step.id);
    CHECK(code.id == step.id);
    CHECK(code.over == step.over);
    CHECK(code.files.size() >= (step.id == "flash3" ? 1 : 4));
    std::set<std::string_view> paths;
    for (const RungFile& file : code.files) {
      CAPTURE(file.path);
      CHECK(paths.insert(file.path).second);
      CHECK(file.is_new.size() == file.lines.size());
    }
    for (const RungFile& file : code.files)
      for (const std::string_view line : file.lines) {
        if (!line.starts_with("#include \"kernels/") || line.find(".cuh\"") == std::string_view::npos) continue;
        const std::size_t begin = line.find('"') + 1;
        CHECK(paths.contains(line.substr(begin, line.rfind('"') - begin)));
      }
  }
  CHECK(rung_code("standard").files.empty());
  CHECK(rung_code("").files.empty());
}

TEST_CASE("rung code: first come the lines that make the rung what it is") {
  for (const LadderStep& step : ladder()) {
    if (step.over.empty()) continue;
    CAPTURE(step.id);
    const RungCode code = rung_code(step.id);
    CHECK(code.new_count() > 0);
    CHECK(code.files.front().path.starts_with("kernels/" + std::string(step.id) + "/"));
    CHECK(std::ranges::is_sorted(code.files,
                                 [](const RungFile& a, const RungFile& b) { return a.new_count() > 0 && b.new_count() == 0; }));
  }
  CHECK(rung_code("hopper_causal").files.front().path == "kernels/hopper_causal/tickets.cuh");
  CHECK(rung_code("hopper_ping_pong").files.front().path == "kernels/hopper_ping_pong/ping_pong.cuh");
  CHECK(rung_code("hopper_persistent").files.front().path == "kernels/hopper_persistent/hopper_persistent_kernel.cuh");
}

TEST_CASE("rung code: a file that both rungs have has nothing new, and a file that the rung brings is new throughout") {
  const RungCode code = rung_code("hopper_causal");
  const RungFile& shared = file_of(code, "kernels/hopper_producer/hopper_roles.cuh");
  CHECK(shared.against == shared.path);
  CHECK(shared.new_count() == 0);
  const RungFile& brought = file_of(code, "kernels/hopper_causal/tickets.cuh");
  CHECK(brought.against.empty());
  CHECK(brought.is_whole_new());
}

TEST_CASE("rung code: the name of the rung alone makes no line new") {
  const RungFile kernel = rung_code("hopper_ping_pong").files[1];
  CHECK(kernel.path == "kernels/hopper_ping_pong/hopper_ping_pong_kernel.cuh");
  CHECK(kernel.against == "kernels/hopper_overlap/hopper_overlap_kernel.cuh");
  CHECK(new_lines(kernel) ==
        std::vector<std::string>{
            "#include \"kernels/hopper_ping_pong/ping_pong.cuh\"",
            "        OverlappedConsumer<Shape, PingPong<Shape::groups>, Recorder> consumer(arguments, memory, group, probe);"});
  // A line that names the rung before is in both.
  const RungFile persistent = rung_code("hopper_persistent").files.front();
  const std::vector<std::string> fresh = new_lines(persistent);
  CHECK(std::ranges::none_of(fresh, [](const std::string& line) { return line.starts_with("#include"); }));
  // The third group is one number in the plan of the launch.
  const RungCode three = rung_code("hopper_three_groups");
  CHECK(three.files.front().path == "kernels/hopper_three_groups/hopper_three_groups.cu");
  CHECK(three.new_count() == three.files.front().new_count());
  const std::vector<std::string> lines = new_lines(three.files.front());
  CHECK(std::ranges::find(lines, "    using Shape = RolesShape<HopperShape<T, d, 3, 128, 2, causal>>;") != lines.end());
  CHECK(std::ranges::none_of(lines, [](const std::string& line) { return line.starts_with("LaunchPlan"); }));
}

TEST_CASE("rung code: a rung over nothing marks nothing, and flash3 is its choice alone") {
  CHECK(rung_code("flash2").new_count() == 0);
  const RungCode best = rung_code("flash3");
  REQUIRE(best.files.size() == 1);
  CHECK(best.files.front().path == "sim/programs/flash3_choice.h");
  CHECK(best.new_count() == 0);
}

TEST_CASE("rung code: the text has every file below its path") {
  const RungCode code = rung_code("hopper_ping_pong");
  const std::string text = "\n" + code.text();
  CHECK(text.starts_with("\n// kernels/hopper_ping_pong/ping_pong.cuh\n// Turns of the consumer groups"));
  for (const RungFile& file : code.files) {
    CAPTURE(file.path);
    CHECK(text.find("\n// " + std::string(file.path) + "\n" + std::string(file.lines.front()) + "\n") != std::string::npos);
  }
}

}  // namespace tilescope
