// Reads tables, and writes where they came from.
#include "app/model/requests/mask_tables.h"

#include <utility>

#include <fmt/format.h>

#include "app/platform/files.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/expression.h"

namespace tilescope {

Result<CapturedTable> load_table(const std::string& name, const std::string& path) {
  if (const Sentence why = table_name_fault(name); !why.empty()) return refuse("{}: {}", Setting::table, why);
  const bool binary = path.ends_with(".npy");
  const auto content = binary ? read_binary_file(path) : read_text_file(path);
  if (!content) return content.error();
  auto table = binary ? parse_npy_table(name, *content, path) : parse_csv_table(name, *content, path);
  if (table) table->origin = path;
  return table;
}

Result<TableList> load_tables(std::span<const std::string> given) {
  TableList tables;
  for (const std::string& text : given) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      return refuse("{} is '{}': write NAME=FILE, for example doc=documents.csv", Setting::table, printable(text));
    const std::string name = text.substr(0, at);
    for (const auto& other : tables)
      if (other->name == name) return refuse("{}: {} is given twice", Setting::table, name);
    auto table = load_table(name, text.substr(at + 1));
    if (!table) return table.error();
    tables.push_back(std::make_shared<const CapturedTable>(std::move(*table)));
  }
  return tables;
}

std::vector<std::string> to_text(const TableList& tables) {
  std::vector<std::string> texts;
  for (const auto& table : tables)
    if (!table->origin.empty()) texts.push_back(fmt::format("{}={}", table->name, table->origin));
  return texts;
}

}  // namespace tilescope
