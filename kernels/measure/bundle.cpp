// Measurement bundles to JSON and back: one description of each struct serves both ways.
#include "kernels/measure/bundle.h"

#include <fmt/format.h>

#include <concepts>
#include <nlohmann/json.hpp>

namespace tilescope {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view schema = "tilescope.measurements/1";

// The members of each struct by their keys. `Fields` is a Writer or a Reader.

template <class Fields, class Problem>
void describe_problem(Fields& fields, Problem& p) {
  fields("batch", p.batch), fields("heads", p.heads), fields("kv_heads", p.kv_heads);
  fields("seq_q", p.seq_q), fields("seq_kv", p.seq_kv), fields("head_dim", p.head_dim);
  fields("dtype", p.dtype), fields("causal", p.causal), fields("pass", p.pass);
}

template <class Fields, class Tile>
void describe_tile(Fields& fields, Tile& tile) {
  fields("block_q", tile.block_q), fields("block_kv", tile.block_kv);
}

template <class Fields, class Launch>
void describe_launch(Fields& fields, Launch& launch) {
  fields("name", launch.name), fields("blocks", launch.blocks), fields("threads", launch.threads);
  fields("registers", launch.registers), fields("smem_bytes", launch.shared_bytes), fields("blocks_per_sm", launch.blocks_per_sm);
  fields("time_ns", launch.time_ns);
}

template <class Fields, class Case>
void describe_case(Fields& fields, Case& c) {
  fields("kernel", c.kernel), fields("list", c.list), fields("problem", c.problem), fields("tile", c.tile);
  fields("time_cold_ns", c.time_cold_ns), fields("time_warm_ns", c.time_warm_ns), fields("time_repeats", c.time_repeats);
  fields("launches", c.launches);
  fields("refused", c.refused);
  fields("counters", c.counters), fields("counters_warm", c.counters_warm);
  fields("hbm_write_after_flush_bytes", c.hbm_write_after_flush_bytes);
  fields("cycles", c.cycles), fields("sm_clock_hz", c.sm_clock_hz);
  fields("counter_passes", c.counter_passes), fields("counter_repeats", c.counter_repeats);
}

template <class Fields, class Bundle>
void describe_bundle(Fields& fields, Bundle& b) {
  fields("gpu", b.gpu), fields("device", b.device), fields("driver", b.driver), fields("runtime", b.runtime);
  fields("commit", b.commit), fields("date", b.date), fields("command", b.command);
  fields("sm_count", b.sm_count), fields("l2_bytes", b.l2_bytes);
  fields("sm_clock_hz", b.sm_clock_hz), fields("memory_clock_hz", b.memory_clock_hz);
  fields("counter_names", b.counter_names), fields("cases", b.cases);
}

class Writer {
 public:
  Json json = Json::object();

  template <class T>
  void operator()(const char* key, const T& value) {
    json[key] = written(value);
  }

 private:
  template <class T>
  static Json written(const T& value) {
    return value;
  }
  static Json written(const DataType& type) { return to_string(type); }
  static Json written(const Pass& pass) { return to_string(pass); }
  static Json written(const Spread& spread) { return {spread.median, spread.least, spread.most}; }
  static Json written(const AttentionProblem& problem) { return object(problem, [](auto& f, auto& p) { describe_problem(f, p); }); }
  static Json written(const TileShape& tile) { return object(tile, [](auto& f, auto& t) { describe_tile(f, t); }); }
  static Json written(const MeasuredLaunch& launch) { return object(launch, [](auto& f, auto& l) { describe_launch(f, l); }); }
  static Json written(const MeasuredCase& c) { return object(c, [](auto& f, auto& x) { describe_case(f, x); }); }
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
  template <class T, class Describe>
  static Json object(const T& value, Describe describe) {
    Writer inner;
    describe(inner, value);
    return std::move(inner.json);
  }
};

/// Reads members, and keeps the first thing that is wrong with its path; what follows is passed over.
class Reader {
 public:
  Reader(const Json& json, std::string path, std::string& wrong) : json_(json), path_(std::move(path)), wrong_(wrong) {
    if (!json.is_object()) fail(path_, "must be an object");
  }

  template <class T>
  void operator()(const char* key, T& value) {
    if (!wrong_.empty()) return;
    const auto found = json_.find(key);
    if (found == json_.end()) return fail(path_of(key), "is missing");
    read(path_of(key), *found, value);
  }

 private:
  std::string path_of(std::string_view key) const { return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key); }

  void fail(const std::string& path, std::string_view what) {
    if (wrong_.empty()) wrong_ = fmt::format("{} {}", path.empty() ? "the outermost value" : path, what);
  }

  void read(const std::string& path, const Json& json, std::string& value) {
    if (!json.is_string()) return fail(path, "must be a text");
    value = json.get<std::string>();
  }
  void read(const std::string& path, const Json& json, bool& value) {
    if (!json.is_boolean()) return fail(path, "must be true or false");
    value = json.get<bool>();
  }
  template <std::integral Integer>
  void read(const std::string& path, const Json& json, Integer& value) {
    if (!json.is_number_integer() || !std::in_range<Integer>(json.get<std::int64_t>()) || json.get<std::int64_t>() < 0)
      return fail(path, "must be a whole number, not below zero");
    value = json.get<Integer>();
  }
  void read(const std::string& path, const Json& json, double& value) {
    if (!json.is_number() || json.get<double>() < 0) return fail(path, "must be a number, not below zero");
    value = json.get<double>();
  }
  void read(const std::string& path, const Json& json, DataType& value) {
    const std::optional<DataType> type = json.is_string() ? data_type_from(json.get<std::string>()) : std::nullopt;
    if (!type) return fail(path, "must be \"fp16\", \"bf16\" or \"fp32\"");
    value = *type;
  }
  void read(const std::string& path, const Json& json, Pass& value) {
    const std::optional<Pass> pass = json.is_string() ? pass_from(json.get<std::string>()) : std::nullopt;
    if (!pass) return fail(path, "must be \"forward\", \"backward\" or \"both\"");
    value = *pass;
  }
  void read(const std::string& path, const Json& json, Spread& value) {
    if (!json.is_array() || json.size() != 3) return fail(path, "must be three numbers: median, least and most");
    double* const to[] = {&value.median, &value.least, &value.most};
    for (std::size_t i = 0; i < 3; ++i) read(fmt::format("{}[{}]", path, i), json[i], *to[i]);
    if (value.median < value.least || value.median > value.most) fail(path, "has a median outside of its least and most");
  }
  void read(const std::string& path, const Json& json, AttentionProblem& value) {
    Reader inner(json, path, wrong_);
    describe_problem(inner, value);
    if (wrong_.empty())
      if (const Status sound = check(value); !sound) fail(path, fmt::format("is not one that can be run: {}", sound.error().sentence));
  }
  void read(const std::string& path, const Json& json, TileShape& value) {
    Reader inner(json, path, wrong_);
    describe_tile(inner, value);
    if (wrong_.empty())
      if (const Status sound = check(value); !sound) fail(path, fmt::format("is not a tile: {}", sound.error().sentence));
  }
  void read(const std::string& path, const Json& json, MeasuredLaunch& value) {
    Reader inner(json, path, wrong_);
    describe_launch(inner, value);
  }
  void read(const std::string& path, const Json& json, MeasuredCase& value) {
    Reader inner(json, path, wrong_);
    describe_case(inner, value);
  }
  template <class T>
  void read(const std::string& path, const Json& json, std::vector<T>& value) {
    if (!json.is_array()) return fail(path, "must be a list");
    for (const Json& element : json) read(fmt::format("{}[{}]", path, value.size()), element, value.emplace_back());
  }
  template <class T>
  void read(const std::string& path, const Json& json, std::map<std::string, T>& value) {
    if (!json.is_object()) return fail(path, "must be an object");
    for (const auto& [key, element] : json.items()) read(fmt::format("{}.{}", path, key), element, value[key]);
  }

  const Json& json_;
  std::string path_;
  std::string& wrong_;
};

/// The outer `levels` of objects and lists one member a line, what is inside of them on that line: short, and a diff shows what changed.
std::string lines(const Json& json, int levels, const std::string& indent) {
  if (levels == 0 || !json.is_structured() || json.empty()) return json.dump();
  const std::string deeper = indent + " ";
  std::string text;
  for (const auto& [key, value] : json.items())
    text += fmt::format("{}\n{}{}{}", text.empty() ? "" : ",", deeper, json.is_object() ? Json(key).dump() + ": " : "",
                        lines(value, levels - 1, deeper));
  return json.is_object() ? fmt::format("{{{}\n{}}}", text, indent) : fmt::format("[{}\n{}]", text, indent);
}

}  // namespace

std::string to_json(const MeasurementBundle& bundle) {
  Writer writer;
  writer("schema", std::string(schema));
  describe_bundle(writer, bundle);
  constexpr int bundle_cases_case = 3;
  return lines(writer.json, bundle_cases_case, "") + "\n";
}

Result<MeasurementBundle> bundle_from_json(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{fmt::format("a measurement bundle must be JSON; this is not, at byte {} of {}", error.byte, text.size())};
  } catch (const Json::exception&) {
    return Error{"a measurement bundle must be JSON; this has a number that no computer number can hold"};
  }
  std::string wrong, given;
  Reader reader(json, "", wrong);
  reader("schema", given);
  if (wrong.empty() && given != schema)
    return Error{fmt::format("the measurement bundle has schema \"{}\"; this program reads \"{}\": measure again", given, schema)};
  MeasurementBundle bundle;
  describe_bundle(reader, bundle);
  if (!wrong.empty()) return Error{fmt::format("the measurement bundle is not sound: {}", wrong)};
  return bundle;
}

}  // namespace tilescope
