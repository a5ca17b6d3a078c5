// TileProgram: an algorithm written once, as the tile operations of each thread block of each launch; and the table of all of them.
//
//   program_table() ── find_program("flash2") ──► ProgramInfo ── make(problem, tile) ──► TileProgram ── emit_block() ──► operations
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/gpu_spec.h"
#include "sim/numerics/matrix.h"
#include "sim/programs/operation.h"

namespace tilescope {

/// One line of the pseudo-code. `text` uses Unicode (Qᵢ, Kⱼᵀ, α).
struct ListingLine {
  int indent = 0;
  std::string_view text;
  Tensor tensor;             // whose colour the line wears; may be none
  std::string_view formula;  // shown under the listing, symbols only; the window puts the numbers in
  std::string_view why;      // one or two sentences for a student
};

/// Warps of a block that run one stream of operations.
struct WarpGroup {
  std::string_view name;  // "producer"
  int warps = 1;
  bool operator==(const WarpGroup&) const = default;
};

/// What the kernel of a launch needs on chip; a test holds it against the compiled kernel.
struct KernelNeeds {
  int threads = 128;
  int registers_per_thread = 64;
  std::int64_t shared_bytes = 0;
  int stages = 1;  // buffers of a K, V ring
  /// How many warps read the same shared operand of a product, each for its own rows; of wgmma, groups of four warps.
  int warps_sharing_rows = 1;
  int warps_sharing_keys = 1;  // how many read the same left operand, each for its own keys
  /// Instructions of a multiply-add where products run on the FP32 pipes, conversions included; 0: on tensor cores.
  double multiply_add_instructions = 0;
  double converted_factors = 0;  // of such a multiply-add: those that come in 16 bits, each converted for it alone
  bool has_products = true;      // on tensor cores
  /// Of the products: beside mma.sync, other instructions of the launch get in their way; beside wgmma they do not.
  ProductInstruction instruction = ProductInstruction::mma_sync;
  /// Of the instructions of a warp, the part that waits for the one before: the stall counts that the compiler wrote beside them.
  double waiting = 0;
  std::vector<WarpGroup> groups;  // empty: one, of all warps
  int setup_instructions = 0;     // of each warp, before it asks for anything: where the block works
  int setup_trips = 0;            // of these, that take as long as a way to shared memory: divisions
  bool operator==(const KernelNeeds&) const = default;
};

/// One kernel launch. Blocks are numbered in launch order, x fastest.
struct LaunchSpec {
  std::string_view name;  // "scores", "softmax", "output"
  std::int64_t grid_x = 1, grid_y = 1, grid_z = 1;
  KernelNeeds needs;
  int first_line = 1, last_line = 1;  // of the listing
  Axis axis = Axis::query;            // of what its blocks own; blocks follow one another by plane and along it
  bool mixed = false;                 // blocks of both axes, in any order
  std::int64_t blocks() const { return grid_x * grid_y * grid_z; }
};

/// Bytes by tensor and link, as a formula gives them.
struct ClosedFormTerm {
  Tensor tensor;
  Link link;  // l2_to_sm or sm_to_l2
  Bytes bytes;
  std::string formula;  // "B·Hq·⌈N/Br⌉·Nk·d·e"
};
struct ClosedForm {
  std::vector<ClosedFormTerm> terms;
  Bytes reduced;  // of what goes to the L2, the part that is added to memory there
  std::int64_t flops = 0;
  std::int64_t exps = 0;
  std::string order;  // "Θ(N²d²/M)"
};

/// Where a block works, known without writing it out.
struct BlockPlace {
  std::int64_t shape = 0;
  Domain domain;
};

/// In which order a block visits its key tiles: from the first key up, or from the last visible one down.
enum class KeyOrder : std::uint8_t { ascending, descending };
std::string_view to_string(KeyOrder order);
std::optional<KeyOrder> key_order_from(std::string_view name);

/// A tile, how many buffers the program's ring of key tiles has, and in which order they are visited.
struct ProgramTile : TileShape {
  static constexpr std::int64_t most_stages = 8;
  std::int64_t stages = 0;  // 0: as many as the program's kernel takes by itself
  KeyOrder key_order = KeyOrder::ascending;
  /// Tile of the forward launches where a run has both passes; absent: the same.
  std::optional<TileShape> forward;

  ProgramTile() = default;
  ProgramTile(const TileShape& shape) : TileShape(shape) {}
  ProgramTile(std::int64_t q, std::int64_t kv, std::int64_t buffers = 0) : TileShape{q, kv}, stages(buffers) {}
  bool operator==(const ProgramTile&) const = default;
  friend bool operator==(const TileShape& a, const ProgramTile& b) { return ProgramTile(a) == b; }
};

/// Errors  those of a TileShape; a number of buffers beyond most_stages.
Status check(const ProgramTile& tile);

/// The values of a program's tables in HBM: lists of blocks, page tables.
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
  /// HBM tensors the program reads (given), and those it writes.
  std::span<const Tensor> inputs() const { return schema_.inputs; }
  std::span<const Tensor> outputs() const { return schema_.outputs; }
  /// Replaces `out` by the operations of one block. Cheap enough to be called for millions of blocks.
  virtual void emit_block(int launch, std::int64_t block, BlockOperations& out) const = 0;
  /// Two blocks of a launch with the same shape do the same: the same operations, bytes and waits, on the planes that belong to
  /// its plane, and along the domain's axis at the same places counted from its first. The simulation then writes out only one of
  /// them. nullopt: not known; every such block is written out.
  virtual std::optional<BlockPlace> place_of(int launch, std::int64_t block) const {
    static_cast<void>(launch), static_cast<void>(block);
    return std::nullopt;
  }
  /// What the inputs that are tables hold; null where there are none.
  virtual std::shared_ptr<const TableValues> tables() const { return nullptr; }
  /// Sector-exact where tiles are whole sectors, and written independently of emit_block; nullopt elsewhere.
  virtual std::optional<ClosedForm> closed_form() const = 0;

 protected:
  TileProgram(AttentionProblem problem, ProgramTile tile, Schema schema)
      : problem_(std::move(problem)), tile_(tile), schema_(std::move(schema)) {}
  AttentionProblem problem_;
  ProgramTile tile_;
  Schema schema_;
  std::vector<LaunchSpec> launches_;
};

/// A row of the table.
struct ProgramInfo {
  std::string_view id;       // "flash2"
  std::string_view title;    // "FlashAttention-2"
  std::string_view family;   // "attention", "backward", "softmax", "matmul"
  std::string_view source;   // paper, algorithm
  std::string_view summary;  // one sentence: the one new thing over the row before
  std::span<const ListingLine> listing;
  /// The tile used when none is asked for: that of the real kernel where it fits, else the largest power of two that fits `gpu`.
  TileShape (*default_tile)(const AttentionProblem&, const GpuSpec&);
  /// Errors  a tile or a type that the program cannot take.
  Result<std::unique_ptr<TileProgram>> (*make)(const AttentionProblem&, const ProgramTile&, const GpuSpec&);
  /// Label and tooltip of its button in the window. A row without a label is in the list behind the buttons, and is not in a sweep
  /// that names no algorithm.
  std::string_view button = {}, tooltip = {};
  Pass pass = Pass::forward;
  std::string_view forward = {};  // of a backward pass: the program whose gradients it makes
  std::string_view label = {};    // a short title where there is no button
};

std::span<const ProgramInfo> program_table();
/// Errors  unknown id: names those there are.
Result<const ProgramInfo*> find_program(std::string_view id);
/// The program that runs a pass of an algorithm: "flash2" backward is "flash2_backward", and so is "flash2_backward" by itself.
/// Both passes are one program with the launches of both; it bears the id of the forward program, or of a backward program that
/// is not its first.
/// Errors  unknown id; a backward pass of what has none.
Result<const ProgramInfo*> find_program(std::string_view id, Pass pass);

/// Blocks of one launch that an SM holds at once, and what stops it from holding more.
struct Occupancy {
  int blocks_per_sm = 0;
  enum class Limit { blocks, threads, registers, shared } limit = Limit::blocks;
};
/// Errors  a block that does not fit an SM at all, with both numbers:
///         "tile 256x128 at head_dim 128 needs 160 KiB of shared memory; toy has 64 KiB: use a smaller block_q or block_kv"
Result<Occupancy> occupancy(const TileProgram& program, const LaunchSpec& launch, const GpuSpec& gpu);

}  // namespace tilescope
