#include "runtime/loop/limited_log.h"

#include <map>
#include <string_view>

namespace runtime {

// As many as there are such lines: formats are literals.
LogLimit& limit_of_line(std::string_view format) {
    static std::map<std::string_view, LogLimit> limits;
    return limits[format];
}

}  // namespace runtime
