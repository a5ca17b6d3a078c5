// Tells a machine that ran out of something from a mistake of ours.
#include "app/model/background/failure.h"

#include <new>

#include "sim/core/refuse.h"

namespace tilescope {

Error error_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return Error{phrase("this needs more memory than the machine gives: use a smaller problem"), Error::Kind::machine_lacks};
  } catch (const std::exception& error) {
    return Error{phrase("internal error, please report it: {}", std::string(error.what())), Error::Kind::machine_lacks};
  } catch (...) { return Error{phrase("internal error, please report it"), Error::Kind::machine_lacks}; }
}

}  // namespace tilescope
