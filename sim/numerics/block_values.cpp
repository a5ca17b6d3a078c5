// The two kinds of history, and the loop that runs a block's operations.
#include "sim/numerics/block_values.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

/// Applies a store or a reduce-add to HBM. What a counter says depends on the order of the blocks, so no value is kept of it.
/// Returns what a reduce-add found there; nullptr if nothing had written it, or if `additions` takes what is added.
MatrixPtr leave_in_hbm(const BlockMachine& machine, HbmImage& image, const Operation& op, std::int32_t index,
                       const TakeAddition& additions = {}) {
  if (!writes_memory(op.kind) || op.kind == OpKind::fetch_add || op.kind == OpKind::write) return nullptr;
  MatrixPtr values = machine.stored(op);
  if (op.kind == OpKind::reduce_add && additions) {
    additions(op, index, std::move(values));
    return nullptr;
  }
  if (op.kind == OpKind::reduce_add && values != nullptr) return image.add(op.tile, *values, index);
  image.store(op.tile, std::move(values), index);
  return nullptr;
}

/// Calls `progress` once per few milliseconds of work.
class Reporter {
 public:
  Reporter(const Progress& progress, std::size_t operations) : progress_(progress), operations_(operations) {}
  bool goes_on(const Operation& op, std::size_t done) {
    constexpr std::int64_t work_between = 8'000'000;
    work_ += op.flops + std::int64_t{op.rows} * op.cols * 8 + 1000;
    if (!progress_ || work_ < work_between) return true;
    work_ = 0;
    return progress_(static_cast<double>(done) / static_cast<double>(operations_));
  }

 private:
  const Progress& progress_;
  std::size_t operations_;
  std::int64_t work_ = 0;
};

/// What a score expression makes of an element is the user's, and is said as it stands.
Error fault_of(const BlockOperations& block, std::size_t index, const Sentence& what) {
  const OpKind kind = block.operations[index].kind;
  if (kind == OpKind::modify || kind == OpKind::slope || kind == OpKind::factor) return {what};
  return refuse("launch {} block {} operation {} ({}): {}", block.launch, block.block, index,
                to_string(block.operations[index].kind), what);
}

/// The values of a load, and the oldest store that they come from; -1 for the program's inputs and for earlier launches. Of a
/// reduce-add, the sums that it found.
struct Loaded {
  MatrixPtr values;
  std::int32_t oldest_stamp = -1;
  bool from_image = false;
  Sentence fault;
};

Loaded bring(BlockMachine& machine, const HbmImage& image, const Operation& op) {
  if (machine.is_input(op.tile.tensor)) {
    Loaded loaded = {machine.load(op.tile)};
    if (loaded.values == nullptr)
      loaded.fault = phrase("reads {} at row {}, of a page whose entry it has not loaded", to_string(op.tile.tensor), op.tile.row);
    return loaded;
  }
  HbmImage::Found found = image.load(op.tile);
  Loaded loaded = {std::move(found.values), found.oldest_stamp, true};
  if (found.missing > 0)
    loaded.fault = phrase("reads {} elements of {} at row {}, column {} that nothing has written", found.missing,
                          to_string(op.tile.tensor), op.tile.row, op.tile.col);
  return loaded;
}

/// The values of each on-chip tile, in order of the operations that set them.
struct ChipTileRecords {
  std::array<std::vector<std::pair<std::int32_t, MatrixPtr>>, most_chip_tiles> by_chip_tile;

  void note(const ChipTileFile& chip_tiles, const Effect& effect, std::int32_t op) {
    for (ChipTile chip_tile : effect.changed) by_chip_tile[chip_tile.index()].emplace_back(op, chip_tiles.value(chip_tile));
  }
  /// Of an on-chip tile with strips, returns the value of the strip that operation `op` works on.
  MatrixPtr at(const BlockOperations& block, ChipTile chip_tile, std::int32_t op) const {
    const auto& entries = by_chip_tile[chip_tile.index()];
    auto after =
        std::upper_bound(entries.begin(), entries.end(), op, [](std::int32_t o, const auto& entry) { return o < entry.first; });
    while (after != entries.begin() && chip_tile.has_strips() && !same_strip(block, std::prev(after)->first, op)) --after;
    return after == entries.begin() ? nullptr : std::prev(after)->second;
  }
  static bool same_strip(const BlockOperations& block, std::int32_t a, std::int32_t b) {
    const auto strip = [&](std::int32_t op) {
      return block.operations[std::min(static_cast<std::size_t>(op), block.operations.size() - 1)].strip;
    };
    return strip(a) == strip(b);
  }
};

/// Runs all operations. Calls before(index) before each one and visit(index, operation, loaded, effect) after it.
template <class Before, class Visit>
Status run_all(BlockMachine& machine, const BlockOperations& block, HbmImage& image, const Progress& progress, Before before,
               Visit visit, const TakeAddition& additions = {}) {
  Reporter reporter(progress, block.operations.size());
  Effect effect;
  for (std::size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& op = block.operations[i];
    const auto index = static_cast<std::int32_t>(i);
    before(index);
    Loaded loaded;
    if (op.kind == OpKind::load) loaded = bring(machine, image, op);
    if (!loaded.fault.empty()) return fault_of(block, i, loaded.fault);
    if (Sentence fault = machine.execute(op, index, loaded.values, effect); !fault.empty()) return fault_of(block, i, fault);
    if (MatrixPtr sums = leave_in_hbm(machine, image, op, index, additions)) loaded.values = std::move(sums);
    visit(index, op, loaded, effect);
    if (!reporter.goes_on(op, i + 1)) return run_cancelled();
  }
  return Done{};
}

/// The sums that the reduce-adds of a block found, by operation.
class FoundSums {
 public:
  /// `known`: whether all blocks that add before this one have run.
  explicit FoundSums(bool known) : known_(known) {}
  void note(std::int32_t index, const Operation& op, const Loaded& loaded) {
    if (known_ && op.kind == OpKind::reduce_add && loaded.values != nullptr) by_op_[index] = loaded.values;
  }
  MatrixPtr at(int op) const {
    const auto found = by_op_.find(op);
    return found == by_op_.end() ? nullptr : found->second;
  }

 private:
  bool known_;
  std::unordered_map<std::int32_t, MatrixPtr> by_op_;
};

class KeptValues final : public BlockValues {
 public:
  KeptValues(BlockOperations block, ChipTileRecords records, FoundSums sums)
      : block_(std::move(block)), records_(std::move(records)), sums_(std::move(sums)) {}
  int launch() const override { return block_.launch; }
  std::int64_t block() const override { return block_.block; }
  const BlockOperations& operations() const override { return block_; }
  bool keeps_everything() const override { return true; }
  MatrixPtr value(ChipTile chip_tile, int op) const override { return op < 0 ? nullptr : records_.at(block_, chip_tile, op); }
  MatrixPtr sums_found(int op) const override { return sums_.at(op); }

 private:
  BlockOperations block_;
  ChipTileRecords records_;
  FoundSums sums_;
};

/// A range of operations that are rerun together. It keeps the values that they read from before its start.
struct Segment {
  struct Live {
    BufferName name;
    Buffer buffer;
  };
  struct KeptLoad {
    std::int32_t op;
    MatrixPtr values;
    std::int32_t oldest_stamp;
  };
  std::int32_t first = 0;
  std::array<std::int32_t, most_chip_tiles> current{};
  std::vector<Live> live;
  std::vector<KeptLoad> loads;

  /// Joins the next segment to this one. Values that this segment produces need not be kept for it.
  void absorb(const Segment& next) {
    for (const Live& entry : next.live) {
      const bool known = std::any_of(live.begin(), live.end(), [&](const Live& mine) { return mine.name == entry.name; });
      if (entry.buffer.writer < first && !known) live.push_back(entry);
    }
    for (const KeptLoad& load : next.loads)
      if (load.oldest_stamp < first) loads.push_back(load);
  }
};

class CheckpointedValues final : public BlockValues {
 public:
  CheckpointedValues(std::unique_ptr<BlockMachine> machine, BlockOperations block, std::vector<Segment> segments,
                     std::array<std::vector<std::int32_t>, most_chip_tiles> events, FoundSums sums)
      : machine_(std::move(machine)),
        block_(std::move(block)),
        segments_(std::move(segments)),
        events_(std::move(events)),
        sums_(std::move(sums)) {}
  int launch() const override { return block_.launch; }
  std::int64_t block() const override { return block_.block; }
  const BlockOperations& operations() const override { return block_; }
  bool keeps_everything() const override { return false; }

  MatrixPtr value(ChipTile chip_tile, int op) const override {
    const std::int32_t event = event_of(chip_tile, op);
    if (event < 0) return nullptr;
    if (const std::optional<MatrixPtr> kept = find(chip_tile, event)) return *kept;
    const std::scoped_lock running(running_);
    if (const std::optional<MatrixPtr> kept = find(chip_tile, event)) return *kept;  // another thread has just run it
    if (brings_input(chip_tile, event)) {
      MatrixPtr tile = machine_->load(block_.operations[static_cast<std::size_t>(event)].tile);
      const std::scoped_lock lock(mutex_);
      keep(inputs_, event, tile, most_inputs);
      return tile;
    }
    const std::size_t segment = segment_of(event);
    auto records = std::make_shared<const ChipTileRecords>(run_again(segment));
    const std::scoped_lock lock(mutex_);
    keep(segments_kept_, segment, records, most_segments);
    return records->at(block_, chip_tile, event);
  }

  MatrixPtr sums_found(int op) const override { return sums_.at(op); }

  bool at_hand(ChipTile chip_tile, int op) const override {
    const std::int32_t event = event_of(chip_tile, op);
    return event < 0 || find(chip_tile, event).has_value();
  }

 private:
  static constexpr std::size_t most_segments = 16, most_inputs = 32;
  template <class Key, class Value>
  using Recent = std::vector<std::pair<Key, Value>>;  // most recently used first

  template <class Key, class Value>
  static void keep(Recent<Key, Value>& recent, Key key, Value value, std::size_t most) {
    if (recent.size() == most) recent.pop_back();
    recent.insert(recent.begin(), {key, std::move(value)});
  }
  template <class Key, class Value>
  static const Value* look_up(Recent<Key, Value>& recent, Key key) {
    const auto hit = std::find_if(recent.begin(), recent.end(), [&](const auto& entry) { return entry.first == key; });
    if (hit == recent.end()) return nullptr;
    std::rotate(recent.begin(), hit, hit + 1);
    return &recent.front().second;
  }

  /// Returns the operation that gave the on-chip tile the value that it has after `op`; -1 if it holds nothing.
  std::int32_t event_of(ChipTile chip_tile, int op) const {
    const auto& events = events_[chip_tile.index()];
    auto after = std::upper_bound(events.begin(), events.end(), op);
    while (after != events.begin() && op >= 0 && chip_tile.has_strips() &&
           !ChipTileRecords::same_strip(block_, *std::prev(after), op))
      --after;
    return after == events.begin() ? -1 : *std::prev(after);
  }
  std::size_t segment_of(std::int32_t event) const {
    const auto next = std::upper_bound(segments_.begin(), segments_.end(), event,
                                       [](std::int32_t o, const Segment& segment) { return o < segment.first; });
    return static_cast<std::size_t>(next - segments_.begin()) - 1;
  }
  /// Returns whether the value is a loaded input tile, which is available without a rerun.
  bool brings_input(ChipTile chip_tile, std::int32_t event) const {
    const Operation& op = block_.operations[static_cast<std::size_t>(event)];
    return op.kind == OpKind::load && op.dst == chip_tile && machine_->is_input(op.tile.tensor);
  }
  std::optional<MatrixPtr> find(ChipTile chip_tile, std::int32_t event) const {
    const std::scoped_lock lock(mutex_);
    if (const auto* records = look_up(segments_kept_, segment_of(event))) return (*records)->at(block_, chip_tile, event);
    if (const auto* tile = look_up(inputs_, event); tile != nullptr && brings_input(chip_tile, event)) return *tile;
    return std::nullopt;
  }

  ChipTileRecords run_again(std::size_t number) const {
    const Segment& segment = segments_[number];
    const std::size_t end =
        number + 1 < segments_.size() ? static_cast<std::size_t>(segments_[number + 1].first) : block_.operations.size();
    machine_->chip_tiles() = {};
    machine_->chip_tiles().current = segment.current;
    for (const Segment::Live& entry : segment.live)
      machine_->chip_tiles().buffer(entry.name.chip_tile, entry.name.ring) = entry.buffer;
    HbmImage image;
    ChipTileRecords records;
    Effect effect;
    auto kept = segment.loads.begin();
    for (auto i = static_cast<std::size_t>(segment.first); i < end; ++i) {
      const Operation& op = block_.operations[i];
      MatrixPtr loaded;
      if (op.kind == OpKind::load) {
        const bool is_kept = kept != segment.loads.end() && kept->op == static_cast<std::int32_t>(i);
        loaded = is_kept ? (kept++)->values : bring(*machine_, image, op).values;
      }
      // No fault is possible: the operation has already run once on the same bits.
      [[maybe_unused]] const Sentence fault = machine_->execute(op, static_cast<std::int32_t>(i), loaded, effect);
      leave_in_hbm(*machine_, image, op, static_cast<std::int32_t>(i));
      records.note(machine_->chip_tiles(), effect, static_cast<std::int32_t>(i));
    }
    return records;
  }

  std::unique_ptr<BlockMachine> machine_;
  BlockOperations block_;
  std::vector<Segment> segments_;
  std::array<std::vector<std::int32_t>, most_chip_tiles> events_;  // by on-chip tile: the operations that changed its value
  FoundSums sums_;
  // Two threads call value(): one draws, the other reruns segments ahead of it.
  mutable std::mutex running_;  // guards the machine
  mutable std::mutex mutex_;    // guards the caches; never held for long
  mutable Recent<std::size_t, std::shared_ptr<const ChipTileRecords>> segments_kept_;
  mutable Recent<std::int32_t, MatrixPtr> inputs_;
};

/// Collects the segments of a block while it runs, and joins neighbours when they exceed the budget.
class Checkpointer {
 public:
  Checkpointer(BlockMachine& machine, std::size_t budget) : machine_(machine), budget_(budget) {}

  void before(std::int32_t op, std::int32_t iteration) {
    if (op == 0 || (iteration != iteration_ && ++iterations_ >= stride_)) {
      close();
      open(op);
    }
    iteration_ = iteration;
  }

  void note(std::int32_t index, const Operation& op, const Loaded& loaded, const Effect& effect) {
    Segment& segment = segments_.back();
    for (const BufferName& name : effect.read) {
      if (std::find(written_.begin(), written_.end(), name) != written_.end()) continue;
      written_.push_back(name);  // its value at the segment's start is now recorded
      segment.live.push_back({name, start_.buffer(name.chip_tile, name.ring)});
    }
    if (effect.written.chip_tile != ChipTile::none && std::find(written_.begin(), written_.end(), effect.written) == written_.end())
      written_.push_back(effect.written);
    if (op.kind == OpKind::load && loaded.from_image && loaded.oldest_stamp < segment.first)
      segment.loads.push_back({index, loaded.values, loaded.oldest_stamp});
    for (ChipTile chip_tile : effect.changed) events_[chip_tile.index()].push_back(index);
  }

  std::vector<Segment> finish() {
    close();
    return std::move(segments_);
  }
  std::array<std::vector<std::int32_t>, most_chip_tiles> events() { return std::move(events_); }

 private:
  void open(std::int32_t op) {
    iterations_ = 0;
    written_.clear();
    start_ = machine_.chip_tiles();
    Segment segment;
    segment.first = op;
    segment.current = start_.current;
    segments_.push_back(std::move(segment));
  }

  void close() {
    start_ = {};
    if (segments_.empty()) return;
    count(segments_.back());
    while (bytes_ > 2 * budget_ && segments_.size() > 1) halve();
  }

  void halve() {
    stride_ *= 2;
    std::vector<Segment> fewer;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (i % 2 == 0) {
        fewer.push_back(std::move(segments_[i]));
      } else {
        fewer.back().absorb(segments_[i]);
      }
    }
    segments_ = std::move(fewer);
    counted_.clear();
    bytes_ = 0;
    for (const Segment& segment : segments_) count(segment);
  }

  void count(const Segment& segment) {
    const auto add = [&](const Matrix* values) {
      if (values != nullptr && counted_.insert(values).second) bytes_ += bytes_of(*values);
    };
    for (const Segment::Live& entry : segment.live) add(entry.buffer.values.get());
    for (const Segment::KeptLoad& load : segment.loads) add(load.values.get());
  }

  BlockMachine& machine_;
  std::size_t budget_;
  std::int32_t iteration_ = -1;
  std::int64_t iterations_ = 0, stride_ = 1;
  ChipTileFile start_;               // the values at the segment's start, kept alive until all reads are known
  std::vector<BufferName> written_;  // buffers whose value at the segment's start is recorded or overwritten
  std::vector<Segment> segments_;
  std::array<std::vector<std::int32_t>, most_chip_tiles> events_;
  std::unordered_set<const Matrix*> counted_;
  std::size_t bytes_ = 0;
};

std::size_t bytes_if_kept(const BlockOperations& block) {
  std::size_t total = 0;
  for (const Operation& op : block.operations)
    if (op.dst != ChipTile::none) total += static_cast<std::size_t>(op.rows) * static_cast<std::size_t>(op.cols) * sizeof(float);
  return total;
}

}  // namespace

Error run_cancelled() {
  return Error{phrase("the run was cancelled"), Error::Kind::cancelled};
}

Status run_operations(BlockMachine& machine, const BlockOperations& block, HbmImage& image, const Progress& progress,
                      const TakeAddition& additions) {
  machine.chip_tiles() = {};
  return run_all(
      machine, block, image, progress, [](std::int32_t) {}, [](std::int32_t, const Operation&, const Loaded&, const Effect&) {},
      additions);
}

Result<std::shared_ptr<const BlockValues>> record_block(std::unique_ptr<BlockMachine> machine, BlockOperations block,
                                                        HbmImage& image, std::size_t budget_bytes, const Progress& progress,
                                                        bool sums_are_known) {
  machine->chip_tiles() = {};
  image.settle();
  FoundSums sums(sums_are_known);
  if (bytes_if_kept(block) <= budget_bytes) {
    ChipTileRecords records;
    const Status status = run_all(
        *machine, block, image, progress, [](std::int32_t) {},
        [&](std::int32_t index, const Operation& op, const Loaded& loaded, const Effect& effect) {
          records.note(machine->chip_tiles(), effect, index);
          sums.note(index, op, loaded);
        });
    if (!status) return status.error();
    return std::shared_ptr<const BlockValues>(std::make_shared<KeptValues>(std::move(block), std::move(records), std::move(sums)));
  }
  Checkpointer checkpointer(*machine, budget_bytes);
  const Status status = run_all(
      *machine, block, image, progress,
      [&](std::int32_t index) { checkpointer.before(index, block.operations[static_cast<std::size_t>(index)].iteration); },
      [&](std::int32_t index, const Operation& op, const Loaded& loaded, const Effect& effect) {
        checkpointer.note(index, op, loaded, effect);
        sums.note(index, op, loaded);
      });
  if (!status) return status.error();
  std::vector<Segment> segments = checkpointer.finish();
  return std::shared_ptr<const BlockValues>(std::make_shared<CheckpointedValues>(
      std::move(machine), std::move(block), std::move(segments), checkpointer.events(), std::move(sums)));
}

}  // namespace tilescope
