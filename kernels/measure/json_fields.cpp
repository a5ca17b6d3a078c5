// The parts of reading and writing recorded files that are independent of the structs.
#include "kernels/measure/json_fields.h"

#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

using Json = nlohmann::ordered_json;

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

void JsonReader::read(const std::string& path, const Json& json, std::string& value) {
  if (!json.is_string()) return fail(path, "must be a text");
  value = json.get<std::string>();
}
void JsonReader::read(const std::string& path, const Json& json, bool& value) {
  if (!json.is_boolean()) return fail(path, "must be true or false");
  value = json.get<bool>();
}
void JsonReader::read(const std::string& path, const Json& json, double& value) {
  if (!json.is_number()) return fail(path, "must be a number");
  value = json.get<double>();
}
void JsonReader::read(const std::string& path, const Json& json, DataType& value) {
  const std::optional<DataType> type = json.is_string() ? data_type_from(json.get<std::string>()) : std::nullopt;
  if (!type) return fail(path, "must be \"fp16\", \"bf16\" or \"fp32\"");
  value = *type;
}
void JsonReader::read(const std::string& path, const Json& json, Pass& value) {
  const std::optional<Pass> pass = json.is_string() ? pass_from(json.get<std::string>()) : std::nullopt;
  if (!pass) return fail(path, "must be \"forward\", \"backward\" or \"both\"");
  value = *pass;
}

void JsonReader::read(const std::string& path, const Json& json, PageOrder& value) {
  const std::optional<PageOrder> order = json.is_string() ? page_order_from(json.get<std::string>()) : std::nullopt;
  if (!order) return fail(path, "must be \"shuffled\" or \"contiguous\"");
  value = *order;
}

void JsonReader::read(const std::string& path, const Json& json, ProbeStage& value) {
  int number = 0;
  read(path, json, number);
  if (!wrong_.empty()) return;
  if (number >= probe_stages) return fail(path, fmt::format("is no stage: they are 0 to {}", probe_stages - 1));
  value = static_cast<ProbeStage>(number);
}

void JsonReader::judge(const std::string& path, const AttentionProblem& value) {
  if (const Status sound = check(value); !sound) fail(path, fmt::format("is not one that can be run: {}", sound.error().sentence));
}
void JsonReader::judge(const std::string& path, const TileShape& value) {
  if (const Status sound = check(value); !sound) fail(path, fmt::format("is not a tile: {}", sound.error().sentence));
}
void JsonReader::judge(const std::string& path, const Spread& value) {
  if (value.least < 0) return fail(path, "is below zero");
  if (value.median < value.least || value.median > value.most) fail(path, "has a median outside of its least and most");
}

std::string json_lines(const Json& json, int levels) {
  return lines(json, levels, "");
}

Result<Json> parse_recorded(std::string_view text, std::string_view schema, std::string_view what) {
  Json json;
  try {
    if (const Status flat = check_document(text, DocumentKind::json, what); !flat) return flat.error();
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size()) return refuse("a {} must be JSON; this breaks off after {} bytes", what, text.size());
    return refuse("a {} must be JSON; this is not, at byte {} of {}", what, error.byte, text.size());
  } catch (const Json::exception&) { return refuse("a {} must be JSON; this has a number that no computer number can hold", what); }
  std::string wrong, given;
  JsonReader(json, "", wrong)("schema", given);
  if (!wrong.empty()) return refuse("the {} is not sound: {}", what, wrong);
  if (given != schema)
    return refuse("the {} has schema \"{}\"; this program reads \"{}\": measure again", what, printable(given), schema);
  return json;
}

}  // namespace tilescope
