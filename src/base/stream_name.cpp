#include "base/stream_name.h"

#include "base/ascii.h"
#include "base/text.h"

namespace base {

namespace {
constexpr size_t kLoggedBytes = 64;
}

Result<void> check_name(std::string_view what, std::string_view name) {
    if (name.empty()) return fail(Code::kProtocol, fmt::format("the {} is empty", what));
    if (name.size() > kMaxName)
        return fail(Code::kLimit,
                    fmt::format("the {} has {} bytes, at most {} are allowed", what, name.size(), kMaxName));
    for (char c : name)
        if (is_control(c) || c == '\\')
            return fail(Code::kProtocol,
                        fmt::format("the {} '{}' has a forbidden character", what, for_log(name, kLoggedBytes)));
    if (name.find("..") != name.npos || name.find("//") != name.npos)
        return fail(Code::kProtocol, fmt::format("the {} '{}' has '..' or '//'", what, for_log(name, kLoggedBytes)));
    return {};
}

}  // namespace base
