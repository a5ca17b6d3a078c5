// The CUDA of flex: every preset has one, and NVRTC takes it. Needs NVRTC, no GPU; without it the test says so. NVRTC needs seconds
// for each text, so a run compiles some of them, drawn anew; TILESCOPE_EVERY_PRESET=1 compiles all.
#include "kernels/flex/flex.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "sim/core/mask.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/presets.h"

using namespace tilescope;

namespace {

std::shared_ptr<const CapturedTable> filled(std::string name, std::vector<std::int64_t> shape,
                                            ValueType type = ValueType::integer) {
  CapturedTable table;
  table.name = std::move(name);
  table.shape = std::move(shape);
  table.type = type;
  std::size_t count = 1;
  for (const std::int64_t length : table.shape) count *= static_cast<std::size_t>(length);
  if (type == ValueType::real)
    table.reals.assign(count, 0.5F);
  else
    table.integers.assign(count, 0);
  return std::make_shared<const CapturedTable>(std::move(table));
}

AttentionProblem small(std::int64_t head_dim) {
  AttentionProblem p;
  p.batch = 1;
  p.heads = p.kv_heads = 2;
  p.seq_q = p.seq_kv = 256;
  p.head_dim = head_dim;
  return p;
}

/// Zeros in the shapes that the presets say: their values change no text.
TableList tables_for(const AttentionProblem& p) {
  const std::int64_t n = p.seq_q, nk = p.seq_kv, h = p.heads;
  const auto real = ValueType::real;
  return {filled("doc", {n}),
          filled("offsets", {8}),
          filled("prefix_of", {8}),
          filled("is_global", {n}, ValueType::boolean),
          filled("chosen", {p.batch, h, 8, 8}),
          filled("intervals", {8, 2}),
          filled("ancestor", {n, n}),
          filled("bias", {n + nk - 1}, real),
          filled("distance", {p.batch, n, nk}),
          filled("spatial", {h, 8}, real),
          filled("path", {p.batch, n, nk, 4}),
          filled("path_length", {p.batch, n, nk}),
          filled("edge", {h, 4, 8}, real),
          filled("q_rope", {p.batch, h, n, 16}, real),
          filled("k_rope", {p.batch, h, nk, 16}, real)};
}

constexpr FlexBase bases[] = {FlexBase::flash2, FlexBase::hopper, FlexBase::backward};

std::string parameters_of(std::string_view name) {
  if (name.starts_with("natten")) return ":width=16,height=16,kernel=7";
  if (name == "sta") return ":width=16,height=16,kernel=8,tile=8";
  if (name == "sta_video") return ":frames=4,width=8,height=8,kernel=1,tile=8,depth=4";
  if (name == "block_diffusion") return ":clean=128,size=32";
  if (name == "tree" || name == "draft_training") return ":prefix=16";
  if (name == "vsa") return ":tile=32,top=8";
  if (name == "flamingo") return ":image=32";
  return "";
}

/// Which texts of a run are compiled.
struct Drawn {
  unsigned seed = static_cast<unsigned>(std::random_device{}());
  std::mt19937 random = std::mt19937(seed);
  bool every = std::getenv("TILESCOPE_EVERY_PRESET") != nullptr;
  bool is_compiled() { return random() % 2 == 0 || every; }
};

/// NVRTC takes the text. Without NVRTC the test says so once.
void require_taken(const std::string& text) {
  const Status taken = check_flex(text);
  const bool lacks_nvrtc = !taken && taken.error().kind == Error::Kind::machine_lacks &&
                           taken.error().sentence.text().find("does not take") == std::string::npos;
  if (!lacks_nvrtc) {
    REQUIRE_MESSAGE(taken, (taken ? std::string() : taken.error().sentence.text()));
    return;
  }
  static bool said = false;
  if (!std::exchange(said, true)) std::printf("skipped: %s\n", taken.error().sentence.text().c_str());
}

}  // namespace

TEST_CASE("flex: every preset has CUDA, and NVRTC compiles it") {
  Drawn drawn_texts;
  std::mt19937& random = drawn_texts.random;
  CAPTURE(drawn_texts.seed);
  const std::size_t count = presets().size();
  std::vector<bool> compiled(count, drawn_texts.every);
  for (int drawn = 0; drawn < 3; ++drawn) compiled[random() % count] = true;
  for (std::size_t number = 0; number < count; ++number) {
    const Preset& preset = presets()[number];
    AttentionProblem problem = small(random() % 2 == 0 ? 64 : 128);
    MaskChoice choice;
    choice.presets = {std::string(preset.name) + parameters_of(preset.name)};
    choice.tables = tables_for(problem);
    CAPTURE(choice.presets.front());
    const Status settled = settle_masks(choice, problem);
    REQUIRE_MESSAGE(settled, (settled ? std::string() : settled.error().sentence.text()));
    const FlexBase base = bases[random() % std::size(bases)];
    CAPTURE(static_cast<int>(base));
    const Result<FlexText> text = flex_text(base, problem);
    REQUIRE_MESSAGE(text, (text ? std::string() : text.error().sentence.text()));
    CHECK(flex_shared_bytes(base, problem, text->source, 4) < 227 * 1024);
    if (compiled[number]) require_taken(text->text);
  }
}

TEST_CASE("flex: the reads of tables with a gradient are structs of the text, and NVRTC compiles every kind") {
  const struct {
    const char* score;
    std::vector<std::string> gradients;
    std::vector<const char*> lines;
  } cases[] = {
      {"score + slope[h] * (kv - q)", {"slope"}, {"TableReach::head", "has_factor = true, weighed = false"}},
      {"score + bias[q - kv + NK - 1]", {"bias"}, {"TableReach::distance", "has_factor = false, weighed = false, rises = true"}},
      {"tanh(score * slope[h]) + column[kv]",
       {"slope", "column"},
       {"weighed = true", "TableReach::key", "TableReads<FlexRead0, FlexRead1>"}},
      {"score + pair[h, q, kv] + row[N - 1 - q] * (kv % 3)",
       {"pair", "row"},
       {"TableReach::pair", "TableReach::query", "rises = false"}},
      {"20 * tanh((score + spatial[h, clamp(q - kv, 0, 7)]) / 20)", {"spatial"}, {"has_factor = false, weighed = false"}},
  };
  Drawn drawn;
  CAPTURE(drawn.seed);
  for (const std::int64_t head_dim : {64, 128})
    for (const auto& one : cases) {
      CAPTURE(std::string(one.score));
      AttentionProblem problem = small(head_dim);
      problem.pass = Pass::backward;
      MaskChoice choice{.masks = {"q >= kv"}, .score = one.score, .tables = tables_for(problem), .table_gradients = one.gradients};
      const auto real = ValueType::real;
      for (const auto& table : {filled("slope", {2}, real), filled("column", {256}, real), filled("row", {256}, real),
                                filled("pair", {2, 256, 256}, real)})
        choice.tables.push_back(table);
      const Status settled = settle_masks(choice, problem);
      REQUIRE_MESSAGE(settled, (settled ? std::string() : settled.error().sentence.text()));
      const Result<FlexText> text = flex_text(FlexBase::backward, problem);
      REQUIRE(text);
      for (const char* line : one.lines) CHECK_MESSAGE(text->text.find(line) != std::string::npos, line);
      if (drawn.is_compiled()) require_taken(text->text);
      choice.table_gradients.clear();
      REQUIRE(settle_masks(choice, problem));
      CHECK(flex_text(FlexBase::backward, problem)->text.find("FlexReads") == std::string::npos);
    }
}

TEST_CASE("flex: the text of a causal mask becomes machine code") {
  AttentionProblem problem = small(64);
  problem.causal = true;
  for (const FlexBase base : {FlexBase::flash2, FlexBase::hopper, FlexBase::backward, FlexBase::backward_probed}) {
    const Result<FlexText> text = flex_text(base, problem);
    REQUIRE(text);
    const Result<std::string> cubin = compile_flex(text->text, 9, 0);
    if (cubin) {
      CHECK(cubin->starts_with("\177ELF"));
    } else {
      CHECK(cubin.error().kind == Error::Kind::machine_lacks);
      CHECK(cubin.error().sentence.text().find("does not take") == std::string::npos);
    }
  }
}

TEST_CASE("flex: the loop with two blocks an SM has its own text, and both blocks fit the shared memory of an SM") {
  constexpr std::int64_t bytes_of_sm = 228 * 1024, reserved = 1024;  // of an H100 and an H200, and for each block
  for (const char* preset : {"causal", "alibi", "sliding_window:window=64"}) {
    CAPTURE(preset);
    AttentionProblem problem = small(64);
    MaskChoice choice;
    choice.presets = {preset};
    REQUIRE(settle_masks(choice, problem));
    const Result<FlexText> text = flex_text(FlexBase::two_blocks, problem);
    REQUIRE(text);
    CHECK(text->text.find("__launch_bounds__(256, 2)") != std::string::npos);
    CHECK(2 * (flex_shared_bytes(FlexBase::two_blocks, problem, text->source, 64) + reserved) <= bytes_of_sm);
    require_taken(text->text);
  }
  CHECK(flex_kernel_id(FlexBase::two_blocks) == "hopper_flex");
}

TEST_CASE("flex: with pages the text has their size, and NVRTC compiles each kind, for ragged keys too") {
  Drawn drawn;
  CAPTURE(drawn.seed);
  for (const FlexBase base : {FlexBase::flash2, FlexBase::hopper})
    for (const std::int64_t head_dim : {64, 128})
      for (const std::int64_t page_size : {16, 64, 384}) {
        AttentionProblem problem = small(head_dim);
        problem.seq_kv = page_size == 64 ? 256 : 250;
        problem.causal = page_size != 64;
        problem.page_size = page_size;
        CAPTURE(std::string(flex_kernel_id(base)));
        CAPTURE(head_dim);
        CAPTURE(page_size);
        const Result<FlexText> text = flex_text(base, problem);
        REQUIRE(text);
        CHECK(text->text.find("PagedArguments") != std::string::npos);
        CHECK(text->text.find(", " + std::to_string(page_size) + ">;") != std::string::npos);
        // Sixteen entries more are 64 bytes more.
        CHECK(flex_shared_bytes(base, problem, text->source, 4, 16) == flex_shared_bytes(base, problem, text->source, 4) + 64);
        if (drawn.is_compiled()) require_taken(text->text);
      }
  CHECK(flex_text(FlexBase::flash2, small(64))->text.find("Paged") == std::string::npos);
}

TEST_CASE("flex: a mask that is no expression and a block that the tile does not divide are one sentence each") {
  AttentionProblem problem = small(64);
  problem.causal = true;
  problem.mask_block = 96;
  const Result<FlexText> wrong_block = flex_text(FlexBase::flash2, problem);
  REQUIRE_FALSE(wrong_block);
  CHECK(wrong_block.error().sentence.text().find("96") != std::string::npos);
  problem.causal = false;
  problem.mask_block = 0;
  problem.mask = std::make_shared<const MatrixMask>(256, 256, std::vector<bool>(256 * 256, true));
  CHECK_FALSE(flex_text(FlexBase::flash2, problem));
}
