// run_cli() in this process: exit codes, one line for every error, whole files or none.
#include "app/cli/run_cli.h"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/cli/command_line.h"
#include "app/cli/output.h"
#include "app/cli/request.h"
#include "app/model/requests/assets.h"
#include "app/platform/files.h"
#include "kernels/measure/bundle.h"
#include "sim/engine/simulation.h"
#include "tests/app/cli/refused_line.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"
#include "tests/synthetic_measurements.h"

namespace tilescope {

TEST_CASE("cli: unknown algorithm, GPU, key, flag and command: one line and exit code 2") {
  refused_line({"simulate", "--algorithm", "flash22"}, 2, "unknown algorithm 'flash22': did you mean flash2?");
  refused_line({"simulate", "--gpu", "h20"}, 2, "unknown GPU 'h20': did you mean h200?");
  refused_line({"simulate", "--set", "l2.size=0"}, 2, "unknown GPU key 'l2.size'");
  refused_line({"simulate", "--seqq", "8"}, 2, "did you mean --seq?");
  refused_line({"simulat"}, 2, "did you mean simulate?");
  refused_line({"render"}, 2, "render needs --out");
}

TEST_CASE("cli: sizes that are zero, negative, absurd or not numbers: one line and exit code 2") {
  for (const char* flag :
       {"--batch", "--heads", "--kv-heads", "--seq", "--seq-kv", "--head-dim", "--block-q", "--block-kv", "--blocks-per-sm"})
    for (const char* value : {"0", "-5", "1e3", "99999999999999999999", "64x", "", "nan", "\n"})
      refused_line({"simulate", flag, value}, 2, flag);
  refused_line({"simulate", "--batch", "2000000000", "--heads", "2000000000"}, 2, "2000000000");
  refused_line({"simulate", "--heads", "6", "--kv-heads", "4"}, 2, "6 heads cannot be shared evenly by 4 key-value heads");
  refused_line({"simulate", "--head-dim", "257"}, 2, "--head-dim is 257: it must be from 1 to 256");
}

TEST_CASE("cli: a tile that does not fit is refused with both numbers and exit code 2") {
  refused_line({"simulate", "--block-q", "256", "--block-kv", "128", "--head-dim", "128"}, 2, "tile 256x128 at head_dim 128 needs");
  refused_line({"simulate", "--block-q", "256", "--block-kv", "128", "--head-dim", "128"}, 2, "toy has 64 KiB");
  refused_line({"simulate", "--algorithm", "standard", "--gpu", "rtx4090", "--seq", "500000", "--head-dim", "64"}, 2, "GB");
  refused_line({"simulate", "--blocks-per-sm", "900"}, 2, "900");
  refused_line({"simulate", "--algorithm", "softmax_safe", "--pass", "backward"}, 2, "has no backward pass");
  refused_line({"simulate", "--algorithm", "flash2_backward", "--pass", "forward"}, 2, "--algorithm flash2");
}

TEST_CASE("cli: a broken, empty, binary, missing or unreadable file: one line and exit code 2") {
  const TemporaryFolder folder;
  refused_line({"simulate", "--gpu", folder.path("none.toml")}, 2, "there is no such file");
  refused_line({"simulate", "--gpu", folder.file("empty.toml", "")}, 2, "it is empty");
  refused_line({"simulate", "--gpu", folder.file("binary.toml", std::string("\x7f\x45LF\0\0", 6))}, 2, "it is binary");
  refused_line({"simulate", "--gpu", folder.file("broken.toml", "id = \"x\nname")}, 2, "not TOML");
  refused_line({"simulate", "--gpu", folder.file("odd.toml", "\xff\xfe\xfd")}, 2, "not TOML");
  refused_line({"simulate", "--gpu", folder.path("")}, 2, "it is a folder");
  refused_line({"render", "--out", folder.path("x.png"), "--q", folder.file("broken.csv", "1,2\n3")}, 2, "broken.csv");
  refused_line({"render", "--out", folder.path("x.png"), "--q", folder.file("binary.csv", std::string("1,\0", 3))}, 2,
               "it is binary");
  refused_line({"render", "--out", folder.path("x.png"), "--q", folder.file("empty.csv", "\n\n")}, 2, "empty.csv");
}

TEST_CASE("cli: files that nest too deep for a parser are one line and exit code 2") {
  const TemporaryFolder folder;
  std::string dots, brackets;
  for (int i = 0; i < 50000; ++i) dots += "a.", brackets += "[";
  refused_line({"simulate", "--gpu", folder.file("deep.toml", dots + "b=1")}, 2, "deep.toml:1: nested deeper than 32 levels");
  refused_line({"validate", "--bundle", folder.file("deep.json", brackets)}, 2, "nested deeper than 32 levels");
  refused_line({"sweep", "--over", "seq=16,32", "--json", folder.path("deep.json")}, 2, "exists and is not a sweep");
  refused_line({"sweep", "--over", "seq=16,32", "--csv", folder.file("deep.csv", "# tilescope.sweep/1 " + brackets)}, 2,
               "exists and is not a sweep");
}

TEST_CASE("cli: a suite's line that is cut short is named with its file, its number and what stands there") {
  const TemporaryFolder folder;
  const std::string suite = folder.file("s.txt", "# mine\nflash2 1 8 8 1024\n");
  refused_line({"measure", "--suite", suite, "--json", folder.path("x.json")}, 2,
               "s.txt, line 2: 'flash2 1 8 8 1024' ends before its seq_kv");
}

TEST_CASE("cli: lesson check of a file that cannot be read: one line and exit code 2") {
  const TemporaryFolder folder;
  refused_line({"lesson", "check", folder.path("nope.md")}, 2, "there is no such file");
  refused_line({"lesson", "check", folder.file("empty.md", "")}, 2, "it is empty");
  const RunOutcome read = run_program({"lesson", "check", folder.file("odd.md", "no lesson\n"), "--quiet"});
  CHECK(read.code == 1);  // it was read, and does not hold
  CHECK(read.err == "");
  // Too large to be read is not to be read, whatever the size.
  for (const std::size_t bytes : {std::size_t{300} << 10, std::size_t{20} << 20})
    refused_line({"lesson", "check", folder.file("big.md", std::string(bytes, '\n'))}, 2, "it is larger than 262144 bytes");
}

TEST_CASE("cli: an unwritable output is one line and leaves no partial file") {
  const TemporaryFolder folder;
  for (const char* flag : {"--json", "--trace"}) {
    refused_line({"simulate", flag, folder.path("none/x.json")}, 2, "there is no folder");
    refused_line({"simulate", flag, folder.path(".")}, 2, "it is a folder");
    refused_line({"simulate", flag, "/dev/full"}, 3, "No space left on device");
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("cli: commands that need a GPU say so, with exit code 3") {
  refused_line({"measure"}, 3, "needs an NVIDIA GPU");
  refused_line({"measure", "--algorithm", "flash2", "--pass", "backward"}, 3, "needs an NVIDIA GPU");
  refused_line({"measure", "--algorithm", "flash1_backward", "--seq", "64"}, 3, "needs an NVIDIA GPU");
  refused_line({"measure", "--algorithm", "flash2", "--pass", "both"}, 2, "runs forward, not both");
  refused_line({"measure", "--algorithm", "softmax_safe", "--pass", "backward"}, 2, "softmax_safe has no backward pass");
  refused_line({"measure", "--algorithm", "flash1_backward", "--pass", "forward"}, 2, "runs backward, not forward");
  refused_line({"calibrate", "--out", "x.toml"}, 3, "needs an NVIDIA GPU");
}

TEST_CASE("cli: what is wrong with a request is said before what the machine lacks, with exit code 2") {
  refused_line({"calibrate", "--gpu", "nope"}, 2, "nope");
  refused_line({"measure", "--suite", "default", "--json", "x.json", "--probe", "p.json"}, 2,
               "--suite and --probe each say what is measured: give one of them");
  refused_line({"measure", "--heads", "1", "--probe", "p.json", "--probe-block", "99999"}, 2, "block 99999 is not there");
  refused_line({"--ncu", "nowhere.csv"}, 2, "there is no such file");
  refused_line({"measure", "--probe", "p.json", "--samples", "s.json"}, 2, "--probe and --samples each say what is measured");
  refused_line({"measure", "--probe", "p.json", "--json", "x.json"}, 2, "--probe has a file of its own");
  refused_line({"measure", "--suite", "default", "--json", "x.json", "--seq", "64"}, 2,
               "--seq is about one run, and --suite has its own problems: leave one of them out");
}

TEST_CASE("cli: --help and --version print and do nothing else") {
  CHECK(run_program({"--version"}).out.starts_with("tilescope "));
  const RunOutcome help = run_program({"simulate", "--help"});
  CHECK(help.code == 0);
  CHECK(help.err == "");
  CHECK(help.out.find("--blocks-per-sm") != std::string::npos);
}

TEST_CASE("cli: the window opens on what simulate has without arguments") {
  static std::optional<SimulationRequest> opened;
  const auto open = [](const WindowOptions& options) {
    opened = options.request;
    return 0;
  };
  char name[] = "tilescope";
  char* arguments[] = {name};
  REQUIRE(run_cli(1, arguments, stdout, stderr, {open, &render_picture}) == 0);
  REQUIRE(opened);
  const auto line = parse_command_line(std::vector<std::string>{"simulate"});
  REQUIRE(line);
  const auto request = make_request(*line);
  REQUIRE(request);
  const auto of_window = simulate(*opened);
  const auto of_command = simulate(request->simulation);
  REQUIRE(of_window);
  REQUIRE(of_command);
  CHECK(opened->algorithm == request->simulation.algorithm);
  CHECK(opened->problem == request->simulation.problem);
  CHECK((*of_window)->program->tile() == (*of_command)->program->tile());
  CHECK((*of_window)->launches[0].blocks_per_sm == (*of_command)->launches[0].blocks_per_sm);
  CHECK((*of_window)->cycles.value == (*of_command)->cycles.value);
}

TEST_CASE("cli: a full disk behind standard output is an error, not silence, for every command") {
  const TemporaryFolder folder;
  const auto toy = load_gpu("toy");
  REQUIRE(toy);
  const std::string bundle = folder.file("bundle.json", to_json(synthetic_bundle(*toy, 1)));
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"simulate"},
                                                    {"simulate", "--json"},
                                                    {"--help"},
                                                    {"sweep", "--over", "seq=16,32"},
                                                    {"sweep", "--over", "seq=16,32", "--json"},
                                                    {"validate", "--bundle", bundle},
                                                    {"validate", "--bundle", bundle, "--json", "-"}}) {
    CAPTURE(arguments[0]);
    CAPTURE(arguments.size());
    std::FILE* full = std::fopen("/dev/full", "w");
    REQUIRE(full != nullptr);
    const RunOutcome outcome = run_program(arguments, full);
    std::fclose(full);
    CHECK(outcome.code == 3);
    CHECK(outcome.err.ends_with("tilescope: cannot write to standard output: No space left on device\n"));
  }
}

TEST_CASE("cli: output is complete or an error") {
  const TemporaryFolder folder;
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  for (const char* path : {"", "-"}) {
    const Status printed = write_or_print(path, "text", full);
    REQUIRE_FALSE(printed);
    CHECK(printed.error().kind == Error::Kind::machine_lacks);
    CHECK(printed.error().sentence == "cannot write to standard output: No space left on device");
  }
  CHECK(write_or_print(folder.path("spec.toml"), "text", full));
  CHECK(*read_text_file(folder.path("spec.toml")) == "text");
  std::fclose(full);
}

}  // namespace tilescope
