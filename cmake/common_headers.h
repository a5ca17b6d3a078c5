// What nearly every file includes and none of it is ours: parsed once a target instead of once a file (precompiled), which takes a
// quarter off a build. A file still includes what it uses; -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without this.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
