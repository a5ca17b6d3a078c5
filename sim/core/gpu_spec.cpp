// Reads GPU specs from TOML text. Every number must be in its range and must state its source.
#include "sim/core/gpu_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

constexpr std::array key_rows = {
    SpecKey{"sm.count", &GpuSpec::sm_count, 1, 4096, true, "Streaming multiprocessors (SMs)."},
    SpecKey{"sm.clock_hz", &GpuSpec::sm_clock_hz, 1e6, 1e11, false,
            "Clock of the SMs, in Hz; all cycles are cycles of this clock."},
    SpecKey{"sm.clock_under_load_hz", &GpuSpec::sm_clock_under_load_hz, 0, 1e11, false,
            "SM clock that the GPU holds while all SMs work, in hertz; at most sm.clock_hz. 0 if nobody measured it.", true},
    SpecKey{"sm.registers", &GpuSpec::sm_registers, 1024, 1 << 24, true, "32-bit registers of one SM."},
    SpecKey{"sm.max_threads", &GpuSpec::sm_max_threads, 32, 1 << 16, true, "Threads that one SM holds at once."},
    SpecKey{"sm.max_blocks", &GpuSpec::sm_max_blocks, 1, 1024, true, "Thread blocks that one SM holds at once."},
    SpecKey{"sm.shared_bytes", &GpuSpec::sm_shared_bytes, 256, gib, true, "Shared memory of one SM, in bytes."},
    SpecKey{"sm.shared_bytes_per_block", &GpuSpec::sm_shared_bytes_per_block, 256, gib, true,
            "Shared memory per block, in bytes; the most that one can have."},
    SpecKey{"sm.tensor_flops_per_cycle", &GpuSpec::sm_tensor_flops_per_cycle, 1, 1e7, false,
            "Dense tensor-core rate of one SM, fp16 or bf16 in, fp32 accumulation, in FLOP a cycle."},
    SpecKey{"sm.fp32_flops_per_cycle", &GpuSpec::sm_fp32_flops_per_cycle, 1, 1e7, false,
            "FP32 rate of one SM, a fused multiply-add counted as two, in FLOP a cycle."},
    SpecKey{"sm.exps_per_cycle", &GpuSpec::sm_exps_per_cycle, 0.01, 1e6, false, "Exponentials of one SM, a cycle."},
    SpecKey{"sm.shared_bytes_per_cycle", &GpuSpec::sm_shared_bytes_per_cycle, 0.01, 1e6, false,
            "Shared-memory bandwidth of one SM, in bytes a cycle."},
    SpecKey{"sm.l2_bytes_per_cycle", &GpuSpec::sm_l2_bytes_per_cycle, 0.01, 1e6, false,
            "Bandwidth from the L2 to one SM, in bytes a cycle."},
    SpecKey{"sm.sub_partitions", &GpuSpec::sm_sub_partitions, 1, 64, true,
            "Sub-partitions of an SM, each with a scheduler, a tensor core and its own pipes; a warp stays in one."},
    SpecKey{"sm.mma_flops_per_cycle", &GpuSpec::sm_mma_flops_per_cycle, 1, 1e7, false,
            "Rate of mma.sync on one SM, in FLOP a cycle; it can be less than the tensor-core rate."},
    SpecKey{"sm.wgmma_flops_per_cycle", &GpuSpec::sm_wgmma_flops_per_cycle, 0, 1e7, false,
            "Rate of wgmma on one SM with 16-bit operands, in FLOP a cycle; 0 if the GPU has none."},
    SpecKey{"sm.wgmma_issue_cycles", &GpuSpec::sm_wgmma_issue_cycles, 0, 1e6, false,
            "Time between two wgmma that a warp group issues while there is room in the queue, in cycles."},
    SpecKey{"sm.wgmma_queue", &GpuSpec::sm_wgmma_queue, 0, 1e6, false,
            "wgmma instructions that warp groups can issue ahead of the tensor cores of their SM."},
    SpecKey{"sm.wgmma_latency_cycles", &GpuSpec::sm_wgmma_latency_cycles, 0, 1e6, false,
            "Time from the end of a wgmma's work to the first use of its result, in cycles."},
    SpecKey{"sm.beside_wgmma_alu_cycles", &GpuSpec::sm_beside_wgmma_alu_cycles, 0, 100, false,
            "Cycles that a running wgmma adds to a maximum, comparison or conversion of its sub-partition."},
    SpecKey{"sm.beside_wgmma_exp_cycles", &GpuSpec::sm_beside_wgmma_exp_cycles, 0, 100, false,
            "Cycles that a running wgmma adds to an exponential of its sub-partition."},
    SpecKey{"sm.wgmma_fp32_cycles", &GpuSpec::sm_wgmma_fp32_cycles, 0, 100, false,
            "Cycles that an fp32 instruction takes from the wgmma of its sub-partition."},
    SpecKey{"sm.wgmma_mixed_cycles", &GpuSpec::sm_wgmma_mixed_cycles, 0, 100, false,
            "Cycles that an fp32 instruction between exponentials takes from the wgmma of its sub-partition."},
    SpecKey{"sm.wgmma_alu_cycles", &GpuSpec::sm_wgmma_alu_cycles, 0, 100, false,
            "Cycles that a maximum, comparison or conversion takes from the wgmma of its sub-partition."},
    SpecKey{"sm.mbarrier_cycles", &GpuSpec::sm_mbarrier_cycles, 0, 1e6, false,
            "Time from an arrival at an mbarrier to the first instruction of a warp that waits for it, in cycles."},
    SpecKey{"sm.mbarrier_wait_cycles", &GpuSpec::sm_mbarrier_wait_cycles, 0, 1e6, false,
            "Cost of a wait for an mbarrier whose phase is already over, in cycles."},
    SpecKey{"sm.named_barrier_cycles", &GpuSpec::sm_named_barrier_cycles, 0, 1e6, false,
            "Time from an arrival at a named barrier to the first instruction of a group that waits for it, in cycles."},
    SpecKey{"sm.register_move_cycles", &GpuSpec::sm_register_move_cycles, 0, 1e6, false,
            "Time in which a group of warps gives registers to others of its block, or gets them, in cycles."},
    SpecKey{"sm.box_issue_cycles", &GpuSpec::sm_box_issue_cycles, 0, 1e6, false,
            "Time between two boxes that one thread requests from TMA, in cycles."},
    SpecKey{"sm.box_latency_cycles", &GpuSpec::sm_box_latency_cycles, 0, 1e6, false,
            "Latency of a small box that TMA fetches from the L2, beyond the latency of the L2, in cycles."},
    SpecKey{"sm.box_bytes_per_cycle", &GpuSpec::sm_box_bytes_per_cycle, 0, 1e6, false,
            "Rate at which TMA fetches a box from the L2, in bytes a cycle; 0 for the bandwidth from the L2 to one SM."},
    SpecKey{"sm.issues_per_cycle", &GpuSpec::sm_issues_per_cycle, 0, 1e4, false,
            "Warp instructions that one SM issues a cycle; 0 for no limit."},
    SpecKey{"sm.alu_lanes_per_cycle", &GpuSpec::sm_alu_lanes_per_cycle, 0, 1e6, false,
            "Maxima, comparisons and conversions of one SM, a cycle; 0 for no limit."},
    SpecKey{"sm.product_issue_cycles", &GpuSpec::sm_product_issue_cycles, 0, 100, false,
            "Cycles that an instruction of another warp blocks the tensor core of its sub-partition."},
    SpecKey{"sm.product_mixed_cycles", &GpuSpec::sm_product_mixed_cycles, 0, 100, false,
            "Cycles that an instruction between the products of its own warp blocks the tensor core."},
    SpecKey{"sm.dependent_cycles", &GpuSpec::sm_dependent_cycles, 0, 1e6, false,
            "Latency from an arithmetic instruction to one that needs its result, in cycles."},
    SpecKey{"sm.product_latency_cycles", &GpuSpec::sm_product_latency_cycles, 0, 1e6, false,
            "Latency of one tensor-core instruction, in cycles."},
    SpecKey{"sm.sine_call_cycles", &GpuSpec::sm_sine_call_cycles, 0, 1e6, false,
            "Time of a warp in a call that computes one sine of an expression, in cycles."},
    SpecKey{"sm.two_sines_call_cycles", &GpuSpec::sm_two_sines_call_cycles, 0, 1e6, false,
            "Time of a warp in a call that computes two sines of an expression, in cycles."},
    SpecKey{"sm.four_sines_call_cycles", &GpuSpec::sm_four_sines_call_cycles, 0, 1e6, false,
            "Time of a warp in a call that computes four sines of an expression, in cycles."},
    SpecKey{"sm.barrier_cycles", &GpuSpec::sm_barrier_cycles, 0, 1e6, false,
            "Cost of a barrier of all warps of a block, in cycles."},
    SpecKey{"sm.store_bytes_per_cycle", &GpuSpec::sm_store_bytes_per_cycle, 0.01, 1e6, false,
            "Bandwidth from one SM to the L2, in bytes a cycle."},
    SpecKey{"sm.reduce_bytes_per_cycle", &GpuSpec::sm_reduce_bytes_per_cycle, 0, 1e6, false,
            "Rate at which one SM adds fp32 numbers to memory, in bytes a cycle; 0 for that of its stores."},
    SpecKey{"sm.reduce_queue_bytes", &GpuSpec::sm_reduce_queue_bytes, 0, 1e6, true,
            "Bytes that an SM may still be adding to memory when the warps that add them go on."},
    SpecKey{"sm.copy_bytes_per_cycle", &GpuSpec::sm_copy_bytes_per_cycle, 0, 1e6, false,
            "Rate at which one SM requests copies into shared memory, in bytes a cycle; 0 for the bandwidth of shared memory."},
    SpecKey{"sm.shared_latency_cycles", &GpuSpec::sm_shared_latency_cycles, 0, 1e6, false, "Latency of shared memory, in cycles."},
    SpecKey{"sm.block_start_cycles", &GpuSpec::sm_block_start_cycles, 0, 1e6, false,
            "Time from a free slot on an SM to the first instruction of the next block, in cycles."},
    SpecKey{"l2.capacity_bytes", &GpuSpec::l2_capacity_bytes, 0, 1024 * gib, true,
            "Size of the L2, in bytes; 0 for a GPU without one."},
    SpecKey{"l2.partitions", &GpuSpec::l2_partitions, 1, 2, true,
            "Partitions of the L2, 1 or 2; each keeps its own copy of the data that its SMs read."},
    SpecKey{"l2.sector_bytes", &GpuSpec::l2_sector_bytes, 32, 32, true,
            "Size of a sector, the unit of memory traffic, in bytes: 32 on every GPU modelled."},
    SpecKey{"l2.line_bytes", &GpuSpec::l2_line_bytes, 128, 128, true, "Size of a cache line, in bytes: 128 on every GPU modelled."},
    SpecKey{"l2.usable_fraction", &GpuSpec::l2_usable_fraction, 0.1, 1, false,
            "Share of the capacity that holds data, 0.1 to 1; the GPU may use fewer sets than the capacity suggests."},
    SpecKey{"l2.ways", &GpuSpec::l2_ways, 0, 1024, true,
            "Lines in a set of the L2, which evicts its least recently used line; 0 if a partition is one set."},
    SpecKey{"l2.dirty_fraction", &GpuSpec::l2_dirty_fraction, 0.01, 1, false,
            "Share of a set that may be dirty, 0.01 to 1; the L2 writes back what exceeds it."},
    SpecKey{"l2.bytes_per_cycle", &GpuSpec::l2_bytes_per_cycle, 0.01, 1e9, false,
            "Read bandwidth of the L2 for all SMs together, in bytes a cycle."},
    SpecKey{"l2.write_bytes_per_cycle", &GpuSpec::l2_write_bytes_per_cycle, 0.01, 1e9, false,
            "Write bandwidth of the L2 for all SMs together, in bytes a cycle."},
    SpecKey{"l2.reduce_bytes_per_cycle", &GpuSpec::l2_reduce_bytes_per_cycle, 0, 1e9, false,
            "Rate at which the L2 adds fp32 numbers to memory for all SMs together, in bytes a cycle; 0 for that of writes."},
    SpecKey{"l2.copy_bytes_per_cycle", &GpuSpec::l2_copy_bytes_per_cycle, 0, 1e9, false,
            "L2 bandwidth of equal reads and writes, both counted, in bytes a cycle; 0 if they do not slow each other."},
    SpecKey{"l2.merge_cycles", &GpuSpec::l2_merge_cycles, 0, 1e6, false,
            "Window after the first read of a line, in cycles, in which further reads share its look-up."},
    SpecKey{"l2.fabric_bytes_per_cycle", &GpuSpec::l2_fabric_bytes_per_cycle, 0, 1e9, false,
            "Bandwidth between the two L2 partitions, each direction, in bytes a cycle; 0 for no limit."},
    SpecKey{"l2.latency_cycles", &GpuSpec::l2_latency_cycles, 0, 1e6, false,
            "Latency of a hit in the near partition of the L2, in cycles."},
    SpecKey{"l2.far_latency_cycles", &GpuSpec::l2_far_latency_cycles, 0, 1e6, false,
            "Latency of a hit in the far partition of the L2, in cycles; equal to the near one if there is one partition."},
    SpecKey{"hbm.bytes_per_second", &GpuSpec::hbm_bytes_per_second, 1e6, 1e16, false, "Peak bandwidth of HBM, in bytes a second."},
    SpecKey{"hbm.sustained_fraction", &GpuSpec::hbm_sustained_fraction, 0.01, 1, false,
            "Share of the peak HBM bandwidth that a plain copy reaches, 0 to 1."},
    SpecKey{"hbm.read_fraction", &GpuSpec::hbm_read_fraction, 0.01, 1, false,
            "Share of the peak HBM bandwidth that reads alone reach, 0 to 1."},
    SpecKey{"hbm.capacity_bytes", &GpuSpec::hbm_capacity_bytes, 1, 1024 * 1024 * gib, true, "Size of HBM, in bytes."},
    SpecKey{"hbm.latency_cycles", &GpuSpec::hbm_latency_cycles, 0, 1e6, false, "Latency of a read from HBM, in cycles."},
    SpecKey{"hbm.tile_latency_cycles", &GpuSpec::hbm_tile_latency_cycles, 0, 1e6, false,
            "Latency of the last line of a 16 KiB tile from HBM, in cycles; 0 if all lines arrive together."},
    SpecKey{
        "hbm.write_wait_cycles", &GpuSpec::hbm_write_wait_cycles, 0, 1e6, false,
        "Extra latency of a 2 KiB read while HBM only writes, in cycles; the model scales it by the write share of HBM's time."},
    SpecKey{"hbm.reorder_cycles", &GpuSpec::hbm_reorder_cycles, 0, 1e6, false,
            "By how much of what is asked for later HBM may delay a copy that waits for it, in cycles; 0: it serves in order."},
    SpecKey{"link.bytes_per_second", &GpuSpec::link_bytes_per_second, 0, 1e16, false,
            "Bandwidth of the link to another device, one direction, in bytes a second; 0 for no link.", true},
    SpecKey{"link.latency_cycles", &GpuSpec::link_latency_cycles, 0, 1e6, false,
            "Extra latency of a read over the link to another device, in cycles.", true},
    SpecKey{"launch.overhead_ns", &GpuSpec::launch_overhead_ns, 0, 1e9, false,
            "Gap between two dependent launches of one stream, in nanoseconds."},
    SpecKey{"launch.interval_ns", &GpuSpec::launch_interval_ns, 0, 1e9, false,
            "Time from one launch to the next at the host's fastest rate, in nanoseconds."},
    SpecKey{"launch.first_ns", &GpuSpec::launch_first_ns, 0, 1e9, false,
            "Time between two events around an empty kernel, in nanoseconds."},
    SpecKey{"launch.fetch_cycles", &GpuSpec::launch_fetch_cycles, 0, 1e6, false,
            "Time that an SM's first blocks wait for the code and parameters of the launch, in cycles."},
    SpecKey{"launch.map_cycles", &GpuSpec::launch_map_cycles, 0, 1e6, false,
            "Time that TMA needs on an SM to read the tensor map of the launch's first box, in cycles."},
    SpecKey{"launch.block_cycles", &GpuSpec::launch_block_cycles, 0, 1e6, false,
            "Time from one block launch to the next anywhere on the GPU, in cycles."},
};

constexpr std::array<std::pair<std::string_view, Source>, 4> source_names = {
    {{"vendor", Source::vendor}, {"measured", Source::measured}, {"estimated", Source::estimated}, {"user", Source::user}}};

/// Names of keys in older specs, and what they are called now.
constexpr std::array<std::pair<std::string_view, std::string_view>, 1> renamed_keys = {{{"sm.quarters", "sm.sub_partitions"}}};

/// Returns a sentence if `key` is an older name.
std::optional<Sentence> renamed(std::string_view key) {
  for (const auto& [before, now] : renamed_keys)
    if (key == before) return phrase("{} is now called {}: use that name", before, now);
  return std::nullopt;
}

std::vector<std::string_view> key_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(key_rows) + 1);
  for (const SpecKey& row : key_rows) names.push_back(row.key);
  names.push_back(sm_groups_key);
  return names;
}

std::string_view after_dot(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

/// Returns what to do about a key that is not one: the keys that are near it, if any, and where all of them are listed. They are
/// too many to name here.
Sentence key_hint(std::string_view key, std::span<const std::string_view> names) {
  constexpr std::size_t most_near = 3;
  std::vector<std::string> near;
  if (const auto nearest = nearest_name(key, names)) near.push_back(*nearest);
  if (near.empty())  // another section, or none: "capacity" is l2.capacity_bytes or hbm.capacity_bytes
    for (const std::string_view name : names) {
      const std::string_view own = after_dot(name);
      if (near.size() < most_near && nearest_name(after_dot(key), std::span(&own, 1))) near.emplace_back(name);
    }
  if (near.empty()) return phrase("tilescope simulate --help lists all keys");
  return phrase("did you mean {}? tilescope simulate --help lists all keys", fmt::format("{}", fmt::join(near, " / ")));
}

/// Returns a sentence if `value` is not allowed for the key.
std::optional<Sentence> objection(const SpecKey& key, double value) {
  if (!(value >= key.minimum && value <= key.maximum)) {  // negated, so that NaN is refused
    if (key.minimum == key.maximum) return phrase("{} is {}: the model only knows {}", key.key, value, key.minimum);
    return phrase("{} is {}: it must be from {} to {}", key.key, value, key.minimum, key.maximum);
  }
  // Less would take longer than any time that can be counted.
  constexpr double least_rate = 0.01;
  const bool is_rate = key.key.ends_with("_per_cycle") || key.key.ends_with("_per_second");
  if (is_rate && value > 0 && value < least_rate)
    return phrase("{} is {}: it must be 0, or from {} to {}", key.key, value, least_rate, key.maximum);
  if (key.whole && std::trunc(value) != value) return phrase("{} is {}: it must be a whole number", key.key, value);
  return std::nullopt;
}

/// Turns one TOML document into a GpuSpec. A method that returns false has set `error_`.
class SpecReader {
 public:
  explicit SpecReader(std::string_view origin) : origin_(printable(origin, 200)) {}

  Result<GpuSpec> read(const toml::table& document) {
    for (const auto& [key, node] : document) {
      const std::string_view name = key.str();
      const bool good = name == "id"                 ? text(node, name, spec_.id)
                        : name == "name"             ? text(node, name, spec_.name)
                        : node.as_table() != nullptr ? section(name, *node.as_table())
                                                     : unknown(name, key.source());
      if (!good) return error();
    }
    if (spec_.id.empty()) return missing("id");
    if (spec_.name.empty()) return missing("name");
    for (const SpecKey& key : key_rows)
      if (!key.optional && !spec_.provenance.contains(key.key)) {
        if (key.minimum > 0) return missing(key.key);
        return refuse("{}: {} is missing: add it, with 0 if nobody measured it", origin_, key.key);
      }
    if (!spec_.provenance.contains(sm_groups_key)) return missing(sm_groups_key);
    if (const auto held = check(spec_); !held) return refuse("{}: {}", origin_, held.error().sentence);
    if (const auto wrong = groups_objection()) return refuse("{}: {}", origin_, *wrong);
    return std::move(spec_);
  }

 private:
  Error error() const { return Error{error_}; }
  Error missing(std::string_view key) const { return refuse("{}: {} is missing", origin_, key); }

  bool fail(const toml::source_region& where, const Sentence& sentence) {
    error_ = phrase("{}:{}: {}", origin_, where.begin.line, sentence);
    return false;
  }

  bool unknown(std::string_view key, const toml::source_region& where) {
    if (const auto sentence = renamed(key)) return fail(where, *sentence);
    auto names = key_names();
    names.insert(names.end(), {"id", "name"});
    return fail(where, phrase("unknown key {}: {}", printable(key), key_hint(key, names)));
  }

  bool text(const toml::node& node, std::string_view key, std::string& target) {
    const auto* value = node.as_string();
    if (value == nullptr || value->get().empty()) return fail(node.source(), phrase("{} must be a text that is not empty", key));
    if (printable(value->get(), 100) != value->get())
      return fail(node.source(), phrase("{} must be one line of at most 100 bytes", key));
    target = value->get();
    return true;
  }

  bool section(std::string_view name, const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string full = fmt::format("{}.{}", name, key.str());
      const SpecKey* row = find_spec_key(full);
      if (row == nullptr && full != sm_groups_key) return unknown(full, key.source());
      if (!(row != nullptr ? number(*row, node) : groups(node))) return false;
    }
    return true;
  }

  bool number(const SpecKey& row, const toml::node& node) {
    const toml::node* value = sourced_value(row.key, node);
    if (value == nullptr) return false;
    const auto number = value->is_number() ? value->value<double>() : std::nullopt;
    if (!number) return fail(value->source(), phrase("{} must be a number", row.key));
    if (const auto wrong = objection(row, *number)) return fail(value->source(), *wrong);
    spec_.*row.member = *number;
    return true;
  }

  bool groups(const toml::node& node) {
    const toml::node* value = sourced_value(sm_groups_key, node);
    if (value == nullptr) return false;
    const toml::array* list = value->as_array();
    if (list == nullptr || list->empty())
      return fail(value->source(), phrase("{} must be a list such as [{{ sms = 4, side = 0 }}]", sm_groups_key));
    for (const toml::node& each : *list) {
      const toml::table* group = each.as_table();
      const auto whole = [&](std::string_view name) {
        const toml::node* field = group != nullptr ? group->get(name) : nullptr;
        return field != nullptr && field->is_integer() ? field->value<std::int64_t>() : std::nullopt;
      };
      const auto sms = whole("sms"), side = whole("side");
      if (!sms || !side || group->size() != 2 || *sms < 1 || *sms > 4096 || *side < 0 || *side > 1) {
        return fail(each.source(),
                    phrase("a group of {} must be {{ sms = 1 to 4096, side = 0 or 1 }}, whole numbers both", sm_groups_key));
      }
      spec_.sm_groups.push_back({static_cast<int>(*sms), static_cast<int>(*side)});
    }
    return true;
  }

  /// Returns a sentence if the groups contradict sm.count or l2.partitions.
  std::optional<Sentence> groups_objection() const {
    double sms = 0;
    int side = 0;
    for (const SmGroup& group : spec_.sm_groups) {
      sms += group.sms;
      side = std::max(side, group.side);
    }
    if (sms != spec_.sm_count)
      return phrase("{} has {} SMs and sm.count is {}: they must agree", sm_groups_key, sms, spec_.sm_count);
    if (side >= spec_.l2_partitions)
      return phrase("{} has a side {} and l2.partitions is {}: sides count from 0", sm_groups_key, side, spec_.l2_partitions);
    return std::nullopt;
  }

  /// Returns the value of an entry and keeps its source and note; null if the entry is malformed.
  const toml::node* sourced_value(std::string_view name, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      fail(node.source(), phrase("{} must say where it is from: {{ value = …, source = \"vendor\", note = \"…\" }}", name));
      return nullptr;
    }
    for (const auto& [key, field] : *table) {
      if (key.str() == "value" || key.str() == "source" || key.str() == "note") continue;
      fail(key.source(), phrase("{} has an unknown field {}: there are value, source and note", name, printable(key.str())));
      return nullptr;
    }
    const toml::node* value = table->get("value");
    if (value == nullptr) {
      fail(node.source(), phrase("{} has no value", name));
      return nullptr;
    }
    Provenance provenance;
    if (!source(name, *table, provenance)) return nullptr;
    spec_.provenance.emplace(name, std::move(provenance));
    return value;
  }

  bool source(std::string_view name, const toml::table& table, Provenance& provenance) {
    const toml::node* node = table.get("source");
    if (node == nullptr) return fail(table.source(), phrase("{} has no source: vendor, measured, estimated or user", name));
    const auto* word = node->as_string();
    const auto known = std::find_if(source_names.begin(), source_names.end(),
                                    [&](const auto& pair) { return word != nullptr && word->get() == pair.first; });
    if (known == source_names.end()) {
      return fail(node->source(),
                  word != nullptr ? phrase("the source of {} is '{}': it must be vendor, measured, estimated or user", name,
                                           printable(word->get()))
                                  : phrase("the source of {} is not a text: it must be vendor, measured, estimated or user", name));
    }
    provenance.source = known->second;
    const toml::node* note = table.get("note");
    const auto* words = note != nullptr ? note->as_string() : nullptr;
    if (words == nullptr || words->get().empty())
      return fail(table.source(), phrase("{} has no note that says where the value is from", name));
    provenance.note = words->get();
    return true;
  }

  std::string origin_;
  Sentence error_;
  GpuSpec spec_;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view to_string(Source source) {
  for (const auto& [name, value] : source_names)
    if (value == source) return name;
  return "";
}

std::span<const SpecKey> spec_keys() {
  return key_rows;
}

const SpecKey* find_spec_key(std::string_view key) {
  const auto found = std::ranges::find(key_rows, key, &SpecKey::key);
  return found != key_rows.end() ? &*found : nullptr;
}

Result<GpuSpec> parse_gpu_spec(std::string_view toml_text, std::string_view origin) {
  if (const Status flat = check_document(toml_text, DocumentKind::toml, origin); !flat) return flat.error();
  try {
    const toml::table document = toml::parse(toml_text);
    return SpecReader(origin).read(document);
  } catch (const toml::parse_error& error) {
    return refuse("{}:{}: not TOML: {}", printable(origin, 200), error.source().begin.line, printable(error.description(), 160));
  }
}

Status check(const GpuSpec& gpu) {
  const bool chosen = gpu.set_by_user("sm.clock_under_load_hz");  // one may set the clock below a measured one
  constexpr double least_hz = 1e6;
  if (chosen && !(gpu.sm_clock_under_load_hz >= least_hz && gpu.sm_clock_under_load_hz <= gpu.sm_clock_hz))
    return refuse("sm.clock_under_load_hz is {:.12g}: it must be from {:.12g} to sm.clock_hz, {:.12g}", gpu.sm_clock_under_load_hz,
                  least_hz, gpu.sm_clock_hz);
  if (gpu.sm_shared_bytes_per_block > gpu.sm_shared_bytes)
    return refuse("sm.shared_bytes_per_block is {} and sm.shared_bytes {}: a block cannot have more than its SM",
                  gpu.sm_shared_bytes_per_block, gpu.sm_shared_bytes);
  // A copy is half reads. If reads alone took longer than the whole copy, writes would take less than no time.
  if (gpu.hbm_read_fraction > 0 && gpu.hbm_read_fraction <= gpu.hbm_sustained_fraction / 2)
    return refuse(
        "hbm.read_fraction is {} and hbm.sustained_fraction {}: reads alone must reach more than half of a copy's bandwidth",
        gpu.hbm_read_fraction, gpu.hbm_sustained_fraction);
  return Done{};
}

Status set_spec_value(GpuSpec& spec, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return refuse("'{}' sets nothing: write KEY=VALUE, such as l2.capacity_bytes=0", printable(assignment));
  const std::string_view key = trimmed(assignment.substr(0, equals));
  const std::string_view digits = trimmed(assignment.substr(equals + 1));
  if (key == sm_groups_key)
    return refuse("{} is a list and no number: write it into a file such as assets/gpus/h200.toml and give that as the GPU", key);
  const SpecKey* row = find_spec_key(key);
  if (row == nullptr) {
    if (key.empty()) return refuse("'{}' has no key: write KEY=VALUE, such as l2.capacity_bytes=0", printable(assignment));
    if (key == "id" || key == "name")
      return refuse("{} is a text of a GPU's file and no number: write it into a file such as assets/gpus/h200.toml", key);
    if (const auto sentence = renamed(key)) return Error{*sentence};
    return refuse("unknown GPU key '{}': {}", printable(key), key_hint(key, key_names()));
  }
  double value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size())
    return refuse("{} is '{}': it must be a number from {} to {}", row->key, printable(digits), row->minimum, row->maximum);
  if (const auto wrong = objection(*row, value)) return Error{*wrong};
  spec.*row->member = value + 0.0;  // -0 becomes 0
  spec.provenance.insert_or_assign(std::string(key), Provenance{Source::user, std::string(changed_note)});
  return Done{};
}

}  // namespace tilescope
