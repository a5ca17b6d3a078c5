// What each flag means, and what is said about command lines that mean nothing.
#include "app/cli/command_line.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/cli/help.h"
#include "app/cli/request.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

namespace {

using Arguments = std::vector<std::string>;

CommandLine good(const Arguments& arguments) {
  const auto line = parse_command_line(arguments);
  REQUIRE_MESSAGE(line, (line ? "" : line.error().sentence));
  return *line;
}

std::string bad(const Arguments& arguments) {
  const auto line = parse_command_line(arguments);
  REQUIRE_FALSE(line);
  CHECK(line.error().kind == Error::Kind::wrong_request);
  return line.error().sentence;
}

}  // namespace

TEST_CASE("command line: lesson takes an action and an id") {
  CommandLine line = good({"lesson", "list"});
  CHECK(line.command == CommandKind::lesson);
  CHECK(line.lesson_action == "list");
  line = good({"lesson", "check", "3", "--quiet"});
  CHECK(line.lesson == "3");
  CHECK(line.quiet);
  CHECK(good({"lesson", "check"}).lesson.empty());
  line = good({"lesson", "open", "01-why-memory", "--language", "ko", "--theme", "light"});
  CHECK(line.lesson == "01-why-memory");
  CHECK(line.language == "ko");
  CHECK(good({"render", "--lesson", "1:2:answered", "--out", "x.png"}).lesson == "1:2:answered");
  CHECK(bad({"lesson"}).find("needs an action") != std::string::npos);
  CHECK(bad({"lesson", "opne", "1"}).find("did you mean open?") != std::string::npos);
  CHECK(bad({"lesson", "open"}).find("needs an ID") != std::string::npos);
  CHECK(bad({"lesson", "list", "1"}).find("unexpected '1'") != std::string::npos);
  CHECK(bad({"lesson", "check", "1", "2"}).find("unexpected '2'") != std::string::npos);
  CHECK(bad({"simulate", "--lesson", "1"}).find("--lesson is not a flag of simulate") != std::string::npos);
}

TEST_CASE("command line: a lesson's page refuses flags that say what it sets") {
  const std::string png = "x.png", html = "x.html";
  for (const Arguments& flag : {Arguments{"--seq", "128"},
                                {"--gpu", "h200"},
                                {"--algorithm", "flash1"},
                                {"--causal"},
                                {"--mask", "q >= kv"},
                                {"--step", "3"},
                                {"--race"},
                                {"--view", "fit"},
                                {"--lanes", "sms"},
                                {"--seed", "2"},
                                {"--set", "sm.count=2"},
                                {"--heads", "2"}}) {
    CAPTURE(flag.front());
    Arguments render = {"render", "--lesson", "1:2", "--out", png}, exported = {"export", "--lesson", "1:2", "--out", html};
    render.insert(render.end(), flag.begin(), flag.end());
    exported.insert(exported.end(), flag.begin(), flag.end());
    CHECK(bad(render) == "the page of --lesson sets " + flag.front() + ": leave one of them out");
    if (flag.front() != "--step") CHECK(bad(exported) == bad(render));  // export has no --step
  }
  for (const std::string& flag : {std::string("--open"), std::string("--deck")})
    CHECK(bad({"render", "--lesson", "1", "--out", png, flag, "seq=32"}) ==
          flag + " and --lesson each say what is drawn: give one of them");
  const CommandLine line = good({"render", "--lesson", "1", "--out", png, "--size", "640x400", "--scale", "1.5", "--theme", "light",
                                 "--language", "ko", "--panel", "lesson", "--quiet"});
  CHECK(line.theme == ThemeKind::light);
}

TEST_CASE("command line: a picture of the window may be as while presenting, one of a panel not") {
  CHECK(good({"render", "--out", "x.png", "--present"}).present);
  CHECK_FALSE(good({"render", "--out", "x.png"}).present);
  CHECK(good({"render", "--out", "x.png", "--lesson", "1:2", "--present"}).present);
  CHECK(bad({"render", "--out", "x.png", "--panel", "stage", "--present"}) ==
        "--present is about the whole window, and --panel stage draws one panel: give one of them");
}

TEST_CASE("command line: a picture refuses --view and --lanes where they are not in it") {
  CHECK(bad({"render", "--out", "x.png", "--view", "roofline", "--panel", "stage"}) ==
        "--view chooses the middle of the window, and --panel stage draws one panel: give one of them");
  CHECK(bad({"export", "--out", "x.svg", "--view", "roofline", "--panel", "traffic"}).find("draws one panel") != std::string::npos);
  CHECK(bad({"render", "--out", "x.png", "--view", "roofline", "--lanes", "sms"}) ==
        "--lanes is about the timeline, and --view roofline leaves it out: give one of them");
  CHECK(bad({"render", "--out", "x.png", "--panel", "stage", "--lanes", "sms"}) ==
        "--lanes is about the timeline, and --panel stage leaves it out: give one of them");
  CHECK(good({"render", "--out", "x.png", "--view", "roofline", "--panel", "roofline"}).view == CenterView::roofline);
  CHECK(good({"render", "--out", "x.png", "--panel", "timeline", "--lanes", "sms"}).by_sm == true);
  CHECK(good({"render", "--out", "x.png", "--view", "stage", "--lanes", "sms"}).by_sm == true);
  CHECK(good({"--view", "roofline", "--lanes", "sms"}).by_sm == true);  // the window can go back to its stage
}

TEST_CASE("command line: a sweep refuses flags that its range or the lack of a picture leaves without effect") {
  for (const auto& [key, flag] : {std::pair{"seq", "--seq"},
                                  {"seq_kv", "--seq-kv"},
                                  {"head_dim", "--head-dim"},
                                  {"batch", "--batch"},
                                  {"heads", "--heads"},
                                  {"block_q", "--block-q"},
                                  {"block_kv", "--block-kv"},
                                  {"stages", "--stages"}})
    CHECK(bad({"sweep", "--over", std::string(key) + "=2,4", flag, "4"}) ==
          std::string("--over runs through ") + key + ", and " + flag + " gives it one value: leave one of them out");
  CHECK(bad({"sweep", "--over", "sm.count=2,4", "--set", "sm.count=8"}) ==
        "--over runs through sm.count, and --set gives it one value: leave one of them out");
  for (const Arguments& flag :
       {Arguments{"--plot", "time"}, {"--size", "640x400"}, {"--theme", "light"}, {"--scale", "2"}, {"--language", "ko"}}) {
    Arguments arguments = {"sweep", "--over", "seq=16,32", flag[0], flag[1]};
    CHECK(bad(arguments) == flag[0] + " is about the picture of --png: give --png FILE too");
    arguments.insert(arguments.end(), {"--png", "x.png"});
    CHECK(good(arguments).png == "x.png");
  }
  CHECK(good({"sweep", "--over", "seq=16,32", "--seq-kv", "8", "--set", "sm.count=2", "--heads", "4"}).seq_kv == 8);
}

TEST_CASE("command line: a key of --set is given once, as any flag") {
  CHECK(bad({"simulate", "--set", "sm.count=4", "--set", "sm.count=8"}) == "--set sm.count is given more than once");
  CHECK(good({"simulate", "--set", "sm.count=4", "--set", "l2.ways=8"}).overrides.size() == 2);
}

TEST_CASE("command line: no arguments open the window with flash2 on toy") {
  const CommandLine line = good({});
  CHECK(line.command == CommandKind::window);
  CHECK(line.algorithm == "flash2");
  CHECK(line.gpu == "toy");
  CHECK(line.batch == 1);
  CHECK(line.heads == 1);
  CHECK_FALSE(line.seq);
  CHECK(line.dtype == DataType::fp16);
  CHECK_FALSE(line.pass);
  CHECK_FALSE(line.causal);
  CHECK_FALSE(line.block_q);
  CHECK(line.seed == 1);
  CHECK_FALSE(line.json);
}

TEST_CASE("command line: every flag of simulate is parsed") {
  const CommandLine line = good({"simulate",
                                 "--algorithm",
                                 "flash1",
                                 "--batch",
                                 "2",
                                 "--heads",
                                 "8",
                                 "--kv-heads",
                                 "4",
                                 "--seq",
                                 "100",
                                 "--seq-kv",
                                 "200",
                                 "--head-dim",
                                 "80",
                                 "--dtype",
                                 "bf16",
                                 "--causal",
                                 "--pass",
                                 "both",
                                 "--block-q",
                                 "32",
                                 "--block-kv",
                                 "48",
                                 "--blocks-per-sm",
                                 "3",
                                 "--gpu",
                                 "h200",
                                 "--set",
                                 "sm.count=8",
                                 "--set",
                                 "l2.capacity_bytes=0",
                                 "--json",
                                 "a.json",
                                 "--trace",
                                 "t.json"});
  CHECK(line.command == CommandKind::simulate);
  CHECK(line.algorithm == "flash1");
  CHECK(line.batch == 2);
  CHECK(line.heads == 8);
  CHECK(line.kv_heads == 4);
  CHECK(line.seq == 100);
  CHECK(line.seq_kv == 200);
  CHECK(line.head_dim == 80);
  CHECK(line.dtype == DataType::bf16);
  CHECK(line.causal);
  CHECK(line.pass == Pass::both);
  CHECK(line.block_q == 32);
  CHECK(line.block_kv == 48);
  CHECK(line.blocks_per_sm == 3);
  CHECK(line.gpu == "h200");
  CHECK(line.overrides == std::vector<std::string>{"sm.count=8", "l2.capacity_bytes=0"});
  CHECK(line.json == "a.json");
  CHECK(line.trace == "t.json");
}

TEST_CASE("command line: buffers and block order work with every command that simulates") {
  for (const Arguments& command :
       {Arguments{"simulate"}, Arguments{"sweep", "--over", "seq=16,32"}, Arguments{"render", "--out", "p.png"}}) {
    Arguments all = command;
    for (const char* more : {"--stages", "3", "--block-order", "grouped"}) all.emplace_back(more);
    CHECK(good(all).stages == 3);
    CHECK(good(all).block_order == BlockOrder::grouped);
  }
  CHECK(good({"simulate"}).block_order == BlockOrder::launch);
}

TEST_CASE("command line: every flag of export is parsed") {
  const CommandLine line = good({"export", "--steps", "3:40", "--grain", "tile", "--fps", "25", "--seconds", "0.5", "--no-caption",
                                 "--out", "a.gif", "--panel", "stage", "--size", "640x480"});
  CHECK(line.command == CommandKind::exported);
  CHECK(line.steps->first == 3);
  CHECK(line.steps->last == 40);
  CHECK(line.grain == Grain::tile);
  CHECK(line.fps == 25);
  CHECK(line.seconds == 0.5);
  CHECK_FALSE(line.caption);
  CHECK(line.out == "a.gif");
  CHECK_FALSE(good({"export", "--steps", "3:end", "--out", "a.gif"}).steps->last);
  CHECK(good({"export", "--steps", "7", "--out", "a.gif"}).steps->last == 7);
  CHECK(good({"export", "--sheet", "waits", "--out", "a.csv"}).sheet == "waits");
}

TEST_CASE("command line: every flag of render is parsed") {
  const CommandLine line = good({"render", "--out=p.png", "--step=12", "--size=1280x720", "--theme=light", "--panel=stage",
                                 "--compare", "--scale=1.5", "--language=ko", "--seed=7", "--q=q.csv", "--k=k.csv", "--v=v.csv"});
  CHECK(line.command == CommandKind::render);
  CHECK(line.out == "p.png");
  CHECK(line.step == 12);
  CHECK(line.size == PictureSize{1280, 720});
  CHECK(line.theme == ThemeKind::light);
  CHECK_FALSE(line.by_sm);
  CHECK(good({"render", "--out=p.png", "--lanes", "sms"}).by_sm == true);
  CHECK(good({"--lanes=units"}).by_sm == false);
  CHECK(good({"--race"}).race);
  CHECK_FALSE(good({}).race);
  CHECK(bad({"simulate", "--compare"}) == "--race is not a flag of simulate, but of the window, render, export");
  CHECK(good({"--race", "--compare"}).race);
  CHECK(good({"--race-with", "flash1"}).race == Race(true, "flash1"));
  CHECK(line.panel == "stage");
  CHECK(line.race);
  CHECK(line.scale == 1.5);
  CHECK(line.language == "ko");
  CHECK(line.seed == 7);
  CHECK(line.q_file == "q.csv");
  CHECK(line.k_file == "k.csv");
  CHECK(line.v_file == "v.csv");
}

TEST_CASE("command line: the other commands are parsed") {
  CHECK(good({"measure", "--suite", "s.toml", "--json", "m.json"}).suite == "s.toml");
  CHECK(good({"validate", "--bundle", "b.json"}).bundle == "b.json");
  CHECK(good({"calibrate", "--out", "g.toml"}).out == "g.toml");
  CHECK(good({"calibrate", "--brief"}).brief);
  const CommandLine probed = good({"measure", "--probe", "p.json", "--probe-block", "3", "--probe-row", "77"});
  CHECK(probed.probe_block == 3);
  CHECK(probed.probe_row == 77);
  CHECK_FALSE(good({"measure", "--probe", "p.json"}).probe_row);
  CHECK(good({"--theme", "dark", "--gpu", "a100"}).command == CommandKind::window);
}

TEST_CASE("command line: --json takes an optional file, in any position") {
  CHECK(good({"simulate", "--json"}).json == "");
  CHECK(good({"simulate", "--json", "--seq", "8"}).json == "");
  CHECK(good({"simulate", "--json", "--seq", "8"}).seq == 8);
  CHECK(good({"simulate", "--json", "-"}).json == "-");
  CHECK(good({"simulate", "--json=x.json", "--causal"}).json == "x.json");
}

TEST_CASE("command line: problem flags may stand before the command") {
  const CommandLine line = good({"--seq", "32", "simulate", "--heads", "2"});
  CHECK(line.command == CommandKind::simulate);
  CHECK(line.seq == 32);
  CHECK(line.heads == 2);
  CHECK(bad({"--seq", "32", "simulate", "--seq", "64"}) == "--seq is given more than once");
  CHECK(bad({"--theme", "dark", "simulate"}) ==
        "--theme is not a flag of simulate, but of the window, render, export, sweep, lesson");
}

TEST_CASE("command line: an unknown flag or command is named, with the closest match") {
  CHECK(bad({"simulate", "--seqq", "64"}) == "unknown flag --seqq: did you mean --seq?");
  CHECK(bad({"simulate", "--block_q=64"}) == "unknown flag --block_q=64: did you mean --block-q?");
  CHECK(bad({"simulate", "--algoritm", "flash1"}) == "unknown flag --algoritm: did you mean --algorithm?");
  CHECK(bad({"simulate", "--frobnicate"}) == "unknown flag --frobnicate: see tilescope simulate --help");
  CHECK(bad({"--frobnicate"}) == "unknown flag --frobnicate: see tilescope --help");
  CHECK(bad({"-x"}) == "unknown flag -x: see tilescope --help");
  CHECK(bad({"simulate", "--panel", "stage"}) == "--panel is not a flag of simulate, but of render, export");
  CHECK(bad({"simulat"}) == "unknown command 'simulat': did you mean simulate?");
  CHECK(bad({"measure", "--probe-row", "3"}) == "--probe-row chooses the recorded row: it needs --probe FILE");
  CHECK(bad({"measure", "--probe-block", "3"}) == "--probe-block chooses the recorded row: it needs --probe FILE");
  CHECK(bad({"calibrate", "--brief", "--out", "g.toml"}) == "--brief measures too little for a spec: omit --brief or --out");
  CHECK(
      bad({"frobnicate"}) ==
      "unknown command 'frobnicate': there are simulate, render, export, sweep, search, compare, measure, validate, run, calibrate "
      "and lesson");
  CHECK(bad({"simulate", "flash1"}) == "unexpected 'flash1' after simulate");
  CHECK(bad({"simulate", "render"}) == "unexpected 'render' after simulate");
  CHECK(bad({"simulate", ""}) == "unexpected '' after simulate");
  CHECK(bad({"simulate", "--", "--seq"}).find("--seq") != std::string::npos);
  CHECK(bad({"simulate", "--x\ny"}).find('\n') == std::string::npos);
}

TEST_CASE("command line: an empty value is named, also where the value may be left out") {
  for (const std::string& flag : {std::string("--mask"), std::string("--score"), std::string("--preset"), std::string("--table"),
                                  std::string("--set"), std::string("--table-gradient")})
    CHECK(bad({"simulate", flag, ""}).find(flag + " is empty: ") == 0);
  CHECK(bad({"simulate", "--mask", "q >= kv", "--mask", ""}).find("--mask is empty: ") == 0);
  for (const Arguments& json : {Arguments{"simulate", "--json", ""}, {"simulate", "--json="}, {"--json", "", "simulate"}})
    CHECK(bad(json) == "--json is empty: name a file, or leave its value out for standard output");
  CHECK(bad({"lesson", "check", ""}) == "the ID after lesson check is empty: see tilescope lesson list");
  CHECK(bad({"lesson", "open", ""}) == "the ID after lesson open is empty: see tilescope lesson list");
  CHECK(bad({"run", "--q", "q.npy", "--k", "k.npy", "--out", "-"}) ==
        "--out of run is a folder, and - is standard output: name a folder");
}

TEST_CASE("command line: a missing value, an unexpected value or a repeated flag is named") {
  CHECK(bad({"simulate", "--seq"}) == "--seq needs a value: queries [64]");
  CHECK(bad({"simulate", "--seq", "--heads", "2"}) == "--seq needs a value: queries [64]");
  CHECK(bad({"render", "--out", "--step", "4"}) == "--out needs a value: the file to write");
  CHECK(bad({"run", "--out"}) == "--out needs a value: the folder to write to");
  CHECK(bad({"run", "--gpu", ""}) == "--gpu is empty: a GPU by name, or a .toml file of your own [h200]");
  CHECK(bad({"simulate", "--set", "--causal"}).find("--set needs a value: ") == 0);
  CHECK(bad({"simulate", "--seq-kv"}).find("--seq-kv needs a value: ") == 0);
  CHECK(bad({"simulate", "--set"}).find("--set needs a value: ") == 0);
  CHECK(bad({"simulate", "--causal=maybe"}) == "--causal takes no value");
  CHECK(bad({"simulate", "--seq", "1", "--seq", "2"}) == "--seq is given more than once");
  CHECK(bad({"simulate", "--json", "a", "--json", "b"}) == "--json is given more than once");
  CHECK(bad({"simulate", "--gpu", ""}).find("--gpu is empty: ") == 0);
  CHECK(bad({"simulate", "--trace="}).find("--trace ") == 0);
}

TEST_CASE("command line: every number is parsed strictly; errors name the flag and the text") {
  const std::vector<std::string> whole = {"--batch",    "--heads",   "--kv-heads", "--seq",          "--seq-kv",
                                          "--head-dim", "--block-q", "--block-kv", "--blocks-per-sm"};
  for (const std::string& flag : whole) {
    CAPTURE(flag);
    const std::string whole_number =
        flag == "--head-dim" ? "': it must be a whole number from 1 to 256" : "': it must be a whole number, such as 1024";
    for (const std::string text : {"1e3", "64x", ""})
      CHECK(bad({"simulate", flag, text}) == fmt::format("{} is '{}{}", flag, text, whole_number));
    for (const char* text : {"0", "-5", "99999999999999999999", "2147483648"}) {
      CAPTURE(std::string(text));
      CHECK(bad({"simulate", flag, text}).find(flag + " is " + text + ": it must be from 1 to ") == 0);
    }
  }
  CHECK(bad({"render", "--out", "x", "--step", "-1"}).find("--step is -1: it must be from 0 to ") == 0);
  CHECK(bad({"render", "--out", "x", "--size", "big"}).find("--size is 'big'") == 0);
  CHECK(bad({"render", "--out", "x", "--scale", "0"}).find("--scale is '0'") == 0);
  CHECK(bad({"render", "--out", "x", "--seed", "-1"}).find("--seed is -1") == 0);
}

TEST_CASE("command line: an invalid name is refused with the valid ones") {
  CHECK(bad({"simulate", "--block-order", "head"}).find("did you mean heads") != std::string::npos);
  CHECK(bad({"simulate", "--dtype", "fp8"}) == "--dtype is 'fp8': there are fp16, bf16 and fp32");
  CHECK(bad({"simulate", "--dtype", "double"}) == "--dtype is 'double': there are fp16, bf16 and fp32");
  CHECK(bad({"simulate", "--pass", "foreward"}) == "--pass is 'foreward': did you mean forward?");
  CHECK(bad({"--lanes", "warps"}) == "--lanes is 'warps': there are units and sms");
  CHECK(bad({"--theme", "blue"}) == "--theme is 'blue': there are dark and light");
  CHECK(bad({"--language", "fr"}) == "--language is 'fr': there are en and ko");
}

TEST_CASE("command line: a command that writes a file requires its name") {
  CHECK(bad({"render"}) == "render needs --out FILE.png");
  CHECK(good({"calibrate"}).out.empty());
}

TEST_CASE("command line: the help of --algorithm names the program that a request without it gets") {
  std::string help;
  std::istringstream words(good({"simulate", "--help"}).text);
  for (std::string word; words >> word;) help += (help.empty() ? "" : " ") + word;
  CHECK(help.find("program to run [flash2; flex with --mask, --preset, --score or --page-size]") != std::string::npos);
  CHECK(algorithm_of(good({"simulate"})) == "flash2");
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--mask", "kv <= q"}, {"--preset", "causal"}, {"--score", "score * 2"}, {"--page-size", "16"}}) {
    CAPTURE(flags.front());
    CHECK(algorithm_of(good({"simulate", flags[0], flags[1]})) == "flex");
  }
  CHECK(algorithm_of(good({"simulate", "--mask", "kv <= q", "--algorithm", "standard"})) == "standard");
}

TEST_CASE("command line: --help wins, and names every flag, command, algorithm and default") {
  const std::string help = good({"--help"}).text;
  for (const CommandInfo& command : command_table()) CHECK(help.find(command.name) != std::string::npos);
  for (const ProgramInfo& program : program_table()) CHECK(help.find(program.id) != std::string::npos);
  for (const char* word : {"Usage: tilescope", "--algorithm ID", "h200", "Exit codes", "TILESCOPE_ASSETS"})
    CHECK(help.find(word) != std::string::npos);
  for (const CommandInfo& command : command_table()) {
    const std::string text = good({std::string(command.name), "--help", "--nonsense"}).text;
    CAPTURE(text);
    CHECK(text.find("Usage: tilescope " + std::string(command.name)) != std::string::npos);
    CHECK(text.find("tilescope " + std::string(command.name), text.find("Example")) != std::string::npos);
    for (const FlagInfo& flag : flag_table())
      CHECK((text.find("  " + std::string(flag.name) + (flag.alias.empty() ? " " : ",")) != std::string::npos) ==
            takes(flag, command.kind));
  }
  const std::string simulate = good({"simulate", "-h"}).text;
  for (const SpecKey& key : spec_keys()) CHECK(simulate.find(key.key) != std::string::npos);
}

TEST_CASE("command line: --version is that of the project") {
  std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/CMakeLists.txt");
  std::stringstream text;
  text << file.rdbuf();
  const std::string version = version_text().substr(std::string("tilescope ").size());
  CHECK(text.str().find("project(tilescope VERSION " + version + " ") != std::string::npos);
  CHECK(good({"--version"}).text == version_text() + "\n");
}

TEST_CASE("command line: --version after a command says where it goes") {
  CHECK(bad({"simulate", "--version"}) == "--version has no command before it: write tilescope --version");
}

TEST_CASE("command line: every example in the help parses") {
  std::string help = good({"--help"}).text;
  for (const CommandInfo& command : command_table()) help += good({std::string(command.name), "--help"}).text;
  std::istringstream lines(help);
  int examples = 0;
  for (std::string each; std::getline(lines, each);) {
    if (!each.starts_with("  tilescope")) continue;
    std::istringstream words(each.substr(0, each.find("     ")));  // a remark may follow
    Arguments arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.erase(arguments.begin());
    CAPTURE(each);
    good(arguments);
    ++examples;
  }
  CHECK(examples >= 10);
}

TEST_CASE("command line: flag names are unique") {
  std::set<std::string_view> names;
  for (const FlagInfo& flag : flag_table()) {
    CHECK(names.insert(flag.name).second);
    CHECK(flag.name.starts_with("--"));
    CHECK((flag.shape == FlagShape::toggle) == flag.value.empty());
  }
}

}  // namespace tilescope
