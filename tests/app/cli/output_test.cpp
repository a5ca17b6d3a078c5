// Where commands write to: no input and no other output is overwritten, targets are checked first, all appear together.
#include "app/cli/output.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "app/platform/asset_files.h"
#include "kernels/measure/bundle.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"
#include "tests/synthetic_measurements.h"

namespace tilescope {

namespace {

void refused(const std::vector<std::string>& arguments, int code, const std::string& fragment) {
  const RunOutcome outcome = run_program(arguments);
  CAPTURE(outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.out == "");
  CHECK(outcome.err.find(fragment) != std::string::npos);
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("."))) names.insert(entry.path().filename());
  return names;
}

std::string toy_text() {
  return *read_text_file(*find_asset("gpus/toy.toml"));
}

}  // namespace

TEST_CASE("output: a file that the command reads is not overwritten, under whatever name") {
  const TemporaryFolder folder;
  const std::string spec = folder.file("m.toml", toy_text()), matrix = folder.file("q.csv", "1,2\n3,4\n");
  std::filesystem::create_symlink("m.toml", folder.path("link"));
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  const std::string bundle = folder.file("b.json", to_json(synthetic_bundle(*toy, 1)));
  refused({"simulate", "--gpu", spec, "--json", spec}, 2, "would overwrite the file that --gpu reads");
  refused({"simulate", "--gpu", spec, "--trace", folder.path("./m.toml")}, 2, "would overwrite the file that --gpu reads");
  refused({"simulate", "--gpu", spec, "--json", folder.path("link")}, 2, "would overwrite the file that --gpu reads");
  refused({"simulate", "--json", *find_asset("gpus/toy.toml")}, 2, "would overwrite the file that --gpu reads");
  refused({"render", "--q", matrix, "--out", matrix}, 2, "would overwrite the file that --q reads");
  refused({"sweep", "--gpu", spec, "--over", "seq=16,32", "--csv", spec}, 2, "would overwrite the file that --gpu reads");
  refused({"validate", "--bundle", bundle, "--json", bundle}, 2, "would overwrite the file that --bundle reads");
  refused({"validate", "--bundle", bundle, "--markdown", folder.path("./b.json")}, 2, "would overwrite");
  CHECK(*read_text_file(spec) == toy_text());
  CHECK(folder.entries() == 4);
}

TEST_CASE("output: a picture whose name promises another format is refused before the work") {
  const TemporaryFolder folder;
  refused({"render", "--out", folder.path("a.jpg")}, 2, "would be a PNG: end its name in .png");
  refused({"sweep", "--over", "seq=16,32", "--png", folder.path("a.svg")}, 2, "would be a PNG: end its name in .png");
  CHECK(folder.entries() == 0);
}

TEST_CASE("output: the bundle that validate finds by itself is not overwritten") {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::copy(fs::path(TILESCOPE_SOURCE_DIR) / "assets/gpus", folder.path("gpus"));
  fs::create_directory(folder.path("measured"));
  const std::string bundle = folder.path("measured/h200.json");
  fs::copy_file(fs::path(TILESCOPE_SOURCE_DIR) / "tests/few_cases.json", bundle);
  const auto size = fs::file_size(bundle);
  const AssetsFolder assets(folder.path(""));
  refused({"validate", "--json", folder.path("measured/./h200.json")}, 2, "would overwrite the file that validate reads");
  CHECK(fs::file_size(bundle) == size);
}

TEST_CASE("output: two outputs do not go to one place") {
  const TemporaryFolder folder;
  const std::string file = folder.path("x.json");
  refused({"simulate", "--json", file, "--trace", folder.path("./x.json")}, 2, "--json and --trace both write");
  refused({"sweep", "--over", "seq=16,32", "--json", file, "--csv", file}, 2, "--json and --csv both write");
  refused({"simulate", "--json", "--trace", "-"}, 2, "--json and --trace both go to standard output");
  CHECK(folder.entries() == 0);
  CHECK(run_program({"simulate", "--json", "/dev/null", "--trace", "/dev/null"}).code == 0);
}

TEST_CASE("output: every target is checked before the work, and none appears where one cannot") {
  const TemporaryFolder folder;
  const std::string trace = folder.path("t.json");
  // Simulated first, this would take minutes.
  const std::vector<std::string> work = {"simulate", "--gpu", "h200", "--heads", "32", "--seq", "65536", "--head-dim", "128"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), work.begin(), work.end());
    return more;
  };
  refused(with({"--trace", trace, "--json", folder.path(".")}), 2, "it is a folder");
  refused(with({"--trace", trace, "--json", folder.path("none/x")}), 2, "there is no folder");
  CHECK(folder.entries() == 0);
  // What cannot be known beforehand spoils nothing either.
  refused({"simulate", "--trace", folder.file("old", "before"), "--json", "/dev/full"}, 3, "No space left on device");
  CHECK(*read_text_file(folder.path("old")) == "before");
  CHECK(names_in(folder) == std::set<std::string>{"old"});
}

TEST_CASE("output: a full disk behind standard output leaves no file") {
  const TemporaryFolder folder;
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  CHECK(run_program({"simulate", "--json", folder.path("a.json")}, full).code == 3);
  std::fclose(full);
  CHECK(folder.entries() == 0);
}

TEST_CASE("output: '-' is standard output for every output, which then carries nothing else") {
  const TemporaryFolder folder;
  const RunOutcome trace = run_program({"simulate", "--trace", "-"});
  CHECK(trace.code == 0);
  CHECK(trace.out.starts_with("{\"displayTimeUnit\""));
  CHECK(trace.out.find("bound by") == std::string::npos);
  const RunOutcome both = run_program({"simulate", "--trace", "-", "--json", folder.path("a.json")});
  CHECK(both.out == trace.out);
  CHECK(folder.entries() == 1);
  const RunOutcome csv = run_program({"sweep", "--over", "seq=16,32", "--csv", "-"});
  CHECK(csv.code == 0);
  CHECK(csv.out.starts_with("# tilescope.sweep/1"));
  CHECK(csv.err == "");
  CHECK_FALSE(std::filesystem::exists("-"));
}

TEST_CASE("output: a sweep of which nothing can be simulated is one line and no file") {
  const TemporaryFolder folder;
  const std::string json = folder.path("z.json"), csv = folder.path("z.csv");
  refused({"sweep", "--over", "seq=99999998,99999999", "--json", json, "--csv", csv}, 2, "no point can be simulated");
  CHECK(folder.entries() == 0);
}

TEST_CASE("output: a sweep says nothing on standard error where it is soon over, nor with --quiet") {
  CHECK(run_program({"sweep", "--over", "seq=16,32"}).err == "");
  CHECK(run_program({"sweep", "--over", "seq=16,32", "--quiet"}).err == "");
}

}  // namespace tilescope
