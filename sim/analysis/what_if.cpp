// The table of changes.
#include "sim/analysis/what_if.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/engine/launch_order.h"

namespace tilescope {

namespace {

/// A key, and the factor on its value or the new value.
struct Change {
  std::string_view key;
  double factor = 1;
  std::optional<double> value = {};
};

struct Row {
  std::string_view id, title, asks;
  std::array<Change, 4> changes;
  int count = 1;
  WhatIfPart part = {};
};

constexpr double unlimited = 1024.0 * 1024 * 1024 * 1024;  // the largest L2 that a spec may have, larger than any tensor here

const std::array rows = {
    Row{"l2_unlimited", "Unlimited L2", "What does the limited L2 capacity cost?", {Change{"l2.capacity_bytes", 1, unlimited}, {}}},
    Row{"l2_none", "No L2", "What does the L2 save?", {Change{"l2.capacity_bytes", 1, 0}, {}}},
    Row{"l2_one",
        "One L2 partition instead of two",
        "What do the copies in both partitions cost?",
        {Change{"l2.partitions", 1, 1}, {}}},
    Row{"hbm_half",
        "Half the HBM bandwidth",
        "Is HBM the bottleneck?",
        {Change{"hbm.bytes_per_second", 0.5}, {}},
        1,
        {Bound::hbm, false}},
    Row{"hbm_double",
        "Twice the HBM bandwidth",
        "Would a faster HBM help?",
        {Change{"hbm.bytes_per_second", 2}, {}},
        1,
        {Bound::hbm}},
    Row{"l2_double",
        "Twice the L2 bandwidth",
        "Would a faster path from the L2 help?",
        {Change{"l2.bytes_per_cycle", 2}, Change{"l2.copy_bytes_per_cycle", 2}, Change{"l2.fabric_bytes_per_cycle", 2},
         Change{"sm.l2_bytes_per_cycle", 2}},
        4,
        {Bound::l2}},
    Row{"shared_double",
        "Twice the shared memory",
        "Would more resident blocks or buffers help?",
        {Change{"sm.shared_bytes", 2}, Change{"sm.shared_bytes_per_block", 2}},
        2,
        {.room_on_sm = true}},
    Row{"shared_rate_double",
        "Twice the shared-memory bandwidth",
        "Is the bandwidth of shared memory the bottleneck?",
        {Change{"sm.shared_bytes_per_cycle", 2}, Change{"sm.copy_bytes_per_cycle", 2}},
        2,
        {Bound::smem}},
    Row{"exp_double",
        "Twice the exponential rate",
        "Is the exponential unit the bottleneck?",
        {Change{"sm.exps_per_cycle", 2}, {}},
        1,
        {Bound::exp}},
    Row{"tensor_double",
        "Twice the tensor-core rate",
        "Are the products the bottleneck?",
        {Change{"sm.tensor_flops_per_cycle", 2}, Change{"sm.mma_flops_per_cycle", 2}, Change{"sm.wgmma_flops_per_cycle", 2}},
        3,
        {Bound::tensor}},
    Row{"sms_double", "Twice as many SMs", "Is there work for more SMs?", {Change{"sm.count", 2}, {}}},
    Row{"launch_free", "Free launches", "What do the gaps between launches cost?", {Change{"launch.overhead_ns", 1, 0}, {}}},
};

/// Returns the change of a row; nullopt if it would change nothing.
std::optional<WhatIf> apply(const Row& row, const SimulationRequest& real) {
  WhatIf what{row.id, row.title, row.asks, {}, real};
  what.request.tile = chosen_tile(real);  // change one thing only: keep the tile
  what.part = row.part;
  bool differs = false;
  for (int i = 0; i < row.count; ++i) {
    const Change& change = row.changes[static_cast<std::size_t>(i)];
    const SpecKey* key = find_spec_key(change.key);
    if (key == nullptr) return std::nullopt;
    const double now = real.gpu.*key->member;
    if (now == 0 && !change.value) continue;  // a rate of 0 says that the spec does not have this number
    const double then = std::clamp(change.value.value_or(now * change.factor), key->minimum, key->maximum);
    if (then == now) continue;
    differs = true;
    what.assignments.push_back(fmt::format("{}={}", change.key, then));
  }
  if (!differs) return std::nullopt;
  for (const std::string& assignment : what.assignments)
    if (!set_spec_value(what.request.gpu, assignment)) return std::nullopt;
  return what;
}

/// Another block order of the same kernel on the same GPU.
struct OrderRow {
  std::string_view id;
  BlockOrder order;
  std::string_view title, asks;
  bool causal_only = false;
};
constexpr std::array order_rows = {
    OrderRow{"order_heads", BlockOrder::heads, "Interleaved heads", "How much does it help that resident blocks share K and V?"},
    OrderRow{"order_reversed", BlockOrder::reversed, "Reverse tile order within each head",
             "Does it matter that a causal mask puts the longest tiles last?", true},
    OrderRow{"order_longest", BlockOrder::longest, "Longest tiles of all heads first", "What does the tail of a causal mask cost?",
             true},
    OrderRow{"order_grouped", BlockOrder::grouped, "Last tiles first, by groups of heads that fit the L2",
             "Can resident blocks share K and V and still end together?"},
};

void add_orders(const SimulationRequest& real, const TileProgram& program, std::vector<WhatIf>& out) {
  const std::int64_t planes = real.problem.query_planes();
  const bool one_a_plane = std::all_of(program.launches().begin(), program.launches().end(),
                                       [&](const LaunchSpec& launch) { return launch.blocks() <= planes; });
  if (one_a_plane) return;
  for (const OrderRow& row : order_rows) {
    if (row.causal_only && !real.problem.causal) continue;
    if (row.order == BlockOrder::heads && planes < 2) continue;
    // With a single group this is the order `longest`.
    if (row.order == BlockOrder::grouped && planes_of_set(program.launches().front(), real.problem, real.gpu) >= planes) continue;
    WhatIf what{row.id, row.title, row.asks, {}, real};
    what.request.block_order = row.order;
    out.push_back(std::move(what));
  }
}

}  // namespace

std::vector<WhatIf> what_ifs(const SimulationRequest& real) {
  std::vector<WhatIf> out;
  const auto program = find_program(real.algorithm, real.problem.pass);
  const auto usual = program && check(real.problem) ? (*program)->make(real.problem, *chosen_tile(real), real.gpu)
                                                    : Result<std::unique_ptr<TileProgram>>(Error{});
  for (const Row& row : rows) {
    if (!real.gpu.has_l2() && std::string_view(row.id).starts_with("l2_") && row.id != "l2_unlimited") continue;
    if (row.id == "launch_free" && usual && (*usual)->launches().size() < 2) continue;
    if (auto what = apply(row, real)) out.push_back(std::move(*what));
  }
  if (usual) add_orders(real, **usual, out);
  const bool walks_keys =
      usual && (*usual)->schema().tile(Meaning::key) && (*program)->pass == Pass::forward && !(*program)->key_order;
  if (walks_keys && real.problem.seq_kv > chosen_tile(real)->block_kv) {
    const bool up = real.key_order == KeyOrder::ascending;
    WhatIf walk{"key_order",
                up ? "Key tiles from the last to the first" : "Key tiles from the first to the last",
                "Do neighbouring blocks still share K and V?",
                {},
                real};
    walk.request.key_order = up ? KeyOrder::descending : KeyOrder::ascending;
    out.push_back(std::move(walk));
  }
  if (real.problem.causal) {
    WhatIf all{"no_skipping", "Masked tiles not skipped", "What does skipping the tiles above the diagonal save?", {}, real};
    // A kernel that masks but skips nothing visits the tiles of an unmasked problem: the same bytes, products and exponentials.
    all.request.problem.causal = false;
    out.push_back(std::move(all));
  }
  return out;
}

std::vector<Jitter> jitters(const SimulationRequest& real) {
  std::vector<Jitter> out;
  for (const std::string_view name : {"l2.latency_cycles", "hbm.latency_cycles"}) {
    const SpecKey* const key = find_spec_key(name);
    const double now = real.gpu.*key->member;
    if (now < 1 || (name.starts_with("l2.") && !real.gpu.has_l2())) continue;
    Jitter jitter{real, real};
    jitter.longer.tile = jitter.shorter.tile = chosen_tile(real);
    jitter.longer.gpu.*key->member = now + 1;
    jitter.shorter.gpu.*key->member = now - 1;
    out.push_back(std::move(jitter));
  }
  for (const double part : {1.0 / 512, 1.0 / 128}) {
    Jitter jitter{real, real, part};
    jitter.longer.tile = jitter.shorter.tile = chosen_tile(real);
    jitter.longer.gpu.hbm_bytes_per_second = real.gpu.hbm_bytes_per_second * (1 - part);
    jitter.shorter.gpu.hbm_bytes_per_second = real.gpu.hbm_bytes_per_second * (1 + part);
    out.push_back(std::move(jitter));
  }
  return out;
}

double noise_of(std::span<const Jitter> jitters, double time_ns) {
  double least = 0, most = 0;
  const auto add = [&](double change) {
    least = std::min(least, change);
    most = std::max(most, change);
  };
  for (const Jitter& jitter : jitters) {
    const auto &longer = jitter.longer_outcome, &shorter = jitter.shorter_outcome;
    if (!longer || !shorter || !longer->done() || !shorter->done() || time_ns <= 0) continue;
    if (jitter.most_effect == 0) {
      add((longer->time_ns + shorter->time_ns) / 2 / time_ns - 1);
      continue;
    }
    for (const double ns : {longer->time_ns, shorter->time_ns}) {
      const double change = ns / time_ns - 1;
      add(change > 0 ? std::max(0.0, change - jitter.most_effect) : std::min(0.0, change + jitter.most_effect));
    }
  }
  return most - least;
}

Result<double> find_noise(const SimulationRequest& real, double time_ns,
                          const std::function<Result<Outcome>(const SimulationRequest&)>& run) {
  std::vector<Jitter> runs = jitters(real);
  for (Jitter& jitter : runs) {
    auto longer = run(jitter.longer);
    if (!longer) return longer.error();
    auto shorter = run(jitter.shorter);
    if (!shorter) return shorter.error();
    jitter.longer_outcome = std::move(*longer);
    jitter.shorter_outcome = std::move(*shorter);
  }
  return std::max(noise_of(runs, time_ns), least_difference);
}

std::size_t WhatIfTable::done() const {
  std::size_t count = base ? 1 : 0;
  for (const WhatIfRow& row : rows) count += row.outcome ? 1 : 0;
  for (const Jitter& jitter : jitters) count += (jitter.longer_outcome ? 1 : 0) + (jitter.shorter_outcome ? 1 : 0);
  return count;
}

double WhatIfTable::noise() const {
  if (!base || !base->done() || base->time_ns <= 0) return 0;
  // Real hardware never loses time by a faster unit or gains by a slower one. In the model a changed order of events can do so.
  double impossible = 0;
  for (const WhatIfRow& row : rows) {
    if (!row.outcome || !row.outcome->done() || !row.what.part.resource) continue;
    const double change = row.outcome->time_ns / base->time_ns - 1;
    impossible = std::max(impossible, row.what.part.faster ? change : -change);
  }
  return std::max(noise_of(jitters, base->time_ns), impossible);
}

}  // namespace tilescope
