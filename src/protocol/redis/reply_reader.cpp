#include "protocol/redis/reply_reader.h"

#include <fmt/format.h>
#include <hiredis/read.h>

#include "base/text.h"

namespace redis {

using base::Code;
using base::fail;
using base::Result;

// What hiredis calls for each part of a reply. A part is the last element of the array around it: only finished
// elements move when that grows, never one that hiredis still refers to.
struct ReplyReader::Functions {
    static Reply* add(const redisReadTask* task, Reply::Type type) {
        return static_cast<ReplyReader*>(task->privdata)->add(*task, type);
    }
    static void* text(const redisReadTask* task, char* bytes, size_t size) {
        const auto type = task->type == REDIS_REPLY_ERROR    ? Reply::Type::kError
                          : task->type == REDIS_REPLY_STATUS ? Reply::Type::kStatus
                                                             : Reply::Type::kString;
        Reply* reply = add(task, type);
        reply->text.assign(bytes, size);
        return reply;
    }
    static void* array(const redisReadTask* task, int) { return add(task, Reply::Type::kArray); }
    static void* integer(const redisReadTask* task, long long value) {
        Reply* reply = add(task, Reply::Type::kInteger);
        reply->integer = value;
        return reply;
    }
    static void* nil(const redisReadTask* task) { return add(task, Reply::Type::kNil); }
    static void release(void*) {}  // all belong to the reader
};

namespace {

size_t bytes_left(const redisReader& reader) { return reader.len - reader.pos; }

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

ReplyReader::ReplyReader() {
    static redisReplyObjectFunctions functions{Functions::text, Functions::array, Functions::integer, Functions::nil,
                                               Functions::release};
    reader_.reset(redisReaderCreateWithFunctions(&functions));
    CHECK(reader_);
    reader_->privdata = this;
}

ReplyReader::~ReplyReader() = default;

Reply* ReplyReader::add(const redisReadTask& task, Reply::Type type) {
    Reply& reply =
        task.parent ? static_cast<Reply*>(task.parent->obj)->elements.emplace_back() : (root_ = Reply(), root_);
    reply.type = type;
    return &reply;
}

void ReplyReader::feed(std::span<const uint8_t> bytes) {
    reply_bytes_ += bytes.size();
    (void)redisReaderFeed(reader_.get(), reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::optional<Reply>> ReplyReader::next() {
    void* reply = nullptr;
    const int status = redisReaderGetReply(reader_.get(), &reply);
    if (status != REDIS_OK) return fail(Code::kProtocol, fmt::format("no reply: {}", base::for_log(reader_->errstr)));
    if (!reply) {
        if (reply_bytes_ > kMaxReplyBytes)
            return fail(Code::kProtocol, fmt::format("a reply of more than {} bytes", kMaxReplyBytes));
        return std::optional<Reply>();
    }
    reply_bytes_ = bytes_left(*reader_);
    return std::optional<Reply>(std::exchange(root_, Reply()));
}

}  // namespace redis
