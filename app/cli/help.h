// Builds the texts of --help and --version.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tilescope {

/// Returns "tilescope 0.1.0".
std::string version_text();

/// Adds descriptions, headings, examples, and the lists of algorithms and GPU keys to the parser.
void describe(CLI::App& app);

}  // namespace tilescope
