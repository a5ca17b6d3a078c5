// Writes a spec section by section, in the order of its keys.
#include "sim/core/spec_text.h"

#include <fmt/format.h>

namespace tilescope {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string groups_text(const std::vector<SmGroup>& groups) {
  std::string text;
  for (const SmGroup& group : groups)
    text += fmt::format("{}{{ sms = {}, side = {} }}", text.empty() ? "" : ", ", group.sms, group.side);
  return "[" + text + "]";
}

std::string line(std::string_view name, std::string_view value, const GpuSpec& spec, std::string_view key) {
  const auto from = spec.provenance.find(key);
  const Provenance provenance = from != spec.provenance.end() ? from->second : Provenance{};
  return fmt::format("{:<22} = {{ value = {}, source = \"{}\", note = {} }}\n", name, value, to_string(provenance.source),
                     quoted(provenance.note.empty() ? "not said" : provenance.note));
}

}  // namespace

std::string spec_text(const GpuSpec& spec, std::string_view heading) {
  std::string text = fmt::format("# {}\nid = {}\nname = {}\n", heading, quoted(spec.id), quoted(spec.name));
  std::string_view section;
  for (const SpecKey& key : spec_keys()) {
    if (key.optional && !spec.provenance.contains(key.key)) continue;
    const std::size_t dot = key.key.find('.');
    if (key.key.substr(0, dot) != section) {
      section = key.key.substr(0, dot);
      text += fmt::format("\n[{}]\n", section);
    }
    text += line(key.key.substr(dot + 1), fmt::format("{}", spec.*key.member), spec, key.key);
    if (key.key == "sm.count" && !spec.sm_groups.empty()) text += line("groups", groups_text(spec.sm_groups), spec, sm_groups_key);
  }
  return text;
}

}  // namespace tilescope
