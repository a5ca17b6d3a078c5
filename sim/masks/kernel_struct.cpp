// Writes the functions of a struct line by line, the parts that are kept before those that read them.
#include "sim/masks/kernel_struct.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/masks/cuda_source.h"
#include "sim/masks/division_magic.h"
#include "sim/masks/element_cost.h"
#include "sim/masks/kernel_parts.h"

namespace tilescope {

namespace {

constexpr std::size_t most_scalars = 96;  // FlexArguments::scalars
constexpr double log2_e = 1.4426950408889634;

bool compares_two(ExprOp op) {
  return op >= ExprOp::equal && op <= ExprOp::greater_equal;
}

std::string_view cuda_type(ValueType type) {
  return type == ValueType::boolean ? "bool" : type == ValueType::integer ? "int" : "float";
}

/// `word` of shared memory as a value of a type, and back.
std::string from_word(ValueType type, const std::string& word) {
  if (type == ValueType::real) return fmt::format("__uint_as_float({})", word);
  return type == ValueType::boolean ? fmt::format("({} != 0)", word) : fmt::format("(int){}", word);
}
std::string to_word(ValueType type, const std::string& value) {
  return type == ValueType::real ? fmt::format("__float_as_uint({})", value) : fmt::format("(unsigned){}", value);
}

std::string_view name_of(KernelStruct made) {
  static constexpr std::string_view names[] = {"FlexScore", "FlexMask", "FlexSlope"};
  return names[static_cast<std::size_t>(made)];
}
std::string_view uniforms_before(KernelStruct made) {
  static constexpr std::string_view sums[] = {"", "FlexScore::uniforms + ", "FlexScore::uniforms + FlexMask::uniforms + "};
  return sums[static_cast<std::size_t>(made)];
}

/// Writes one expression.
class Writer {
 public:
  Writer(const Expression& expression, KernelStruct made, CapturedArguments& captured)
      : e_(expression), parts_(expression), made_(made), is_mask_(made == KernelStruct::mask), captured_(captured) {}

  /// Writes the struct. It can be called once.
  std::vector<KernelSourceLine> write();

 private:
  enum class Scope { uniforms, rows, columns, row, column, value };
  using Node = KernelParts::Node;
  using Linear = KernelParts::Linear;
  struct Place {
    std::vector<KernelSourceLine> lines;
    std::set<Node> declared;
  };
  const ExprNode& node(Node n) const { return parts_.node(n); }
  KernelLevel level(Node n) const { return parts_.level(n); }
  Place& at(Scope scope) { return places_[static_cast<std::size_t>(scope)]; }

  std::string constant(Node n);
  std::string use(Scope scope, Node n);
  std::string kept(Node n);
  std::string field(Scope scope, Node n);
  std::string linear_field(const Linear& sum, bool as_real, std::string& of_column);
  std::string compute(Scope scope, Node n);
  std::string sine_of_several(Node n);
  std::string element_of(Scope scope, Node n);
  std::string comparison(Node n, const Linear& difference);
  std::optional<std::string> folded(Node n);
  std::string reciprocal(Node n, const std::string& exponent, bool scales_raw);
  bool is_dropped(Node n) const;
  std::optional<std::pair<std::string, double>> score_times(Node n);
  void declare(Scope scope, ValueType type, const std::string& name, const std::string& value, std::uint32_t column) {
    at(scope).lines.push_back({fmt::format("    const {} {} = {};", cuda_type(type), name, value), column});
  }
  /// Returns the lines that keep the parts of a scope, in order of their words. `form` stores a value in a word.
  std::vector<KernelSourceLine> stores_of(Scope scope, const std::map<Node, int>& words, const char* form);
  void add(std::string line) { text_.push_back({std::move(line), 0}); }
  void add_all(const std::vector<KernelSourceLine>& lines) { text_.insert(text_.end(), lines.begin(), lines.end()); }
  /// Adds the function that computes and keeps the parts of a scope.
  void add_keeping(std::string_view signature, Scope scope, const std::vector<KernelSourceLine>& stores);
  /// Adds what a thread has of a row and of a column, and the functions that make it.
  void add_row_and_column();
  /// Adds the functions of an element, which return `result`.
  void add_element(const std::string& result);
  const Expression& e_;
  KernelParts parts_;
  KernelStruct made_;
  bool is_mask_;
  CapturedArguments& captured_;
  std::map<Node, std::string> constants_;
  std::map<Node, int> uniform_words_, row_words_, column_words_;
  std::vector<std::pair<std::string, std::string>> row_fields_, column_fields_;  // type and name
  std::set<std::string> known_fields_;
  // The one tanh or sigmoid of a score, as 1 / (1 + 2^exponent): the kernel takes the reciprocals of four scores at once.
  std::string exponent_;
  std::vector<KernelSourceLine> before_exponent_;
  bool scales_raw_ = false;               // whether that exponent is the raw score times a constant
  std::string factor_;                    // where the value is a constant minus this times that reciprocal
  std::vector<std::vector<Node>> sines_;  // see sines_together()
  Place places_[6];
  std::vector<KernelSourceLine> text_;
};

std::string Writer::constant(Node n) {
  const auto known = constants_.find(n);
  if (known != constants_.end()) return known->second;
  const ExprNode& own = node(n);
  const ExprValue<float>& value = parts_.value_of(n);
  std::string text;
  if (own.type == ValueType::boolean)
    text = value.integer != 0 ? "true" : "false";
  else if (own.op == ExprOp::name && own.name == ExprName::inf)
    text = "EXPR_INF";
  else if (own.op == ExprOp::name && own.name == ExprName::scale)
    text = "x.arguments.scale";
  else if (own.type == ValueType::real)
    text = captured_.real(static_cast<double>(value.real));
  else
    text = captured_.integer(value.integer);
  return constants_[n] = text;
}

/// Reads a kept part from shared memory.
std::string Writer::kept(Node n) {
  auto& words = level(n) == KernelLevel::uniform ? uniform_words_ : level(n) == KernelLevel::row ? row_words_ : column_words_;
  const auto found = words.find(n);
  const int word = found != words.end() ? found->second : static_cast<int>(words.size());
  words[n] = word;
  if (level(n) == KernelLevel::uniform)
    return from_word(node(n).type, fmt::format("x.uniforms[{}{}]", uniforms_before(made_), word));
  return from_word(node(n).type, fmt::format("words[{} * stride]", word));
}

/// A part of a row or a column as an element reads it: a member of Row or Column.
std::string Writer::field(Scope scope, Node n) {
  const bool of_row = scope == Scope::row;
  const std::string name = fmt::format("v{}", n);
  if (known_fields_.insert(name).second) {
    const std::string value = use(scope, n);
    (of_row ? row_fields_ : column_fields_).push_back({std::string(cuda_type(node(n).type)), name});
    at(scope).lines.push_back({fmt::format("    {}.{} = {};", of_row ? "row" : "column", name, value), node(n).column});
  }
  return fmt::format("{}.{}", of_row ? "row" : "column", name);
}

/// The row's part of a sum, with the lane's first key in it; `of_column` becomes what a column adds, if it adds more than its
/// place.
std::string Writer::linear_field(const Linear& sum, bool as_real, std::string& of_column) {
  std::string rows, columns, name = as_real ? "f" : "d";
  for (const auto& [sign, part] : sum.parts) {
    const bool column = level(part) == KernelLevel::column;
    name += fmt::format("{}{}", sign < 0 ? "_m" : "_p", part);
    std::string& into = column ? columns : rows;
    into += fmt::format("{}{}", sign < 0 ? " - " : into.empty() ? "" : " + ", use(column ? Scope::column : Scope::row, part));
  }
  name += fmt::format("_k{}{}", sum.keys < 0 ? "m" : "", std::abs(sum.keys));
  if (sum.keys != 0) rows += fmt::format("{}{} * first_key", rows.empty() ? "" : " + ", sum.keys);
  if (rows.empty()) rows.assign(1, '0');
  const std::string_view type = as_real ? "float" : "int";
  if (known_fields_.insert("row." + name).second) {
    row_fields_.push_back({std::string(type), name});
    at(Scope::row).lines.push_back({fmt::format("    row.{} = ({})({});", name, type, rows), 0});
  }
  if (!columns.empty()) {
    if (known_fields_.insert("column." + name).second) {
      column_fields_.push_back({std::string(type), name});
      at(Scope::column).lines.push_back({fmt::format("    column.{} = ({})({});", name, type, columns), 0});
    }
    of_column = "column." + name;
  }
  return "row." + name;
}

/// A comparison of two ints as one of a row's number with a constant, or with a column's number.
std::string Writer::comparison(Node n, const Linear& difference) {
  static constexpr std::string_view symbols[] = {"==", "!=", "<", "<=", ">", ">="};
  const std::string_view symbol = symbols[static_cast<int>(node(n).op) - static_cast<int>(ExprOp::equal)];
  std::string of_column;
  const std::string row = linear_field(difference, false, of_column);
  const std::string place = fmt::format("{} * column.place", -difference.keys);
  if (of_column.empty()) return fmt::format("{} {} {}", row, symbol, place);
  return fmt::format("{} {} {} - {}", row, symbol, difference.keys == 0 ? std::string("0") : place, of_column);
}

std::string Writer::element_of(Scope scope, Node n) {
  const ExprNode& own = node(n);
  const auto& table = e_.tables[static_cast<std::size_t>(own.integer)];
  std::string place;
  for (std::size_t axis = 0; axis < own.operands; ++axis) {
    const std::string clamped =
        fmt::format("expr_clamp({}, {})", use(scope, own.args[axis]), captured_.integer(table->shape[axis] - 1));
    place = axis == 0 ? clamped : fmt::format("({}) * {} + {}", place, captured_.integer(table->shape[axis]), clamped);
  }
  const std::size_t number = captured_.table(table);
  captured_.source().reads.push_back({is_mask_, n, level(n), number});
  const std::string word = scope == Scope::value
                               ? fmt::format("expr_word(x.arguments.tables[{}], {}, row.inside && column.inside)", number, place)
                               : fmt::format("expr_word(x.arguments.tables[{}], {}, true)", number, place);
  return from_word(table->type, word);
}

/// Returns the factor of raw Q·K products that a node is, beside the scale: score, score * c, score / c.
std::optional<std::pair<std::string, double>> Writer::score_times(Node n) {
  const ExprNode& own = node(n);
  if (own.op == ExprOp::name && own.name == ExprName::score) return std::pair<std::string, double>{"raw", 1.0};
  if (own.op != ExprOp::multiply && own.op != ExprOp::divide) return std::nullopt;
  for (const int side : {0, 1}) {
    if (own.op == ExprOp::divide && side == 1) break;
    if (level(own.args[static_cast<std::size_t>(1 - side)]) != KernelLevel::constant) continue;
    const auto inner = score_times(own.args[static_cast<std::size_t>(side)]);
    if (!inner) continue;
    const double factor = static_cast<double>(parts_.value_of(own.args[static_cast<std::size_t>(1 - side)]).real);
    return std::pair{inner->first, own.op == ExprOp::multiply ? inner->second * factor : inner->second / factor};
  }
  return std::nullopt;
}

/// Whether the value of the expression can do without that of a node: a choice, min, max or a comparison takes another.
bool Writer::is_dropped(Node n) const {
  std::vector<bool> uses(e_.nodes.size(), false);
  uses[KernelParts::index(n)] = true;
  for (std::size_t k = KernelParts::index(n) + 1; k < e_.nodes.size(); ++k) {
    const ExprNode& later = e_.nodes[k];
    for (std::size_t a = 0; a < later.operands; ++a) uses[k] = uses[k] || uses[KernelParts::index(later.args[a])];
    const bool keeps =
        later.op == ExprOp::select || later.op == ExprOp::minimum || later.op == ExprOp::maximum || later.type != ValueType::real;
    if (uses[k] && keeps) return true;
  }
  return false;
}

/// Returns 1 / (1 + 2^exponent) of node `n`. The first one of a score is left to the kernel, which takes four together. A NaN then
/// spreads to all four, so it must be one that fills its row in any case.
std::string Writer::reciprocal(Node n, const std::string& exponent, bool scales_raw) {
  if (!exponent_.empty() || is_dropped(n)) return fmt::format("expr_reciprocal_exp2({})", exponent);
  exponent_ = exponent;
  scales_raw_ = scales_raw;
  before_exponent_ = at(Scope::value).lines;
  return "reciprocal";
}

/// A shorter way to a node of a score: constants of products with the score are multiplied by the host.
std::optional<std::string> Writer::folded(Node n) {
  if (is_mask_) return std::nullopt;
  const ExprNode& own = node(n);
  const double scale = 1.0 / std::sqrt(static_cast<double>(e_.sizes.head_dim));
  if (const auto times = score_times(n)) return fmt::format("raw * {}", captured_.real(times->second * scale));
  const auto reciprocal_of_tanh = [&](Node argument) {
    if (const auto times = score_times(argument))
      return reciprocal(n, fmt::format("raw * {}", captured_.real(times->second * scale * 2 * log2_e)), true);
    return reciprocal(n, fmt::format("{} * {}", use(Scope::value, argument), captured_.real(2 * log2_e)), false);
  };
  const auto note_factor = [&](const std::string& half, const std::string& factor) {
    if (n == e_.root() && half == "reciprocal") factor_ = factor;
  };
  if (own.op == ExprOp::tanh) {
    const std::string half = reciprocal_of_tanh(own.args[0]);
    note_factor(half, "2.0f");
    return fmt::format("1.0f - 2.0f * {}", half);
  }
  if (own.op == ExprOp::sigmoid)
    return reciprocal(n, fmt::format("{} * {}", use(Scope::value, own.args[0]), captured_.real(-log2_e)),
                      score_times(own.args[0]).has_value());
  if (own.op == ExprOp::multiply)
    for (const std::size_t side : {0U, 1U}) {
      const Node factor = own.args[side], other = own.args[1 - side];
      if (level(factor) == KernelLevel::constant && node(other).op == ExprOp::tanh) {
        const double value = static_cast<double>(parts_.value_of(factor).real);
        const std::string half = reciprocal_of_tanh(node(other).args[0]), whole = captured_.real(value),
                          twice = captured_.real(2 * value);
        if (value > 0) note_factor(half, twice);
        return fmt::format("{} - {} * {}", whole, twice, half);
      }
      // A factor of the block times a distance: the row's product plus the factor times a constant of the register.
      if (level(factor) > KernelLevel::uniform || node(other).op != ExprOp::to_real) continue;
      const auto sum = parts_.linear(node(other).args[0]);
      if (!sum || sum->bound >= exact_float || sum->keys == 0) continue;
      bool of_row = true;
      for (const auto& part : sum->parts) of_row = of_row && level(part.second) != KernelLevel::column;
      if (!of_row) continue;
      std::string none;
      const std::string distance = linear_field(*sum, true, none), name = fmt::format("m{}", n);
      if (known_fields_.insert("row." + name).second) {
        row_fields_.push_back({"float", name});
        at(Scope::row).lines.push_back({fmt::format("    row.{} = {} * {};", name, use(Scope::row, factor), distance), own.column});
      }
      return fmt::format("row.{} + {} * (float)({} * column.place)", name, use(Scope::value, factor), sum->keys);
    }
  return std::nullopt;
}

std::string Writer::compute(Scope scope, Node n) {
  const ExprNode& own = node(n);
  if (own.op == ExprOp::element) return element_of(scope, n);
  if (scope == Scope::value) {
    if (auto text = folded(n)) return *text;
    if (std::string text = sine_of_several(n); !text.empty()) return text;
    if (compares_two(own.op) && own.compares == ValueType::integer) {
      Linear difference;
      if (parts_.add_parts(own.args[0], 1, difference) && parts_.add_parts(own.args[1], -1, difference) &&
          difference.bound < safe_int)
        return comparison(n, difference);
    }
    std::string of_column;
    if (own.op == ExprOp::to_real)
      if (const auto sum = parts_.linear(own.args[0]); sum && sum->bound < exact_float) {
        const std::string row = linear_field(*sum, true, of_column);
        return fmt::format("{} + (float)({} * column.place){}{}", row, sum->keys, of_column.empty() ? "" : " + ", of_column);
      }
    if (const auto sum = parts_.linear(n)) {
      const std::string row = linear_field(*sum, false, of_column);
      return fmt::format("{} + {} * column.place{}{}", row, sum->keys, of_column.empty() ? "" : " + ", of_column);
    }
  }
  if ((own.op == ExprOp::floor_divide || own.op == ExprOp::modulo) && level(own.args[1]) == KernelLevel::constant)
    if (const std::int32_t divisor = parts_.value_of(own.args[1]).integer; divisor > 0) {
      const DivisionMagic magic = division_magic(divisor);
      const std::string arguments =
          fmt::format("{}, {}, {}", use(scope, own.args[0]), captured_.integer(magic.magic), captured_.integer(magic.shift));
      if (own.op == ExprOp::floor_divide) return fmt::format("expr_divide_by({})", arguments);
      return fmt::format("expr_modulo_by({}, {})", arguments, captured_.integer(divisor));
    }
  if (own.op == ExprOp::divide && !is_mask_ && level(own.args[1]) == KernelLevel::constant)
    if (const double inverse = 1.0 / static_cast<double>(parts_.value_of(own.args[1]).real);
        std::isnormal(static_cast<float>(inverse)))
      return fmt::format("{} * {}", use(scope, own.args[0]), captured_.real(inverse));
  std::string args[3];
  for (std::size_t a = 0; a < std::min<std::size_t>(own.operands, 3); ++a) args[a] = use(scope, own.args[a]);
  return cuda_operation(own, is_mask_, args[0], args[1], args[2]);
}

/// Returns a member of the float2 or float4 that has the sine or cosine, which the first use declares; empty where it stands alone.
std::string Writer::sine_of_several(Node n) {
  const auto group = std::find_if(sines_.begin(), sines_.end(), [&](const std::vector<Node>& nodes) {
    return nodes.size() > 1 && std::find(nodes.begin(), nodes.end(), n) != nodes.end();
  });
  if (group == sines_.end()) return {};
  const std::string name = fmt::format("s{}", group->front());
  if (at(Scope::value).declared.insert(-1 - group->front()).second) {
    const std::size_t width = group->size() == 2 ? 2 : 4;
    std::string arguments;
    for (std::size_t i = 0; i < width; ++i)
      arguments +=
          fmt::format("{}{}", i == 0 ? "" : ", ", i < group->size() ? use(Scope::value, node((*group)[i]).args[0]) : "0.0f");
    const std::string_view function = node(n).op == ExprOp::sin ? "expr_sines" : "expr_cosines";
    std::string line = fmt::format("    const float{} {} = {}({});", width, name, function, arguments);
    at(Scope::value).lines.push_back({std::move(line), node(n).column});
  }
  return fmt::format("{}.{}", name, "xyzw"[std::find(group->begin(), group->end(), n) - group->begin()]);
}

std::string Writer::use(Scope scope, Node n) {
  const ExprNode& own = node(n);
  if (level(n) == KernelLevel::constant) return constant(n);
  if (own.op == ExprOp::name) switch (own.name) {
      case ExprName::b:
        return "x.b";
      case ExprName::h:
        return "x.h";
      case ExprName::q:
        return scope == Scope::value ? field(Scope::row, n) : "q";
      case ExprName::kv:
        return scope == Scope::value ? field(Scope::column, n) : "kv";
      default:
        break;
    }
  const KernelLevel own_level = level(n);
  if (scope == Scope::value && own_level == KernelLevel::row) return field(Scope::row, n);
  if (scope == Scope::value && own_level == KernelLevel::column) return field(Scope::column, n);
  const bool being_kept = (scope == Scope::uniforms && own_level == KernelLevel::uniform) ||
                          (scope == Scope::rows && own_level == KernelLevel::row) ||
                          (scope == Scope::columns && own_level == KernelLevel::column);
  std::string name = fmt::format("v{}", n);
  if (at(scope).declared.contains(n)) return name;
  const std::string value = !being_kept && own_level != KernelLevel::element && parts_.is_kept(n) ? kept(n) : compute(scope, n);
  at(scope).declared.insert(n);
  declare(scope, own.type, name, value, own.column);
  return name;
}

std::vector<KernelSourceLine> Writer::write() {
  if (!is_mask_) sines_ = sines_together(e_);
  const std::string result = use(Scope::value, e_.root());
  // What is kept is found while the element is written; keeping it can need further uniforms.
  const std::vector<KernelSourceLine> row_stores = stores_of(Scope::rows, row_words_, "    words[{} * stride] = {};");
  const std::vector<KernelSourceLine> column_stores = stores_of(Scope::columns, column_words_, "    held.value[{}] = {};");
  const std::vector<KernelSourceLine> uniform_stores = stores_of(Scope::uniforms, uniform_words_, "    words[{}] = {};");

  add(fmt::format("struct {} {{", name_of(made_)));
  add(fmt::format("  static constexpr bool present = true, has_reciprocal = {}, scales_raw = {}, has_factor = {};",
                  !exponent_.empty(), scales_raw_, !factor_.empty()));
  add(fmt::format("  static constexpr int uniforms = {}, rows = {}, columns = {};", uniform_words_.size(), row_words_.size(),
                  column_words_.size()));
  add(fmt::format("  struct ColumnWords {{ unsigned value[{}]; }};", std::max<std::size_t>(column_words_.size(), 1)));
  add_keeping("set_uniforms(const FlexPlace& x, unsigned* words)", Scope::uniforms, uniform_stores);
  add_keeping("set_row(const FlexPlace& x, int q, unsigned* words, int stride)", Scope::rows, row_stores);
  add_keeping("read_columns(const FlexPlace& x, int kv, ColumnWords& held)", Scope::columns, column_stores);
  add_row_and_column();
  add_element(result);
  add("};");

  KernelSource& source = captured_.source();
  source.uniforms += static_cast<int>(uniform_words_.size());
  source.rows += static_cast<int>(row_words_.size());
  source.columns += static_cast<int>(column_words_.size());
  if (made_ == KernelStruct::score) source.shares_reciprocals = !exponent_.empty();
  return std::move(text_);
}

std::vector<KernelSourceLine> Writer::stores_of(Scope scope, const std::map<Node, int>& words, const char* form) {
  std::vector<std::pair<int, Node>> order;
  order.reserve(words.size());
  for (const auto& [n, word] : words) order.push_back({word, n});
  std::sort(order.begin(), order.end());
  std::vector<KernelSourceLine> stores;
  stores.reserve(order.size());
  for (const auto& [word, n] : order)
    stores.push_back({fmt::format(fmt::runtime(form), word, to_word(node(n).type, use(scope, n))), node(n).column});
  return stores;
}

void Writer::add_keeping(std::string_view signature, Scope scope, const std::vector<KernelSourceLine>& stores) {
  add(fmt::format("  static __device__ __forceinline__ void {} {{", signature));
  add_all(at(scope).lines);
  add_all(stores);
  add("  }");
}

void Writer::add_row_and_column() {
  const auto add_fields = [&](const auto& fields) {
    for (const auto& [type, name] : fields) add(fmt::format("    {} {};", type, name));
  };
  add("  struct Row {");
  add("    bool inside;");
  add_fields(row_fields_);
  add("  };");
  add("  static __device__ __forceinline__ Row row(const FlexPlace& x, int q, int first_key, const unsigned* words, int stride) {");
  add("    Row row;");
  add("    row.inside = q < x.arguments.seq_q;");
  add_all(at(Scope::row).lines);
  add("    return row;");
  add("  }");
  add("  struct Column {");
  add("    int place;");
  add("    bool inside;");
  add_fields(column_fields_);
  add("  };");
  add("  static __device__ __forceinline__ Column column(const FlexPlace& x, int first_key, int place, const unsigned* words, int "
      "stride) {");
  add("    const int kv = first_key + place;");
  add("    Column column;");
  add("    column.place = place;");
  add("    column.inside = kv < x.arguments.seq_kv;");
  add_all(at(Scope::column).lines);
  add("    return column;");
  add("  }");
}

void Writer::add_element(const std::string& result) {
  if (!exponent_.empty()) {
    add("  static __device__ __forceinline__ float exponent(const FlexPlace& x, const Row& row, const Column& column, float raw) "
        "{");
    add_all(before_exponent_);
    add(fmt::format("    return {};", exponent_));
    add("  }");
  }
  if (!factor_.empty())
    add(fmt::format("  static __device__ __forceinline__ float factor(const FlexPlace& x) {{ return {}; }}", factor_));
  add(
      fmt::format("  static __device__ __forceinline__ {} value(const FlexPlace& x, const Row& row, const Column& column, float "
                  "raw, float reciprocal) {{",
                  cuda_type(e_.type())));
  add_all(at(Scope::value).lines);
  add(fmt::format("    return {};", result));
  add("  }");
}

std::vector<KernelSourceLine> nothing(KernelStruct made) {
  const bool is_mask = made == KernelStruct::mask;
  std::vector<KernelSourceLine> lines;
  lines.push_back({fmt::format("struct {} {{", name_of(made)), 0});
  for (const char* line : {
           "  static constexpr bool present = false, has_reciprocal = false, scales_raw = false, has_factor = false;",
           "  static constexpr int uniforms = 0, rows = 0, columns = 0;",
           "  struct Nothing { unsigned value[1]; };",
           "  using ColumnWords = Nothing;",
           "  using Row = Nothing;",
           "  using Column = Nothing;",
           "  static __device__ void set_uniforms(const FlexPlace&, unsigned*) {}",
           "  static __device__ Row row(const FlexPlace&, int, int, const unsigned*, int) { return {}; }",
           "  static __device__ Column column(const FlexPlace&, int, int, const unsigned*, int) { return {}; }",
       })
    lines.push_back({line, 0});
  lines.push_back({fmt::format("  static __device__ {} value(const FlexPlace&, Row, Column, float raw, float) {{ return {}; }}",
                               is_mask ? "bool" : "float", is_mask ? "true" : "raw"),
                   0});
  lines.push_back({"};", 0});
  return lines;
}

}  // namespace

std::string CapturedArguments::scalar(std::uint32_t bits, ValueType type) {
  // The compiler computes the common parts of both structs once if they read the same scalar; each reads its tables itself.
  for (std::size_t i = 0; i < shared_; ++i)
    if (source_.scalars[i] == bits) return from_word(type, fmt::format("x.arguments.scalars[{}]", i));
  if (source_.scalars.size() >= most_scalars) return from_word(type, fmt::format("{}u", bits));
  source_.scalars.push_back(bits);
  return from_word(type, fmt::format("x.arguments.scalars[{}]", source_.scalars.size() - 1));
}

std::string CapturedArguments::real(double value) {
  return scalar(std::bit_cast<std::uint32_t>(static_cast<float>(value)), ValueType::real);
}

std::string CapturedArguments::integer(std::int64_t value) {
  return scalar(static_cast<std::uint32_t>(value), ValueType::integer);
}

std::size_t CapturedArguments::table(const std::shared_ptr<const CapturedTable>& wanted) {
  for (std::size_t i = 0; i < source_.tables.size(); ++i)
    if (source_.tables[i] == wanted || source_.tables[i]->name == wanted->name) return i;
  source_.tables.push_back(wanted);
  return source_.tables.size() - 1;
}

std::vector<KernelSourceLine> written_struct(KernelStruct made, const Expression* expression, CapturedArguments& captured) {
  return expression != nullptr ? Writer(*expression, made, captured).write() : nothing(made);
}

}  // namespace tilescope
