#include "protocol/dtls/endpoint.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "protocol/dtls/epilogue.h"
#include "protocol/dtls/handshake.h"

namespace dtls {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

Endpoint::Endpoint(std::shared_ptr<const Context> context, Role role, size_t mtu, Version version)
    : context_(std::move(context)),
      timeout_ms_(kNever),
      mtu_(static_cast<uint16_t>(mtu)),
      role_(role),
      version_(version) {}
Endpoint::Endpoint(Endpoint&&) noexcept = default;
Endpoint& Endpoint::operator=(Endpoint&&) noexcept = default;
Endpoint::~Endpoint() = default;

base::Result<void> Endpoint::expect_fingerprint(std::string_view algorithm, std::string_view hex) {
    auto fingerprint = TRY(Fingerprint::parse(algorithm, hex));
    if (!expected_) expected_ = std::make_unique<std::vector<Fingerprint>>();
    if (expected_->size() >= kMaxFingerprints) return base::fail(base::Code::kLimit, "too many fingerprints");
    expected_->push_back(std::move(fingerprint));
    return {};
}

void Endpoint::fail(std::string text) {
    state_ = State::kFailed;
    error_ = std::move(text);
    disarm();
}

void Endpoint::disarm() {
    timeout_ms_ = kNever;
    sends_ = 0;
}

void Endpoint::arm(int64_t now_ms) {
    timeout_ms_ = now_ms + std::min(kFirstTimeoutMs << std::min<int>(sends_, 8), kMaxTimeoutMs);
}

bool Endpoint::begin() {
    if (!any_certificate_ && !expected_) expected_ = std::make_unique<std::vector<Fingerprint>>();
    auto made = Handshake::make(*context_, role_ == Role::kClient, mtu_, any_certificate_ ? nullptr : expected_.get());
    if (!made) {
        fail(made.error().text());
        return false;
    }
    handshake_ = std::move(*made);
    handshake_->limit(version_);
    return true;
}

void Endpoint::start(int64_t now_ms) {
    if (role_ != Role::kClient || handshake_ || state_ != State::kHandshake || !begin()) return;
    if (handshake_->advance(nullptr) == Handshake::Step::kFailed) return fail(handshake_->error());
    arm(now_ms);
}

void Endpoint::on_datagram(std::span<const uint8_t> datagram, int64_t now_ms) {
    while (auto record = next_record(datagram)) {
        if (state_ == State::kClosed || state_ == State::kFailed) return;
        if (epilogue_) {
            on_epilogue(*record);
        } else {
            on_record(*record, now_ms);
        }
    }
}

// A server that has not answered yet accepts only a ClientHello. Earlier fragments may be forged: so a complete hello
// discards them, and so does a fragment of another hello.
bool Endpoint::wants(const Record& record) {
    if (role_ == Role::kClient) return handshake_ != nullptr;
    if (handshake_ && !hello_failed_ && handshake_->answered()) return true;
    const Hello hello = client_hello(record);
    if (hello == Hello::kNone) return false;
    if (hello == Hello::kWhole || hello_failed_ || (handshake_ && !handshake_->agrees(record))) handshake_.reset();
    hello_failed_ = false;
    return handshake_ || begin();
}

void Endpoint::on_record(const Record& record, int64_t now_ms) {
    if (!wants(record)) return;
    if (state_ == State::kEstablished) {
        if (!handshake_->after(record)) return repeat_last_flight(record);
        handshake_->farewell();
        state_ = State::kClosed;
        return;
    }
    const bool answered = handshake_->answered();
    const auto added = handshake_->flight().added();
    const auto step = handshake_->advance(&record);
    if (step == Handshake::Step::kDone) return on_established();
    error_ = handshake_->error();
    if (step == Handshake::Step::kFailed) {
        // An invalid ClientHello must not block a later valid one. The alert is sent anyway.
        hello_failed_ = role_ == Role::kServer && !answered;
        if (!hello_failed_) fail(error_);
    } else if (handshake_->flight().added() != added) {
        sends_ = 0;
        arm(now_ms);
    }
}

// A client sends its Finished again unchanged (Handshake::resend()), which OpenSSL drops as a replay, so the last
// flight is repeated here. A forged record can trigger this kMaxSends times, 3 kB in all.
void Endpoint::repeat_last_flight(const Record& record) {
    if (role_ != Role::kServer || record.epoch != 1 || record.type != Content::kHandshake) return;
    if (!handshake_->flight().sent() || ++sends_ > kMaxSends) return;
    handshake_->flight().again();
}

void Endpoint::on_established() {
    const auto keys = handshake_->srtp_keys();
    if (!keys) return fail("the peer agreed to no SRTP profile");
    keys_ = std::make_unique<srtp::KeyPair>(*keys);
    state_ = State::kEstablished;
    error_.clear();
    expected_.reset();
    disarm();
    auto kept = handshake_->epilogue();
    if (!kept) return;  // with a suite other than AES-GCM, OpenSSL's state stays
    epilogue_ = std::make_unique<Epilogue>(std::move(*kept));
    send_last_flight_ = role_ == Role::kServer;
    handshake_.reset();
}

void Endpoint::on_epilogue(const Record& record) {
    switch (epilogue_->on_record(record)) {
        case Epilogue::What::kNothing:
            break;
        case Epilogue::What::kLastFlightAgain:
            send_last_flight_ = true;
            break;
        case Epilogue::What::kClosed:
            send_farewell_ = true;
            state_ = State::kClosed;
            break;
    }
}

std::span<const uint8_t> Endpoint::next_datagram() {
    if (handshake_) return handshake_->flight().next();
    if (!epilogue_) return {};
    if (std::exchange(send_last_flight_, false)) return epilogue_->last_flight();
    if (std::exchange(send_farewell_, false)) return epilogue_->farewell();
    return {};
}

void Endpoint::on_timeout(int64_t now_ms) {
    if (now_ms < timeout_ms_ || state_ != State::kHandshake) return;
    if (++sends_ >= kMaxSends) return fail(error_.empty() ? "the peer does not answer" : error_);
    handshake_->resend();
    arm(now_ms);
}

void Endpoint::close() {
    if (state_ == State::kClosed || state_ == State::kFailed) return;
    if (state_ == State::kEstablished) {
        send_farewell_ = true;
        if (handshake_) handshake_->farewell();
    } else {
        handshake_.reset();
    }
    state_ = State::kClosed;
    disarm();
}

std::optional<srtp::KeyPair> Endpoint::take_srtp_keys() {
    if (!keys_) return std::nullopt;
    const srtp::KeyPair keys = *keys_;
    OPENSSL_cleanse(keys_.get(), sizeof *keys_);
    keys_.reset();
    return keys;
}

}  // namespace dtls
