#include "service/forward/push.h"

#include <openssl/rand.h>

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "base/log.h"
#include "convert/flv/to_rtmp.h"
#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/server_session.h"
#include "runtime/loop/clock.h"
#include "runtime/socket/tcp.h"

namespace service::forward {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kConnectMs = 10'000;  // from the first packet to the accepted publish
constexpr int64_t kSteadyMs = 5'000;    // a connection that lasts this long counts as working
constexpr int64_t kDrainMs = 5'000;     // for what was published before the end, and the peer's last words
constexpr int64_t kFirstPauseMs = 500, kLongestPauseMs = 10'000;

void fill_random(std::span<uint8_t> bytes) { CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1); }

uint32_t now_ms() { return static_cast<uint32_t>(base::monotonic_ms()); }

}  // namespace

// The connection as a session, from the accepted publish on.
class Push::Published final : public net::Session {
  public:
    Published(Push& push, const std::string& ip)
        : net::Session(push.sessions_, push.id_, ip, Past{base::wall_ms()}), push_(push) {
        set_type(net::SessionType::kRtmpForward);
        not_a_connection();  // no client of ours
    }
    std::string stream_text() const override { return push_.key().text(); }
    net::Traffic traffic() const override {
        if (!push_.viewer_) return {};
        const live::ViewerCounters counters = push_.viewer_->counters();
        return {counters.received_bytes, counters.sent_bytes};
    }
    void kick(std::string_view why) override { push_.kick(why); }
    void end(std::string_view why, base::CloseReason reason) { log_end(why, reason); }

  private:
    Push& push_;
};

Push::Push(PushOwner& owner, net::SessionTable& sessions, base::Ref<live::Stream> stream, Target target,
           std::string path)
    : owner_(owner),
      sessions_(sessions),
      stream_(std::move(stream)),
      target_(std::move(target)),
      path_(std::move(path)),
      id_(runtime::new_context_id()) {}

Push::~Push() = default;

void Push::start() {
    task_ = runtime::spawn("forward", [this] { run(); });
}

void Push::finish() {
    if (ending_) return;
    ending_ = true;
    state_ = State::kEnding;
    if (!viewer_ || over_) return task_.cancel();
    drained_by_ = Deadline::in_ms(kDrainMs);
    viewer_->end_with_stream(true);
    wake_.pulse();
}

void Push::stop() {
    ending_ = true;
    state_ = State::kEnding;
    task_.cancel();
}

void Push::kick(std::string_view why) {
    if (viewer_) viewer_->abort(why, base::CloseReason::kKicked);
}

void Push::run() {
    runtime::set_context_id(id_);
    while (!ending_ && !runtime::cancelled()) {
        ++attempts_;
        auto ended = attempt();
        published_.reset();
        viewer_.reset();
        session_.reset();
        if (ending_ || runtime::cancelled()) break;
        note_failure(ended.error());
        if (!pause()) break;
    }
    owner_.push_ended(*this);  // destroys this
}

// Always returns an error: the reason why the connection ended.
Result<void> Push::attempt() {
    state_ = State::kConnecting;
    ready_ms_ = 0;
    Deadline limit = Deadline::in_ms(kConnectMs);
    auto socket = TRY(connect(limit));
    TRY(begin_publishing(*socket, limit));
    return publish(std::move(socket));
}

Result<std::unique_ptr<runtime::ByteStream>> Push::connect(Deadline limit) {
    auto socket = TRY(runtime::connect_tcp(target_.url.host, target_.url.port, limit));
    if (!target_.url.tls) return socket;
    auto context = TRY(owner_.tls());
    return TRY(runtime::tls_connect(std::move(socket), std::move(context), target_.url.host, limit), "TLS handshake");
}

Result<void> Push::handshake(runtime::ByteStream& socket, Deadline limit) {
    ::rtmp::ClientHandshake handshake(fill_random, true);
    std::vector<uint8_t> out;
    handshake.start(now_ms(), out);
    while (true) {
        TRY(socket.write(out, limit), "handshake");
        if (handshake.done()) return {};
        socket.acknowledge_soon();
        auto bytes = TRY(runtime::read_shared(socket, limit), "handshake");
        if (bytes.empty()) return fail(Code::kClosed, "closed by the peer in the handshake");
        out.clear();
        size_t taken = TRY(handshake.feed(bytes, now_ms(), out), "handshake");
        // Servers send nothing after the handshake until they have received connect.
        if (taken < bytes.size()) return fail(Code::kProtocol, "the peer said more than the handshake");
    }
}

Result<void> Push::begin_publishing(runtime::ByteStream& socket, Deadline limit) {
    socket.set_no_delay(true);
    TRY(handshake(socket, limit));
    ::rtmp::ClientOptions options;
    options.publish = true;
    options.forward_path = path_;
    session_ = std::make_unique<::rtmp::ClientSession>(static_cast<::rtmp::ClientHandler&>(*this), target_.url, options,
                                                       1 + 2 * ::rtmp::kHandshakeSize);
    session_->start();
    while (!session_->ready()) {
        std::vector<uint8_t> out = std::exchange(session_->output(), {});
        if (!out.empty()) TRY(socket.write(out, limit), "asking to publish");
        socket.acknowledge_soon();
        auto bytes = TRY(runtime::read_shared(socket, limit), "asking to publish");
        if (bytes.empty()) return fail(Code::kClosed, "closed by the peer when asked to publish");
        TRY(session_->feed(bytes));
    }
    return {};
}

Result<void> Push::publish(std::unique_ptr<runtime::ByteStream> socket) {
    note_ready();
    over_ = false;
    std::string ip = socket->peer_ip();
    convert::RtmpParameters parameters{
        .stream_id = session_->stream_id(), .all_tracks = session_->peer_multitrack(), .publish = true};
    base::Slice first = base::Slice::copy(std::exchange(session_->output(), {}));
    viewer_.emplace(static_cast<live::ViewerHandler&>(*this), stream_);
    published_ = std::make_unique<Published>(*this, ip);
    viewer_->join(parameters.key(), std::move(socket), std::move(first));
    auto ended = until_over();
    std::string why = ended ? viewer_->end_text(over_why_) : ended.error().text();
    base::CloseReason reason = ended ? viewer_->close_reason() : base::CloseReason::kTooSlow;
    if (runtime::cancelled()) {
        why = "the server stops";
        reason = base::CloseReason::kServerStop;
    }
    if (!unsteady_) published_->end(why, reason);
    return fail(Code::kClosed, std::move(why));
}

Result<void> Push::until_over() {
    while (!over_) {
        Deadline limit = drained_by_;
        if (unsteady_) limit = earlier(limit, Deadline::at_us((ready_ms_ + kSteadyMs) * 1000));
        auto waited = wake_.wait_next(limit);
        if (waited) continue;
        if (waited.error().code() != Code::kTimeout) return waited;
        if (drained_by_.passed())
            return fail(Code::kTimeout, fmt::format("the destination did not take the rest within {} ms", kDrainMs));
        note_steady();
    }
    return {};
}

void Push::note_ready() {
    state_ = State::kPublishing;
    ready_ms_ = runtime::now_ms();
    if (unsteady_) return;  // it may fail again: see note_steady()
    if (last_error_.empty())
        base::log::trace("forward: {} goes to {}", key().text(), target_.shown);
    else
        base::log::trace("forward: {} goes to {} again, after {} attempts", key().text(), target_.shown, pauses_);
    last_error_.clear();
}

void Push::note_steady() {
    unsteady_ = false;
    pauses_ = 0;
    note_ready();
}

void Push::note_failure(const base::Error& error) {
    bool was_ready = ready_ms_ != 0;
    bool lasted = was_ready && runtime::now_ms() - ready_ms_ >= kSteadyMs;
    unsteady_ = was_ready && !lasted;
    if (lasted) pauses_ = 0;
    state_ = error.text().find(::rtmp::kForwardLoop) == std::string::npos ? State::kWaiting : State::kLoop;
    if (error.text() == last_error_) return;
    last_error_ = error.text();
    if (state_ == State::kLoop)
        return base::log::error("forward: {} to {} is a loop, and is not tried again: {}", key().text(), target_.shown,
                                last_error_);
    base::log::warn("forward: {} to {}: {}; it is tried again", key().text(), target_.shown, last_error_);
}

// Pushes that fail together do not retry at the same moment.
Result<void> Push::pause() {
    if (state_ == State::kLoop) return runtime::sleep_until(Deadline::never());
    int64_t ms = std::min(kFirstPauseMs << std::min(pauses_, 10u), kLongestPauseMs);
    ++pauses_;
    size_t spread = std::hash<std::string>()(id_) + attempts_;
    return runtime::sleep_ms(ms * 3 / 4 + static_cast<int64_t>(spread % static_cast<size_t>(ms / 2)));
}

void Push::send_output() {
    if (!session_->output().empty()) viewer_->send_control(base::Slice::copy(std::exchange(session_->output(), {})));
}

void Push::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id_);
    if (auto fed = session_->feed(bytes); !fed) return viewer.abort(fed.error().text(), fed.error().close_reason());
    send_output();
}

void Push::on_stream_end(live::Viewer&) {
    session_->close();
    send_output();
}

void Push::on_viewer_end(live::Viewer&, std::string_view why) {
    over_ = true;
    over_why_ = why;
    wake_.pulse();
}

void Push::on_status(std::string_view code, std::string_view description) {
    base::log::info("forward: {} says {} ({})", target_.shown, code, description);
}

}  // namespace service::forward
