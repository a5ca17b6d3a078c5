// Converts structs to JSON and back with one description each, for recorded files: bundles, probes, bandwidth records.
//
//   describe(fields, value)   names a struct's members: a JSON object     void describe(auto& fields, SameAs<Tile> auto& tile)
//   elements(fields, value)   lists them: a JSON array, for structs that a file has thousands of
//
//   Writer and Reader find both by argument-dependent lookup, so a file must declare its own descriptions before it uses them.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/measurement.h"
#include "sim/core/probe_stage.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

template <class T, class Wanted>
concept SameAs = std::same_as<std::remove_const_t<T>, Wanted>;

void describe(auto& fields, SameAs<AttentionProblem> auto& p) {
  fields("batch", p.batch), fields("heads", p.heads), fields("kv_heads", p.kv_heads);
  fields("seq_q", p.seq_q), fields("seq_kv", p.seq_kv), fields("head_dim", p.head_dim);
  fields("dtype", p.dtype), fields("causal", p.causal), fields("pass", p.pass);
}

/// The pages of K and V, beside the problem that has them; nothing where it has none.
void describe_pages(auto& fields, SameAs<AttentionProblem> auto& p) {
  fields.unless_zero("page_size", p.page_size);
  if (p.page_size > 0)
    fields("page_order", p.page_order);
  else
    fields.none("page_order", "is the order of pages, but page_size is missing");
}

void describe(auto& fields, SameAs<TileShape> auto& tile) {
  fields("block_q", tile.block_q), fields("block_kv", tile.block_kv);
}

void elements(auto& fields, SameAs<Spread> auto& spread) {
  fields(spread.median), fields(spread.least), fields(spread.most);
}

class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;
  Json json;

  template <class T>
  void operator()(const char* key, const T& value) {
    json[key] = written(value);
  }
  template <class T>
  void operator()(const T& value) {
    json.push_back(written(value));
  }
  template <class T>
  void optional(const char* key, const T& value) {
    (*this)(key, value);
  }
  template <class T>
  void unless_empty(const char* key, const T& value) {
    if (!value.empty()) (*this)(key, value);
  }
  void unless_zero(const char* key, std::int64_t value) {
    if (value != 0) (*this)(key, value);
  }
  void none(const char*, std::string_view) {}

 private:
  template <class T>
  static Json written(const T& value) {
    JsonWriter inner;
    if constexpr (requires { describe(inner, value); }) {
      inner.json = Json::object();
      describe(inner, value);
      return std::move(inner.json);
    } else if constexpr (requires { elements(inner, value); }) {
      inner.json = Json::array();
      elements(inner, value);
      return std::move(inner.json);
    } else {
      return value;
    }
  }
  static Json written(const DataType& type) { return to_string(type); }
  static Json written(const Pass& pass) { return to_string(pass); }
  static Json written(const PageOrder& order) { return to_string(order); }
  template <class T>
  static Json written(const std::vector<T>& list) {
    Json array = Json::array();
    for (const T& value : list) array.push_back(written(value));
    return array;
  }
  template <class T>
  static Json written(const std::map<std::string, T>& map) {
    Json members = Json::object();
    for (const auto& [key, value] : map) members[key] = written(value);
    return members;
  }
};

/// Reads members. Keeps the first error with its path and skips everything after it.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;
  JsonReader(const Json& json, std::string path, std::string& wrong) : json_(json), path_(std::move(path)), wrong_(wrong) {}

  template <class T>
  void operator()(const char* key, T& value) {
    if (!wrong_.empty()) return;
    if (!json_.is_object()) return fail(path_, "must be an object");
    const auto found = json_.find(key);
    if (found == json_.end()) return fail(path_of(key), "is missing");
    read(path_of(key), *found, value);
  }
  /// Reads a member that older files lack.
  template <class T>
  void optional(const char* key, T& value) {
    if (json_.is_object() && json_.contains(key)) (*this)(key, value);
  }
  /// Read a member that is left out where it is empty, or zero.
  template <class T>
  void unless_empty(const char* key, T& value) {
    optional(key, value);
  }
  void unless_zero(const char* key, std::int64_t& value) {
    optional(key, value);
    if (wrong_.empty() && json_.contains(key) && value == 0) fail(path_of(key), "must be at least 1, or be left out");
  }
  /// Refuses a member that has no meaning here; `what` says why.
  void none(const char* key, std::string_view what) {
    if (wrong_.empty() && json_.contains(key)) fail(path_of(key), what);
  }
  template <class T>
  void operator()(T& value) {
    if (!wrong_.empty()) return;
    if (!json_.is_array() || next_ >= json_.size()) return fail(path_, "must be a list of more numbers");
    const std::string path = fmt::format("{}[{}]", path_, next_);
    read(path, json_[next_++], value);
  }

 private:
  static constexpr std::size_t longest_path = 160;

  std::string path_of(std::string_view key) const { return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key); }
  void fail(const std::string& path, std::string_view what) {
    if (wrong_.empty()) wrong_ = fmt::format("{} {}", path.empty() ? "the outermost value" : printable(path, longest_path), what);
  }

  template <class T>
  void read(const std::string& path, const Json& json, T& value) {
    JsonReader inner(json, path, wrong_);
    if constexpr (requires { describe(inner, value); })
      describe(inner, value);
    else
      elements(inner, value);
    if (wrong_.empty()) judge(path, value);
  }
  void read(const std::string& path, const Json& json, std::string& value);
  void read(const std::string& path, const Json& json, bool& value);
  void read(const std::string& path, const Json& json, double& value);
  void read(const std::string& path, const Json& json, DataType& value);
  void read(const std::string& path, const Json& json, Pass& value);
  void read(const std::string& path, const Json& json, PageOrder& value);
  void read(const std::string& path, const Json& json, ProbeStage& value);
  template <std::integral Integer>
  void read(const std::string& path, const Json& json, Integer& value) {
    if (!json.is_number_integer() || !std::in_range<Integer>(json.get<std::int64_t>()) || json.get<std::int64_t>() < 0)
      return fail(path, "must be a whole number, not below zero");
    value = json.get<Integer>();
  }
  template <class T>
  void read(const std::string& path, const Json& json, std::vector<T>& value) {
    if (!json.is_array()) return fail(path, "must be a list");
    value.resize(json.size());
    for (std::size_t i = 0; i < json.size() && wrong_.empty(); ++i) read(fmt::format("{}[{}]", path, i), json[i], value[i]);
  }
  template <class T>
  void read(const std::string& path, const Json& json, std::map<std::string, T>& value) {
    if (!json.is_object()) return fail(path, "must be an object");
    for (const auto& [key, element] : json.items()) read(fmt::format("{}.{}", path, key), element, value[key]);
  }

  // Rejects values that are impossible as a whole, although every member has the right type.
  template <class T>
  void judge(const std::string&, const T&) {}
  void judge(const std::string& path, const AttentionProblem& value);
  void judge(const std::string& path, const TileShape& value);
  void judge(const std::string& path, const Spread& value);
  void judge(const std::string& path, const MeasuredCase& value) { judge(path, value.problem); }  // now with its pages

  const Json& json_;
  std::string path_;
  std::string& wrong_;
  std::size_t next_ = 0;
};

/// Returns the members that describe() names as an object: {"batch":1, …} for a problem.
template <class T>
nlohmann::ordered_json json_of(const T& value) {
  JsonWriter writer;
  describe(writer, value);
  return std::move(writer.json);
}

/// Formats JSON with one member a line in the outer `levels` of objects and lists; inner levels stay on that line.
std::string json_lines(const nlohmann::ordered_json& json, int levels);

/// Parses a recorded file and checks its schema. `what` names it in errors: "a measurement bundle".
/// Errors   not JSON; another schema
Result<nlohmann::ordered_json> parse_recorded(std::string_view text, std::string_view schema, std::string_view what);

/// Converts a recorded struct to the text of its file (recorded_from: and back).
template <class T>
std::string recorded_text(const T& value, std::string_view schema, int levels) {
  JsonWriter writer;
  writer.json = nlohmann::ordered_json::object();
  writer("schema", std::string(schema));
  describe(writer, value);
  return json_lines(writer.json, levels) + "\n";
}
template <class T>
Result<T> recorded_from(std::string_view text, std::string_view schema, std::string_view what) {
  const Result<nlohmann::ordered_json> json = parse_recorded(text, schema, what);
  if (!json) return json.error();
  std::string wrong;
  JsonReader reader(*json, "", wrong);
  T value;
  describe(reader, value);
  if (!wrong.empty()) return refuse("the {} is not sound: {}", what, wrong);
  return value;
}

}  // namespace tilescope
