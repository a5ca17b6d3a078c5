// --mask, --score, --preset, --table, --mask-block and --page-size: what reaches the simulation, what the JSON says, and what is
// refused.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sim/analysis/format.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

using Json = nlohmann::ordered_json;

Json simulated(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "simulate");
  arguments.emplace_back("--json");
  const RunOutcome outcome = run_program(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return Json::parse(outcome.out);
}

/// The sentence of a refused request: exit code 2, one line.
std::string refusal(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "simulate");
  const RunOutcome outcome = run_program(arguments);
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  return outcome.err.substr(std::string("tilescope: ").size(), outcome.err.size() - std::string("tilescope: ").size() - 1);
}

}  // namespace

TEST_CASE("masks: --mask chooses flex, and the JSON counts its blocks and visible elements") {
  const Json json = simulated({"--gpu", "h200", "--heads", "2", "--seq", "1024", "--head-dim", "64", "--mask", "q >= kv"});
  CHECK(json["algorithm"] == "flex");
  CHECK(json["mask"]["expression"] == "q >= kv");
  CHECK(json["mask"]["block"] == Json({128, 128}));
  CHECK(json["mask"]["empty_blocks"] == 2 * 28);
  CHECK(json["mask"]["partial_blocks"] == 2 * 8);
  CHECK(json["mask"]["full_blocks"] == 2 * 28);
  CHECK(json["mask"]["visible_elements"] == 2 * 1024 * 1025 / 2);
  CHECK(json["mask"]["decided_by"]["analysis"] == 2 * 56);
  CHECK(json["mask"]["decided_by"]["evaluation"] == 2 * 8);
  CHECK_FALSE(simulated({})["mask"].is_object());
}

TEST_CASE("masks: several masks and --causal must all hold, and a program that takes masks may be named") {
  const Json json = simulated({"--seq", "32", "--seq-kv", "48", "--mask", "kv >= 16", "--mask", "q % 2 == 0", "--causal",
                               "--block-q", "16", "--block-kv", "16"});
  std::int64_t expected = 0;
  for (int q = 0; q < 32; ++q)
    for (int kv = 0; kv < 48; ++kv) expected += kv >= 16 && q % 2 == 0 && kv <= q + 16 ? 1 : 0;
  CHECK(json["mask"]["visible_elements"] == expected);
  CHECK(json["mask"]["expression"] == "kv <= q + NK - N && kv >= 16 && q % 2 == 0");
  const Json standard = simulated({"--algorithm", "standard", "--mask", "q >= kv"});
  CHECK(standard["algorithm"] == "standard");
  CHECK(standard["mask"]["full_blocks"] == 6);
  // The dense mask is a matrix as large as S, and nothing is skipped.
  const Json full = simulated({"--algorithm", "standard"});
  CHECK(standard["traffic"]["l2_to_sm_bytes"] == full["traffic"]["l2_to_sm_bytes"].get<std::int64_t>() + 64 * 64 * 2);
  CHECK(simulated({"--algorithm", "standard", "--score", "score * 2.0"})["score"] == "score * 2.0");
}

TEST_CASE("masks: a named program without a kernel for masks is simulated, and the report names one that has it") {
  const auto report = [](const char* gpu, const char* algorithm) {
    return run_program({"simulate", "--gpu", gpu, "--algorithm", algorithm, "--heads", "2", "--seq", "512", "--head-dim", "128",
                        "--mask", "q - kv < 64"})
        .out;
  };
  CHECK(report("h100", "flash3").find("the CUDA kernel of flash3 takes no such mask: that of hopper_flex does") !=
        std::string::npos);
  CHECK(report("h100", "flash2").find("the CUDA kernel of flash2 takes no such mask: that of flex does") != std::string::npos);
  CHECK(report("h100", "hopper_flex").find("takes no such mask") == std::string::npos);
}

TEST_CASE("masks: the report says where no query sees a key") {
  const auto report = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "simulate");
    return run_program(arguments).out;
  };
  constexpr const char* said = "no query sees a key: every ";
  CHECK(report({"--mask", "q < kv", "--causal"}).find("no query sees a key: every row of O is 0") != std::string::npos);
  CHECK(report({"--mask", "q < 0", "--algorithm", "standard"}).find(said) != std::string::npos);
  CHECK(report({"--mask", "q < 0", "--pass", "backward"}).find("no query sees a key: every gradient is 0") != std::string::npos);
  CHECK(report({"--mask", "q == 63 && kv == 0"}).find(said) == std::string::npos);
}

TEST_CASE("masks: the report says that the order of the traffic is of dense attention, where a mask hides some of it") {
  constexpr const char* said = "bytes between L2 and SMs: Θ(N²d²/M) for dense attention\n";
  // N·d is at least M.
  CHECK(run_program({"simulate", "--mask", "q >= kv", "--seq", "2048"}).out.find(said) != std::string::npos);
  const std::string causal = run_program({"simulate", "--causal", "--seq", "2048"}).out;
  CHECK(causal.find("bytes between L2 and SMs: Θ(N²d²/M)\n") != std::string::npos);
}

TEST_CASE("report: an order with M is given only where d <= M <= N·d, else the sentence says what M and N·d are") {
  const std::string small = run_program({"simulate"}).out;
  CHECK(small.find("order    none here: Θ(N²d²/M) holds for d <= M <= N·d, and M is " + format_count(32768) + " elements, N·d " +
                   format_count(1024)) != std::string::npos);
  CHECK(small.find("bytes between L2 and SMs: Θ") == std::string::npos);
  const std::string standard = run_program({"simulate", "--algorithm", "standard"}).out;
  CHECK(standard.find("bytes between L2 and SMs: Θ(Nd + N²)") != std::string::npos);
}

TEST_CASE("masks: the report and the JSON name the tables that no figure counts, and only those that are read") {
  const TemporaryFolder folder;
  std::string ids;
  for (int i = 0; i < 64; ++i) ids += std::to_string(i / 16) + "\n";
  const std::string doc = "doc=" + folder.file("documents.csv", ids), other = "other=" + folder.file("other.csv", "0.5\n1.5\n");
  const std::vector<std::string> asked = {"--mask", "doc[q] == doc[kv]", "--table", doc, "--table", other};
  std::vector<std::string> words = asked;
  words.insert(words.begin(), "simulate");
  CHECK(run_program(words).out.find("doc 256 B; not in the traffic and the memory below\n") != std::string::npos);
  CHECK(simulated(asked)["tables_left_out"] == Json({{{"name", "doc"}, {"bytes", 256}}}));
  std::vector<std::string> both = asked;
  both.insert(both.end(), {"--score", "score + other[b]"});
  CHECK(simulated(both)["tables_left_out"].size() == 2);
  // The kernel of standard reads a matrix that was made of them: the ledger has it.
  both.insert(both.end(), {"--algorithm", "standard"});
  CHECK_FALSE(simulated(both).contains("tables_left_out"));
  CHECK_FALSE(simulated({"--mask", "q >= kv"}).contains("tables_left_out"));
}

TEST_CASE("masks: a score change alters no byte, and presets and tables reach the request") {
  const Json plain = simulated({"--algorithm", "flex", "--seq", "128"}),
             capped = simulated({"--preset", "softcap:cap=30", "--seq", "128"});
  CHECK(plain["traffic"] == capped["traffic"]);
  CHECK(capped["score"] == "let cap = 30; cap * tanh(score / cap)");
  CHECK(capped["work"]["exps"] == plain["work"]["exps"].get<std::int64_t>() + 2 * 128 * 128);
  const TemporaryFolder folder;
  std::string ids;
  for (int i = 0; i < 64; ++i) ids += std::to_string(i / 16) + "\n";
  const std::string file = folder.file("documents.csv", ids);
  const Json documents = simulated({"--preset", "document", "--table", "doc=" + file});
  CHECK(documents["mask"]["full_blocks"] == 4);
  CHECK(documents["mask"]["partial_blocks"] == 0);
  CHECK(documents["mask"]["visible_elements"] == 4 * 16 * 16);
  CHECK(simulated({"--mask", "doc[q] == doc[kv]", "--table", "doc=" + file, "--mask-block", "64"})["mask"]["partial_blocks"] == 1);
}

TEST_CASE("pages: --page-size chooses flex, the JSON describes the pool, and what cannot be is one sentence") {
  const Json plain = simulated({"--algorithm", "flex", "--batch", "2", "--seq", "72"});
  const Json paged = simulated({"--batch", "2", "--seq", "72", "--page-size", "32"});
  CHECK(paged["algorithm"] == "flex");
  CHECK(paged["pages"] == Json({{"page_size", 32}, {"page_order", "shuffled"}, {"per_sequence", 3}, {"pool", 6}}));
  CHECK_FALSE(plain.contains("pages"));
  // One sector of entries for each of 2 x 5 blocks.
  CHECK(paged["traffic"]["l2_to_sm_bytes"] == plain["traffic"]["l2_to_sm_bytes"].get<std::int64_t>() + 10 * 32);
  CHECK(simulated({"--page-size", "32", "--page-order", "contiguous", "--causal"})["pages"]["page_order"] == "contiguous");
  CHECK(refusal({"--page-size", "24"}) ==
        "--page-size is 24, and the key tile is 16: one must be a multiple of the other, such as 32");
  CHECK(refusal({"--algorithm", "flash2", "--page-size", "32"}) ==
        "flash2 has no page table: leave out --page-size, or run flex forward");
  CHECK(refusal({"--page-order", "contiguous"}) == "--page-order is the order of the pages of K and V: it needs --page-size P");
  CHECK_FALSE(simulated({"--algorithm", "flash2", "--page-size", "0"}).contains("pages"));
  CHECK(refusal({"--page-size", "0", "--page-order", "contiguous"}) ==
        "--page-order is the order of the pages of K and V: it needs --page-size P");
  CHECK(refusal({"--page-size", "32", "--page-order", "mixed"}).find("--page-order is 'mixed'") == 0);
  const auto unmeasured = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "measure");
    const RunOutcome measured = run_program(arguments);
    CHECK(measured.code == 2);
    return measured.err;
  };
  CHECK(unmeasured({"--algorithm", "flash2", "--page-size", "128"}) ==
        "tilescope: kernel flash2 has no page table: leave out --page-size\n");
  CHECK(unmeasured({"--page-size", "192"}) ==
        "tilescope: --page-size is 192, and the key tile is 128: one must be a multiple of the other, such as 256\n");
  CHECK(unmeasured({"--page-size", "8"}) ==
        "tilescope: kernel flex takes pages of 16 keys or more, not 8: use a larger --page-size\n");
}

TEST_CASE("masks: a mistake is one line that names the flag and the column") {
  const TemporaryFolder folder;
  const std::string table = folder.file("doc.csv", "0\n");
  CHECK(refusal({"--mask", "q - kw < 3"}) == "--mask 'q - kw < 3': column 5: unknown name 'kw': did you mean kv?");
  CHECK(refusal({"--mask", "q - kv"}).find("column 1: a mask is a condition") != std::string::npos);
  CHECK(refusal({"--mask", "score > 0"}).find("a mask knows no score") != std::string::npos);
  CHECK(refusal({"--mask", "q // (kv - 5) > 0"}).find("column 3: division by zero at b 0, h 0, q 0, kv 5") != std::string::npos);
  const std::string endless(10000000, '(');  // NOLINT(bugprone-string-constructor): so long it is to be
  CHECK(refusal({"--mask", endless}).find("has 10000000 characters: at most 16384") != std::string::npos);
  CHECK(refusal({"--score", "q < kv"}).find("a score is a number, and this is a bool") != std::string::npos);
  CHECK(refusal({"--score", "score", "--preset", "alibi"}) ==
        "--preset alibi and --score score both change the score: write one --score");
  CHECK(refusal({"--score", "score", "--algorithm", "flash2"}) ==
        "flash2 takes scores as they are: use --algorithm flex with --score");
  CHECK(refusal({"--preset", "casual"}) == "--preset: unknown name 'casual': did you mean causal?");
  CHECK(refusal({"--preset", "document"}) == "--preset document needs --table doc=FILE");
  CHECK(refusal({"--preset", "packed_causal", "--table", "doc=" + table}) == "--preset packed_causal needs --table offsets=FILE");
  CHECK(refusal({"--preset", "vsa:top=4"}) == "--preset vsa:top=4 needs --table chosen=FILE");
  CHECK(refusal({"--mask", "q >= kv", "--algorithm", "matmul_tiled"}).find("matmul_tiled has no mask") != std::string::npos);
  CHECK(refusal({"--mask", "q >= kv", "--mask-block", "24"}).find("--mask-block is 24, and the tile is 16x16") !=
        std::string::npos);
  CHECK(refusal({"--mask-block", "32", "--algorithm", "flash2"}) ==
        "--mask-block is the block of the lists of flex and hopper_flex: flash2 has none");
  const std::string no_mask =
      "--mask-block is the block of a mask's lists, and there is no mask: give --mask, --preset or --causal";
  CHECK(refusal({"--mask-block", "64"}) == no_mask);
  CHECK(refusal({"--mask-block", "64", "--preset", "softcap"}) == no_mask);
  CHECK(simulated({"--causal", "--mask-block", "32"})["algorithm"] == "flex");
  CHECK(refusal({"--mask-block", "0"}).find("--mask-block") != std::string::npos);
}

TEST_CASE("masks: a table that cannot be read is one line") {
  const TemporaryFolder folder;
  const std::string few = folder.file("few.csv", "0\n0\n1\n"), words = folder.file("words.csv", "a\n");
  CHECK(refusal({"--mask", "doc[q] == 0", "--table", "doc=" + few}) ==
        "--mask 'doc[q] == 0': column 1: index of doc is 3 at b 0, h 0, q 3, kv 0, but doc has 0 to 2 there");
  CHECK(refusal({"--mask", "doc[q, kv] == 0", "--table", "doc=" + few}).find("doc takes 1 index, not 2") != std::string::npos);
  CHECK(refusal({"--mask", "q >= kv", "--table", "doc"}) == "--table is 'doc': write NAME=FILE, for example doc=documents.csv");
  CHECK(refusal({"--mask", "q >= kv", "--table", "q=" + few}) == "--table: 'q' already means query, counted from 0");
  CHECK(refusal({"--mask", "q >= kv", "--table", "a=" + few, "--table", "a=" + few}) == "--table: a is given twice");
  CHECK(refusal({"--mask", "q >= kv", "--table", "a=" + words}).find("line 1: 'a' is not a number") != std::string::npos);
  CHECK(refusal({"--mask", "q >= kv", "--table", "a=" + folder.path("no.csv")}).find("there is no such file") != std::string::npos);
  CHECK(refusal({"--mask", "q >= kv", "--table", "a=" + folder.file("a.npy", "1,2")}).find("is not a .npy file") !=
        std::string::npos);
  CHECK(refusal({"--table", "a=" + few}) == "--table is read by --mask, --score and --preset: give one of them");
  CHECK(refusal({"--mask", "a[q] >= 0", "--table", "a=" + few, "--json", few}).find("few.csv") != std::string::npos);
}

TEST_CASE("masks: a sweep takes them, makes them anew at every length, and continues only its own file") {
  const TemporaryFolder folder;
  const std::string file = folder.path("sweep.csv");
  const auto sweep = [&](std::string mask) {
    return run_program(
        {"sweep", "--over", "seq=64,128,256", "--algorithm", "flex,flash2", "--quiet", "--mask", std::move(mask), "--csv", file});
  };
  RunOutcome outcome = sweep("q >= kv && q - kv < 32");
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(sweep("q >= kv && q - kv < 32").code == 0);
  outcome = sweep("q >= kv");
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("holds another sweep") != std::string::npos);
}

}  // namespace tilescope
