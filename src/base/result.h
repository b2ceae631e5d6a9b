#pragma once
// Errors are values. An Error comes from a peer or the environment: a code (only where a caller branches on it), a
// text, where it arose, and errno if there is one. A bug of ours is not an Error: it ends in CHECK. No function of this
// server throws.

#include <fmt/core.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "base/close_reason.h"

namespace base {

enum class Code : uint8_t {
    kOther,      // no caller branches on it
    kTimeout,    // the deadline passed
    kCancelled,  // the coroutine was cancelled
    kClosed,     // the peer closed the connection, or the connection broke
    kProtocol,   // the peer violated the protocol
    kLimit,      // one of our limits was reached
    kNotFound,   // no such stream, file, vhost ...
    kBusy,       // a name or slot is taken
    kRefused,    // not allowed
    kConfig,     // the operator's configuration
    kSystem,     // a system call failed: see system_errno()
};

std::string_view code_name(Code code);

// Cheap to move (one pointer); never empty unless moved from.
class [[nodiscard]] Error {
  public:
    Error(Code code, std::string text, int system_errno = 0,
          std::source_location where = std::source_location::current());

    Code code() const { return detail_->code; }
    int system_errno() const { return detail_->system_errno; }
    // The text with its contexts, outermost first: "reading the chunk header: message of 16777215 bytes".
    const std::string& text() const { return detail_->text; }
    // text() and the source position, for the log: "... (chunk_reader.cpp:81)".
    std::string describe() const;
    // Puts a context before the text.
    Error&& with(std::string_view context) &&;
    Error&& with() && { return std::move(*this); }
    // Why a session ended by this error: the reason set by because(), otherwise derived from the code.
    CloseReason close_reason() const;
    Error&& because(CloseReason reason) &&;

  private:
    struct Detail {
        Code code;
        int system_errno;
        std::string text;
        std::source_location where;
        CloseReason reason = CloseReason::kUnknown;
    };
    std::unique_ptr<Detail> detail_;
};

template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
  public:
    using std::expected<T, Error>::expected;
};

// return fail(Code::kProtocol, fmt::format("chunk size {}", n));
inline std::unexpected<Error> fail(Code code, std::string text,
                                   std::source_location where = std::source_location::current()) {
    return std::unexpected<Error>(Error(code, std::move(text), 0, where));
}

// return fail(CloseReason::kRefusedHook, "the hook says no"); the code is kRefused, kLimit, kBusy or kNotFound.
std::unexpected<Error> fail(CloseReason reason, std::string text,
                            std::source_location where = std::source_location::current());

// A system call failed: the text of errno_value is appended to `what`.
std::unexpected<Error> fail_errno(std::string_view what, int errno_value,
                                  std::source_location where = std::source_location::current());

[[noreturn]] void check_failed(const char* condition, std::source_location where);

}  // namespace base

// Evaluates to the value, or returns the error from the enclosing function, with an optional context before its text:
//   auto n = TRY(stream.read(buffer, deadline), "reading C1");
#define TRY(expression, ...)                                                          \
    ({                                                                                \
        auto try_result_ = (expression);                                              \
        if (!try_result_) [[unlikely]]                                                \
            return std::unexpected(std::move(try_result_.error()).with(__VA_ARGS__)); \
        *std::move(try_result_);                                                      \
    })

// For our own invariants only, never for external input.
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) [[unlikely]]                                         \
            ::base::check_failed(#condition, std::source_location::current()); \
    } while (0)
