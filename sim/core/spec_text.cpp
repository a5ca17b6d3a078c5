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

}  // namespace

std::string spec_text(const GpuSpec& spec, std::string_view heading) {
  std::string text = fmt::format("# {}\nid = {}\nname = {}\n", heading, quoted(spec.id), quoted(spec.name));
  std::string_view section;
  for (const SpecKey& key : spec_keys()) {
    const std::size_t dot = key.key.find('.');
    if (key.key.substr(0, dot) != section) {
      section = key.key.substr(0, dot);
      text += fmt::format("\n[{}]\n", section);
    }
    const auto from = spec.provenance.find(key.key);
    const Provenance provenance = from != spec.provenance.end() ? from->second : Provenance{};
    text += fmt::format("{:<22} = {{ value = {}, source = \"{}\", note = {} }}\n", key.key.substr(dot + 1), spec.*key.member,
                        to_string(provenance.source), quoted(provenance.note.empty() ? "not said" : provenance.note));
  }
  return text;
}

}  // namespace tilescope
