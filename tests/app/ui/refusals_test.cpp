// What the window refuses in Korean: no English word is left apart from names and from terms that Korean engineers leave.
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "app/model/state/deck.h"
#include "app/model/state/state_file.h"
#include "app/model/state/window_state.h"
#include "app/platform/files.h"
#include "app/ui/language.h"
#include "app/ui/say.h"
#include "app/views/work_words.h"
#include "sim/analysis/sweep.h"
#include "sim/core/mask.h"
#include "sim/core/npy.h"
#include "sim/engine/simulation.h"
#include "sim/masks/captured_table.h"
#include "sim/masks/mask_choice.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/model/session/opened_session.h"
#include "tests/environment_variable.h"

using namespace tilescope;

namespace {

struct InKorean {
  InKorean() {
    const auto korean = load_language("ko");
    REQUIRE_MESSAGE(static_cast<bool>(korean), (korean ? "" : korean.error().sentence));
    use_language(*korean);
  }
  ~InKorean() { use_language(nullptr); }
};

template <class T>
Sentence refused(const Result<T>& result) {
  REQUIRE_FALSE(static_cast<bool>(result));
  return result.error().sentence;
}

/// Words of two ASCII letters and more.
std::vector<std::string> english_words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  std::erase_if(words, [](const std::string& word) { return word.size() < 2; });
  return words;
}

bool is_korean(std::string_view text) {
  return text.find('\xEA') != std::string_view::npos || text.find('\xEB') != std::string_view::npos ||
         text.find('\xEC') != std::string_view::npos || text.find('\xED') != std::string_view::npos;
}

/// Checks what the window shows. `names` are the words that stay: names of keys, files and programs.
void check_korean(const Sentence& sentence, std::string_view names) {
  const std::vector<std::string> listed = english_words(names);
  std::set<std::string> known = {"GPU", "SM", "HBM", "GB", "TB", "KiB", "tile", "head", "shared", "memory"};
  known.insert(listed.begin(), listed.end());
  const std::string shown = say(sentence);
  CAPTURE(sentence.text());
  CAPTURE(shown);
  CHECK(is_korean(shown));
  for (const std::string& word : english_words(shown)) {
    CAPTURE(word);
    CHECK(known.contains(word));
  }
}

SimulationRequest request_of(std::string algorithm, std::int64_t rows) {
  SimulationRequest request = h200_start({.seq_q = rows, .seq_kv = rows, .head_dim = 64}).request;
  request.algorithm = std::move(algorithm);
  request.tile.reset();
  return request;
}

Sentence mask_refusal(const MaskChoice& choice) {
  const auto fault = find_mask_fault(choice, {});
  REQUIRE(fault.has_value());
  return fault->error.sentence;
}

}  // namespace

TEST_CASE("refusals in Korean: ranges of a sweep") {
  const InKorean korean;
  check_korean(refused(parse_sweep_axis("seqq=1:2")), "seqq seq");
  check_korean(refused(parse_sweep_axis("seq")), "seq A B C x");
  check_korean(refused(parse_sweep_axis("seq=16:x")), "seq x");
  check_korean(refused(parse_sweep_axis("seq=16:8")), "seq");
  check_korean(refused(parse_sweep_axis("seq=16:32:64")), "seq");
  check_korean(refused(parse_sweep_axis("seq=16:32:x1")), "seq");
  check_korean(refused(parse_sweep_axis("seq=1:100000:+1")), "seq");
  check_korean(refused(parse_sweep_axis("head_dim=512")), "head_dim");
  check_korean(refused(parse_sweep_axis("seq=1:2:3:4")), "seq");
}

TEST_CASE("refusals in Korean: links, states and decks") {
  const InKorean korean;
  for (const auto& link : std::vector<std::pair<const char*, const char*>>{{"hello", "hello seq"},
                                                                           {"sqe=64", "sqe seq"},
                                                                           {"wallpaper=1", "wallpaper"},
                                                                           {"seq=64&seq=64", "seq"},
                                                                           {"seq=0", "seq"},
                                                                           {"gpu=a%2", "gpu a"},
                                                                           {"race=yes", "race yes"},
                                                                           {"dtype=fp61", "dtype fp"},
                                                                           {"pass=no", "pass no forward backward both"},
                                                                           {"step=3&cycle=4", "step cycle"},
                                                                           {"block_q=16", "block_q block_kv stages"},
                                                                           {"speed=nan", "speed nan"},
                                                                           {"heads=3&kv_heads=2", "heads kv_heads"},
                                                                           {"q=1,x", "q"},
                                                                           {"range=7", "range"},
                                                                           {"sweep=seq%3D16:8", "sweep seq"},
                                                                           {"access=column9", "access column"}}) {
    INFO(link.first);
    check_korean(refused(from_link(link.first)), link.second);
  }
  check_korean(refused(parse_state_file("link = 3", "window.toml")), "window toml schema tilescope");
  check_korean(refused(parse_state_file("schema = \"tilescope.window/1\"\nlink = \"sqe=1\"", "window.toml")),
               "window toml sqe seq");
  check_korean(refused(parse_deck("title = 3", "talk.toml")), "talk toml schema tilescope deck");
  check_korean(refused(parse_deck("schema = \"tilescope.deck/1\"\n[[scene]]\nlink = \"seq=0\"", "talk.toml")), "talk toml seq");
  check_korean(refused(parse_deck("schema = \"tilescope.deck/1\"\n[[scene]]\nlnik = \"seq=0\"", "talk.toml")),
               "talk toml lnik link");
  check_korean(refused(parse_deck("schema = \"tilescope.deck/1\"\n[[scene]]\nchoices = [1]", "talk.toml")), "talk toml");
}

TEST_CASE("refusals in Korean: files of GPUs") {
  const InKorean korean;
  const std::string ids = [] {
    std::string out = "h toml ";
    for (const std::string& id : gpu_ids()) out += id + " ";
    return out;
  }();
  check_korean(refused(load_gpu("h9000")), ids);
  check_korean(refused(load_gpu("voodoo")), ids + "voodoo");
  check_korean(refused(load_gpu("/no/such/gpu.toml")), "no such gpu toml");
  check_korean(refused(parse_gpu_spec("name = \"x\"", "my.toml")), "my toml id");
  check_korean(refused(parse_gpu_spec("id = \"x\"\nname = \"x\"\n[sm]\ncuont = 3", "my.toml")),
               "my toml sm cuont count tilescope simulate help");
  check_korean(refused(parse_gpu_spec("[sm]\ncount = 3", "my.toml")), "my toml sm count value source note vendor");
  check_korean(refused(parse_gpu_spec("[sm]\ncount = { value = 0, source = \"vendor\", note = \"n\" }", "my.toml")),
               "my toml sm count");
  check_korean(refused(parse_gpu_spec("[sm]\ncount = { value = 1.5, source = \"vendor\", note = \"n\" }", "my.toml")),
               "my toml sm count");
  check_korean(refused(parse_gpu_spec("[sm]\ncount = { value = 3, source = \"hearsay\", note = \"n\" }", "my.toml")),
               "my toml sm count source hearsay vendor measured estimated user");
  GpuSpec gpu = request_of("flash2", 64).gpu;
  check_korean(refused(set_spec_value(gpu, "l2.capacity_bytes=much")), "l2 capacity_bytes much");
  check_korean(refused(set_spec_value(gpu, "l2.capacty_bytes=1")), "l2 capacty_bytes capacity_bytes tilescope simulate help");
  check_korean(refused(set_spec_value(gpu, "sm.quarters=4")), "sm quarters sub_partitions");
}

TEST_CASE("refusals in Korean: numbers, tables and files") {
  const InKorean korean;
  check_korean(refused(parse_npy_floats("junk", "q.npy", 2)), "npy numpy save");
  const std::vector<std::int64_t> shape = {2, 2};
  const std::vector<float> values = {1, 2, 3, 4};
  const std::string array = to_npy(DataType::fp32, shape, values);
  check_korean(refused(parse_npy_floats(array, "q.npy", 4)), "npy");
  check_korean(refused(parse_npy_floats(array.substr(0, array.size() - 4), "q.npy", 2)), "npy");
  check_korean(refused(parse_npy_table("doc", "junk", "doc.npy")), "doc npy numpy save");
  check_korean(refused(parse_csv_table("doc", "1,x", "doc.csv")), "doc csv");
  check_korean(refused(parse_csv_table("doc", "1,2\n3", "doc.csv")), "doc csv");
  check_korean(refused(parse_csv_matrix("1,2\n3", "q.csv")), "csv");
  check_korean(refused(parse_csv_matrix("1,,2", "q.csv")), "csv");
  check_korean(refused(parse_csv_matrix("", "q.csv")), "csv");
  check_korean(refused(read_text_file("/no/such/file")), "no such file");
  check_korean(refused(read_text_file("/")), "");
  check_korean(refused(write_file("/no/such/folder/x", "text")), "no such folder");
  check_korean(refused(write_file("", "text")), "");
}

TEST_CASE("refusals in Korean: masks, scores and presets") {
  const InKorean korean;
  check_korean(mask_refusal({.presets = {"causall"}}), "causall causal");
  check_korean(mask_refusal({.presets = {"causal:window=3"}}), "causal window");
  check_korean(mask_refusal({.presets = {"sliding_window:window=wide"}}), "sliding_window window wide");
  check_korean(mask_refusal({.masks = {"q >="}}), "");
  check_korean(mask_refusal({.masks = {"q + 1"}}), "int kv");
  check_korean(mask_refusal({.masks = {"abs(q, kv) > 0"}}), "abs");
  check_korean(mask_refusal({.masks = {"q > kv kv"}}), "kv");
  check_korean(mask_refusal({.masks = {"q && kv > 0"}}), "int x");
  check_korean(mask_refusal({.masks = {"let q = 3; kv > q"}}), "");
  check_korean(mask_refusal({.masks = {"score > 0"}}), "score");
  check_korean(refused(MatrixMask(2, 2, std::vector<bool>(4, true)).fits({.seq_q = 4, .seq_kv = 4})), "");
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 8;
  REQUIRE(static_cast<bool>(settle_masks({.masks = {"q >= kv"}}, problem)));
  problem.seq_q = 16;
  check_korean(refused(problem.mask->fits(problem)), "");
  MaskChoice outside{.masks = {"doc[q] > 0"}};
  outside.tables.push_back(std::make_shared<const CapturedTable>(make_table("doc", {1, 2})));
  check_korean(refused(settle_masks(outside, problem)), "doc kv");
}

TEST_CASE("refusals in Korean: what does not fit a GPU") {
  const InKorean korean;
  check_korean(refused(find_program("flash9")), [] {
    std::string ids = "flash ";
    for (const ProgramInfo& row : program_table()) ids += std::string(row.id) + " ";
    return ids;
  }());
  SimulationRequest request = request_of("flash2", 4096);
  request.tile = ProgramTile(2048, 2048);
  check_korean(refused(simulate(request)), "flash h head_dim Br Bc");
  request.algorithm = "hopper_ping_pong";
  check_korean(refused(simulate(request)), "h head_dim Br Bc");
  request.algorithm = "flash2";
  request.tile.reset();
  request.blocks_per_sm = 99;
  check_korean(refused(simulate(request)), "flash h");
  request = request_of("standard", 1 << 19);
  check_korean(refused(simulate(request)), "standard h B H N P");
  request.gpu.sm_count = 0;
  check_korean(refused(simulate(request)), "h Hz");
}

TEST_CASE("refusals in Korean: the session refuses in the window's language") {
  const InKorean korean;
  Opened opened;
  const auto message = [&](const auto& command) {
    const SessionView view = opened.after(command);
    REQUIRE(view.workspace->message.has_value());
    CHECK(is_korean(words_of(*view.workspace->message)));
    return view.workspace->message->error.sentence;
  };
  check_korean(message(SetGpu{"/no/such/gpu.toml"}), "no such gpu toml");
  check_korean(message(SetSpecValue{"l2.capacity_bytes=-4"}), "l2 capacity_bytes");
  check_korean(message(SetMatrix{Meaning::query, "1,2\n3"}), "");
}

TEST_CASE("refusals in Korean: an export answers in the language of the window that asked for it, the command line in English") {
  const auto refusal = [] { return run_program({"simulate", "--preset", "causall"}).err; };
  const std::string english = refusal();
  CHECK(english.find("unknown name 'causall'") != std::string::npos);
  const std::string korean = [&] {
    const EnvironmentVariable language("TILESCOPE_LANGUAGE", "ko");
    return refusal();
  }();
  CHECK(korean.find("causall") != std::string::npos);
  CHECK(is_korean(korean));
  CHECK(refusal() == english);
}
