#include <gtest/gtest.h>

#include "protocol/redis/command.h"
#include "protocol/redis/reply_reader.h"

namespace redis {
namespace {

void feed(ReplyReader& reader, std::string_view text) {
    reader.feed({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// "OK", "(error)", 7, nil, [a, b]: of all replies, ", " between them.
std::string shown(const Reply& reply) {
    switch (reply.type) {
        case Reply::Type::kNil:
            return "nil";
        case Reply::Type::kString:
            return "'" + reply.text + "'";
        case Reply::Type::kStatus:
            return reply.text;
        case Reply::Type::kError:
            return "(" + reply.text + ")";
        case Reply::Type::kInteger:
            return std::to_string(reply.integer);
        case Reply::Type::kArray:
            break;
    }
    std::string all;
    for (const Reply& element : reply.elements) all += (all.empty() ? "" : ", ") + shown(element);
    return "[" + all + "]";
}

std::string read(ReplyReader& reader) {
    std::string all;
    while (true) {
        auto reply = reader.next();
        if (!reply) return all + "ERROR " + reply.error().text();
        if (!*reply) return all;
        all += (all.empty() ? "" : ", ") + shown(**reply);
    }
}

std::string read(std::string_view text) {
    ReplyReader reader;
    feed(reader, text);
    return read(reader);
}

TEST(RedisCommand, ArgumentsAreBinarySafe) {
    EXPECT_EQ(command({"GET", "k"}), "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    const std::string_view hostile("a\r\nDEL b\r\n\0", 11);
    EXPECT_EQ(command({"GET", hostile}),
              std::string("*2\r\n$3\r\nGET\r\n$11\r\n") + std::string(hostile) + std::string("\r\n"))
        << "a name is one argument, whatever it contains";
    EXPECT_EQ(command({"SET", ""}), "*2\r\n$3\r\nSET\r\n$0\r\n\r\n");
    std::string two = command({"PING"});
    append_command(two, {"PING"});
    EXPECT_EQ(two, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
}

TEST(RedisReply, Types) {
    EXPECT_EQ(read("+OK\r\n-ERR no\r\n:-7\r\n$-1\r\n*-1\r\n$0\r\n\r\n$3\r\na\r\n\r\n"),
              "OK, (ERR no), -7, nil, nil, '', 'a\r\n'");
    EXPECT_EQ(read("*3\r\n$1\r\na\r\n*2\r\n:1\r\n*0\r\n+OK\r\n"), "['a', [1, []], OK]");
    EXPECT_EQ(read("*0\r\n"), "[]");
}

TEST(RedisReply, InPieces) {
    const std::string text = "*2\r\n*2\r\n$2\r\nab\r\n:5\r\n$3\r\nxyz\r\n+PONG\r\n";
    ReplyReader reader;
    std::string all;
    for (char c : text) {
        feed(reader, {&c, 1});
        all += read(reader);
    }
    EXPECT_EQ(all, "[['ab', 5], 'xyz']PONG");
}

TEST(RedisReply, WhatIsNoReply) {
    for (const char* text :
         {"hello\r\n", "HTTP/1.1 200 OK\r\n", "$x\r\n", ":1x\r\n", "$-2\r\n", "*-2\r\n", "$99999999999999999999\r\n",
          "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n+a\r\n"})
        EXPECT_NE(read(text).find("ERROR no reply: "), std::string::npos) << text << " was read as " << read(text);
}

TEST(RedisReply, SizeIsBounded) {
    const std::string most(ReplyReader::kMaxReplyBytes - 20, 'a');
    EXPECT_EQ(read("$" + std::to_string(most.size()) + "\r\n" + most + "\r\n"), "'" + most + "'");
    const std::string text = read("$900000\r\n" + std::string(ReplyReader::kMaxReplyBytes, 'a'));
    EXPECT_EQ(text, "ERROR a reply of more than 65536 bytes");
    // Many replies together are not one.
    std::string many;
    for (int i = 0; i < 20'000; ++i) many += "+OK\r\n";
    EXPECT_EQ(read(many).size(), 20'000u * 4 - 2);
    // An array that only claims to be large takes no memory.
    EXPECT_EQ(read("*2147483647\r\n*2147483647\r\n+a\r\n"), "");
}

}  // namespace
}  // namespace redis
