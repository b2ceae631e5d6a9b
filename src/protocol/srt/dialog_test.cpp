// Caller and listener with each other, and with recorded datagrams of libsrt.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/hex_testing.h"
#include "protocol/srt/caller.h"
#include "protocol/srt/listener.h"
#include "protocol/srt/sessions_testing.h"

namespace srt {
namespace {

using Bytes = std::vector<uint8_t>;

const CookieSecret kSecret{9, 8, 7};
const base::Endpoint kFrom{.ip = *base::IpAddress::parse("192.0.2.7"), .port = 4711};
constexpr int64_t kNow = 100'000'000;
constexpr size_t kTypeOffset = kHeaderSize + 20, kCookieOffset = kHeaderSize + 28;

CallerSettings caller_settings() {
    return {.own_id = 77, .initial_sequence = 0x7ffffff0, .stream_id = "#!::r=live/one,m=publish", .key_message = {}};
}

Bytes copy(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// The listener's answer to a datagram from kFrom; empty: none.
Bytes induct(std::span<const uint8_t> datagram, int64_t now_us = kNow) {
    const auto packet = parse_handshake(datagram);
    BareHandshake answer;
    const Listener listener(kSecret, 16);
    if (!packet || listener.on_handshake(now_us, kFrom, *packet, answer) != Listener::Step::kAnswer) return {};
    return copy(answer);
}

// A recorded conclusion with a cookie of ours.
Bytes conclusion_of(std::string_view recorded) {
    Bytes datagram = base::hex(recorded);
    base::put_u32(&datagram[kCookieOffset], make_cookie(kSecret, kFrom, kNow));
    return datagram;
}

std::expected<CallerRequest, Refused> request_of(std::span<const uint8_t> datagram) {
    return parse_caller_request(*parse_handshake(datagram));
}

TEST(SrtListener, AnswersAnInductionWithoutState) {
    const Bytes request = base::hex(kLibsrtSession.induction);
    const Bytes answer = induct(request);
    ASSERT_EQ(answer.size(), request.size()) << "an answer that is longer amplifies";
    const auto packet = parse_handshake(answer);
    ASSERT_TRUE(packet);
    Handshake expected = parse_handshake(base::hex(kLibsrtSession.induction_answer))->handshake;
    expected.encryption = 2;
    expected.cookie = make_cookie(kSecret, kFrom, kNow);
    EXPECT_EQ(packet->handshake, expected) << "as libsrt's, but for the cookie and the length of keys";
    EXPECT_EQ(packet->header.destination, 0x0b9a8061u);
    EXPECT_EQ(packet->header.timestamp_us, 0u);
}

TEST(SrtListener, IgnoresWhatIsNoRequest) {
    const Bytes induction = base::hex(kLibsrtSession.induction);
    Bytes changed = induction;
    changed[15] = 1;
    EXPECT_TRUE(induct(changed).empty()) << "for another socket";
    changed = induction;
    base::put_u32(&changed[kHeaderSize + 24], 0);
    EXPECT_TRUE(induct(changed).empty()) << "from socket id 0";
    for (const uint32_t type : {0u, 2u, 1002u, 2404u, 0xfffffffdu, 0xfffffffeu}) {
        changed = induction;
        base::put_u32(&changed[kTypeOffset], type);
        EXPECT_TRUE(induct(changed).empty()) << type;
    }
}

TEST(SrtListener, AConclusionNeedsTheCookieOfItsAddress) {
    const Listener listener(kSecret, 0);
    const Bytes datagram = conclusion_of(kLibsrtSession.conclusion);
    const auto packet = parse_handshake(datagram);
    BareHandshake answer;
    const auto step = [&](const base::Endpoint& from, int64_t now_us) {
        return listener.on_handshake(now_us, from, *packet, answer);
    };
    EXPECT_EQ(step(kFrom, kNow), Listener::Step::kConclusion);
    EXPECT_EQ(step({.ip = kFrom.ip, .port = 4712}, kNow), Listener::Step::kIgnore);
    EXPECT_EQ(step({.ip = *base::IpAddress::parse("192.0.2.8"), .port = 4711}, kNow), Listener::Step::kIgnore);
    EXPECT_EQ(step(kFrom, kNow + 180'000'000), Listener::Step::kIgnore);
    const Bytes recorded = base::hex(kLibsrtSession.conclusion);
    const auto theirs = parse_handshake(recorded);
    EXPECT_EQ(listener.on_handshake(kNow, kFrom, *theirs, answer), Listener::Step::kIgnore) << "a cookie of libsrt";
}

TEST(SrtListener, ReadsWhatACallerWants) {
    const auto request = request_of(conclusion_of(kLibsrtSession.conclusion));
    ASSERT_TRUE(request) << request.error().reason;
    EXPECT_EQ(request->handshake.socket_id, 0x0b9a8061u);
    EXPECT_EQ(request->stream_id, "#!::r=live/one,m=publish");
    EXPECT_EQ(request->capabilities.version, 0x010501u);
    EXPECT_EQ(request->timestamp_us, 0x5d0u);
    EXPECT_EQ(request->key_message.size(), 56u);
    EXPECT_FALSE(request->wants_group);
    const auto plain = request_of(conclusion_of(kNoPassphrase.conclusion));
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->stream_id, "abc");
    EXPECT_TRUE(plain->key_message.empty());
}

TEST(SrtListener, AnswersAsLibsrtDoes) {
    const auto request = request_of(base::hex(kLibsrtSession.conclusion));
    ASSERT_TRUE(request);
    const Bytes recorded = base::hex(kLibsrtSession.answer);
    const auto theirs = parse_handshake(recorded);
    const ListenerTerms terms{.own_id = theirs->handshake.socket_id};
    const Bytes answer = make_answer(*request, terms);
    EXPECT_EQ(make_answer(*request, terms), answer) << "a repetition";
    const auto ours = parse_handshake(answer);
    ASSERT_TRUE(ours);
    EXPECT_EQ(ours->header.destination, 0x0b9a8061u);
    EXPECT_EQ(ours->header.timestamp_us, 0u);
    Handshake expected = theirs->handshake;
    expected.encryption = 2;
    EXPECT_EQ(ours->handshake, expected);
    ExtensionReader extensions(ours->extensions), recorded_extensions(theirs->extensions);
    const auto capabilities = parse_capabilities(extensions.next()->contents);
    EXPECT_EQ(
        capabilities,
        (Capabilities{.version = kLibraryVersion, .flags = 0x3f, .receiver_delay_ms = 120, .sender_delay_ms = 120}));
    recorded_extensions.next();
    const auto key = extensions.next(), recorded_key = recorded_extensions.next();
    ASSERT_TRUE(key && recorded_key);
    EXPECT_EQ(key->type, ExtensionType::kKmResponse);
    EXPECT_EQ(copy(key->contents), copy(recorded_key->contents));
    EXPECT_FALSE(extensions.next());
}

TEST(SrtListener, DelaysAreTheLongerOfBoth) {
    auto request = request_of(base::hex(kNoPassphrase.conclusion));
    ASSERT_TRUE(request);
    request->capabilities.receiver_delay_ms = 300;
    request->capabilities.sender_delay_ms = 50;
    const auto agreement = agree(
        *request, {.own_id = 3, .mtu = 1400, .window = 9000, .receive_latency_ms = 200, .peer_latency_ms = 100}, 7);
    EXPECT_EQ(agreement.receive_latency_us, 200'000);
    EXPECT_EQ(agreement.send_latency_us, 300'000);
    EXPECT_EQ(agreement.max_datagram, 1400u - 28);
    EXPECT_EQ(agreement.own_window, 9000u);
    EXPECT_EQ(agreement.peer_window, 8192u);
    EXPECT_EQ(agreement.initial_sequence, request->handshake.initial_sequence);
    EXPECT_EQ(agreement.peer_id, request->handshake.socket_id);
    EXPECT_EQ(agreement.own_id, 3u);
    EXPECT_EQ(agreement.start_us, 7);
    EXPECT_TRUE(agreement.peer_repeats_naks);
}

// What a conclusion may contain beside HSREQ, and the code by which it is refused; 0: accepted.
TEST(SrtListener, RefusesByCode) {
    constexpr std::string_view kHsReq = "00010003 00010505 000000bf 00780078";
    struct Case {
        const char* name;
        std::string extensions;
        uint32_t code;
        void (*change)(Handshake&) = nullptr;
    };
    const std::string hs(kHsReq);
    const std::vector<Case> cases = {
        {"HSREQ alone", hs, 0},
        {"nothing", "", 1004},
        {"cut", "00010003 00010505", 1004},
        {"short", "00010001 00010505", 1004},
        {"without delays", "00010002 00010505 000000bf", 1004},
        {"without delays, and none are wanted", "00010002 00010505 000000bc", 0},
        {"libsrt 1.2", "00010003 000102ff 000000bf 00780078", 1004},
        {"libsrt 1.3", "00010003 00010300 000000bf 00780078", 0},
        {"buffer mode", "00010003 00010505 000000ff 00780078", 1012},
        {"HSREQ twice", hs + hs, 1004},
        {"an HSRSP", "00020003 00010505 000000bf 00780078", 1004},
        {"live", hs + "00060001 6576696c", 0},
        {"file", hs + "00060001 656c6966", 1013},
        {"live with a tail", hs + "00060002 6576696c 00000031", 1013},
        {"FEC", hs + "00070001 00636566", 1014},
        {"a group", hs + "00080003 40000001 01000000 00000000", 0},
        {"an unknown extension", hs + "00630001 12345678", 0},
        {"an unknown one twice", hs + "00630000 00630000", 0},
        {"bytes at the end", hs + "000501", 0},
        {"a cut extension", hs + "00050002 61616161", 1004},
        {"an empty stream id", hs + "00050000", 0},
        {"two stream ids", hs + "00050000 00050000", 1004},
        {"a malformed key", hs + "00030001 12202901", 1004},
        {"version 4", hs, 1008, [](Handshake& h) { h.version = 4; }},
        {"version 6", hs, 1008, [](Handshake& h) { h.version = 6; }},
        {"a sequence number of 32 bits", hs, 1004, [](Handshake& h) { h.initial_sequence = 0x80000000; }},
        {"an MTU without room for a cell", hs, 1004, [](Handshake& h) { h.mtu = 231; }},
        {"an MTU with room for a cell", hs, 0, [](Handshake& h) { h.mtu = 232; }},
        {"no window", hs, 1004, [](Handshake& h) { h.flow_window = 0; }},
        {"the largest values", hs, 0, [](Handshake& h) { h.mtu = h.flow_window = 0xffffffff; }},
    };
    for (const auto& c : cases) {
        Handshake handshake{.type = HandshakeType::kConclusion, .socket_id = 5};
        if (c.change != nullptr) c.change(handshake);
        const Bytes extensions = base::hex(c.extensions);
        const auto request =
            parse_caller_request({.header = {}, .handshake = handshake, .extensions = std::span(extensions)});
        EXPECT_EQ(request ? 0 : static_cast<uint32_t>(request.error().code), c.code) << c.name;
    }
}

TEST(SrtListener, AStreamIdOfMoreThan512BytesIsRefused) {
    for (const size_t size : {512u, 513u}) {
        Bytes out(kMaxDatagram);
        HandshakeWriter writer(out, {}, {.type = HandshakeType::kConclusion, .socket_id = 5});
        writer.capabilities(ExtensionType::kHsRequest, {.flags = 0xbf});
        writer.text(ExtensionType::kStreamId, std::string(size, 'x'));
        const auto request = request_of(std::span(out).first(writer.finish()));
        EXPECT_EQ(request.has_value(), size == 512) << size;
        if (!request) {
            EXPECT_EQ(request.error().code, Refusal::kBadRequest);
        }
    }
}

TEST(SrtListener, ARefusalIsAsLibsrtSendsIt) {
    for (const auto& session : {kWrongPassphrase, kNoPassphrase}) {
        const Bytes conclusion = base::hex(session.conclusion), recorded = base::hex(session.answer);
        const auto theirs = parse_handshake(recorded);
        const auto code = static_cast<Refusal>(theirs->handshake.type);
        const auto refusal = make_refusal(parse_handshake(conclusion)->handshake, code);
        const auto ours = parse_handshake(refusal);
        ASSERT_TRUE(ours);
        EXPECT_EQ(ours->header.destination, theirs->header.destination);
        EXPECT_EQ(ours->handshake.type, theirs->handshake.type);
        EXPECT_EQ(ours->handshake.version, theirs->handshake.version);
        EXPECT_EQ(ours->handshake.cookie, theirs->handshake.cookie);
    }
}

// A caller and a listener, each with a clock of its own.
struct Dialog {
    explicit Dialog(CallerSettings settings = caller_settings()) : caller(std::move(settings), kNow) {}

    // What the caller sends at this time, answered by the listener.
    Bytes induction(int64_t now_us = kNow) { return induct(caller.poll(now_us)); }
    std::expected<CallerRequest, Refused> conclusion(int64_t now_us = kNow) {
        const auto sent = caller.poll(now_us);
        const auto packet = parse_handshake(sent);
        BareHandshake unused;
        EXPECT_TRUE(packet &&
                    Listener(kSecret, 0).on_handshake(now_us, kFrom, *packet, unused) == Listener::Step::kConclusion);
        return parse_caller_request(*packet);
    }

    Caller caller;
};

TEST(SrtDialog, CallerAndListenerAgree) {
    CallerSettings settings = caller_settings();
    settings.receive_latency_ms = 200;
    settings.peer_latency_ms = 20;
    Dialog dialog(settings);
    EXPECT_TRUE(dialog.caller.on_datagram(kNow, dialog.induction()));
    EXPECT_EQ(dialog.caller.state(), Caller::State::kConclusion);
    EXPECT_EQ(dialog.caller.deadline_us(), kNow) << "the conclusion follows at once";
    const auto request = dialog.conclusion(kNow + 1000);
    ASSERT_TRUE(request) << request.error().reason;
    EXPECT_EQ(request->stream_id, settings.stream_id);
    const ListenerTerms terms{.own_id = 99, .mtu = 1400, .window = 4096, .receive_latency_ms = 100};
    EXPECT_TRUE(dialog.caller.on_datagram(kNow + 2000, make_answer(*request, terms)));
    ASSERT_EQ(dialog.caller.state(), Caller::State::kConnected);
    EXPECT_EQ(dialog.caller.deadline_us(), INT64_MAX);
    EXPECT_TRUE(dialog.caller.poll(kNow + 3'000'000).empty());
    const Agreement& ours = dialog.caller.agreement();
    const Agreement theirs = agree(*request, terms, kNow);
    EXPECT_EQ(ours.own_id, theirs.peer_id);
    EXPECT_EQ(ours.peer_id, theirs.own_id);
    EXPECT_EQ(ours.initial_sequence, theirs.initial_sequence);
    EXPECT_EQ(ours.receive_latency_us, theirs.send_latency_us);
    EXPECT_EQ(ours.send_latency_us, theirs.receive_latency_us);
    EXPECT_EQ(ours.receive_latency_us, 200'000);
    EXPECT_EQ(ours.send_latency_us, 100'000);
    EXPECT_EQ(ours.own_window, theirs.peer_window);
    EXPECT_EQ(ours.peer_window, theirs.own_window);
    EXPECT_EQ(ours.max_datagram, theirs.max_datagram);
    EXPECT_EQ(ours.start_us, kNow);
    EXPECT_EQ(theirs.conclusion_timestamp_us, 1000u);
}

TEST(SrtDialog, KeysComeToTheListener) {
    const Salt salt{1, 2, 3};
    const AesKey kek = derive_kek(kPassphrase, salt, 32);
    SessionKeys keys;
    keys.even = make_key(Bytes(32, 7));
    CallerSettings settings = caller_settings();
    settings.key_message.resize(kMaxKeyMessage);
    settings.key_message.resize(write_key_message(settings.key_message, keys, salt, kek));
    Dialog dialog(settings);
    dialog.caller.on_datagram(kNow, dialog.induction());
    const auto request = dialog.conclusion();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->handshake.encryption, 4);
    const auto message = parse_key_message(request->key_message);
    ASSERT_TRUE(message);
    EXPECT_EQ(unwrap_keys(*message, derive_kek(kPassphrase, message->salt, message->key_size)), keys);
    EXPECT_TRUE(dialog.caller.on_datagram(kNow, make_answer(*request, {.own_id = 4})));
    EXPECT_EQ(dialog.caller.state(), Caller::State::kConnected);
}

TEST(SrtDialog, ACallerWithKeysInsistsOnThem) {
    CallerSettings settings = caller_settings();
    const Bytes key_message = request_of(base::hex(kLibsrtSession.conclusion))->key_message;
    struct Case {
        const char* text;
        Bytes response;
        bool with_response;
    };
    Bytes other = key_message;
    other.back() ^= 1;
    for (const auto& c :
         {Case{"the listener has no encryption", {}, false},
          Case{"the listener has another passphrase", base::hex("04000000"), true},
          Case{"the listener has no passphrase", base::hex("00000003"), true},
          Case{"the listener does not support the cipher", base::hex("05000000"), true},
          Case{"the answer has other keys", other, true}, Case{"the answer has other keys", {}, true}}) {
        settings.key_message = key_message;
        Dialog dialog(settings);
        dialog.caller.on_datagram(kNow, dialog.induction());
        auto request = dialog.conclusion();
        ASSERT_TRUE(request);
        request->key_message.clear();
        Bytes answer = make_answer(*request, {.own_id = 4});
        if (c.with_response) {
            answer.resize(answer.size() + 4 + c.response.size());
            uint8_t* at = &answer[answer.size() - 4 - c.response.size()];
            at = base::put_u16(at, static_cast<uint32_t>(ExtensionType::kKmResponse));
            std::ranges::copy(c.response, base::put_u16(at, static_cast<uint32_t>(c.response.size() / 4)));
        }
        EXPECT_TRUE(dialog.caller.on_datagram(kNow, answer));
        ASSERT_EQ(dialog.caller.state(), Caller::State::kFailed) << c.text;
        EXPECT_EQ(dialog.caller.error().text(), c.text);
        EXPECT_EQ(dialog.caller.error().code(), base::Code::kRefused);
    }
}

TEST(SrtCaller, RepeatsEachStepEvery250Ms) {
    Dialog dialog;
    const Bytes first = copy(dialog.caller.poll(kNow));
    ASSERT_EQ(first.size(), kBareHandshake);
    EXPECT_TRUE(dialog.caller.poll(kNow).empty());
    EXPECT_EQ(dialog.caller.deadline_us(), kNow + 250'000);
    EXPECT_TRUE(dialog.caller.poll(kNow + 249'999).empty());
    const Bytes second = copy(dialog.caller.poll(kNow + 250'000));
    EXPECT_EQ(parse_handshake(second)->handshake, parse_handshake(first)->handshake);
    EXPECT_EQ(parse_control(second)->timestamp_us, 250'000u);
    dialog.caller.on_datagram(kNow + 300'000, induct(second));
    const Bytes conclusion = copy(dialog.caller.poll(kNow + 300'000));
    EXPECT_EQ(parse_handshake(conclusion)->handshake.type, HandshakeType::kConclusion);
    EXPECT_FALSE(dialog.caller.on_datagram(kNow + 310'000, induct(second))) << "a late answer to the induction";
    EXPECT_TRUE(dialog.caller.poll(kNow + 310'000).empty());
    EXPECT_FALSE(dialog.caller.poll(kNow + 550'000).empty());
}

TEST(SrtCaller, GivesUpAfterItsTime) {
    Dialog dialog;
    int sent = 0;
    for (int64_t now = kNow; dialog.caller.state() == Caller::State::kInduction; now = dialog.caller.deadline_us()) {
        ASSERT_LE(now, kNow + 3'000'000);
        if (!dialog.caller.poll(now).empty()) ++sent;
    }
    EXPECT_EQ(sent, 12);
    EXPECT_EQ(dialog.caller.error().code(), base::Code::kTimeout);
    EXPECT_EQ(dialog.caller.deadline_us(), INT64_MAX);
}

TEST(SrtCaller, ARefusalIsAnErrorWithItsCode) {
    for (const auto code : {Refusal::kBadSecret, Refusal::kNotFound, static_cast<Refusal>(3007)}) {
        Dialog dialog;
        dialog.caller.on_datagram(kNow, dialog.induction());
        const auto request = dialog.conclusion();
        ASSERT_TRUE(request);
        EXPECT_TRUE(dialog.caller.on_datagram(kNow, make_refusal(request->handshake, code)));
        ASSERT_EQ(dialog.caller.state(), Caller::State::kFailed);
        EXPECT_EQ(dialog.caller.refusal(), code);
        EXPECT_EQ(dialog.caller.error().code(), base::Code::kRefused);
        EXPECT_TRUE(dialog.caller.error().text().contains(std::to_string(static_cast<uint32_t>(code))));
    }
}

TEST(SrtCaller, IgnoresWhatIsNotForIt) {
    Dialog dialog;
    const Bytes answer = dialog.induction();
    Bytes other = answer;
    other[15] ^= 1;
    EXPECT_FALSE(dialog.caller.on_datagram(kNow, other)) << "another socket";
    EXPECT_FALSE(dialog.caller.on_datagram(kNow, {}));
    EXPECT_FALSE(dialog.caller.on_datagram(kNow, std::span(answer).first(40)));
    Bytes data(100);
    write_data_header(std::span(data).first<kHeaderSize>(), {.destination = 77});
    EXPECT_FALSE(dialog.caller.on_datagram(kNow, data)) << "data before the answer";
    EXPECT_EQ(dialog.caller.state(), Caller::State::kInduction);
}

TEST(SrtCaller, AListenerOfVersion4OrThatClosesFails) {
    Dialog dialog;
    Bytes answer = dialog.induction();
    answer[kHeaderSize + 3] = 4;
    EXPECT_TRUE(dialog.caller.on_datagram(kNow, answer));
    ASSERT_EQ(dialog.caller.state(), Caller::State::kFailed);
    EXPECT_EQ(dialog.caller.error().code(), base::Code::kProtocol);
    Dialog closed;
    Bytes shutdown(kHeaderSize);
    write_shutdown(shutdown, {.destination = 77});
    EXPECT_TRUE(closed.caller.on_datagram(kNow, shutdown));
    EXPECT_EQ(closed.caller.state(), Caller::State::kFailed);
    EXPECT_FALSE(closed.caller.on_datagram(kNow, shutdown));
}

TEST(SrtCaller, AnswersThatAreMalformedFail) {
    struct Case {
        const char* text;
        void (*change)(Bytes&);
    };
    for (const auto& c :
         {Case{"the answer has no HSRSP", [](Bytes& b) { b.resize(kBareHandshake); }},
          Case{"the answer has no HSRSP", [](Bytes& b) { b[kBareHandshake + 1] = 9; }},
          Case{"an extension is longer than the answer", [](Bytes& b) { b.pop_back(); }},
          Case{"the answer is malformed", [](Bytes& b) { b[kHeaderSize + 3] = 4; }},
          Case{"the answer is malformed", [](Bytes& b) { base::put_u32(&b[kHeaderSize + 24], 0); }},
          Case{"the answer is malformed", [](Bytes& b) { base::put_u32(&b[kHeaderSize + 12], 44); }},
          Case{"the answer has another initial sequence number", [](Bytes& b) { b[kHeaderSize + 11] ^= 1; }}}) {
        Dialog dialog;
        dialog.caller.on_datagram(kNow, dialog.induction());
        const auto request = dialog.conclusion();
        ASSERT_TRUE(request);
        Bytes answer = make_answer(*request, {.own_id = 4});
        c.change(answer);
        EXPECT_TRUE(dialog.caller.on_datagram(kNow, answer));
        ASSERT_EQ(dialog.caller.state(), Caller::State::kFailed) << c.text;
        EXPECT_EQ(dialog.caller.error().text(), c.text);
    }
}

}  // namespace
}  // namespace srt
