#include "base/result.h"

#include <cstdlib>
#include <cstring>

#include "base/log.h"

namespace base {

std::string_view code_name(Code code) {
    switch (code) {
        case Code::kOther:
            return "error";
        case Code::kTimeout:
            return "timeout";
        case Code::kCancelled:
            return "cancelled";
        case Code::kClosed:
            return "closed";
        case Code::kProtocol:
            return "protocol";
        case Code::kLimit:
            return "limit";
        case Code::kNotFound:
            return "not-found";
        case Code::kBusy:
            return "busy";
        case Code::kRefused:
            return "refused";
        case Code::kConfig:
            return "config";
        case Code::kSystem:
            return "system";
    }
    return "error";
}

namespace {
const char* file_name(const std::source_location& where) {
    const char* slash = std::strrchr(where.file_name(), '/');
    return slash ? slash + 1 : where.file_name();
}
}  // namespace

Error::Error(Code code, std::string text, int system_errno, std::source_location where)
    : detail_(std::make_unique<Detail>(code, system_errno, std::move(text), where)) {}

CloseReason Error::close_reason() const {
    if (detail_->reason != CloseReason::kUnknown) return detail_->reason;
    switch (detail_->code) {
        case Code::kTimeout:
            return CloseReason::kPeerTimeout;
        case Code::kCancelled:
            return CloseReason::kServerStop;
        case Code::kClosed:  // with an errno the connection broke
            return detail_->system_errno ? CloseReason::kConnectionLost : CloseReason::kPeerClosed;
        case Code::kProtocol:
            return CloseReason::kProtocolError;
        case Code::kLimit:
            return CloseReason::kRefusedLimit;
        case Code::kNotFound:
            return CloseReason::kNotFound;
        case Code::kBusy:
            return CloseReason::kRefusedBusy;
        case Code::kRefused:
            return CloseReason::kRefused;
        case Code::kConfig:
        case Code::kSystem:
            return CloseReason::kSystemError;
        case Code::kOther:
            break;
    }
    return CloseReason::kUnknown;
}

Error&& Error::because(CloseReason reason) && {
    detail_->reason = reason;
    return std::move(*this);
}

std::string Error::describe() const {
    return fmt::format("{} ({}:{})", detail_->text, file_name(detail_->where), detail_->where.line());
}

Error&& Error::with(std::string_view context) && {
    detail_->text.insert(0, ": ").insert(0, context);
    return std::move(*this);
}

std::unexpected<Error> fail(CloseReason reason, std::string text, std::source_location where) {
    const Code code = reason == CloseReason::kRefusedLimit  ? Code::kLimit
                      : reason == CloseReason::kRefusedBusy ? Code::kBusy
                      : reason == CloseReason::kNotFound    ? Code::kNotFound
                                                            : Code::kRefused;
    return std::unexpected<Error>(Error(code, std::move(text), 0, where).because(reason));
}

std::unexpected<Error> fail_errno(std::string_view what, int errno_value, std::source_location where) {
    return std::unexpected<Error>(
        Error(Code::kSystem, fmt::format("{}: {}", what, std::strerror(errno_value)), errno_value, where));
}

void check_failed(const char* condition, std::source_location where) {
    log::last_words(fmt::format("bug: CHECK({}) failed at {}:{} in {}", condition, where.file_name(), where.line(),
                                where.function_name()));
    std::abort();
}

}  // namespace base
