// EnvironmentVariable: a variable of the environment that has a value for the length of a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace tilescope {

class EnvironmentVariable {
 public:
  EnvironmentVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~EnvironmentVariable() { before_ ? ::setenv(name_.c_str(), before_->c_str(), 1) : ::unsetenv(name_.c_str()); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

/// The folder of assets, as long as this lives.
class AssetsFolder : public EnvironmentVariable {
 public:
  explicit AssetsFolder(const std::string& path) : EnvironmentVariable("TILESCOPE_ASSETS", path) {}
};

}  // namespace tilescope
