// The built program, run as a user runs it: exit codes and what arrives on the two outputs.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/core/npy.h"
#include "tests/app/temporary_folder.h"
#include "tests/skip.h"

namespace tilescope {

namespace {

struct Ended {
  int code = -1;
  std::string text;
};

Ended shell(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ended outcome;
  std::array<char, 4096> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), pipe)) outcome.text.append(block.data(), count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

const std::string program = "'" TILESCOPE_EXECUTABLE "'";

/// What reaches standard error; standard output is thrown away.
Ended errors_of(const std::string& arguments) {
  return shell(program + " " + arguments + " 2>&1 >/dev/null");
}

void one_line(const Ended& outcome, int code, const std::string& fragment) {
  CAPTURE(outcome.text);
  CHECK(outcome.code == code);
  CHECK(outcome.text.starts_with("tilescope: "));
  CHECK(outcome.text.find(fragment) != std::string::npos);
  CHECK(outcome.text.find('\n') == outcome.text.size() - 1);
}

}  // namespace

TEST_CASE("executable: a simulation exits with 0 and a silent standard error") {
  const Ended quiet = errors_of("simulate");
  CHECK(quiet.code == 0);
  CHECK(quiet.text == "");
  const Ended json = shell(program + " simulate --json");
  CHECK(json.code == 0);
  CHECK(json.text.starts_with("{"));
  CHECK(json.text.ends_with("}\n"));
}

TEST_CASE("executable: a wrong request exits with 2 and one line") {
  one_line(errors_of("simulate --seq 0"), 2, "--seq is 0");
  one_line(errors_of("simulate --seq \"$(printf '6\\n4')\""), 2, "--seq is '");
  one_line(errors_of("simulate --algorithm \"$(head -c 100000 /dev/zero | tr '\\0' x)\""), 2, "unknown algorithm 'xxx");
  one_line(errors_of("--frobnicate"), 2, "unknown flag --frobnicate");
}

TEST_CASE("executable: a full disk and missing assets exit with 3 and one line") {
  one_line(shell(program + " simulate 2>&1 >/dev/full"), 3, "No space left on device");
  one_line(shell("TILESCOPE_ASSETS=/nonexistent " + program + " simulate 2>&1 >/dev/null"), 3, "TILESCOPE_ASSETS");
  one_line(errors_of("measure"), 3, "NVIDIA GPU");
}

namespace {

/// Commands that write a file, and what goes to standard output beside it. `{}` stands for a folder.
constexpr const char* printing_commands[] = {"simulate --json {}/x",
                                             "simulate --trace {}/x",
                                             "search --quiet --head-dim 64 --json {}/x",
                                             "validate --quiet --bundle {}/in/few.json --csv {}/x",
                                             "validate --quiet --bundle {}/in/few.json --markdown {}/x",
                                             "validate --quiet --bundle {}/in/few.json --json {}/x",
                                             "run --quiet --device cpu --q {}/in/q.npy --k {}/in/q.npy --v {}/in/q.npy --out {}/x"};

std::string with_folder(std::string command, const std::string& folder) {
  for (std::size_t at = command.find("{}"); at != std::string::npos; at = command.find("{}")) command.replace(at, 2, folder);
  return command;
}

/// Each command fails in words, and leaves neither its file nor a part of one.
void check_printing_commands(const std::string& redirection) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("in"));
  std::filesystem::copy_file(std::string(TILESCOPE_SOURCE_DIR) + "/tests/fuzz/corpus/bundle/three_cases.json",
                             folder.path("in/few.json"));
  folder.file("in/q.npy", to_npy(DataType::fp16, std::vector<std::int64_t>{1, 1, 16, 16}, std::vector<float>(256, 0.5F)));
  for (const char* command : printing_commands) {
    CAPTURE(command);
    one_line(shell(fmt::format("{} {} 2>&1 {}", program, with_folder(command, folder.path("")), redirection)), 3,
             "cannot write to standard output");
    CHECK(folder.entries() == 1);
  }
}

}  // namespace

TEST_CASE("executable: a closed standard output is an error, and no file takes its place") {
  check_printing_commands(">&-");
  // Standard error and input may be closed too: nothing is printed into a file then either.
  const TemporaryFolder folder;
  CHECK(shell(program + " simulate --json " + folder.path("x") + " <&- >&- 2>&-").code == 3);
  CHECK(folder.entries() == 0);
  CHECK(shell(program + " simulate --json " + folder.path("x") + " <&- >/dev/null 2>&-").code == 0);
  std::ifstream json(folder.path("x"));
  CHECK(std::string(std::istreambuf_iterator<char>(json), {}).starts_with("{"));
}

TEST_CASE("executable: a working folder that has been deleted is one line") {
  const TemporaryFolder folder;
  const std::string gone = folder.path("gone"), go = "mkdir " + gone + " && cd " + gone + " && rmdir " + gone + " && ";
  for (const char* arguments : {"simulate --json x.json", "simulate --trace x.json", "simulate --json x.json --trace y.json",
                                "sweep --quiet --over seq=16,32 --csv x.csv"})
    one_line(shell(go + program + " " + arguments + " 2>&1 >/dev/null"), 2, "the working folder has been deleted");
  one_line(shell(go + program + " simulate --gpu x.toml 2>&1 >/dev/null"), 2, "x.toml");
}

TEST_CASE("executable: a reader that has closed the pipe is an error, and no part of a file stays") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  ::close(ends[0]);
  REQUIRE(::dup2(ends[1], 9) == 9);
  ::close(ends[1]);
  const auto before = std::signal(SIGPIPE, SIG_DFL);  // as a shell has it
  check_printing_commands(">&9");
  std::signal(SIGPIPE, before);
  ::close(9);
}

// Sanitizers reserve terabytes of addresses, so that no limit on addresses can be set.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("executable: a sweep without memory for it ends with 3 and one last line") {
  for (const char* kilobytes : {"60000", "90000"}) {
    CAPTURE(kilobytes);
    const Ended outcome = shell(std::string("ulimit -v ") + kilobytes + "; " + program +
                                " sweep --over seq=16384:65536:x2 --gpu h200 2>&1 >/dev/null | tail -n 1");
    CAPTURE(outcome.text);
    CHECK(outcome.text == "tilescope: this needs more memory than the machine gives: use a smaller problem\n");
  }
}

TEST_CASE("executable: a picture without memory for a driver names memory, and no packages") {
  const TemporaryFolder folder;
  for (const char* kilobytes : {"60000", "100000", "150000", "200000", "300000", "500000", "650000"}) {
    CAPTURE(kilobytes);
    const std::string limit = std::string("ulimit -v ") + kilobytes + "; ";
    one_line(shell(limit + program + " render --out " + folder.path("a.png") + " 2>&1 >/dev/null"), 3,
             "more memory than the machine");
  }
  CHECK(folder.entries() == 0);
}
#endif

TEST_CASE("executable: without a display the window is refused with 3 and one line") {
  one_line(shell("env -u DISPLAY -u WAYLAND_DISPLAY " + program + " 2>&1 >/dev/null"), 3, "display");
}

TEST_CASE("executable: an old OpenGL is refused with the versions found and needed") {
  // Mesa's drivers give no more than they are told to; with another driver there is nothing to see.
  const TemporaryFolder folder;
  const Ended drawn =
      shell("MESA_GL_VERSION_OVERRIDE=2.1 " + program + " render --out " + folder.path("a.png") + " 2>&1 >/dev/null");
  if (drawn.code == 0) {
    skip_test("this driver does not take MESA_GL_VERSION_OVERRIDE");
    return;
  }
  one_line(drawn, 3, "needs OpenGL 3.3");
  if (drawn.text.find("EGL gives none") != std::string::npos)  // no driver at all: packages are the way out
    return skip_test("no OpenGL driver here");
  CHECK(drawn.text.find("OpenGL 2.1") != std::string::npos);
  CHECK(drawn.text.find("update the driver") != std::string::npos);
}

TEST_CASE("executable: a limit on the size of files is one line, the old file stays, nothing is left beside it") {
  const TemporaryFolder folder;
  const std::string trace = folder.file("t.json", "before");
  one_line(shell("(ulimit -f 1; " + program + " simulate --trace " + trace + " 2>&1 >/dev/null)"), 3, "File too large");
  CHECK(std::filesystem::file_size(trace) == 6);
  CHECK(folder.entries() == 1);
}

#ifndef __SANITIZE_ADDRESS__  // the sanitizers need more address space, and their reports must reach standard error

TEST_CASE("executable: what graphics and font libraries print does not reach standard error") {
  const TemporaryFolder folder;
  const std::string render = program + " render --out " + folder.path("a.png") + " 2>&1 >/dev/null";
  one_line(
      shell("LIBGL_DRIVERS_PATH=/nonexistent GBM_BACKENDS_PATH=/nonexistent __EGL_VENDOR_LIBRARY_FILENAMES=/nonexistent " + render),
      3, "needs OpenGL 3.3");
  const Ended fonts = shell("FONTCONFIG_FILE=/nonexistent " + render);
  CAPTURE(fonts.text);
  CHECK(fonts.text.find("Fontconfig") == std::string::npos);
  if (fonts.code == 0 && !fonts.text.empty()) one_line(fonts, 0, "font");  // which fonts are missing
}

TEST_CASE("executable: a picture that cannot be written is one line, whatever fonts are missing") {
  const Ended drawn = shell("FONTCONFIG_FILE=/nonexistent " + program + " render --out /dev/full 2>&1 >/dev/null");
  CHECK(drawn.code == 3);
  one_line(drawn, 3, drawn.text.find("OpenGL") != std::string::npos ? "OpenGL" : "No space left on device");
}

TEST_CASE("executable: a sweep that is drawn on the default problem needs less than a gigabyte") {
  const TemporaryFolder folder;
  const Ended drawn =
      shell("(ulimit -v 1000000; " + program + " render --view sweep --out " + folder.path("a.png") + " 2>&1 >/dev/null)");
  CAPTURE(drawn.text);
  CHECK((drawn.code == 0 || (drawn.code == 3 && drawn.text.find("OpenGL") != std::string::npos)));
}

#endif

TEST_CASE("executable: an unreadable GPU file exits with 2 and one line") {
  const TemporaryFolder folder;
  one_line(errors_of("simulate --gpu " + folder.file("mine.toml", "not a spec")), 2, "mine.toml:1: not TOML");
  one_line(errors_of("simulate --gpu " + folder.path("gone.toml")), 2, "there is no such file");
}

TEST_CASE("executable: a copy next to its assets finds them anywhere") {
  const TemporaryFolder folder;
  std::filesystem::copy_file(TILESCOPE_EXECUTABLE, folder.path("tilescope"));
  std::filesystem::create_directories(folder.path("assets/gpus"));
  std::filesystem::copy_file(std::string(TILESCOPE_SOURCE_DIR) + "/assets/gpus/toy.toml", folder.path("assets/gpus/toy.toml"));
  const Ended help = shell("cd / && env -u TILESCOPE_ASSETS " + folder.path("tilescope") + " --help");
  CHECK(help.code == 0);
  CHECK(help.text.find("GPUs (--gpu): toy\n") != std::string::npos);
  const Ended run = shell("cd / && env -u TILESCOPE_ASSETS " + folder.path("tilescope") + " simulate --json");
  CHECK(run.code == 0);
}

TEST_CASE("executable: a killed export leaves the old file whole and nothing beside it") {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.gif", "before");
  const Ended killed = shell("timeout -s KILL 1 " + program + " export --steps 0:60 --out '" + file + "' 2>&1");
  if (killed.code == 3) return skip_test(killed.text);
  std::string left;
  std::getline(std::ifstream(file), left);
  CHECK(left == "before");
  CHECK(folder.entries() == 1);
}

}  // namespace tilescope
