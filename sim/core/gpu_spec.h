// GpuSpec: the numbers of one GPU, each with its source. The data lives in assets/gpus/<id>.toml.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"
#include "sim/core/units.h"

namespace tilescope {

inline constexpr int warp_lanes = 32;  // threads of a warp

enum class Source : std::uint8_t { vendor, measured, estimated, user };
std::string_view to_string(Source source);

/// The note of a value that set_spec_value() changed.
inline constexpr std::string_view changed_note = "set by the user";

struct Provenance {
  Source source = Source::estimated;
  std::string note;
};

/// SMs that follow one another in launch order (a GPC), and the L2 partition next to them.
struct SmGroup {
  int sms = 0, side = 0;
  friend bool operator==(const SmGroup&, const SmGroup&) = default;
};

/// The tensor-core instruction of a matrix product. mma.sync: one warp computes 16 x 8 x 16 from its registers.
/// wgmma (Hopper): four warps compute 64 rows; B comes from shared memory, A from shared memory or registers.
enum class ProductInstruction : std::uint8_t { mma_sync, wgmma };

/// Every number of a GPU that the model uses. A member is named after its TOML key: sm_count is "sm.count".
/// A capacity of 0 means that the level is absent.
struct GpuSpec {
  std::string id, name;

  double sm_count = 0;
  double sm_clock_hz = 0;
  double sm_clock_under_load_hz = 0;  // that the GPU holds under load; 0: nobody measured it. No simulation uses it by itself
  double sm_registers = 0;
  double sm_max_threads = 0;
  double sm_max_blocks = 0;
  double sm_shared_bytes = 0;
  double sm_shared_bytes_per_block = 0;
  double sm_tensor_flops_per_cycle = 0;  // dense, fp16/bf16 in, fp32 accumulation
  double sm_fp32_flops_per_cycle = 0;
  double sm_exps_per_cycle = 0;
  double sm_shared_bytes_per_cycle = 0;
  double sm_l2_bytes_per_cycle = 0;       // read port of one SM
  double sm_sub_partitions = 1;           // sub-partitions: each has a scheduler, a tensor core and pipes of its own
  double sm_mma_flops_per_cycle = 0;      // measured rate of mma.sync; 0: sm_tensor_flops_per_cycle
  double sm_wgmma_flops_per_cycle = 0;    // measured rate of wgmma; 0: the GPU has none
  double sm_wgmma_issue_cycles = 0;       // between two wgmma that a group issues while the queue has room
  double sm_wgmma_queue = 0;              // wgmma that groups can issue before the tensor cores get to them
  double sm_wgmma_latency_cycles = 0;     // from the end of a wgmma's work to the first use of its sums
  double sm_beside_wgmma_alu_cycles = 0;  // what a product that runs adds to an ALU instruction of its sub-partition
  double sm_beside_wgmma_exp_cycles = 0;  // the same for an exponential
  double sm_wgmma_fp32_cycles = 0;        // tensor-core cycles that an fp32 instruction of its sub-partition takes from a product
  double sm_wgmma_mixed_cycles = 0;       // the same for one that stands between exponentials
  double sm_wgmma_alu_cycles = 0;         // the same for an ALU instruction
  double sm_mbarrier_cycles = 0;          // from an arrival at an mbarrier to the first instruction of a warp that waits for it
  double sm_mbarrier_wait_cycles = 0;     // of a wait for an mbarrier whose phase is over
  // a call that computes the sines of one, two or four scores, for a warp alone on its scheduler
  double sm_sine_call_cycles = 0, sm_two_sines_call_cycles = 0, sm_four_sines_call_cycles = 0;
  double sm_named_barrier_cycles = 0;    // from an arrival at a named barrier to the first instruction of a group that waits for it
  double sm_register_move_cycles = 0;    // in which a group gives registers to others of its block, or gets them
  double sm_box_issue_cycles = 0;        // between two boxes that a thread asks TMA for
  double sm_box_latency_cycles = 0;      // of a small box from the L2, beyond the latency of the L2
  double sm_box_bytes_per_cycle = 0;     // rate at which TMA fetches a box from the L2; 0: sm_l2_bytes_per_cycle
  double sm_issues_per_cycle = 0;        // warp instructions; 0: not modelled
  double sm_alu_lanes_per_cycle = 0;     // minimum, compare, convert; 0: not modelled
  double sm_product_issue_cycles = 0;    // tensor-core cycles of its sub-partition that another warp's instruction costs
  double sm_product_mixed_cycles = 0;    // the same for an instruction between products of its own warp
  double sm_dependent_cycles = 0;        // from an instruction to one that needs its result
  double sm_product_latency_cycles = 0;  // of one mma.sync
  double sm_barrier_cycles = 0;          // __syncthreads() of one block
  double sm_store_bytes_per_cycle = 0;   // write port of one SM; 0: sm_l2_bytes_per_cycle
  double sm_reduce_bytes_per_cycle = 0;  // fp32 numbers that one SM adds to memory; 0: sm_store_bytes_per_cycle
  double sm_reduce_queue_bytes = 0;      // of them, how many may still be under way when the warps that add them go on
  double sm_copy_bytes_per_cycle = 0;    // rate at which a block requests copies into shared memory; 0: sm_shared_bytes_per_cycle
  double sm_shared_latency_cycles = 0;
  double sm_block_start_cycles = 0;
  double l2_capacity_bytes = 0;
  double l2_partitions = 0;
  double l2_sector_bytes = 0;
  double l2_line_bytes = 0;
  double l2_usable_fraction = 1;         // share of the capacity that holds data
  double l2_ways = 0;                    // lines in a set; 0: a partition is one set
  double l2_dirty_fraction = 1;          // share of a set that may be dirty
  double l2_bytes_per_cycle = 0;         // reads of all SMs together
  double l2_write_bytes_per_cycle = 0;   // writes of all SMs together; 0: l2_bytes_per_cycle
  double l2_reduce_bytes_per_cycle = 0;  // fp32 numbers that the L2 adds to memory for all SMs; 0: l2_write_bytes_per_cycle
  double l2_copy_bytes_per_cycle = 0;    // reads plus writes in equal parts; 0: they do not slow each other
  double l2_merge_cycles = 0;            // reads of a line within this window after the first share its look-up
  double l2_fabric_bytes_per_cycle = 0;  // between the two partitions, one direction; 0: no limit
  double l2_latency_cycles = 0;          // near partition
  double l2_far_latency_cycles = 0;
  double hbm_bytes_per_second = 0;
  double hbm_sustained_fraction = 1;  // share of the peak that a plain copy reaches
  double hbm_read_fraction = 0;       // share of the peak that reads alone reach; 0: hbm_sustained_fraction
  double hbm_capacity_bytes = 0;
  double hbm_latency_cycles = 0;       // of one line
  double hbm_tile_latency_cycles = 0;  // of the last line of a 16 KiB tile; below hbm_latency_cycles: as for one line
  double hbm_write_wait_cycles = 0;    // extra latency of a 2 KiB tile while HBM only writes
  double hbm_reorder_cycles = 0;       // of what is asked for after a copy, HBM reads so much before it
  double link_bytes_per_second = 0;    // to another device, one direction; 0: there is no link
  double link_latency_cycles = 0;      // extra latency of a read over the link
  double launch_overhead_ns = 0;       // between dependent launches of one stream
  double launch_interval_ns = 0;       // between independent launches, at the host's fastest rate
  double launch_first_ns = 0;          // time between two events around an empty kernel
  double launch_fetch_cycles = 0;      // wait of an SM's first blocks for the launch's code and parameters
  double launch_map_cycles = 0;        // and for the tensor map of its first box
  double launch_block_cycles = 0;      // between two block launches anywhere on the GPU

  /// In launch order. If empty, or if the sum is not sm_count (which --set may change), half of the SMs belong to each partition.
  std::vector<SmGroup> sm_groups;

  std::map<std::string, Provenance, std::less<>> provenance;  // by key

  Hertz clock() const { return Hertz(sm_clock_hz); }
  /// Returns whether the user chose the value of `key`, as --set does.
  bool set_by_user(std::string_view key) const {
    const auto from = provenance.find(key);
    return from != provenance.end() && from->second.source == Source::user;
  }
  /// Returns whether the clock under load is known and is another than clock().
  bool slows_under_load() const { return sm_clock_under_load_hz > 0 && sm_clock_under_load_hz < sm_clock_hz; }
  /// Returns the bandwidth of mixed reads and writes, both directions together.
  BytesPerCycle hbm_rate() const { return BytesPerCycle(hbm_bytes_per_second * hbm_sustained_fraction / sm_clock_hz); }
  BytesPerCycle hbm_read_rate() const {
    return BytesPerCycle(hbm_bytes_per_second * (hbm_read_fraction > 0 ? hbm_read_fraction : hbm_sustained_fraction) / sm_clock_hz);
  }
  /// Returns the FLOP a cycle that one SM reaches with `instruction`; 0 if the GPU does not have it.
  double product_flops_per_cycle(ProductInstruction instruction = ProductInstruction::mma_sync) const {
    if (instruction == ProductInstruction::wgmma) return sm_wgmma_flops_per_cycle;
    return sm_mma_flops_per_cycle > 0 ? sm_mma_flops_per_cycle : sm_tensor_flops_per_cycle;
  }
  bool has_l2() const { return l2_capacity_bytes > 0; }
  double usable_l2_bytes() const { return l2_capacity_bytes * l2_usable_fraction; }
};

/// One row of the key table, which the loader, --set, the sliders and the docs share.
struct SpecKey {
  std::string_view key;  // "l2.capacity_bytes"
  double GpuSpec::*member;
  double minimum, maximum;   // accepted range
  bool whole;                // a whole number
  std::string_view meaning;  // one sentence, with the unit
  bool optional = false;     // a file may leave it out, and no simulation of one device uses it

  /// Returns whether another value may change a simulation of one device.
  constexpr bool may_change_a_run() const { return minimum < maximum && !optional; }
};
std::span<const SpecKey> spec_keys();
/// The one key without a row: its value is a list of { sms, side }, not a number. Files can set it, --set cannot.
inline constexpr std::string_view sm_groups_key = "sm.groups";
inline constexpr std::string_view sm_groups_meaning =
    "SMs in launch order with the L2 partition next to them, as [{ sms, side }, …]; only in a file.";
/// Returns the row of `key`; null if there is none.
const SpecKey* find_spec_key(std::string_view key);

/// Reads a spec from TOML text. `origin` names it in errors.
/// Errors  not TOML, unknown or missing key, a value out of range, no source
Result<GpuSpec> parse_gpu_spec(std::string_view toml_text, std::string_view origin);
/// Errors  values that contradict each other
Status check(const GpuSpec& gpu);
/// Overrides one value ("l2.capacity_bytes=0"); its provenance becomes `user`. check() says whether it fits the others.
Status set_spec_value(GpuSpec& spec, std::string_view assignment);

}  // namespace tilescope
