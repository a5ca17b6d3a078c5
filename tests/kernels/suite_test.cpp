// The suite that is measured: large enough, varied enough, and its two lists kept apart.
#include "kernels/measure/suite.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "kernels/kernel_table.h"

using namespace tilescope;

TEST_CASE("suite: at least 60 cases, every kernel of its own program at least five, each in both lists") {
  std::map<std::string, std::set<std::string>> lists;
  std::map<std::string, int> count;
  for (const SuiteCase& one : default_suite()) {
    ++count[one.kernel];
    lists[one.kernel].insert(one.list);
  }
  CHECK(default_suite().size() >= 60);
  for (const KernelInfo& kernel : kernel_table()) {
    if (!kernel.variant_of.empty()) continue;  // measured on its own, beside the program's kernel
    if (kernel.is_hopper) continue;            // measured by kernels/lab/beside_ladder.sh
    CAPTURE(std::string(kernel.id));
    CHECK(count[std::string(kernel.id)] >= 5);
    CHECK(lists[std::string(kernel.id)] == std::set<std::string>{"build", "judge"});
  }
}

TEST_CASE("suite: no case is there twice, so nothing is judged that was built on") {
  const std::vector<SuiteCase>& suite = default_suite();
  for (std::size_t i = 0; i < suite.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE((suite[i].kernel == suite[j].kernel && suite[i].problem == suite[j].problem));
}

TEST_CASE(
    "suite: flash2 and standard reach from 128 to 65536 keys; masks, ragged sizes, grouped heads, both types and head dimensions "
    "are there") {
  for (const std::string id : {"flash2", "standard"}) {
    std::set<std::int64_t> keys, dims;
    std::set<DataType> types;
    bool causal = false, ragged = false, grouped = false;
    for (const SuiteCase& one : default_suite()) {
      if (one.kernel != id) continue;
      const AttentionProblem& p = one.problem;
      keys.insert(p.seq_kv);
      dims.insert(p.head_dim);
      types.insert(p.dtype);
      causal = causal || p.causal;
      ragged = ragged || p.seq_kv % 128 != 0;
      grouped = grouped || p.kv_heads < p.heads;
    }
    CHECK(*keys.begin() == (id == "flash2" ? 64 : 128));
    CHECK(keys.contains(128));
    CHECK(*keys.rbegin() >= 65536);
    CHECK(dims == std::set<std::int64_t>{64, 128});
    CHECK(types == std::set<DataType>{DataType::fp16, DataType::bf16});
    CHECK((causal && ragged && grouped));
  }
}

TEST_CASE("suite: a kernel's line means its pass, and the suite can be cut to one") {
  const std::vector<SuiteCase> forward = default_suite(Pass::forward), backward = default_suite(Pass::backward);
  CHECK(forward.size() + backward.size() == default_suite().size());
  CHECK(forward.size() >= 400);
  CHECK(backward.size() >= 80);
  bool causal = false, ragged = false, grouped = false;
  std::set<std::int64_t> dims;
  std::set<DataType> types;
  for (const SuiteCase& one : backward) {
    CHECK(one.kernel.find("_backward") != std::string::npos);
    const AttentionProblem& p = one.problem;
    causal = causal || p.causal;
    ragged = ragged || (p.seq_kv % 128 != 0 && p.seq_q % 128 != 0);
    grouped = grouped || p.kv_heads < p.heads;
    dims.insert(p.head_dim), types.insert(p.dtype);
  }
  CHECK((causal && ragged && grouped));
  CHECK(dims == std::set<std::int64_t>{64, 128});
  CHECK(types == std::set<DataType>{DataType::fp16, DataType::bf16});
}

TEST_CASE("suite: what is written is read back") {
  std::string text = "# a comment\n\n";
  for (const SuiteCase& one : default_suite()) text += to_text(one) + "  # why\n";
  const Result<std::vector<SuiteCase>> read = suite_from_text(text);
  REQUIRE(read);
  CHECK(*read == default_suite());
}

TEST_CASE("suite: a mask is a word of presets, with or without causal") {
  const std::string line = "flex 1 8 8 1024 1024 64 fp16 causal+softcap:cap=30+sliding_window:window=100 judge";
  const auto read = suite_from_text(line);
  REQUIRE_MESSAGE(read, (read ? std::string() : read.error().sentence.text()));
  CHECK(read->front().problem.causal);
  CHECK(read->front().presets == std::vector<std::string>{"softcap:cap=30", "sliding_window:window=100"});
  CHECK(to_text(read->front()) == line);
  CHECK(read->front().problem.mask == nullptr);
  const auto problem = settled_problem(read->front());
  REQUIRE(problem);
  CHECK(problem->mask != nullptr);
  CHECK(problem->score_change != nullptr);
  SuiteCase wrong = read->front();
  wrong.presets = {"no such preset"};
  CHECK_FALSE(settled_problem(wrong));
  for (const char* suite : {"flex", "flex_pages", "hopper_flex", "flex_backward", "ladder", "h100", "new_shapes"}) {
    CAPTURE(suite);
    std::ifstream file(std::string(TILESCOPE_SOURCE_DIR "/assets/suites/") + suite + ".txt");
    const auto cases = suite_from_text(std::string(std::istreambuf_iterator<char>(file), {}));
    CHECK_MESSAGE(cases, (cases ? std::string() : cases.error().sentence.text()));
  }
}

TEST_CASE("suite: pages of K and V are the last word of a line") {
  for (const auto& [word, size, order] :
       {std::tuple{"pages=64", 64, PageOrder::shuffled}, std::tuple{"pages=384,contiguous", 384, PageOrder::contiguous}}) {
    const std::string line = std::string("flex 2 8 8 1024 1024 64 fp16 causal+softcap:cap=30 judge ") + word;
    const auto read = suite_from_text(line);
    REQUIRE_MESSAGE(read, (read ? std::string() : read.error().sentence.text()));
    CHECK(read->front().problem.page_size == size);
    CHECK(read->front().problem.page_order == order);
    CHECK(to_text(read->front()) == line);
  }
}

TEST_CASE("suite: a line that is no case is named with what is wrong") {
  struct Wrong {
    const char *text, *says;
  };
  for (const Wrong& wrong : {Wrong{"", "no case"},
                             Wrong{"# nothing", "no case"},
                             Wrong{"\nflash9 1 1 1 64 64 64 fp16 full build", "line 2"},
                             Wrong{"flash2 1 1 1 64 6x4 64 fp16 full build", "'6x4' is no size"},
                             Wrong{"flash2 1 1 1 64 64 64 fp16 full", "'flash2 1 1 1 64 64 64 fp16 full' ends before its list"},
                             Wrong{"flash2 1 8", "'flash2 1 8' ends before its kv_heads"},
                             Wrong{"flash2 1 1 1 64 64 64 fp16 full judg", "'judg' is no list"},
                             Wrong{"flash2 1 1 1 64 64 32 fp16 full build", "head dimensions 64 and 128"},
                             Wrong{"flash2 1 1 1 64 64 64 fp64 full build", "'fp64' is no type"},
                             Wrong{"flash2 1 1 1 64 64 64 fp16 round build", "'round' is no mask"},
                             Wrong{"flash2 1 3 2 64 64 64 fp16 full build", "line 1"},
                             Wrong{"flash2 1 1 1 64 64 64 fp16 full build now", "one word too many"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=64 now", "'now' is one word too many"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build paged", "only pages follow"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=-64", "'pages=-64' is no page size"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=0", "a whole number of keys from 1 to 2147483647"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=6.4", "'pages=6.4' is no page size"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=,contiguous", "is no page size"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=99999999999999999999", "is no page size"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=64,", "has no order of pages"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=64,mixed", "has no order of pages"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=48", "one must be a multiple of the other"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 full build pages=8", "pages of 16 keys or more"},
                             Wrong{"flash2 1 1 1 64 64 64 fp16 full build pages=64", "has no page table"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 causal+ build", "'causal+' is no mask"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 sliding_windw build", "sliding_window"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 document build", "doc"},
                             Wrong{"flex 1 1 1 64 64 64 fp16 alibi+softcap build", "both change the score"},
                             Wrong{"flash2 1 1 1 64 64 64 fp16 alibi build", "flash2 takes no preset"},
                             Wrong{"softmax_safe 1 1 1 64 64 64 fp16 causal build", "takes no mask"}}) {
    const Result<std::vector<SuiteCase>> read = suite_from_text(wrong.text);
    REQUIRE_FALSE(read);
    CHECK_MESSAGE(read.error().sentence.text().find(wrong.says) != std::string::npos, read.error().sentence);
  }
}
