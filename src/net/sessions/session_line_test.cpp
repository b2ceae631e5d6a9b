#include "net/sessions/session_line.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace net {
namespace {

ClosedSession a_player() {
    ClosedSession closed{.id = "abc", .ip = "192.0.2.7", .type = SessionType::kFlvPlay, .stream = "v/live/cam"};
    closed.started_ms = 1'795'986'000'000;
    closed.ended_ms = 1'795'986'184'123;
    closed.traffic = {10, 20};
    closed.reason = base::CloseReason::kTooSlow;
    closed.text = "no byte accepted for 30000 ms";
    closed.key = {"v", "live", "cam"};
    closed.duration_ms = 184'123;
    closed.agent = SharedText::of("VLC/3.0");
    closed.page = "http://a.example/watch";
    closed.token = "bob";
    closed.figures = {.protocol = "http-ts",
                      .frames = 5,
                      .dropped = 6,
                      .skips = 7,
                      .skipped_bytes = 8,
                      .stalls = 2,
                      .stalled_ms = 2500,
                      .last_stall_ms = 1'795'986'100'001,
                      .first_frame_ms = 12,
                      .lost = 3,
                      .retransmitted = 4};
    return closed;
}

TEST(SessionLine, HasAllThatIsKnown) {
    EXPECT_EQ(session_json_line(a_player(), all_session_fields()),
              R"({"time":"2026-11-29T21:03:04.123Z","id":"abc","ip":"192.0.2.7","agent":"VLC/3.0",)"
              R"("page":"http://a.example/watch","token":"bob","protocol":"http-ts","type":"flv-play","action":"play",)"
              R"("vhost":"v","app":"live","stream":"cam","started_ms":1795986000000,"ended_ms":1795986184123,)"
              R"("duration_ms":184123,"received_bytes":10,"sent_bytes":20,"frames":5,"dropped":6,"skips":7,)"
              R"("skipped_bytes":8,"stalls":2,"stalled_ms":2500,"last_stall":"2026-11-29T21:01:40.001Z",)"
              R"("first_frame_ms":12,"lost":3,"retransmitted":4,"reason":"too-slow",)"
              R"("text":"no byte accepted for 30000 ms"})");
}

TEST(SessionLine, OfChosenFields) {
    EXPECT_EQ(session_json_line(a_player(), {SessionField::kToken, SessionField::kIp}),
              R"({"token":"bob","ip":"192.0.2.7"})");
    EXPECT_EQ(find_session_field("sent_bytes"), SessionField::kSentBytes);
    EXPECT_FALSE(find_session_field("bytes"));
    for (const SessionField field : all_session_fields())
        EXPECT_EQ(find_session_field(session_field_name(field)), field);
}

TEST(SessionLine, OfOneThatHasNotEnded) {
    ClosedSession session = a_player();
    session.ended_ms = 0;
    session.figures = {};
    const base::Json json = base::parse_json(session_json_line(session, all_session_fields()));
    for (const char* name : {"time", "ended_ms", "first_frame_ms", "last_stall"})
        EXPECT_TRUE(json[name].is_null()) << name;
    EXPECT_EQ(json["reason"], "");
    EXPECT_FALSE(parse_session_line(json.dump())) << "it is no line of an ended session";
}

TEST(SessionLine, APeersTextsStayInTheirFields) {
    ClosedSession session = a_player();
    session.agent = SharedText::of("a\"b\\c\n{\x01\xff}");
    session.key.name = "x\",\"ended_ms\":1,\"";
    session.page = "http://a/\n\"";
    const std::string line = session_json_line(session, all_session_fields());
    EXPECT_EQ(line.find('\n'), line.npos);
    const base::Json json = base::parse_json(line);
    ASSERT_TRUE(json.is_object()) << line;
    EXPECT_EQ(json["agent"], "a\"b\\c\n{\x01?}");
    EXPECT_EQ(json["stream"], session.key.name);
    EXPECT_EQ(session_clf_line(session).find('\n'), std::string::npos);
}

TEST(SessionLine, HidesSecrets) {
    ClosedSession session = a_player();
    session.key.name = "cam?token=hidden1";
    session.page = "http://user:hidden2@a.example/";
    session.text = "the URL /live/cam?secret=hidden3 has expired";
    for (const std::string& line : {session_json_line(session, all_session_fields()), session_clf_line(session)}) {
        EXPECT_EQ(line.find("hidden"), line.npos) << line;
    }
    EXPECT_FALSE(base::parse_json(session_json_line(session, all_session_fields())).is_discarded());
}

TEST(SessionLine, ComesBack) {
    const std::string line = session_json_line(a_player(), all_session_fields());
    const auto read = parse_session_line(line);
    ASSERT_TRUE(read);
    EXPECT_EQ(session_json_line(*read, all_session_fields()), line);
    EXPECT_EQ(read->stream, "v/live/cam");
    EXPECT_EQ(ended_ms_of(line), 1'795'986'184'123);
    for (const char* bad :
         {"", "{}", "[]", "{\"ended_ms\":0}", "{\"ended_ms\":\"x\"}", "{\"ended_ms\":5", "{\"ended_ms\":-5}"})
        EXPECT_FALSE(parse_session_line(bad)) << bad;
}

TEST(SessionLine, AsWebServersWriteIt) {
    EXPECT_EQ(session_clf_line(a_player()),
              "192.0.2.7 - bob [29/Nov/2026:21:03:04 +0000] \"PLAY v/live/cam http-ts\" 500 20 "
              "\"http://a.example/watch\" \"VLC/3.0\"");
    ClosedSession refused{.ip = "192.0.2.8", .type = SessionType::kFmlePublish, .stream = "__defaultVhost__/live/x"};
    refused.ended_ms = 1'795'986'184'123;
    refused.reason = base::CloseReason::kRefusedAuth;
    EXPECT_EQ(session_clf_line(refused),
              "192.0.2.8 - - [29/Nov/2026:21:03:04 +0000] \"PUBLISH /live/x rtmp\" 403 0 \"-\" \"-\"");
}

TEST(SessionLine, EachTypeHasAProtocolAndAnAction) {
    const struct {
        SessionType type;
        const char *protocol, *action;
    } rows[] = {{SessionType::kRtmpPlay, "rtmp", "play"},
                {SessionType::kFmlePublish, "rtmp", "publish"},
                {SessionType::kFlashPublish, "rtmp", "publish"},
                {SessionType::kHlsPlay, "hls", "play"},
                {SessionType::kRtcPlay, "webrtc", "play"},
                {SessionType::kRtcPublish, "webrtc", "publish"},
                {SessionType::kFlvPlay, "http-flv", "play"},
                {SessionType::kRtmpForward, "rtmp", "forward"},
                {SessionType::add("test-pull", true), "test", "pull"},
                {SessionType::kRtmp, "rtmp", ""}};
    for (const auto& row : rows) {
        ClosedSession session{.type = row.type};
        EXPECT_EQ(protocol_of(session), row.protocol) << session_type_name(row.type);
        EXPECT_EQ(action_of(row.type), row.action) << session_type_name(row.type);
    }
}

TEST(SharedText, IsKeptOnce) {
    const auto a = SharedText::of("VLC"), b = SharedText::of("VLC");
    EXPECT_EQ(a.get(), b.get());
    const size_t before = SharedText::count();
    {
        const auto c = SharedText::of("another");
        EXPECT_EQ(SharedText::count(), before + 1);
    }
    EXPECT_EQ(SharedText::count(), before);
    EXPECT_FALSE(SharedText::of(""));
    EXPECT_EQ(SharedText::of(std::string(1000, 'x'))->text().size(), SharedText::kMaxBytes);
}

}  // namespace
}  // namespace net
