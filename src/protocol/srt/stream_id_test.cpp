#include "protocol/srt/stream_id.h"

#include <gtest/gtest.h>

#include <string>

namespace srt {
namespace {

// "publish vhost app stream params user password", with "-" for what is empty; or the code and the text of an error.
std::string parsed(std::string_view text, const StreamIdDefaults& defaults = {}) {
    const auto id = parse_stream_id(text, defaults);
    if (!id) return std::to_string(static_cast<uint32_t>(id.error().code)) + " " + id.error().text;
    std::string out = id->mode == StreamMode::kPublish ? "publish" : "request";
    for (const std::string* field : {&id->vhost, &id->app, &id->stream, &id->params, &id->user, &id->password}) {
        out += ' ' + (field->empty() ? "-" : *field);
    }
    return out;
}

TEST(SrtStreamId, FormsOfSrs) {
    EXPECT_EQ(parsed("#!::r=live/one,m=publish"), "publish - live one - - -");
    EXPECT_EQ(parsed("#!::r=live/one,m=request"), "request - live one - - -");
    EXPECT_EQ(parsed("#!::r=live/one"), "request - live one - - -");
    EXPECT_EQ(parsed("#!::m=PUBLISH,r=live/one"), "publish - live one - - -");
    EXPECT_EQ(parsed("#!::r=one,m=publish"), "publish - live one - - -");
    EXPECT_EQ(parsed("#!::r=live/one,key1=value1,key2=value2"), "request - live one key1=value1&key2=value2 - -");
    EXPECT_EQ(parsed("#!::h=host.com,r=live/one,key1=value1"),
              "request host.com live one vhost=host.com&key1=value1 - -");
    EXPECT_EQ(parsed("#!::r=live/one?secret=x,m=publish"), "publish - live one secret=x - -");
    EXPECT_EQ(parsed("#!::r=live/one?a=1&b=2,m=publish"), "publish - live one a=1&b=2 - -");
    EXPECT_EQ(parsed("#!::r=a/b/c,m=publish"), "publish - a/b c - - -") << "the last level is the stream";
}

TEST(SrtStreamId, TheOldFormOfSrs) {
    EXPECT_EQ(parsed("#!::h=live/one,m=publish"), "publish - live one - - -");
    EXPECT_EQ(parsed("#!::h=host.com/live/one,m=publish"), "publish host.com live one vhost=host.com - -");
    EXPECT_EQ(parsed("#!::h=live/one?secret=x,m=publish"), "publish - live one secret=x - -");
    EXPECT_EQ(parsed("#!::h=live/other,r=live/one"), "request - live one - - -");
    EXPECT_EQ(parsed("#!::h=host.com"), "2400 the stream id names no stream");
}

TEST(SrtStreamId, CredentialsOfTheStandard) {
    EXPECT_EQ(parsed("#!::u=anna,s=pass,t=stream,r=live/one,m=publish"),
              "publish - live one u=anna&s=pass&t=stream anna pass");
}

TEST(SrtStreamId, FormsOfMediaMtx) {
    EXPECT_EQ(parsed("publish:live/one"), "publish - live one - - -");
    EXPECT_EQ(parsed("read:one"), "request - live one - - -");
    EXPECT_EQ(parsed("publish:one:k=v&l=w"), "publish - live one k=v&l=w - -");
    EXPECT_EQ(parsed("publish:one:anna:pass"), "publish - live one - anna pass");
    EXPECT_EQ(parsed("publish:one:anna:pass:k=v:w"), "publish - live one k=v:w anna pass");
    EXPECT_EQ(parsed("publish:"), "2400 the stream id names no stream");
    EXPECT_EQ(parsed("read:a/b/one#feedbackplay"), "request - a/b one - - -");
}

TEST(SrtStreamId, NamesAlone) {
    EXPECT_EQ(parsed("live/one"), "request - live one - - -");
    EXPECT_EQ(parsed("one"), "request - live one - - -");
    EXPECT_EQ(parsed("/live/one/"), "request - live one - - -");
    EXPECT_EQ(parsed("one?k=v"), "request - live one k=v - -");
    EXPECT_EQ(parsed("publisher"), "request - live publisher - - -");
    EXPECT_EQ(parsed("one", {.app = "app", .mode = StreamMode::kPublish}), "publish - app one - - -");
    EXPECT_EQ(parsed("#!::r=one", {.app = "app", .mode = StreamMode::kPublish}), "request - app one - - -")
        << "the default is for names alone";
}

TEST(SrtStreamId, NoneIsTheDefault) {
    EXPECT_EQ(parsed(""), "request - live livestream - - -");
    EXPECT_EQ(parsed("", {.stream_id = "publish:a/b"}), "publish - a b - - -");
    EXPECT_EQ(parsed("", {.stream_id = ""}), "2400 the stream id names no stream");
}

TEST(SrtStreamId, WhatIsRefused) {
    EXPECT_EQ(parsed("#!::r=live/one,m=bidirectional"), "2405 the mode 'bidirectional' is neither publish nor request");
    EXPECT_EQ(parsed("#!::r=live/one,m="), "2405 the mode '' is neither publish nor request");
    EXPECT_EQ(parsed("#!::m=a\nb"), "2405 the mode 'a?b' is neither publish nor request");
    EXPECT_EQ(parsed("#!{r=live/one}"), "2400 stream ids with braces are not supported");
    EXPECT_EQ(parsed("#!::"), "2400 the stream id names no stream");
    EXPECT_EQ(parsed("/"), "2400 the stream id names no stream");
    EXPECT_EQ(parsed("#!::r=live/../one"), "2400 the app 'live/..' has '..' or '//'");
    EXPECT_EQ(parsed("live/.."), "2400 the stream name '..' has '..' or '//'");
    EXPECT_EQ(parsed("a//b/c"), "2400 the app 'a//b' has '..' or '//'");
    EXPECT_EQ(parsed("a\\b"), "2400 the stream name 'a\\b' has a forbidden character");
    EXPECT_EQ(parsed("#!::h=a\\b,r=live/one"), "2400 the vhost 'a\\b' has a forbidden character");
    EXPECT_EQ(parsed("one?k=\x01"), "2400 the stream id has a control character");
    EXPECT_EQ(parsed(std::string_view("a\0b", 3)), "2400 the stream name 'a?b' has a forbidden character");
    EXPECT_EQ(parsed("publish:one:a\x7f:pass"), "2400 the stream id has a control character");
    EXPECT_EQ(parsed(std::string(257, 'x')), "2400 the stream name has 257 bytes, at most 256 are allowed");
    EXPECT_EQ(parsed(std::string(513, 'x')), "2400 the stream id is longer than 512 bytes");
    EXPECT_EQ(parsed("live/one?" + std::string(503, 'k')), "request - live one " + std::string(503, 'k') + " - -");
}

}  // namespace
}  // namespace srt
