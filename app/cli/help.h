// What --help and --version say beyond the table of flags.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tilescope {

/// "tilescope 0.1.0"
std::string version_text();

/// Gives the parser and its commands their descriptions, headings, examples and lists of algorithms and GPU keys.
void describe(CLI::App& app);

}  // namespace tilescope
