// Tables for expressions, read from the files that a person names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/core/result.h"
#include "sim/masks/captured_table.h"

namespace tilescope {

/// Reads a .csv or .npy file. Errors  a name that the language uses; those of the file and of its contents
Result<CapturedTable> load_table(const std::string& name, const std::string& path);
/// Reads "NAME=FILE", each of them. Errors  those of load_table(); not NAME=FILE; a name given twice
Result<TableList> load_tables(std::span<const std::string> given);
/// "NAME=FILE" of each table that came from a file.
std::vector<std::string> to_text(const TableList& tables);

}  // namespace tilescope
