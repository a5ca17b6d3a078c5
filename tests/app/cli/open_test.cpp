// --open and --deck: a link is what every command begins with, and flags say otherwise.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/cli/flags.h"
#include "app/cli/request.h"
#include "app/model/state/deck.h"
#include "app/model/state/state_file.h"
#include "app/platform/files.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

struct OpenedRequest {
  Request request;
  std::shared_ptr<const WindowState> state;
  CommandLine line;
};

Result<OpenedRequest> opened(const std::vector<std::string>& arguments) {
  const auto typed = parse_command_line(arguments);
  REQUIRE_MESSAGE(typed, (typed ? "" : typed.error().sentence));
  auto line = open_base(*typed);
  if (!line) return line.error();
  auto request = make_request(*line);
  if (!request) return request.error();
  auto state = state_of(*line, *request);
  return OpenedRequest{std::move(*request), std::move(state), std::move(*line)};
}

OpenedRequest good_open(const std::vector<std::string>& arguments) {
  auto request = opened(arguments);
  REQUIRE_MESSAGE(request, (request ? "" : request.error().sentence));
  return std::move(*request);
}

std::string bad_open(const std::vector<std::string>& arguments) {
  const auto request = opened(arguments);
  REQUIRE_FALSE(request);
  return request.error().sentence.text();
}

const std::string link =
    "algorithm=flash1&gpu=h200&l2.capacity_bytes=30000000&heads=4&kv_heads=2&seq=96&head_dim=32&causal=1&"
    "block_q=16&block_kv=32&block_order=heads&seed=7&spread=0.5&step=9&grain=tile&sm=3&row=2&view=fit&"
    "alone=softmax&lanes_by_sm=1&present=1&theme=light&language=ko";

}  // namespace

TEST_CASE("open: docs/using.md names the commands that take a link, and no other") {
  const auto page = read_text_file(TILESCOPE_SOURCE_DIR "/docs/using.md");
  REQUIRE(page);
  const std::size_t from = page->find("The window takes `--open`");
  REQUIRE(from != std::string::npos);
  const std::string sentence = page->substr(from, page->find(". ", from) - from);
  const auto open = std::ranges::find(flag_table(), "--open", &FlagInfo::name);
  REQUIRE(open != flag_table().end());
  for (const CommandInfo& command : command_table()) {
    CAPTURE(command.name);
    const bool named = sentence.find("`" + std::string(command.name) + "`") != std::string::npos;
    CHECK(named == takes(*open, command.kind));
  }
}

TEST_CASE("open: a link alone is the whole state") {
  const OpenedRequest opened = good_open({"render", "--out", "x.png", "--open", link});
  REQUIRE(opened.state != nullptr);
  CHECK(to_link(*opened.state) == link);
  CHECK(opened.request.simulation.algorithm == "flash1");
  CHECK(opened.request.simulation.gpu.l2_capacity_bytes == 30000000);
  CHECK(opened.request.simulation.focus_sm == 3);
  CHECK(opened.request.inputs.spread == 0.5);
  CHECK(good_open({"simulate"}).state == nullptr);
  CHECK(to_link(*good_open({"--open", "tilescope:"}).state).empty());
}

TEST_CASE("open: other flags override the link, and leave the rest of it") {
  const OpenedRequest opened =
      good_open({"--open", link, "--seq", "64", "--step", "2", "--theme", "dark", "--set", "sm.count=8", "--view", "stage"});
  WindowState expected = *from_link(link);
  expected.problem.seq_q = expected.problem.seq_kv = 64;
  expected.position = WindowState::Step{2};
  expected.theme = ThemeKind::dark;
  expected.center = CenterView::stage;
  expected.spec_values["sm.count"] = 8;
  CHECK(*opened.state == expected);
  CHECK(good_open({"simulate", "--gpu", "toy", "--algorithm", "flash2", "--open", "gpu=h200&algorithm=flash1"})
            .request.simulation.gpu.id == "toy");
}

TEST_CASE("open: --page-size 0 takes the pages of a link away") {
  const auto problem = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"simulate", "--open", "algorithm=flex&seq=64&page_size=32&page_order=contiguous"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return good_open(arguments).request.simulation.problem;
  };
  CHECK(problem({}).page_size == 32);
  CHECK(problem({"--page-size", "64"}).page_order == PageOrder::contiguous);
  CHECK(problem({"--page-size", "0"}).page_size == 0);
}

TEST_CASE("open: every command takes the mask of a link, and refuses one that cannot be read") {
  const std::string masked = "algorithm=flex&seq=64&head_dim=16&mask=q%20%3E%3D%20kv%20%26%26%20q%20-%20kv%20%3C%208&mask_block=16";
  const OpenedRequest opened = good_open({"render", "--out", "x.png", "--open", masked});
  CHECK(opened.request.simulation.masking.masks == std::vector<std::string>{"q >= kv && q - kv < 8"});
  CHECK(opened.request.simulation.problem.mask_block == 16);
  CHECK(opened.state->masks == opened.request.simulation.masking.masks);
  const auto bytes = [](const std::vector<std::string>& arguments) {
    const RunOutcome outcome = run_program(arguments);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return nlohmann::ordered_json::parse(outcome.out)["traffic"]["l2_to_sm_bytes"].get<std::int64_t>();
  };
  const std::int64_t by_link = bytes({"simulate", "--open", masked, "--json"});
  CHECK(by_link ==
        bytes({"simulate", "--seq", "64", "--head-dim", "16", "--mask", "q >= kv && q - kv < 8", "--mask-block", "16", "--json"}));
  CHECK(by_link < bytes({"simulate", "--open", "algorithm=flex&seq=64&head_dim=16", "--json"}));
  // A flag takes the place of the link's own.
  CHECK(good_open({"simulate", "--open", masked, "--mask", "q >= kv"}).request.simulation.masking.masks ==
        std::vector<std::string>{"q >= kv"});
  for (const char* command : {"simulate", "render"}) {
    std::vector<std::string> arguments = {command, "--open", "mask=q%20%2B"};
    if (command == std::string("render")) arguments.insert(arguments.end(), {"--out", "x.png"});
    CHECK(bad_open(arguments).find("--mask 'q +': column ") == 0);
    arguments[2] = "preset=foo";
    CHECK(bad_open(arguments).find("unknown name 'foo'") != std::string::npos);
    arguments[2] = "mask=doc%5Bq%5D%20%3D%3D%200&table=doc%3D/none.csv";
    CHECK(bad_open(arguments).find("/none.csv") != std::string::npos);
  }
}

TEST_CASE("open: a flag of masks chooses flex on a link that names no algorithm") {
  const auto algorithm = [](const std::string& link_text, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"simulate", "--open", link_text};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return good_open(arguments).request.simulation.algorithm;
  };
  CHECK(algorithm("seq=128", {}) == "flash2");
  CHECK(algorithm("seq=128", {"--mask", "q >= kv"}) == "flex");
  CHECK(algorithm("seq=128", {"--page-size", "16"}) == "flex");
  CHECK(algorithm("seq=128", {"--preset", "softcap:cap=20"}) == "flex");
  CHECK(algorithm("seq=128&mask=q%20%3E%3D%20kv", {}) == "flash2");  // what its window shows
  CHECK(algorithm("seq=128&algorithm=flash2", {"--mask", "q >= kv"}) == "flash2");
  CHECK(algorithm("seq=128&algorithm=hopper_flex&gpu=h100", {"--mask", "q >= kv"}) == "hopper_flex");
  CHECK(algorithm("seq=128", {"--mask", "q >= kv", "--algorithm", "flash1"}) == "flash1");
  CHECK(*from_link("seq=128&algorithm=flash2") == *from_link("seq=128"));
}

TEST_CASE("open: the numbers of a link are its inputs, and a file replaces them with its sizes") {
  const TemporaryFolder folder;
  const std::string numbers = "seq=2&head_dim=2&q=1,2;3,4";
  CHECK(good_open({"--open", numbers}).request.inputs.q->at(1, 0) == 3);
  const OpenedRequest replaced = good_open({"--open", numbers, "--q", folder.file("q.csv", "5,6,7\n8,9,1\n2,3,4\n")});
  CHECK(replaced.request.inputs.q->at(2, 2) == 4);
  CHECK(replaced.request.simulation.problem.seq_q == 3);
  CHECK(replaced.request.simulation.problem.head_dim == 3);
}

TEST_CASE("open: simulate, sweep and measure take what concerns them") {
  const RunOutcome outcome = run_program({"simulate", "--open", "tilescope:?seq=32&head_dim=8&heads=2", "--json"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const auto json = nlohmann::ordered_json::parse(outcome.out);
  CHECK(json["problem"]["seq_q"] == 32);
  CHECK(json["problem"]["heads"] == 2);
  const auto typed = parse_command_line(
      std::vector<std::string>{"sweep", "--open", "sweep=seq=16:64:x2&sweep_algorithms=standard,flash2&head_dim=8"});
  REQUIRE(typed);
  const auto sweep = open_base(*typed);
  REQUIRE(sweep);
  CHECK(sweep->over == "seq=16,32,64");
  CHECK(sweep->algorithm == "standard,flash2");
  CHECK(sweep->head_dim == 8);
  CHECK(good_open({"sweep", "--over", "seq=16,32", "--open", "head_dim=8"}).line.over == "seq=16,32");
  CHECK(bad_open({"sweep", "--open", "head_dim=8"}) == "sweep needs --over KEY=RANGE: the link has no sweep");
  CHECK(bad_open({"sweep", "--open", "sweep=seq=16:64:x2&sweep_algorithms=standard,flash2", "--seq", "32"})
            .find("--over runs through seq") == 0);
  const CommandLine measure =
      good_open({"measure", "--open", "algorithm=standard&gpu=h200&heads=8&seq=256&head_dim=64&race=1"}).line;
  CHECK(measure.algorithm == "standard");
  CHECK(*measure.seq == 256);
}

TEST_CASE("open: what cannot be opened is one sentence") {
  const TemporaryFolder folder;
  CHECK(bad_open({"--open", "sqe=4"}) == "--open: a link has no key 'sqe': did you mean seq?");
  CHECK(bad_open({"--open", folder.path("none.toml")}).find("there is no such file") != std::string::npos);
  CHECK(
      bad_open({"--open", folder.file("half.toml", "schema = \"tilescope.window/1\"\nlink = \"seq=")}).find("half.toml, line 2") !=
      std::string::npos);
  CHECK(bad_open({"--open", folder.file("binary", std::string("a\0b", 3))}).find("it is binary, not text") != std::string::npos);
  CHECK(bad_open({"--open", "seq=4", "--deck", "x.toml"}) == "--open and --deck each say what to begin with: give one of them");
  CHECK(bad_open({"simulate", "--open", "sm=99"}) == "there is no SM 99: toy has SMs 0 to 3");
  const std::string row = bad_open({"simulate", "--open", "row=9999&block_q=16&block_kv=16"});
  CHECK(row == "there is no row 9999: a tile of flash2 has rows 0 to 15");
  CHECK(opened({"simulate", "--open", "row=15&sm=3&block_q=16&block_kv=16"}));
  const RunOutcome outcome = run_program({"render", "--open", "seq=32&step=99999", "--out", folder.path("x.png")});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("there is no step 99999: ") != std::string::npos);
}

TEST_CASE("open: a deck begins with its first scene or the one asked for, in the theme of the flags") {
  const TemporaryFolder folder;
  Deck deck;
  for (const char* scene : {"seq=32&theme=light", "seq=48&language=ko"}) deck.scenes.emplace_back().state = *from_link(scene);
  deck.scenes.back().steps = StepRange{4, 9};
  const std::string file = folder.file("deck.toml", format_deck(deck));
  const OpenedRequest first = good_open({"--deck", file});
  CHECK(first.request.simulation.problem.seq_q == 32);
  CHECK_FALSE(first.line.theme.has_value());
  CHECK(first.line.scenes->scenes.size() == 2);
  const OpenedRequest second = good_open({"--deck", file, "--scene", "2"});
  CHECK(second.request.simulation.problem.seq_q == 48);
  CHECK(second.line.step == 4);
  CHECK_FALSE(second.line.language.has_value());
  CHECK(bad_open({"--deck", file, "--scene", "3"}).find("there is no scene 3") != std::string::npos);
  const auto alone = parse_command_line(std::vector<std::string>{"--scene", "3"});
  REQUIRE_FALSE(alone);
  CHECK(alone.error().sentence.text() == "--scene is a scene of a deck: it needs --deck FILE");
}

TEST_CASE("open: a deck with a page or with steps that there are not ends with 2 and one sentence") {
  const TemporaryFolder folder;
  const std::string head = "schema = \"tilescope.deck/1\"\n[[scene]]\n";
  const std::string page = folder.file("page.toml", head + "lesson = \"09-causal-balance:33\"\n");
  const std::string lesson = folder.file("lesson.toml", head + "lesson = \"nolesson:3\"\n");
  for (const std::string& command : {std::string("render"), std::string("export")}) {
    CAPTURE(command);
    const std::string out = folder.path(command == "render" ? "x.png" : "x.html");
    const RunOutcome no_page = run_program({command, "--deck", page, "--out", out});
    CHECK(no_page.code == 2);
    CHECK(no_page.err.find("page.toml, line 3: there is no page 33: lesson 09-causal-balance has ") != std::string::npos);
    const RunOutcome no_lesson = run_program({command, "--deck", lesson, "--out", out});
    CHECK(no_lesson.code == 2);
    CHECK(no_lesson.err.find("lesson.toml, line 3: there is no lesson 'nolesson'") != std::string::npos);
  }
  // A page that would not open is found before a class sees it, even if the deck begins with another.
  const std::string text =
      "```lesson\ntitle = \"A\"\nminutes = 1\ngoal = \"You can.\"\n```\n\n## One\n\n"
      "```scene\nlink = \"seq=16&step=1\"\nlook = [\"stage\"]\n```\n\n## Two\n\n"
      "```scene\nlink = \"seq=16&mask=q%20%3E%3D%20nothing&step=1\"\nlook = [\"stage\"]\n```\n";
  const std::string broken = folder.file("00-broken.en.md", text);
  const std::string mask = folder.file("mask.toml", head + "lesson = '" + broken + ":1'\n[[scene]]\nlesson = '" + broken + ":2'\n");
  for (const char* flag : {"--deck", "--open"}) {
    const std::string said = bad_open({flag, mask});
    CAPTURE(said);
    CHECK(said.find("mask.toml, line 5: ") != std::string::npos);
    CHECK(said.find("00-broken.en.md:17: ") != std::string::npos);
    CHECK(said.find("nothing") != std::string::npos);
  }
  for (const char* flag : {"--deck", "--open"}) CHECK(bad_open({flag, page}).find("there is no page 33") != std::string::npos);
  const std::string steps =
      folder.file("steps.toml", head + "link = \"seq=16&head_dim=4&block_q=4&block_kv=4\"\nsteps = \"3:1200\"\n");
  const RunOutcome beyond = run_program({"render", "--deck", steps, "--out", folder.path("x.png")});
  CHECK(beyond.code == 2);
  CHECK(beyond.err.find("steps.toml, scene 1: steps 3:1200 go beyond the run, whose last step is 48") != std::string::npos);
}

}  // namespace tilescope
