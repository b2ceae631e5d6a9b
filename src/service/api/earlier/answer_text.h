#pragma once
// The JSON of answers as text, in pieces, so that one of many entries does not block the loop. What is read may come
// from the other process, which may be broken: it is limited in size and in depth (what is deep could not be written
// again on a coroutine's stack).

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "service/api/table/envelope.h"

namespace service::api {

inline constexpr size_t kMaxAnswerBytes = 8u << 20, kMaxAnswerDepth = 32;

// An object or an array. kProtocol: it is none; kLimit: too long or too deep; kCancelled. The text must outlive the
// call. Yields.
base::Result<Json> read_answer(std::string_view text);
// As base::to_text(). kCancelled. Yields.
base::Result<std::string> write_answer(const Json& object);

}  // namespace service::api
