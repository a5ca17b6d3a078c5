// TileProgram: an algorithm as the tile operations of each thread block of each launch; and the table of all programs.
//
//   program_table() ── find_program("flash2") ──► ProgramInfo ── make(problem, tile, gpu) ──► TileProgram ── emit_block() ──►
//   operations
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/core/matrix.h"
#include "sim/masks/element_cost.h"
#include "sim/programs/operation.h"

namespace tilescope {

/// One line of the pseudo-code. `text` uses Unicode (Qᵢ, Kⱼᵀ, α).
struct ListingLine {
  int indent = 0;
  std::string_view text;
  Tensor tensor;             // gives the line its colour; may be none
  std::string_view formula;  // shown under the listing, symbols only; the window puts the numbers in
  std::string_view why;      // one or two sentences for a student
  /// When a block executes it: never, as it only names those below it; or only in problems with a score change, a mask that is a
  /// matrix, or a table with a gradient.
  enum When : std::uint8_t { always, heading, conditional } when = always;
};

/// A group of a block's warps that run one stream of operations.
struct WarpGroup {
  std::string_view name;  // "producer"
  int warps = 1;
  int registers = 0;     // per thread, once the groups have passed them on; 0: as launched
  bool computes = true;  // otherwise it only asks for copies
  bool operator==(const WarpGroup&) const = default;
};

/// The on-chip needs of a launch's kernel, and how its warps execute. A test compares them with the compiled kernel.
struct KernelNeeds {
  int threads = 128;
  int registers_per_thread = 64;
  /// Registers that a thread with products would take, and the most that it can have; where it wants more, the compiler spills.
  /// 0 wanted: registers_per_thread.
  int registers_wanted = 0, registers_limit = 255;
  std::int64_t shared_bytes = 0;
  int stages = 1;         // buffers of the ring of K and V
  bool has_ring = false;  // the number of buffers can be chosen
  /// Warps that read the same right operand of a product, each for its own rows; for wgmma, groups of four warps.
  int warps_sharing_rows = 1;
  int warps_sharing_keys = 1;  // warps that read the same left operand, each for its own keys
  /// Instructions per multiply-add of products on the FP32 pipes, conversions included; 0: products run on tensor cores.
  double multiply_add_instructions = 0;
  double converted_factors = 0;  // 16-bit operands that such a multiply-add converts for itself
  bool has_products = true;      // on tensor cores
  /// The instruction of the products. Other instructions of the launch delay mma.sync, but not wgmma.
  ProductInstruction instruction = ProductInstruction::mma_sync;
  /// Share of a warp's instructions that wait for the previous one, from the stall counts that the compiler encoded.
  double dependent_share = 0;
  std::vector<WarpGroup> groups;             // empty: one group of all warps
  bool uses_tma = false;                     // one thread asks TMA for a tile's boxes; otherwise all warps copy it
  int setup_instructions = 0;                // per warp before its first load: they compute the block's coordinates
  int setup_round_trips = 0;                 // part of them: divisions, which take as long as a round trip to shared memory
  ElementCost score_cost;                    // of a score change
  ElementCost slope_cost;                    // of its derivative, beside it
  ElementCost mask_cost = causal_mask_cost;  // of an element of a partial tile
  bool spills() const { return registers_wanted > registers_limit; }
  std::int64_t computing_groups() const {
    return std::count_if(groups.begin(), groups.end(), [](const WarpGroup& group) { return group.computes; });
  }
  bool operator==(const KernelNeeds&) const = default;
};

/// One kernel launch. Blocks are numbered in launch order, x fastest.
struct LaunchSpec {
  std::string_view name;  // "scores", "softmax", "output"
  std::int64_t grid_x = 1, grid_y = 1, grid_z = 1;
  KernelNeeds needs;
  int first_line = 1, last_line = 1;  // of the listing
  Axis axis = Axis::query;            // axis of the rows that its blocks own; blocks are ordered by plane, then along it
  bool mixed = false;                 // has blocks of both axes, in any order
  bool grouped = false;               // the kernel itself takes its blocks as BlockOrder::grouped does
  bool equal_sets = true;             // the sets of BlockOrder::grouped: planes_in_equal_sets(); otherwise planes_together()
  bool persistent = false;            // as many blocks as fit stay, and each warp group goes on with the next one's rows
  bool draws = false;                 // of a persistent launch: the next rows are drawn from a counter; otherwise of n blocks each
                                      // takes every n-th
  bool reversed = false;              // a plane's blocks (grid_x of them) are numbered from its last rows to its first
  std::int64_t blocks() const { return grid_x * grid_y * grid_z; }
  /// Returns the number of the block at a position in the order of planes and rows. The same function leads back.
  std::int64_t in_order_of_rows(std::int64_t n) const { return reversed ? n / grid_x * grid_x + grid_x - 1 - n % grid_x : n; }
  /// Returns the row tile of a block.
  std::int64_t row_tile_of(std::int64_t block) const { return in_order_of_rows(block) % grid_x; }
};

/// The bytes of one tensor on one link, by a formula.
struct ClosedFormTerm {
  Tensor tensor;
  Link link;  // l2_to_sm or sm_to_l2
  Bytes bytes;
  std::string formula;  // "B·Hq·⌈N/Br⌉·Nk·d·e"
};
struct ClosedForm {
  std::vector<ClosedFormTerm> terms;
  Bytes reduced;  // part of sm_to_l2 that reduce-adds carry
  std::int64_t flops = 0;
  std::int64_t exps = 0;
  std::string order;  // "Θ(N²d²/M)"
};

/// The shape and the domain of a block, known without emitting it.
struct BlockPlace {
  std::int64_t shape = 0;
  Domain domain;
};

/// The order in which a block visits its key tiles: from the first key up, or from the last visible key down.
enum class KeyOrder : std::uint8_t { ascending, descending };
std::string_view to_string(KeyOrder order);
std::optional<KeyOrder> key_order_from(std::string_view name);

/// A tile, the buffers of the ring of key tiles, and the order of the key tiles.
struct ProgramTile : TileShape {
  static constexpr std::int64_t most_stages = 8;
  std::int64_t stages = 0;  // 0: kernel default
  KeyOrder key_order = KeyOrder::ascending;
  /// The tile of the forward launches if a run has both passes; absent: the same tile.
  std::optional<TileShape> forward;

  ProgramTile() = default;
  ProgramTile(const TileShape& shape) : TileShape(shape) {}
  ProgramTile(std::int64_t q, std::int64_t kv, std::int64_t buffers = 0) : TileShape{q, kv}, stages(buffers) {}
  bool operator==(const ProgramTile&) const = default;
  friend bool operator==(const TileShape& a, const ProgramTile& b) { return ProgramTile(a) == b; }
};

/// Checks a tile.
/// Errors  those of a TileShape; a number of buffers above most_stages
Status check(const ProgramTile& tile);

/// The values of a program's tables in HBM: block lists, page tables.
class TableValues {
 public:
  virtual ~TableValues() = default;
  virtual Matrix tile(const TileRef& tile) const = 0;
};

class TileProgram {
 public:
  virtual ~TileProgram() = default;

  const AttentionProblem& problem() const { return problem_; }
  const ProgramTile& tile() const { return tile_; }
  std::span<const LaunchSpec> launches() const { return launches_; }
  const Schema& schema() const { return schema_; }
  std::span<const Tensor> tensors() const { return schema_.tensors; }
  /// Return the HBM tensors that the program takes as inputs, and those that it writes.
  std::span<const Tensor> inputs() const { return schema_.inputs; }
  std::span<const Tensor> outputs() const { return schema_.outputs; }
  /// Replaces `out` by the operations of one block. It is cheap enough for millions of blocks.
  virtual void emit_block(int launch, std::int64_t block, BlockOperations& out) const = 0;
  /// Returns the shape and the domain of a block. Two blocks of a launch with the same shape have the same operations, bytes and
  /// waits; only the plane and the first row of their domains differ. So the simulation emits only one of them. nullopt if the
  /// shape is unknown; the simulation then emits every such block.
  virtual std::optional<BlockPlace> place_of(int launch, std::int64_t block) const {
    static_cast<void>(launch), static_cast<void>(block);
    return std::nullopt;
  }
  /// Returns the slice that a block owns, without emitting it; nullopt if it is not known.
  virtual std::optional<Domain> domain_of(int launch, std::int64_t block) const {
    const std::optional<BlockPlace> place = place_of(launch, block);
    return place ? std::optional(place->domain) : std::nullopt;
  }
  /// Returns the values of the inputs that are tables; null if there are none.
  virtual std::shared_ptr<const TableValues> tables() const { return nullptr; }
  /// Returns the closed form, which is exact to the sector and independent of emit_block(); nullopt if tiles are not whole sectors.
  virtual std::optional<ClosedForm> closed_form() const = 0;

 protected:
  TileProgram(AttentionProblem problem, ProgramTile tile, Schema schema)
      : problem_(std::move(problem)), tile_(tile), schema_(std::move(schema)) {}
  AttentionProblem problem_;
  ProgramTile tile_;
  Schema schema_;
  std::vector<LaunchSpec> launches_;
};

/// A row of the program table.
struct ProgramInfo {
  std::string_view id;       // "flash2"
  std::string_view title;    // "FlashAttention-2"
  std::string_view family;   // one of program_families()
  std::string_view source;   // paper, algorithm
  std::string_view summary;  // one sentence: the one new thing over the previous row
  std::span<const ListingLine> listing;
  /// Returns the default tile: that of the real kernel, halved until it fits `gpu`.
  TileShape (*default_tile)(const AttentionProblem&, const GpuSpec&);
  /// Makes the program.
  /// Errors  a tile or a type that the program cannot take
  Result<std::unique_ptr<TileProgram>> (*make)(const AttentionProblem&, const ProgramTile&, const GpuSpec&);
  /// Label and tooltip of its button in the window. A row without a button is in the list behind the buttons, and sweeps skip it
  /// unless they name it.
  std::string_view button = {}, tooltip = {};
  Pass pass = Pass::forward;
  std::string_view forward = {};  // of a backward program: the forward program that it differentiates
  std::string_view label = {};    // short title of a row without a button
  bool has_lists = false;         // follows the lists of a mask's blocks, and takes a score change
  bool takes_pages = false;       // reads K and V through a page table if they have pages
  /// Of a row that stands for several programs: the row of the one that `make` makes for a problem, with its listing, and the id
  /// of that program.
  const ProgramInfo& (*row_of)(const AttentionProblem&) = nullptr;
  std::string_view (*choice)(const AttentionProblem&) = nullptr;
  std::optional<KeyOrder> key_order = {};                         // the only one that it has; absent: it takes both
  ProductInstruction instruction = ProductInstruction::mma_sync;  // of its products; a GPU without wgmma cannot run that of Hopper
  bool compared_apart = false;      // with other such rows, and with programs of its source: not with the rest of its family
  int scores_computed = 1;          // how often a product computes each visible score; 0: the program reads S or P
  bool accumulates_in_hbm = false;  // outputs begin in HBM, and every visited tile stores what it changes of them
  /// Of a backward program whose warps compute squares of a product in its launch "gradients": their edge. 0: rows or columns, as
  /// KernelNeeds says.
  std::int64_t warp_tile = 0;
  /// Whether an output holds only a part of a sum, such as one of several accumulators that a later launch adds up; null: none
  /// does.
  bool (*is_part)(Tensor) = nullptr;
  bool may_spill = false;             // default_tile() takes a tile that fits even where it leaves its kernel no register to spare
  const ProgramInfo* both = nullptr;  // of a backward program: the row that runs its forward program before it
};

std::span<const ProgramInfo> program_table();

/// Programs that solve the same problem. A race shows the chosen program beside the baseline, and the baseline beside the best.
struct ProgramFamily {
  std::string_view id;
  std::string_view title;           // heading of its programs in the window
  std::string_view baseline, best;  // ids of two of its programs
  bool takes_mask = false;          // every program of the family
  bool computes_attention = false;  // O from Q, K and V, by way of S and P, be it only on chip
  std::string_view row_title = {};  // heading of one row of the result; empty: the title of the program
};
std::span<const ProgramFamily> program_families();
/// Returns the family of a program; null if its row names one that is not in the list.
const ProgramFamily* family_of(const ProgramInfo& info);

/// The program of a request that names none.
inline constexpr std::string_view default_algorithm = "flash2";

/// Finds a program by id.
/// Errors  unknown id, with the known ones
Result<const ProgramInfo*> find_program(std::string_view id, std::span<const ProgramInfo> table = program_table());
/// Finds the program that runs a pass of an algorithm: for "flash2" and "flash2_backward", pass `backward` is "flash2_backward".
/// Pass `both` is one program with the launches of both. Its id is that of the forward program, or that of the backward program if
/// this is not the first one of its forward program.
/// Errors  unknown id; a backward pass, or both, of an algorithm without them
Result<const ProgramInfo*> find_program(std::string_view id, Pass pass, std::span<const ProgramInfo> table = program_table());

/// Returns the row with the listing of the program that `row.make` makes for a problem.
inline const ProgramInfo& row_for(const ProgramInfo& row, const AttentionProblem& problem) {
  return row.row_of != nullptr ? row.row_of(problem) : row;
}

/// Returns the id of the program that `row.make` makes for a problem.
inline std::string_view chosen_by(const ProgramInfo& row, const AttentionProblem& problem) {
  return row.choice != nullptr ? row.choice(problem) : row.id;
}

}  // namespace tilescope
