#include "runtime/socket/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstring>

#include "base/shrink.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/permits.h"
#include "runtime/loop/sync.h"
#include "runtime/threads/compute.h"

namespace runtime {
namespace detail {
namespace {

constexpr size_t kRecordBytes = 16 * 1024;   // the maximum plain text of a TLS record
constexpr size_t kOutBytes = 64 * 1024;      // collected before a send
constexpr size_t kOutBound = kOutBytes * 4;  // against a peer that makes OpenSSL answer endlessly and reads nothing
constexpr int kMaxIterations = 20;           // loop iterations for which a handshake step yields to others
constexpr size_t kRecordOverhead = 256;      // of its header, tag and padding, at most
constexpr size_t kTlsCallUnits = 8 * 1024;   // for account(): encryption costs more than copying

// Takes up to a record's worth of bytes from an iovec list, and copies only bytes that are spread over several parts.
class Gatherer {
  public:
    explicit Gatherer(std::span<const iovec> parts) : parts_(parts) {}
    std::span<const uint8_t> next() {
        static thread_local std::array<uint8_t, kRecordBytes> scratch;
        size_t filled = 0;
        while (!parts_.empty() && filled < kRecordBytes) {
            const auto* at = static_cast<const uint8_t*>(parts_.front().iov_base) + offset_;
            const size_t n = std::min(parts_.front().iov_len - offset_, kRecordBytes - filled);
            const bool alone = filled == 0 && (n == kRecordBytes || parts_.size() == 1);
            if (n && !alone) std::memcpy(scratch.data() + filled, at, n);
            offset_ += n;
            if (offset_ == parts_.front().iov_len) {
                parts_ = parts_.subspan(1);
                offset_ = 0;
            }
            if (alone) return {at, n};
            filled += n;
        }
        return std::span(scratch).first(filled);
    }
    bool done() const { return parts_.empty(); }

  private:
    std::span<const iovec> parts_;
    size_t offset_ = 0;
};

// The buffer for encrypted output of whichever stream writes on this thread: nearly always all of it is sent before
// another one writes. Without it each write would allocate it anew, and touch its pages for the first time.
thread_local std::vector<uint8_t> spare_output;

void take_spare(std::vector<uint8_t>& out) {
    out.swap(spare_output);
    out.reserve(kOutBytes + kRecordBytes + kRecordOverhead);
}

void give_spare(std::vector<uint8_t>& out) {
    out.clear();
    if (spare_output.capacity() == 0) spare_output.swap(out);
    base::shrink(out);  // an idle connection keeps no buffer
}

struct HandshakesAtOnce {
    Permits permits{8, "a thread for a TLS handshake"};
};
Immortal<HandshakesAtOnce> handshakes_at_once;

// SSL_get_error() looks at the thread's queue of errors. It is nearly always empty; to look takes a quarter of the
// time of clearing it.
void clear_errors() {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

struct TlsBio {
    static int read(BIO* bio, char* buffer, int size) {
        auto& stream = *static_cast<TlsStream*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        if (size <= 0) return 0;
        const std::span room(reinterpret_cast<uint8_t*>(buffer), static_cast<size_t>(size));
        auto got = stream.on_thread_ ? stream.plain_->read_on_thread(room) : stream.plain_->try_read(room);
        if (!got) {
            stream.io_error_ = std::move(got.error());
            return -1;
        }
        if (got->end) stream.ended_ = true;
        if (got->bytes == 0 && !got->end) BIO_set_retry_read(bio);
        return got->bytes || got->end ? static_cast<int>(got->bytes) : -1;
    }
    static int write(BIO* bio, const char* bytes, int size) {
        auto& stream = *static_cast<TlsStream*>(BIO_get_data(bio));
        auto& out = stream.out_;
        BIO_clear_retry_flags(bio);
        if (out.size() + static_cast<size_t>(size) > kOutBound) return -1;
        // A handshake writes little, and another thread's spare buffer would never come back to it.
        if (out.capacity() == 0 && !stream.on_thread_) take_spare(out);
        // As uint8_t: from another type of byte it would be copied byte by byte.
        const auto* begin = reinterpret_cast<const uint8_t*>(bytes);
        out.insert(out.end(), begin, begin + size);
        return size;
    }
    static long control(BIO* bio, int command, long, void*) {
        if (command == BIO_CTRL_FLUSH) return 1;
        if (command == BIO_CTRL_EOF) return static_cast<TlsStream*>(BIO_get_data(bio))->ended_;
        return 0;
    }
    static BIO* make(TlsStream* stream) {
        static BIO_METHOD* const method = [] {
            auto* fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
            BIO_meth_set_read(fresh, read);
            BIO_meth_set_write(fresh, write);
            BIO_meth_set_ctrl(fresh, control);
            return fresh;
        }();
        BIO* bio = BIO_new(method);
        BIO_set_data(bio, stream);
        BIO_set_init(bio, 1);
        return bio;
    }
};

TlsStream::TlsStream(std::unique_ptr<TcpStream> plain, std::shared_ptr<SslContext> context)
    : plain_(std::move(plain)), context_(std::move(context)), ssl_(SSL_new(context_->get())) {
    CHECK(ssl_ != nullptr);
    BIO* bio = TlsBio::make(this);
    SSL_set_bio(ssl_, bio, bio);
}

TlsStream::~TlsStream() {
    say_farewell();
    if (!failed_) static_cast<void>(flush());
    SSL_free(ssl_);
}

void TlsStream::say_farewell() {
    if (!established_ || failed_ || SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
}

base::Error TlsStream::failure(int ssl_error) {
    failed_ = true;
    static_cast<void>(flush());  // perhaps an alert
    if (io_error_) {
        ERR_clear_error();
        return *std::exchange(io_error_, std::nullopt);
    }
    if (ssl_error == SSL_ERROR_SSL) return base::Error(base::Code::kProtocol, "TLS: " + ssl_error_text());
    ERR_clear_error();
    return base::Error(base::Code::kClosed, "the peer closed the connection");
}

// A server's step that reads the ClientHello and answers it is the expensive one, by the signature.
base::Result<void> TlsStream::handshake(Deadline deadline) {
    bool signs = SSL_is_server(ssl_);
    while (true) {
        while (signs && !plain_->has_input()) TRY(plain_->watch().wait_readable(deadline));
        // Hundreds may come to this step at once.
        await_short_iteration(kMaxIterationUs, kMaxIterations);
        const bool done = TRY(signs ? continue_handshake_on_thread(deadline) : continue_handshake());
        signs = signs && out_.empty();
        TRY(flush_all(deadline));
        if (done) break;
        TRY(account(kTlsCallUnits));
        TRY(plain_->watch().wait_readable(deadline));
    }
    established_ = true;
    return {};
}

base::Result<bool> TlsStream::continue_handshake() {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_);
    const int error = SSL_get_error(ssl_, done);
    if (done != 1 && error != SSL_ERROR_WANT_READ) return std::unexpected(failure(error));
    return done == 1;
}

// Few are with the threads at once: those that wait can be cancelled, and other work of the threads is not far behind.
base::Result<bool> TlsStream::continue_handshake_on_thread(Deadline deadline) {
    const Permits::Pass pass = TRY(handshakes_at_once.value.permits.enter(deadline));
    std::optional<base::Result<bool>> result;
    WaitList waiter;
    bool ended = false;
    on_thread_ = true;
    const bool begun = compute([&] { result = continue_handshake(); },
                               [&] {
                                   ended = true;
                                   waiter.wake_all();
                               });
    while (begun && !ended) waiter.wait_uncancelled();
    on_thread_ = false;
    return begun ? *std::move(result) : continue_handshake();
}

base::Result<void> TlsStream::accept(Deadline deadline) {
    SSL_set_accept_state(ssl_);
    TRY(handshake(deadline), "TLS handshake");
    return {};
}

base::Result<void> TlsStream::connect(const std::string& host_name, Deadline deadline) {
    SSL_set_connect_state(ssl_);
    in6_addr address;
    const bool numeric =
        inet_pton(AF_INET, host_name.c_str(), &address) == 1 || inet_pton(AF_INET6, host_name.c_str(), &address) == 1;
    if (numeric) {
        if (context_->verify()) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host_name.c_str());
    } else {
        SSL_set_tlsext_host_name(ssl_, host_name.c_str());
        if (context_->verify()) SSL_set1_host(ssl_, host_name.c_str());
    }
    auto done = handshake(deadline);
    if (done) return {};
    const long verified = SSL_get_verify_result(ssl_);
    if (context_->verify() && verified != X509_V_OK) {
        return base::fail(base::Code::kRefused, fmt::format("TLS handshake: certificate of {}: {}", host_name,
                                                            X509_verify_cert_error_string(verified)));
    }
    return std::unexpected(std::move(done.error()).with("TLS handshake"));
}

// False: OpenSSL would be asked in vain.
bool TlsStream::may_have_input() const {
    return plain_->watch().readable() || SSL_has_pending(ssl_) || ended_ || SSL_get_shutdown(ssl_) != 0;
}

base::Result<ByteStream::TryRead> TlsStream::try_read(std::span<uint8_t> buffer) {
    CHECK(!buffer.empty());
    if (late_error_) return std::unexpected(*std::exchange(late_error_, std::nullopt));
    if (failed_) return base::fail(base::Code::kClosed, "the TLS connection has failed");
    TryRead total;
    while (total.bytes < buffer.size()) {
        if (!may_have_input()) {
            needs_input_ = true;
            break;
        }
        clear_errors();
        size_t n = 0;
        const int done = SSL_read_ex(ssl_, buffer.data() + total.bytes, buffer.size() - total.bytes, &n);
        total.bytes += n;
        needs_input_ = false;
        if (done == 1) continue;
        const int error = SSL_get_error(ssl_, done);
        needs_input_ = error == SSL_ERROR_WANT_READ;
        if (needs_input_) break;
        if (error == SSL_ERROR_ZERO_RETURN) {
            total.end = total.bytes == 0;  // reported by the next call
            break;
        }
        auto failed = failure(error);
        if (!total.bytes) return std::unexpected(std::move(failed));
        late_error_ = std::move(failed);
        break;
    }
    // Reading may have made OpenSSL produce output.
    if (!out_.empty()) static_cast<void>(flush());
    return total;
}

base::Result<size_t> TlsStream::read(std::span<uint8_t> buffer, Deadline deadline) {
    TRY(account(kTlsCallUnits));
    while (true) {
        const TryRead got = TRY(try_read(buffer));
        if (got.bytes || got.end) {
            current().progress += static_cast<uint32_t>(got.bytes * 2);
            return got.bytes;
        }
        TRY(plain_->watch().wait_readable(deadline));
    }
}

base::Result<void> TlsStream::encrypt(std::span<const uint8_t> record) {
    clear_errors();
    size_t n = 0;
    const int done = SSL_write_ex(ssl_, record.data(), record.size(), &n);
    if (done != 1) return std::unexpected(failure(SSL_get_error(ssl_, done)));
    CHECK(n == record.size());
    return {};
}

// The peer reads slowly: what it has not taken gets memory of its size, and the large buffer is for others.
void TlsStream::keep_rest() {
    const size_t left = out_.size() - out_sent_;
    if (out_.capacity() < 2 * left) return;
    std::vector<uint8_t> rest(out_.begin() + static_cast<ptrdiff_t>(out_sent_), out_.end());
    give_spare(out_);
    out_ = std::move(rest);
    out_sent_ = 0;
}

base::Result<size_t> TlsStream::send_output() {
    const auto rest = std::span(out_).subspan(out_sent_);
    return on_thread_ ? plain_->write_on_thread(rest) : plain_->try_write(rest);
}

base::Result<bool> TlsStream::flush() {
    while (out_sent_ < out_.size()) {
        auto n = send_output();
        if (!n) {
            failed_ = true;
            return std::unexpected(std::move(n.error()));
        }
        if (*n == 0) {
            keep_rest();
            return false;
        }
        out_sent_ += *n;
    }
    if (out_.capacity() > 0) give_spare(out_);
    out_sent_ = 0;
    if (std::exchange(shutdown_wanted_, false)) plain_->shutdown_write();
    return true;
}

base::Result<void> TlsStream::flush_all(Deadline deadline) {
    while (!TRY(flush())) TRY(plain_->watch().wait_writable(deadline));
    return {};
}

base::Result<size_t> TlsStream::try_writev(std::span<const iovec> parts) {
    if (failed_) return base::fail(base::Code::kClosed, "the TLS connection has failed");
    Gatherer gatherer(parts);
    size_t total = 0;
    bool flushed = TRY(flush());
    while (flushed && !gatherer.done()) {
        const auto record = gatherer.next();
        if (record.empty()) break;
        TRY(encrypt(record));
        total += record.size();
        if (out_.size() >= kOutBytes || gatherer.done()) flushed = TRY(flush());
    }
    if (!gatherer.done()) wants_write_ = true;
    return total;
}

ByteStream::LentWrite TlsStream::lend_write() {
    if (failed_) return {};
    const LentWrite plain = plain_->lend_write();
    return plain.call ? LentWrite{&write_lent, this, plain.fd} : LentWrite{};
}

// On a sender thread: SSL and the collected output are its own until the loop has settled.
ByteStream::WriteResult TlsStream::write_lent(void* stream, std::span<iovec> parts, DatagramSink&) {
    auto& self = *static_cast<TlsStream*>(stream);
    self.on_thread_ = true;
    auto accepted = self.try_writev(parts);
    self.on_thread_ = false;
    if (accepted) return {static_cast<ssize_t>(*accepted), !self.out_.empty()};
    self.late_error_ = std::move(accepted.error());
    return {-1};
}

base::Result<size_t> TlsStream::end_lent_write(WriteResult result) {
    if (result.bytes < 0) return std::unexpected(*std::exchange(late_error_, std::nullopt));
    const size_t accepted = TRY(plain_->end_lent_write(result));
    // Room that was reported meanwhile is not reported again.
    if (!out_.empty()) TRY(flush());
    return accepted;
}

base::Result<size_t> TlsStream::try_write(std::span<const uint8_t> bytes) {
    const iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    return try_writev(std::span(&part, 1));
}

base::Result<void> TlsStream::writev(std::span<iovec> parts, Deadline deadline) {
    parts = take_off(parts, 0);
    while (!parts.empty()) {
        TRY(account(kTlsCallUnits));
        const size_t n = TRY(try_writev(parts));
        wants_write_ = false;
        current().progress += static_cast<uint32_t>(std::min<size_t>(n, UINT16_MAX) * 2);
        parts = take_off(parts, n);
        TRY(flush_all(deadline));
    }
    return {};
}

base::Result<void> TlsStream::await_writable(Deadline deadline, size_t moved) {
    wants_write_ = false;
    current().progress += static_cast<uint32_t>(std::min<size_t>(moved, UINT16_MAX) * 2);
    TRY(account(kTlsCallUnits));
    return flush_all(deadline);
}

base::Result<void> TlsStream::write(std::span<const uint8_t> bytes, Deadline deadline) {
    iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    return writev(std::span(&part, 1), deadline);
}

void TlsStream::shutdown_write() {
    shutdown_wanted_ = true;
    say_farewell();
    if (!failed_) static_cast<void>(flush());
    if (failed_) plain_->shutdown_write();
}

base::Result<uint64_t> TlsStream::try_drain() {
    if (failed_) return base::fail(base::Code::kClosed, "the TLS connection has failed");
    TRY(flush());
    return out_.size() - out_sent_;
}

base::Result<uint64_t> TlsStream::try_finish() {
    say_farewell();
    const uint64_t left = TRY(try_drain());
    // The FIN is sent after all of it.
    return left > 0 ? left : TRY(plain_->try_finish());
}

base::Result<void> TlsStream::finish(Deadline deadline) {
    say_farewell();
    if (failed_) return base::fail(base::Code::kClosed, "the TLS connection has failed");
    TRY(flush_all(deadline));
    plain_->shutdown_write();
    return {};
}

void TlsStream::park(ParkedHandler& handler) {
    handler_ = &handler;
    plain_->park(*this);
    // Data that OpenSSL has read ahead causes no edge. SSL_has_pending() counts a part of a record, too: a handler that
    // parks again whenever it finds nothing to read would be called forever.
    if (SSL_has_pending(ssl_) && !needs_input_) plain_->watch().post_readable();
}

void TlsStream::unpark() {
    plain_->unpark();
    handler_ = nullptr;
}

std::string_view TlsStream::protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &name, &size);
    return {reinterpret_cast<const char*>(name), size};
}

void TlsStream::on_readable() { handler_->on_readable(); }

void TlsStream::on_writable() {
    auto flushed = flush();
    if (!flushed) return handler_->on_hangup();
    if (*flushed && std::exchange(wants_write_, false)) handler_->on_writable();
}

void TlsStream::on_hangup() { handler_->on_hangup(); }

namespace {
std::unique_ptr<TlsStream> wrap(std::unique_ptr<ByteStream> plain, std::shared_ptr<TlsContext> context) {
    auto* tcp = dynamic_cast<TcpStream*>(plain.get());
    CHECK(tcp != nullptr);  // TLS runs only over a TcpStream
    static_cast<void>(plain.release());
    return std::make_unique<TlsStream>(std::unique_ptr<TcpStream>(tcp),
                                       std::static_pointer_cast<SslContext>(std::move(context)));
}
}  // namespace

}  // namespace detail

base::Result<std::unique_ptr<ByteStream>> tls_accept(std::unique_ptr<ByteStream> plain,
                                                     std::shared_ptr<TlsContext> context, Deadline deadline) {
    auto stream = detail::wrap(std::move(plain), std::move(context));
    TRY(stream->accept(deadline));
    return stream;
}

base::Result<std::unique_ptr<ByteStream>> tls_connect(std::unique_ptr<ByteStream> plain,
                                                      std::shared_ptr<TlsContext> context, const std::string& host_name,
                                                      Deadline deadline) {
    auto stream = detail::wrap(std::move(plain), std::move(context));
    TRY(stream->connect(host_name, deadline));
    return stream;
}

}  // namespace runtime
