#include "service/cluster/redis_store.h"

#include "base/text.h"
#include "protocol/redis/command.h"

namespace service::cluster {

using base::Code;
using base::fail;
using base::Result;
using redis::Reply;

namespace {

constexpr std::string_view kClaim =
    "local v = redis.call('GET', KEYS[1]) "
    "if v and v ~= ARGV[1] and v ~= ARGV[3] then return v end "
    "redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2]) "
    "return false";
constexpr std::string_view kRelease =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
    "return 0";

Result<std::string> text_of(Reply reply) {
    switch (reply.type) {
        case Reply::Type::kNil:
            return std::string();
        case Reply::Type::kString:
            return std::move(reply.text);
        case Reply::Type::kError:
            return fail(Code::kRefused, "Redis: " + base::for_log(reply.text));
        default:
            return fail(Code::kProtocol, "Redis: an answer of another kind");
    }
}

}  // namespace

Result<std::string> RedisStore::acquire(const std::string& key, const std::string& value) {
    // The key may expire between the two commands: then it is free.
    for (int attempt = 0; attempt < 2; ++attempt) {
        std::string commands = redis::command({"SET", key, value, "NX", "EX", std::to_string(lease_s_)});
        redis::append_command(commands, {"GET", key});
        auto replies = TRY(client_.call(std::move(commands), 2));
        if (replies[0].is_ok()) return std::string();
        if (replies[0].type == Reply::Type::kError) return text_of(std::move(replies[0]));
        auto held = TRY(text_of(std::move(replies[1])));
        if (!held.empty()) return held;
    }
    return fail(Code::kOther, "Redis: the key is neither free nor taken");
}

Result<std::vector<std::string>> RedisStore::claim(std::span<const Claim> claims) {
    std::string commands;
    const std::string lease = std::to_string(lease_s_);
    for (const Claim& claim : claims)
        redis::append_command(commands, {"EVAL", kClaim, "1", claim.key, claim.value, lease, claim.expected});
    auto replies = TRY(client_.call(std::move(commands), claims.size()));
    std::vector<std::string> held;
    for (Reply& reply : replies) held.push_back(TRY(text_of(std::move(reply))));
    return held;
}

Result<void> RedisStore::release(std::span<const Claim> claims) {
    std::string commands;
    for (const Claim& claim : claims) redis::append_command(commands, {"EVAL", kRelease, "1", claim.key, claim.value});
    auto replies = TRY(client_.call(std::move(commands), claims.size()));
    for (Reply& reply : replies)
        if (reply.type == Reply::Type::kError) TRY(text_of(std::move(reply)));
    return {};
}

Result<std::string> RedisStore::find(const std::string& key) {
    auto replies = TRY(client_.call(redis::command({"GET", key}), 1));
    return text_of(std::move(replies[0]));
}

}  // namespace service::cluster
