// The table of presets. Sources: attention-gym, the FlexAttention blog, and the papers named beside them.
#include "sim/masks/presets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr Preset table[] = {
    {.name = "causal", .mask = "q >= kv", .meaning = "a query sees its own key and those before it"},
    {.name = "sliding_window",
     .parameters = "window=1024",
     .mask = "q >= kv && q - kv <= window",
     .meaning = "causal, and at most `window` keys back"},
    {.name = "dilated_sliding_window",
     .parameters = "window=1024,dilation=2",
     .mask = "abs(q - kv) <= window && abs(q - kv) % dilation == 0",
     .meaning = "keys `dilation` apart, in a window to both ends"},
    {.name = "global_sliding_window",
     .parameters = "window=256",
     .tables = "is_global",
     .mask = "abs(q - kv) <= window || int(is_global[q]) + int(is_global[kv]) > 0",
     .meaning = "a window, and global tokens that see and are seen everywhere (Longformer, arXiv:2004.05150)"},
    {.name = "prefix_lm",
     .parameters = "prefix=1024",
     .mask = "kv < prefix || q >= kv",
     .meaning = "all see the prefix, the rest is causal"},
    {.name = "attention_sink",
     .parameters = "sinks=4,window=1024",
     .mask = "q >= kv && (q - kv <= window || kv < sinks)",
     .meaning = "a causal window and the first keys (StreamingLLM, arXiv:2309.17453)"},
    {.name = "document",
     .tables = "doc",
     .mask = "doc[q] == doc[kv]",
     .meaning = "packed documents; doc has the document of each token"},
    {.name = "document_causal",
     .tables = "doc",
     .mask = "doc[q] == doc[kv] && q >= kv",
     .meaning = "packed documents, causal in each"},
    {.name = "packed_causal",
     .tables = "doc,offsets",
     .mask = "kv >= offsets[doc[q]] && q >= kv",
     .meaning = "the same as one run of keys a query; offsets has the first token of each document"},
    {.name = "fixed_documents",
     .parameters = "length=700",
     .mask = "q // length == kv // length",
     .meaning = "documents of one length"},
    {.name = "shared_prefix",
     .tables = "doc,offsets,prefix_of",
     .mask = "let d = doc[q]; let p = prefix_of[d]; (kv >= offsets[d] && q >= kv) || (d != p && kv >= offsets[p] && kv < offsets[p "
             "+ 1])",
     .meaning = "continuations that share a prompt; prefix_of has the prompt of each document"},
    {.name = "batchify",
     .parameters = "size=512",
     .mask = "q // size == kv // size && q % size >= kv % size",
     .meaning = "causal within groups of `size` tokens"},
    {.name = "block_diffusion",
     .parameters = "clean=2048,size=128",
     .mask =
         "let query_noised = q < clean; let key_noised = kv < clean; let query_block = q % clean // size; let key_block = kv % "
         "clean "
         "// size; "
         "(query_block == key_block && query_noised == key_noised) || (query_block > key_block && query_noised && !key_noised) || "
         "(query_block >= key_block && !query_noised && !key_noised)",
     .meaning = "noised tokens, then clean ones (BD3-LM, arXiv:2503.09573); NK is 2 clean"},
    {.name = "natten",
     .parameters = "width=64,height=64,kernel=7",
     .mask = "let r = kernel // 2; let middle_x = clamp(q // width, r, width - 1 - r); let middle_y = clamp(q % width, r, height - "
             "1 - r); "
             "abs(middle_x - kv // width) <= r && abs(middle_y - kv % width) <= r",
     .meaning = "neighbourhoods on a canvas (NATTEN, arXiv:2204.07143)"},
    {.name = "natten_tiled",
     .parameters = "width=64,height=64,kernel=7,tile=8",
     .mask = "let r = kernel // 2; let area = tile * tile; "
             "let x(i) = i // area % (width // tile) * tile + i % area % tile; "
             "let y(i) = i // area // (width // tile) * tile + i % area // tile; "
             "abs(clamp(x(q), r, width - 1 - r) - x(kv)) <= r && abs(clamp(y(q), r, height - 1 - r) - y(kv)) <= r",
     .meaning = "the same, with tokens in tiles of tile x tile"},
    {.name = "natten_morton",
     .parameters = "width=64,height=64,kernel=7",
     .mask = "let a(i) = i & 0x55555555; let c(i) = (a(i) | a(i) >> 1) & 0x33333333; let e(i) = (c(i) | c(i) >> 2) & 0x0f0f0f0f; "
             "let g(i) = (e(i) | e(i) >> 4) & 0x00ff00ff; let x(i) = (g(i) | g(i) >> 8) & 0xffff; let y(i) = x(i >> 1); "
             "let r = kernel // 2; "
             "abs(clamp(x(q), r, width - 1 - r) - x(kv)) <= r && abs(clamp(y(q), r, height - 1 - r) - y(kv)) <= r",
     .meaning = "the same, with tokens along a Morton curve"},
    {.name = "sta",
     .parameters = "width=64,height=64,kernel=24,tile=8,text=0",
     .mask =
         "let across = width // tile; let down = height // tile; let k = kernel // tile; let left = k // 2; let right = k // 2 + k "
         "% 2 "
         "- 1; "
         "let area = tile * tile; let vision = width * height; "
         "let row(i) = i // area // across; let column(i) = i // area % across; "
         "let middle_row = clamp(row(q), left, down - 1 - right); let middle_column = clamp(column(q), left, across - 1 - right); "
         "let near = row(kv) >= middle_row - left && row(kv) <= middle_row + right && column(kv) >= middle_column - left && "
         "column(kv) "
         "<= middle_column + right; "
         "(q < vision && kv < vision && near) || (q < vision && kv >= vision && kv < vision + text) || (q >= vision && kv < vision "
         "+ "
         "text)",
     .meaning = "sliding tile attention on a picture, with text after it (STA, arXiv:2502.04507)"},
    {.name = "sta_video",
     .parameters = "frames=16,width=32,height=32,kernel=3,tile=8,depth=4,text=0",
     .mask = "let across = width // tile; let down = height // tile; let long = frames // depth; "
             "let left = kernel // 2; let right = kernel // 2 + kernel % 2 - 1; let volume = tile * tile * depth; "
             "let vision = width * height * frames; "
             "let t(i) = i // volume // (across * down); let row(i) = i // volume % (across * down) // across; "
             "let column(i) = i // volume % across; "
             "let middle_time = clamp(t(q), left, long - 1 - right); let middle_row = clamp(row(q), left, down - 1 - right); "
             "let middle_column = clamp(column(q), left, across - 1 - right); "
             "let near = t(kv) >= middle_time - left && t(kv) <= middle_time + right && row(kv) >= middle_row - left && row(kv) <= "
             "middle_row + right && "
             "column(kv) >= middle_column - left && column(kv) <= middle_column + right; "
             "(q < vision && kv < vision && near) || (q < vision && kv >= vision && kv < vision + text) || (q >= vision && kv < "
             "vision + "
             "text)",
     .meaning = "sliding tile attention on a video; `kernel` counts tiles"},
    {.name = "svg_spatial",
     .parameters = "prompt=226,frame=1350,width=2,round=128",
     .mask = "kv < prompt || q < prompt || abs(q - kv) < width * frame // round * round",
     .meaning = "the spatial heads of Sparse VideoGen (arXiv:2502.01776)"},
    {.name = "svg_temporal",
     .parameters = "prompt=226,frame=1350,width=2,frames=13",
     .mask = "kv < prompt || q < prompt || abs((q - prompt) % frame - (kv - prompt) % frame) < width * frame // frames",
     .meaning = "the temporal heads of Sparse VideoGen"},
    {.name = "vsa",
     .parameters = "tile=64,top=8",
     .tables = "chosen",
     .mask = "any(i in 0..top: chosen[b, h, q // tile, i] == kv // tile)",
     .meaning = "chosen key tiles a query tile; chosen has [B, H, query tiles, top]"},
    {.name = "flamingo",
     .parameters = "image=64",
     .tables = "intervals",
     .mask = "q >= intervals[kv // image, 0] && q < intervals[kv // image, 1]",
     .meaning = "text sees its images (Flamingo, arXiv:2204.14198); intervals has [images, 2]"},
    {.name = "tree",
     .parameters = "prefix=1024",
     .tables = "ancestor",
     .mask = "kv < prefix || (kv < prefix + N && int(ancestor[q, clamp(kv - prefix, 0, N - 1)]) != 0)",
     .meaning = "a tree of drafts after a prefix; ancestor has [N, N]"},
    {.name = "draft_training",
     .parameters = "prefix=1024,size=8",
     .mask = "kv < prefix || (q // size == (kv - prefix) // size && (kv - prefix) % size <= q % size)",
     .meaning = "sampled blocks after a prefix, causal in each"},
    {.name = "alibi",
     .score = "score + exp2(-8.0 * (h + 1) / H) * (kv - q)",
     .meaning = "a bias that falls with the distance (ALiBi, arXiv:2108.12409)"},
    {.name = "softcap",
     .parameters = "cap=20",
     .score = "cap * tanh(score / cap)",
     .meaning = "scores within plus and minus `cap` (Gemma 2, Grok-1)"},
    {.name = "relative", .score = "score + (q - kv)", .meaning = "the distance itself as the bias"},
    {.name = "relative_bias",
     .tables = "bias",
     .score = "score + bias[q - kv + NK - 1]",
     .meaning = "a bias for each distance; bias has N + NK - 1 numbers"},
    {.name = "sandwich",
     .parameters = "width=128",
     .score = "score + sum(i in 0..width // 2: cos(abs(q - kv) * exp(-9.210340371976184 * 2 * i / width))) * H / (8.0 * (h + 1))",
     .meaning = "products of position embeddings as the bias (Sandwich, arXiv:2212.10356)"},
    {.name = "graphormer_spatial",
     .tables = "distance,spatial",
     .score = "score + spatial[h, distance[b, q, kv]]",
     .meaning = "a bias for each length of path (Graphormer, arXiv:2106.05234); distance has [B, N, NK], spatial [H, lengths]"},
    {.name = "graphormer_edge",
     .parameters = "hops=4",
     .tables = "path,path_length,edge",
     .score = "let n = min(path_length[b, q, kv], hops); "
              "score + sum(i in 0..hops: i < n ? edge[h, i, path[b, q, kv, i]] : 0.0) / max(n, 1)",
     .meaning = "the mean bias of the edges on the path; path has [B, N, NK, hops], edge [H, hops, kinds]"},
    {.name = "mla_rope",
     .parameters = "width=16,factor=1",
     .tables = "q_rope,k_rope",
     .score = "score + factor * sum(i in 0..width: q_rope[b, h, q, i] * k_rope[b, h // (H // HKV), kv, i])",
     .meaning = "a second product for positions (MLA, arXiv:2405.04434); q_rope has [B, H, N, width], k_rope [B, HKV, NK, width]"},
    {.name = "activation",
     .parameters = "offset=1",
     .score = "log(sigmoid(score) + offset)",
     .meaning = "another function in place of the exponential: here the sigmoid"},
};

struct Parameter {
  std::string_view key, value;
};

/// Cuts "a=1,b=2" at its commas; a piece without "=" has an empty value.
std::vector<Parameter> parameters_of(std::string_view text) {
  std::vector<Parameter> found;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    const std::size_t at = piece.find('=');
    found.push_back({piece.substr(0, at), at == std::string_view::npos ? std::string_view() : piece.substr(at + 1)});
  }
  return found;
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool digits = text.find_first_not_of("0123456789.+-e") == std::string_view::npos;  // from_chars also reads "inf" and "nan"
  return code == std::errc() && end == text.data() + text.size() && digits && !text.empty();
}

/// Whether a parameter counts what there must be one of: a mask divides by it, or goes over it.
bool is_size(std::string_view key) {
  constexpr std::array<std::string_view, 15> sizes = {"clean",  "depth",  "dilation", "frame", "frames", "height", "hops", "image",
                                                      "kernel", "length", "round",    "size",  "tile",   "top",    "width"};
  return std::ranges::find(sizes, key) != sizes.end();
}

bool is_positive_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value >= 1;
}

}  // namespace

std::span<const Preset> presets() {
  return table;
}

Result<PresetText> preset_text(std::string_view request) {
  const std::size_t colon = request.find(':');
  const std::string_view name = request.substr(0, colon);
  const Preset* preset = nullptr;
  std::vector<std::string_view> known;
  for (const Preset& row : table) {
    if (row.name == name) preset = &row;
    known.push_back(row.name);
  }
  if (preset == nullptr) return refuse("unknown name '{}': {}", printable(name), name_hint(name, known));
  std::vector<Parameter> parameters = parameters_of(preset->parameters);
  const std::string_view given = colon == std::string_view::npos ? std::string_view() : request.substr(colon + 1);
  std::vector<std::string_view> seen;
  for (const Parameter& parameter : parameters_of(given)) {
    std::vector<std::string_view> keys;
    Parameter* target = nullptr;
    for (Parameter& own : parameters) {
      if (own.key == parameter.key) target = &own;
      keys.push_back(own.key);
    }
    if (target == nullptr)
      return refuse("{} has no parameter '{}': {}", name, printable(parameter.key, 40),
                    keys.empty() ? phrase("it has none") : name_hint(parameter.key, keys));
    if (std::find(seen.begin(), seen.end(), parameter.key) != seen.end())
      return refuse("{}: {} is given twice", name, parameter.key);
    seen.push_back(parameter.key);
    if (!is_number(parameter.value))
      return refuse("{}: {} is '{}', not a number; example: {}:{}={}", name, parameter.key, printable(parameter.value, 40), name,
                    parameter.key, target->value);
    if (is_size(parameter.key) && !is_positive_whole(parameter.value))
      return refuse("{}: {} is {}, but must be a whole number from 1 on; example: {}:{}={}", name, parameter.key,
                    printable(parameter.value, 40), name, parameter.key, target->value);
    target->value = parameter.value;
  }
  std::string names;
  for (const Parameter& parameter : parameters) names += fmt::format("let {} = {}; ", parameter.key, parameter.value);
  PresetText text;
  if (!preset->mask.empty()) text.mask = names + std::string(preset->mask);
  if (!preset->score.empty()) text.score = names + std::string(preset->score);
  return text;
}

}  // namespace tilescope
