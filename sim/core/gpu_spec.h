// GpuSpec: one GPU's numbers, each with where it is from. Data lives in assets/gpus/<id>.toml.
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

enum class Source : std::uint8_t { vendor, measured, estimated, user };
std::string_view to_string(Source source);

/// The note of a value that set_spec_value() changed.
inline constexpr std::string_view changed_note = "set by the user";

struct Provenance {
  Source source = Source::estimated;
  std::string note;
};

/// SMs that blocks are dealt to one after another (a GPC), and the partition of the L2 that they are next to.
struct SmGroup {
  int sms = 0, side = 0;
  friend bool operator==(const SmGroup&, const SmGroup&) = default;
};

/// What makes a product on tensor cores: 16 x 8 x 16 by one warp from its registers, or 64 rows by four warps (Hopper), whose right
/// factor lies in shared memory and whose left one there or in registers.
enum class ProductInstruction : std::uint8_t { mma_sync, wgmma };

/// Every number the model uses, by the key it has in the TOML file ("sm.count" is sm_count here).
/// A capacity of 0 means the level is absent.
struct GpuSpec {
  std::string id, name;

  double sm_count = 0;
  double sm_clock_hz = 0;
  double sm_registers = 0;
  double sm_max_threads = 0;
  double sm_max_blocks = 0;
  double sm_shared_bytes = 0;
  double sm_shared_bytes_per_block = 0;
  double sm_tensor_flops_per_cycle = 0;  // dense, fp16/bf16 in, fp32 accumulated
  double sm_fp32_flops_per_cycle = 0;
  double sm_exps_per_cycle = 0;
  double sm_shared_bytes_per_cycle = 0;
  double sm_l2_bytes_per_cycle = 0;      // the port of one SM, each direction
  double sm_quarters = 1;                // parts with a scheduler, a tensor core and pipes of their own
  double sm_mma_flops_per_cycle = 0;     // what mma.sync reaches; 0: as tensor_flops_per_cycle
  double sm_wgmma_flops_per_cycle = 0;   // what wgmma reaches; 0: there is none
  double sm_issues_per_cycle = 0;        // warp instructions; 0: not modelled
  double sm_alu_lanes_per_cycle = 0;     // minimum, compare, convert; 0: not modelled
  double sm_product_issue_cycles = 0;    // of a quarter's tensor core, that an instruction beside a product takes from it
  double sm_product_mixed_cycles = 0;    // the same, where it stands between products of its own warp
  double sm_dependent_cycles = 0;        // from an instruction to one that needs its result
  double sm_product_latency_cycles = 0;  // of one mma.sync
  double sm_barrier_cycles = 0;          // a meeting of all warps of a block
  double sm_store_bytes_per_cycle = 0;   // the port of one SM, outward; 0: as l2_bytes_per_cycle
  double sm_copy_bytes_per_cycle = 0;    // that a block's copies into shared memory ask for; 0: as shared_bytes_per_cycle
  double sm_shared_latency_cycles = 0;
  double sm_block_start_cycles = 0;
  double l2_capacity_bytes = 0;
  double l2_partitions = 0;
  double l2_sector_bytes = 0;
  double l2_line_bytes = 0;
  double l2_usable_fraction = 1;         // of the capacity that holds data
  double l2_ways = 0;                    // lines of a set; 0: one set
  double l2_dirty_fraction = 1;          // of a set that may be dirty
  double l2_bytes_per_cycle = 0;         // all SMs together
  double l2_write_bytes_per_cycle = 0;   // all SMs together; 0: as bytes_per_cycle
  double l2_copy_bytes_per_cycle = 0;    // both directions, as much of each; 0: either as if the other were not there
  double l2_merge_cycles = 0;            // reads of one line that come within it of the first are one look-up
  double l2_fabric_bytes_per_cycle = 0;  // between the two partitions, one direction; 0: without limit
  double l2_latency_cycles = 0;          // near partition
  double l2_far_latency_cycles = 0;
  double hbm_bytes_per_second = 0;
  double hbm_sustained_fraction = 1;  // of bytes_per_second that a plain copy reaches
  double hbm_read_fraction = 0;       // of it that reading alone reaches; 0: as sustained_fraction
  double hbm_capacity_bytes = 0;
  double hbm_latency_cycles = 0;       // of one line
  double hbm_tile_latency_cycles = 0;  // of the latest line of a tile of 16 KiB; less than latency_cycles: as one line
  double hbm_write_wait_cycles = 0;    // that a tile of 2 KiB comes later where HBM does nothing but write
  double link_bytes_per_second = 0;    // to another device, one direction; 0: there is no link
  double link_latency_cycles = 0;      // that a read over it takes longer
  double launch_overhead_ns = 0;       // between dependent launches of one stream
  double launch_interval_ns = 0;       // from one launch to the next, as fast as the host can make them
  double launch_first_ns = 0;          // what two events around an empty kernel show
  double launch_fetch_cycles = 0;      // that the first blocks of a launch wait for code and parameters, on each SM
  double launch_block_cycles = 0;      // from giving out a block to giving out the next, on any SM

  /// In order of dealing. Empty, or not of sm_count SMs (which --set may change): taken as one half of the SMs a side.
  std::vector<SmGroup> sm_groups;

  std::map<std::string, Provenance, std::less<>> provenance;  // by key

  Hertz clock() const { return Hertz(sm_clock_hz); }
  /// Of each direction where reads and writes are mixed.
  BytesPerCycle hbm_rate() const { return BytesPerCycle(hbm_bytes_per_second * hbm_sustained_fraction / sm_clock_hz); }
  BytesPerCycle hbm_read_rate() const {
    return BytesPerCycle(hbm_bytes_per_second * (hbm_read_fraction > 0 ? hbm_read_fraction : hbm_sustained_fraction) / sm_clock_hz);
  }
  /// Of one SM, FLOP a cycle, by the instruction that makes products. 0 where the GPU does not have it.
  double product_flops_per_cycle(ProductInstruction instruction = ProductInstruction::mma_sync) const {
    if (instruction == ProductInstruction::wgmma) return sm_wgmma_flops_per_cycle;
    return sm_mma_flops_per_cycle > 0 ? sm_mma_flops_per_cycle : sm_tensor_flops_per_cycle;
  }
  bool has_l2() const { return l2_capacity_bytes > 0; }
  double usable_l2_bytes() const { return l2_capacity_bytes * l2_usable_fraction; }
};

/// One row of the table that the loader, --set, the sliders and the docs read.
struct SpecKey {
  std::string_view key;  // "l2.capacity_bytes"
  double GpuSpec::*member;
  double minimum, maximum;   // what is accepted
  bool whole;                // a whole number
  std::string_view meaning;  // one sentence, with the unit
};
std::span<const SpecKey> spec_keys();
/// Those that a spec may leave out: of a link to other devices, which a GPU on its own has no use for.
std::span<const SpecKey> link_spec_keys();
/// The one key that is no number and has no row: a list of { sms, side }, in files only.
inline constexpr std::string_view sm_groups_key = "sm.groups";
inline constexpr std::string_view sm_groups_meaning =
    "SMs in the order in which blocks are dealt to them, as [{ sms, side of the L2 }, …]; in a file only.";
/// The row of `key`; null where there is none.
const SpecKey* find_spec_key(std::string_view key);

/// Reads a spec from TOML text. `origin` names it in errors.
/// Errors  not TOML, unknown or missing key, a value out of range, no source.
Result<GpuSpec> parse_gpu_spec(std::string_view toml_text, std::string_view origin);
/// Overrides one value ("l2.capacity_bytes=0"); its provenance becomes `user`.
Status set_spec_value(GpuSpec& spec, std::string_view assignment);

}  // namespace tilescope
