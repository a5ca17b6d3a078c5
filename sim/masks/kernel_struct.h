// One struct of a kernel's source, from one expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/masks/expression.h"
#include "sim/masks/kernel_source.h"

namespace tilescope {

/// The structs of the text. The uniforms of each lie behind those of the ones before it.
enum class KernelStruct : std::uint8_t { score, mask, slope };

/// The scalars and tables that all expressions share.
class CapturedArguments {
 public:
  explicit CapturedArguments(KernelSource& source) : source_(source) {}

  /// Return the text of a scalar that the kernel reads from its arguments.
  std::string scalar(std::uint32_t bits, ValueType type);
  std::string real(double value);
  std::string integer(std::int64_t value);
  /// Returns the number of a table among the arguments.
  std::size_t table(const std::shared_ptr<const CapturedTable>& wanted);
  /// Lets what follows use the scalars so far again.
  void share() { shared_ = source_.scalars.size(); }
  KernelSource& source() { return source_; }

 private:
  KernelSource& source_;
  std::size_t shared_ = 0;
};

/// Writes the struct of an expression; without one, a struct that says so.
std::vector<KernelSourceLine> written_struct(KernelStruct made, const Expression* expression, CapturedArguments& captured);

}  // namespace tilescope
