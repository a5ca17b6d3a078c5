// The CUDA of flex: NVRTC takes that of every preset. Needs NVRTC, no GPU; without it the test says so.
#include "kernels/flex/flex.h"

#include <cstdio>
#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "sim/masks/mask.h"
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

}  // namespace

TEST_CASE("flex: NVRTC compiles the CUDA of every preset") {
  // Half of the presets at each head dimension: a compilation takes some seconds.
  int compiled = 0, number = 0;
  for (const Preset& preset : presets()) {
    AttentionProblem problem = small(number++ % 2 == 0 ? 64 : 128);
    MaskChoice choice;
    choice.presets = {std::string(preset.name) + parameters_of(preset.name)};
    choice.tables = tables_for(problem);
    CAPTURE(choice.presets.front());
    const Status settled = settle_masks(choice, problem);
    REQUIRE_MESSAGE(settled, (settled ? std::string() : settled.error().sentence.text()));
    const Result<FlexText> text = flex_text(problem);
    REQUIRE_MESSAGE(text, (text ? std::string() : text.error().sentence.text()));
    CHECK(flex_shared_bytes(problem, text->source, 4) < 227 * 1024);
    const Result<std::string> cubin = compile_flex(text->text, 9, 0);
    if (!cubin && cubin.error().kind == Error::Kind::machine_lacks &&
        cubin.error().sentence.text().find("does not take") == std::string::npos) {
      std::printf("skipped: %s\n", cubin.error().sentence.text().c_str());
      return;
    }
    REQUIRE_MESSAGE(cubin, (cubin ? std::string() : cubin.error().sentence.text()));
    CHECK(cubin->starts_with("\177ELF"));
    ++compiled;
  }
  CHECK(compiled == static_cast<int>(presets().size()));
}

TEST_CASE("flex: a mask that is no expression and a block that the tile does not divide are one sentence each") {
  AttentionProblem problem = small(64);
  problem.causal = true;
  problem.mask_block = 96;
  const Result<FlexText> wrong_block = flex_text(problem);
  REQUIRE_FALSE(wrong_block);
  CHECK(wrong_block.error().sentence.text().find("96") != std::string::npos);
  problem.causal = false;
  problem.mask_block = 0;
  problem.mask = std::make_shared<const MatrixMask>(256, 256, std::vector<bool>(256 * 256, true));
  CHECK_FALSE(flex_text(problem));
}
