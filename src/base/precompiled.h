// Headers that nearly every source file includes, compiled once for all of them (Makefile, "Compiling"). A source file
// still includes what it uses: `make standalone` compiles each without this.

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <expected>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
