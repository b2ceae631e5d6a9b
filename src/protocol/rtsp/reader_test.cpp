#include "protocol/rtsp/reader.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "protocol/rtsp/message.h"

namespace rtsp {
namespace {

using Step = Reader::Step;

const Limits kLimits{.header_bytes = 512, .header_count = 8, .body_bytes = 64};

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// All that the reader returns for the text, fed in pieces of that size: one line each.
std::string read(std::string_view text, size_t piece = SIZE_MAX) {
    Reader reader(kLimits);
    std::string seen;
    auto bytes = bytes_of(text);
    while (true) {
        size_t used = 0;
        const Step step = reader.feed(bytes.first(std::min(piece, bytes.size())), used);
        bytes = bytes.subspan(used);
        if (step == Step::kError)
            return seen + fmt::format("error {} {}\n", reader.error_status(), reader.error_text());
        if (step == Step::kInterleaved) {
            const auto payload = reader.payload();
            seen += fmt::format("frame {} {}\n", reader.channel(),
                                std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size()));
        } else if (step == Step::kMessage) {
            const Message message = reader.take_message();
            if (message.is_request) {
                seen +=
                    fmt::format("{}{} {}", message.is_http ? "http " : "", method_name(message.method), message.url);
            } else {
                seen += fmt::format("status {}", message.status);
            }
            for (const auto& [name, value] : message.headers) seen += fmt::format(" [{}={}]", name, value);
            seen += message.body.empty() ? "\n" : " " + message.body + "\n";
        } else if (bytes.empty()) {
            return seen + (reader.in_message() ? "more\n" : "");
        }
    }
}

struct Case {
    const char* name;
    std::string input;
    std::string expected;
};

TEST(RtspReader, ReadsMessagesAndFrames) {
    using namespace std::string_literals;
    const Case cases[] = {
        {"request", "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n", "OPTIONS * [CSeq=1]\n"},
        {"line feeds alone", "PLAY rtsp://h/a/s RTSP/1.0\nCSeq:2\nSession : abc\n\n",
         "PLAY rtsp://h/a/s [CSeq=2] [Session=abc]\n"},
        {"body",
         "SET_PARAMETER rtsp://h/s RTSP/1.0\r\nCSeq: 1\r\ncontent-length: 4\r\n\r\na: bPAUSE * RTSP/1.0\r\n\r\n",
         "SET_PARAMETER rtsp://h/s [CSeq=1] [content-length=4] a: b\nPAUSE *\n"},
        {"response", "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n", "status 200 [CSeq=1]\n"},
        {"response without phrase", "RTSP/1.0 454\r\n\r\n", "status 454\n"},
        {"frames", "$\x00\x00\x02"s + "ab" + "$\x01\x00\x00"s + "$\xff\x00\x01"s + "c",
         "frame 0 ab\nframe 1 \nframe 255 c\n"},
        {"frame between requests", "PAUSE u RTSP/1.0\r\n\r\n$\x02\x00\x01x"s + "\r\nTEARDOWN u RTSP/1.0\r\n\r\n",
         "PAUSE u\nframe 2 x\nTEARDOWN u\n"},
        {"other method", "REDIRECT u RTSP/1.0\r\n\r\n", " u\n"},
        {"tunnel", "POST /a/s HTTP/1.0\r\nContent-Length: 32767\r\n\r\n", "http POST /a/s [Content-Length=32767]\n"},
        {"incomplete", "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n", "more\n"},
        {"incomplete frame", "$\x00\x00\x05"s + "ab", "more\n"},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(read(one.input), one.expected) << one.name;
        for (size_t piece = 1; piece < 9; ++piece)
            EXPECT_EQ(read(one.input, piece), one.expected) << one.name << ", in pieces of " << piece;
    }
}

TEST(RtspReader, RefusesBadInputWithItsStatus) {
    std::string fields;
    for (int i = 0; i < 9; ++i) fields += fmt::format("A{}: b\r\n", i);
    const Case cases[] = {
        {"not a message", "\x16\x03\x01", "error 400 byte 0x16 where a message or a frame must begin\n"},
        {"no version", "OPTIONS *\r\n\r\n", "error 400 the first line is neither of a request nor of a response\n"},
        {"two targets", "OPTIONS a b RTSP/1.0\r\n\r\n",
         "error 400 the first line is neither of a request nor of a response\n"},
        {"version 2", "OPTIONS * RTSP/2.0\r\n\r\n", "error 505 a version other than RTSP/1.0\n"},
        {"HTTP", "PUT / HTTP/1.1\r\n\r\n", "error 405 an HTTP method that the tunnel does not have\n"},
        {"GET of RTSP", "GET rtsp://h/ RTSP/1.0\r\n\r\n", "error 501 GET and POST are methods of the HTTP tunnel\n"},
        {"no name", "OPTIONS * RTSP/1.0\r\n: x\r\n\r\n", "error 400 a header line without a name\n"},
        {"folded", "OPTIONS * RTSP/1.0\r\nA: b\r\n c: d\r\n\r\n", "error 400 a header line without a name\n"},
        {"control byte", "OPTIONS * RTSP/1.0\r\nA: \x01\r\n\r\n", "error 400 a control character in the header\n"},
        {"many fields", "OPTIONS * RTSP/1.0\r\n" + fields + "\r\n", "error 431 more than 8 header fields\n"},
        {"long header", "OPTIONS * RTSP/1.0\r\nA: " + std::string(600, 'x'),
         "error 431 more than 512 bytes of header\n"},
        {"large body", "ANNOUNCE u RTSP/1.0\r\nContent-Length: 65\r\n\r\n", "error 413 a body of more than 64 bytes\n"},
        {"huge body", "ANNOUNCE u RTSP/1.0\r\nContent-Length: 99999999999\r\n\r\n",
         "error 413 a body of more than 64 bytes\n"},
        {"negative length", "ANNOUNCE u RTSP/1.0\r\nContent-Length: -1\r\n\r\n",
         "error 400 Content-Length is no single number\n"},
        {"two lengths", "ANNOUNCE u RTSP/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
         "error 400 Content-Length is no single number\n"},
        {"status of two digits", "RTSP/1.0 20\r\n\r\n", "error 400 a response without a status of three digits\n"},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(read(one.input), one.expected) << one.name;
        EXPECT_EQ(read(one.input, 1), one.expected) << one.name;
    }
}

TEST(RtspReader, FrameInOnePieceIsNotCopied) {
    using namespace std::string_literals;
    Reader reader(kLimits);
    const std::string text = "$\x00\x00\x02"s + "ab";
    size_t used = 0;
    ASSERT_EQ(reader.feed(bytes_of(text), used), Step::kInterleaved);
    EXPECT_EQ(reinterpret_cast<const char*>(reader.payload().data()), text.data() + 4);
}

TEST(RtspReader, HoldsNoMemoryBetweenMessages) {
    Reader reader(kLimits);
    const std::string text = "OPTIONS * RTSP/1.0\r\nUser-Agent: a client with a long name\r\n\r\n";
    size_t used = 0;
    ASSERT_EQ(reader.feed(bytes_of(text), used), Step::kMessage);
    (void)reader.take_message();
    EXPECT_LE(reader.memory(), std::string().capacity());
}

TEST(RtspMessage, WritesWhatTheReaderReads) {
    Message response;
    response.is_request = false;
    response.status = 200;
    response.headers.add("CSeq", "7");
    response.body = "v=0\r\n";
    EXPECT_EQ(write(response), "RTSP/1.0 200 OK\r\nCSeq: 7\r\nContent-Length: 5\r\n\r\nv=0\r\n");
    Message request;
    request.method = Method::kGetParameter;
    request.url = "rtsp://h/s";
    request.headers.add("A", "b\r\nC: d");
    EXPECT_EQ(write(request), "GET_PARAMETER rtsp://h/s RTSP/1.0\r\nA: b??C: d\r\n\r\n");
    EXPECT_EQ(read(write(request)), "GET_PARAMETER rtsp://h/s [A=b??C: d]\n");
}

TEST(RtspMessage, CSeqIsANumber) {
    Message message;
    EXPECT_EQ(message.cseq(), std::nullopt);
    message.headers.set("CSeq", "12");
    EXPECT_EQ(message.cseq(), 12u);
    message.headers.set("CSeq", "12a");
    EXPECT_EQ(message.cseq(), std::nullopt);
}

}  // namespace
}  // namespace rtsp
