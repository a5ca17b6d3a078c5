// Halves blocks until each is decided.
#include "sim/masks/expression_mask.h"

#include <algorithm>
#include <utility>

#include "sim/core/refuse.h"
#include "sim/core/units.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/row_evaluator.h"

namespace tilescope {

namespace {

constexpr std::int64_t smallest_block = 16;                     // below this, elements are looked at
constexpr std::int64_t most_looked_at = std::int64_t{1} << 33;  // elements, before a mask is refused: half a minute
constexpr std::int64_t checked_tile = 128;

struct Seen {
  bool some = false, none = false;  // a visible element, a hidden one
  bool mixed() const { return some && none; }
  void operator|=(const Seen& other) { some = some || other.some, none = none || other.none; }
  TileVisibility visibility() const {
    return mixed() ? TileVisibility::partial : some ? TileVisibility::full : TileVisibility::empty;
  }
};

/// The first part of a range, in whole blocks where it has more than one.
TileRange first_half(TileRange range) {
  const std::int64_t half = range.count / 2;
  return {range.first, half > smallest_block ? half / smallest_block * smallest_block : half};
}
TileRange second_half(TileRange range) {
  const TileRange before = first_half(range);
  return {before.end(), range.count - before.count};
}

}  // namespace

struct ExpressionMask::Worker {
  explicit Worker(const ExpressionMask& mask)
      : expression(mask.expression_),
        analysis(mask.expression_, mask.ranges_),
        rows(mask.expression_),
        elements(mask.expression_) {}

  void set_plane(std::int64_t plane) {
    if (plane == current) return;
    current = plane;
    b = plane / expression.sizes.heads;
    h = plane % expression.sizes.heads;
    analysis.set_plane(b, h);
    rows.set_plane(b, h);
  }

  bool visible(std::int64_t q, std::int64_t kv) {
    const ExprElement element{b, h, q, kv};
    const ExprValue<float>& value = elements(element);
    if (value.fault && fault.empty()) fault = elements.fault(element);
    ++looked_at;
    return !value.fault && value.integer != 0;
  }

  /// What is seen in a block of at most 16 x 16. `all`: also what follows once both kinds were seen.
  Seen look(TileRange queries, TileRange keys, bool all, std::int64_t* count) {
    Seen seen;
    rows.set_keys(keys.first, keys.count);
    for (std::int64_t q = queries.first; q < queries.end() && (all || !seen.mixed()); ++q) {
      const std::span<const std::int32_t> row = rows.conditions(q);
      std::int64_t visible_here = 0;
      if (row.empty()) {  // an operand that does not count may be at fault
        for (std::int64_t kv = keys.first; kv < keys.end(); ++kv) visible_here += visible(q, kv) ? 1 : 0;
      } else {
        for (const std::int32_t condition : row) visible_here += condition;
      }
      looked_at += keys.count;
      seen.some = seen.some || visible_here > 0;
      seen.none = seen.none || visible_here < keys.count;
      if (count != nullptr) *count += visible_here;
    }
    return seen;
  }

  /// Whether two corners differ: most blocks on the edge of a mask are found to be partial by these.
  bool corners_differ(TileRange queries, TileRange keys) {
    const std::int64_t q = queries.end() - 1, kv = keys.end() - 1;
    const bool low_left = visible(q, keys.first);
    return low_left != visible(queries.first, kv) || low_left != visible(q, kv) || low_left != visible(queries.first, keys.first);
  }

  /// What is seen in a block. Goes on to the last element where one may be at fault, or where elements are counted.
  Seen decide(TileRange queries, TileRange keys, bool& by_analysis, std::int64_t* count) {
    const IntervalAnalysis::Verdict verdict = analysis(queries, keys);
    if (!verdict.can_fault && !(verdict.can_hold && verdict.can_fail)) {
      if (count != nullptr && verdict.can_hold) *count += queries.count * keys.count;
      return {verdict.can_hold, verdict.can_fail};
    }
    by_analysis = false;
    const bool all = verdict.can_fault || count != nullptr;
    if (queries.count <= smallest_block && keys.count <= smallest_block) return look(queries, keys, all, count);
    if (!all && corners_differ(queries, keys)) return {true, true};
    Seen seen;
    const bool halve_queries = queries.count > smallest_block, halve_keys = keys.count > smallest_block;
    for (int part = 0; part < 4; ++part) {
      if ((part >= 2 && !halve_queries) || (part % 2 == 1 && !halve_keys)) continue;
      const TileRange q = !halve_queries ? queries : part >= 2 ? second_half(queries) : first_half(queries);
      const TileRange kv = !halve_keys ? keys : part % 2 == 1 ? second_half(keys) : first_half(keys);
      seen |= decide(q, kv, by_analysis, count);
      if (seen.mixed() && !all) break;
      if (!fault.empty() || looked_at > most_looked_at || stop_asked()) break;
    }
    return seen;
  }

  /// Rows [box.first_row, box.end_row) of tiles and the columns alike, as long as they are not decided in one.
  void walk(const TileShape& tile, TileBox box, const std::function<void(const TileBox&)>& found) {
    const TileRange queries{box.first_row * tile.block_q,
                            std::min(box.end_row * tile.block_q, expression.sizes.seq_q) - box.first_row * tile.block_q};
    const TileRange keys{box.first_col * tile.block_kv,
                         std::min(box.end_col * tile.block_kv, expression.sizes.seq_kv) - box.first_col * tile.block_kv};
    if (box.tiles() == 1) {
      box.by_analysis = true;
      box.visibility = decide(queries, keys, box.by_analysis, nullptr).visibility();
      found(box);
      return;
    }
    const IntervalAnalysis::Verdict verdict = analysis(queries, keys);
    if (!verdict.can_fault && !(verdict.can_hold && verdict.can_fail)) {
      box.by_analysis = true;
      box.visibility = verdict.can_hold ? TileVisibility::full : TileVisibility::empty;
      found(box);
      return;
    }
    const std::int64_t rows_of_box = box.end_row - box.first_row, cols_of_box = box.end_col - box.first_col;
    const std::int64_t middle_row = box.first_row + (rows_of_box + 1) / 2, middle_col = box.first_col + (cols_of_box + 1) / 2;
    for (int part = 0; part < 4; ++part) {
      if ((part >= 2 && rows_of_box == 1) || (part % 2 == 1 && cols_of_box == 1)) continue;
      if (!fault.empty() || looked_at > most_looked_at || stop_asked()) return;
      TileBox quarter = box;
      if (rows_of_box > 1) (part >= 2 ? quarter.first_row : quarter.end_row) = middle_row;
      if (cols_of_box > 1) (part % 2 == 1 ? quarter.first_col : quarter.end_col) = middle_col;
      walk(tile, quarter, found);
    }
  }

  /// Asks every now and then whether to go on.
  bool stop_asked() {
    constexpr std::int64_t apart = std::int64_t{1} << 16;  // elements: below a millisecond
    if (go_on == nullptr || stopped || looked_at < next_asked) return stopped;
    next_asked = looked_at + apart;
    stopped = !(*go_on)();
    return stopped;
  }

  const Expression& expression;
  IntervalAnalysis analysis;
  RowEvaluator rows;
  ExpressionEvaluator<float> elements;
  std::int64_t current = -1, b = 0, h = 0;
  std::int64_t looked_at = 0;
  const std::function<bool()>* go_on = nullptr;
  std::int64_t next_asked = 0;
  bool stopped = false;
  Sentence fault;  // of the first element that has one
};

/// A worker for one call, and back to the others after it.
class ExpressionMask::Lease {
 public:
  explicit Lease(const ExpressionMask& mask) : mask_(mask) {
    {
      const std::lock_guard lock(mask.mutex_);
      if (!mask.idle_.empty()) {
        worker_ = std::move(mask.idle_.back());
        mask.idle_.pop_back();
      }
    }
    if (worker_ == nullptr) worker_ = std::make_unique<Worker>(mask);
    worker_->looked_at = 0;
  }
  ~Lease() {
    const std::lock_guard lock(mask_.mutex_);
    mask_.idle_.push_back(std::move(worker_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Worker* operator->() const { return worker_.get(); }

 private:
  const ExpressionMask& mask_;
  std::unique_ptr<Worker> worker_;
};

Expression all_of(const std::vector<Expression>& conditions) {
  Expression all = conditions.front();
  for (std::size_t i = 1; i < conditions.size(); ++i) {
    const Expression& more = conditions[i];
    const std::int32_t before = all.root();
    const auto shift = static_cast<std::int32_t>(all.nodes.size());
    const auto columns = static_cast<std::uint32_t>(all.text.size() + 4);
    for (ExprNode node : more.nodes) {
      for (std::size_t a = 0; a < node.operands; ++a) node.args[a] += shift;
      node.column += columns;
      all.nodes.push_back(node);
    }
    ExprNode both;
    both.op = ExprOp::logical_and;
    both.type = ValueType::boolean;
    both.operands = 2;
    both.args[0] = before;
    both.args[1] = all.root();
    both.column = columns;
    both.dependence = all.nodes[static_cast<std::size_t>(before)].dependence | all.nodes.back().dependence;
    all.nodes.push_back(both);
    all.text += " && " + more.text;
  }
  return all;
}

std::optional<Expression> expression_of_mask(const AttentionProblem& problem) {
  if (const auto* own = dynamic_cast<const ExpressionMask*>(problem.mask.get())) return own->expression();
  if (problem.mask != nullptr || !problem.causal) return std::nullopt;
  auto causal = parse_mask_expression(causal_condition, sizes_of(problem));
  return causal ? std::optional(std::move(*causal)) : std::nullopt;
}

Sentence size_fault(const Sentence& what, const ExprSizes& made_for, const AttentionProblem& problem) {
  const ExprSizes sizes = sizes_of(problem);
  if (sizes == made_for) return {};
  const auto text = [](const ExprSizes& s) {
    return phrase("batch {}, heads {}, kv heads {}, {} queries, {} keys and head dimension {}", s.batch, s.heads, s.kv_heads,
                  s.seq_q, s.seq_kv, s.head_dim);
  };
  return phrase("the {} was made for {}, and the problem has {}: make the {} again", what, text(made_for), text(sizes), what);
}

ExpressionMask::ExpressionMask(Expression expression)
    : expression_(std::move(expression)), ranges_(ranges_of(expression_.tables)) {}
ExpressionMask::~ExpressionMask() = default;

Result<std::shared_ptr<const ExpressionMask>> ExpressionMask::make(Expression expression, const MaskScope& scope) {
  const std::shared_ptr<ExpressionMask> mask(new ExpressionMask(std::move(expression)));
  const ExprSizes& sizes = mask->expression_.sizes;
  const MaskPlanes planes = mask->planes();
  Worker worker(*mask);
  worker.go_on = scope.go_on ? &scope.go_on : nullptr;
  const TileBox all{0, ceil_div(sizes.seq_q, checked_tile), 0, ceil_div(sizes.seq_kv, checked_tile), TileVisibility::empty, false};
  for (std::int64_t b = 0; b < (planes.by_batch ? sizes.batch : 1); ++b)
    for (std::int64_t h = 0; h < (planes.by_head ? sizes.heads : 1); ++h) {
      if (scope.plane &&
          (b != (planes.by_batch ? *scope.plane / sizes.heads : 0) || h != (planes.by_head ? *scope.plane % sizes.heads : 0)))
        continue;
      worker.set_plane(b * sizes.heads + h);
      worker.walk({checked_tile, checked_tile}, all, [](const TileBox&) {});
      if (worker.stopped) return Error{phrase("cancelled"), Error::Kind::cancelled};
      if (!worker.fault.empty()) return Error{worker.fault};
      if (worker.looked_at > most_looked_at)
        return refuse(
            "the analysis decides too few blocks of this mask, and more than {} elements would be looked at: use a smaller {} or "
            "{}",
            most_looked_at, Setting::seq, Setting::heads);
    }
  return std::shared_ptr<const ExpressionMask>(mask);
}

bool ExpressionMask::visible(std::int64_t plane, std::int64_t query, std::int64_t key) const {
  const Lease worker(*this);
  worker->set_plane(plane);
  return worker->visible(query, key);
}

TileVisibility ExpressionMask::tile(std::int64_t plane, TileRange queries, TileRange keys) const {
  const Lease worker(*this);
  worker->set_plane(plane);
  bool by_analysis = true;
  return worker->decide(queries, keys, by_analysis, nullptr).visibility();
}

std::int64_t ExpressionMask::count_visible(std::int64_t plane, TileRange queries, TileRange keys) const {
  const Lease worker(*this);
  worker->set_plane(plane);
  bool by_analysis = true;
  std::int64_t count = 0;
  worker->decide(queries, keys, by_analysis, &count);
  return count;
}

void ExpressionMask::walk(const AttentionProblem&, std::int64_t plane, const TileShape& tile,
                          const std::function<void(const TileBox&)>& found) const {
  const Lease worker(*this);
  worker->set_plane(plane);
  const ExprSizes& sizes = expression_.sizes;
  worker->walk(tile,
               {0, ceil_div(sizes.seq_q, tile.block_q), 0, ceil_div(sizes.seq_kv, tile.block_kv), TileVisibility::empty, false},
               found);
}

MaskPlanes ExpressionMask::planes() const {
  const std::uint8_t on = expression_.dependence();
  return {(on & depends_on_b) != 0, (on & depends_on_h) != 0};
}

std::int64_t ExpressionMask::row_class(std::int64_t plane, std::int64_t query_tile) const {
  const MaskPlanes by = planes();
  const std::int64_t heads = expression_.sizes.heads;
  const std::int64_t b = by.by_batch ? plane / heads : 0, h = by.by_head ? plane % heads : 0;
  return (b * heads + h) * expression_.sizes.seq_q + query_tile;
}

Status ExpressionMask::fits(const AttentionProblem& problem) const {
  if (Sentence why = size_fault(phrase("mask"), expression_.sizes, problem); !why.empty()) return Error{std::move(why)};
  return Done{};
}

}  // namespace tilescope
