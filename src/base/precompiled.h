// Headers that nearly every source file includes, compiled once for all of them (Makefile, "Compiling"). A source file
// still includes what it uses: `make standalone` compiles each without this.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
