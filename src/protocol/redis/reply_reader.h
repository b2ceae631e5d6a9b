#pragma once
// ReplyReader: reads the replies of Redis (RESP2) with hiredis' reader. Bytes are fed, replies come out in order. What
// it keeps is bounded: the bytes of one reply, and by them the number of its parts; a reply's depth is limited by
// hiredis (seven arrays in each other).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

struct redisReadTask;
struct redisReader;

namespace redis {

struct Reply {
    enum class Type : uint8_t { kNil, kString, kStatus, kError, kInteger, kArray };
    Type type = Type::kNil;
    std::string text{};  // of a string, a status ("OK") or an error ("ERR unknown command ...")
    int64_t integer = 0;
    std::vector<Reply> elements{};

    bool is_ok() const { return type == Type::kStatus && text == "OK"; }
};

class ReplyReader {
  public:
    static constexpr size_t kMaxReplyBytes = 64 * 1024;  // of one reply, as sent

    ReplyReader();
    ~ReplyReader();
    ReplyReader(const ReplyReader&) = delete;

    void feed(std::span<const uint8_t> bytes);
    // The next reply; nothing: more bytes are needed. An error is final: what came is no RESP, or too much.
    base::Result<std::optional<Reply>> next();

  private:
    struct Functions;
    struct Free {
        void operator()(redisReader* reader) const;
    };
    Reply* add(const redisReadTask& task, Reply::Type type);

    Reply root_;  // in progress
    std::unique_ptr<redisReader, Free> reader_;
    size_t reply_bytes_ = 0;  // fed since the last complete reply
};

}  // namespace redis
