#include "net/sessions/session.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/redaction.h"
#include "runtime/loop/cpu_slice.h"

namespace net {

namespace {
// Sessions counted between two checks of the clock: some microseconds.
constexpr size_t kClockCheckInterval = 64;
}  // namespace

Session::Session(SessionTable& table, std::string_view id, std::string_view ip)
    : Session(table, id, ip, Past{base::wall_ms()}) {}

Session::Session(SessionTable& table, std::string_view id, std::string_view ip, const Past& past)
    : table_(table),
      id_(id),
      ip_(base::IpAddress::parse(ip).value_or(base::IpAddress())),
      started_ms_(past.started_ms),
      since_ms_(past.since_ms > 0 ? past.since_ms : base::monotonic_ms()) {
    table_.enter(*this, past.traffic);
    table_.admission_.opened(ip_);
}

Session::~Session() {
    if (counts_input_) table_.input_memory_.forget(*this);
    if (may_be_unserved_) table_.unserved_.remove(*this);
    not_a_connection();
    forget_stream();
    table_.leave(*this);
}

void Session::set_type(SessionType type) {
    if (is_client(type) && !is_client(type_) && !with_other_process_) ++table_.clients_total_;
    if (account_ && !with_other_process_) {
        --table_.in_streams_[type_.index()];
        ++table_.in_streams_[type.index()];
        if (plays_) {
            account_->remove_player(type_);
            account_->add_player(type);
        }
    }
    type_ = type;
}

void Session::not_a_connection() {
    if (is_connection_) table_.admission_.closed(ip_);
    is_connection_ = false;
}

void Session::becomes_connection() {
    if (!is_connection_) table_.admission_.opened(ip_);
    is_connection_ = true;
}

base::Result<void> Session::count_input() {
    const size_t bytes = unfinished_input();
    if (bytes <= InputMemory::kFree && !counts_input_) return {};
    counts_input_ = bytes > InputMemory::kFree;
    return table_.input_memory_.update(*this, ip_, bytes);
}

void Session::record_unserved() {
    if (!is_unserved()) return;
    may_be_unserved_ = true;
    table_.unserved_.add(*this, ip_, base::monotonic_ms());
}

int64_t Session::alive_ms() const { return base::monotonic_ms() - since_ms_; }

void Session::keep_figures() { kept_figures_ = std::make_unique<SessionFigures>(figures()); }

ClosedSession Session::record() const {
    ClosedSession closed{.id = id_, .ip = ip_.text(), .type = type_, .stream = stream_text()};
    closed.started_ms = started_ms_;
    closed.traffic = traffic();
    closed.reason = reason_;
    closed.duration_ms = alive_ms();
    closed.agent = agent_;
    closed.figures = kept_figures_ ? *kept_figures_ : figures();
    if (account_) {
        closed.vhost_id = account_->vhost().id();
        closed.stream_id = account_->id();
        closed.key = account_->key();
    }
    if (!table_.observer_) return closed;
    const ClientDetails client = details();
    closed.page = base::bare_url(client.page_url);
    if (account_) closed.token = table_.observer_->token_of(closed.key, publishes(type_), client.params);
    return closed;
}

void Session::log_end(std::string_view why, base::CloseReason reason) {
    set_close_reason(reason);
    table_.count(*this);
    const Traffic bytes = traffic();
    base::log::trace("{} ended: {} from {}, {}, {} ms, received {} bytes, sent {} bytes, {}", session_type_name(type_),
                     stream_text(), ip_.text(), why, alive_ms(), bytes.received_bytes, bytes.sent_bytes,
                     base::close_reason_name(reason_));
    if (with_other_process_) return;
    if (type_ == SessionType::kHttp) return table_.closed_.count(reason_);
    ClosedSession closed = record();
    closed.ended_ms = base::wall_ms();
    closed.text = why;
    table_.add_closed(std::move(closed));
}

void Session::enter_stream(const base::StreamKey& stream, bool publishing) {
    kept_figures_.reset();  // of a stream before this one
    auto account = table_.accounts_.open(stream);
    if (account != account_) {
        leave_stream();
        account_ = std::move(account);
        if (!with_other_process_) ++table_.in_streams_[type_.index()];
        plays_ = !publishing && !is_outgoing() && !with_other_process_;
        if (plays_) account_->add_player(type_);
        SessionTable::Meter& meter = table_.meters_[index_];
        meter.is_new = true;
        meter.counted_ms = static_cast<uint32_t>(base::monotonic_ms());
    }
    if (publishing) account_->set_publisher(this);
}

void Session::leave_stream() {
    table_.count(*this);
    forget_stream();
}

void Session::forget_stream() {
    if (!account_) return;
    if (!with_other_process_) --table_.in_streams_[type_.index()];
    if (account_->publisher_ == this) account_->publisher_ = nullptr;
    if (std::exchange(plays_, false)) account_->remove_player(type_);
    account_.reset();
}

Rates Session::rates() const { return table_.rates(*this); }

SessionView Session::view() const {
    SessionView view{.id = id_, .ip = ip(), .details = details(), .type = type_, .alive_ms = alive_ms()};
    view.traffic = traffic();
    view.rates = rates();
    view.rtc = rtc_quality();
    view.srt = srt_quality();
    if (!account_) return view;
    view.vhost_id = account_->vhost().id();
    view.stream_id = account_->id();
    view.name = account_->key().name;
    view.url = net::stream_url(account_->key());
    return view;
}

Session::Past Session::past() {
    table_.count(*this);
    return {started_ms_, traffic(), since_ms_};
}

SessionTable::SessionTable() : began_ms_(base::monotonic_ms()) { admission_.set_unserved(unserved_); }

Session* SessionTable::find(std::string_view id) const {
    auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
}

void SessionTable::log_refusal(std::string_view what, std::string_view ip, const base::Error& error) {
    constexpr int64_t kIntervalMs = 1000;
    const int64_t now = base::monotonic_ms();
    if (refusal_logged_ms_ && now < refusal_logged_ms_ + kIntervalMs) {
        ++refusals_unlogged_;
        return;
    }
    std::string more;
    if (refusals_unlogged_ > 0)
        more = fmt::format(" ({} more were refused since the last such line)", refusals_unlogged_);
    base::log::warn("{} from {} refused: {}{}", what, ip, error.text(), more);
    refusal_logged_ms_ = now;
    refusals_unlogged_ = 0;
}

void SessionTable::for_each(const std::function<void(Session&)>& visit) const {
    for (Session* session : sessions_) visit(*session);
}

void SessionTable::enter(Session& session, const Traffic& past) {
    session.index_ = static_cast<uint32_t>(sessions_.size());
    sessions_.push_back(&session);
    // A client may continue as another session with the same id before the first one leaves.
    by_id_.erase(session.id_);
    by_id_.emplace(session.id_, &session);
    const auto received = static_cast<uint32_t>(past.received_bytes), sent = static_cast<uint32_t>(past.sent_bytes);
    meters_.push_back({received, sent, received, sent, 0, 0, period_, 0, false});
}

void SessionTable::leave(Session& session) {
    if (auto found = by_id_.find(session.id_); found != by_id_.end() && found->second == &session) by_id_.erase(found);
    const uint32_t index = session.index_;
    sessions_[index] = sessions_.back();
    sessions_[index]->index_ = index;
    sessions_.pop_back();
    meters_[index] = meters_.back();
    meters_.pop_back();
}

void SessionTable::count(Session& session) {
    if (session.with_other_process_) return;
    const Traffic now = session.traffic();
    const auto received = static_cast<uint32_t>(now.received_bytes), sent = static_cast<uint32_t>(now.sent_bytes);
    Meter& meter = meters_[session.index_];
    const Traffic more{received - meter.counted_received, sent - meter.counted_sent};
    meter.counted_received = received;
    meter.counted_sent = sent;
    // An HLS player's bytes went over HTTP connections, which are counted separately.
    if (session.type_ != SessionType::kHlsPlay) traffic_ += more;
    // A stream's received bytes are its publisher's; requests and acknowledgements of players do not count.
    if (session.account_)
        session.account_->add({publishes(session.type_) ? more.received_bytes : 0, more.sent_bytes}, session.type_);
    if (observer_ && session.account_) notify_traffic(session, meter, more);
}

void SessionTable::notify_traffic(const Session& session, Meter& meter, const Traffic& more) {
    const auto now_ms = static_cast<uint32_t>(base::monotonic_ms());
    const uint32_t ms = now_ms - std::exchange(meter.counted_ms, now_ms);
    observer_->on_session_traffic(session, more, ms, std::exchange(meter.is_new, false));
}

void SessionTable::set_observer(SessionObserver* observer) {
    observer_ = observer;
    accounts_.set_observer(observer);
}

void SessionTable::add_closed(ClosedSession closed) {
    if (observer_) observer_->on_session_end(closed);
    closed_.add(std::move(closed));
}

void SessionTable::begin_period(Session& session) {
    Meter& meter = meters_[session.index_];
    if (meter.period == period_) return;
    count(session);
    meter.period = period_;
    meter.before_received = meter.counted_received - std::exchange(meter.mark_received, meter.counted_received);
    meter.before_sent = meter.counted_sent - std::exchange(meter.mark_sent, meter.counted_sent);
}

// From the end to the beginning: when a session leaves, the last one takes its index. So no session is skipped, and
// sessions that are added meanwhile are up to date.
base::Result<void> SessionTable::count(int64_t not_older_than_ms) {
    if (counted_ms_ && base::monotonic_ms() - counted_ms_ < not_older_than_ms) return {};
    runtime::CpuSlice slice(kClockCheckInterval);
    for (size_t i = sessions_.size(); i > 0; --i) {
        TRY(slice.step());
        if (i <= sessions_.size()) count(*sessions_[i - 1]);
    }
    counted_ms_ = base::monotonic_ms();
    return {};
}

base::Result<void> SessionTable::begin_period() {
    ++period_;
    passing_ = true;
    runtime::CpuSlice slice(kClockCheckInterval);
    for (size_t i = sessions_.size(); i > 0; --i) {
        TRY(slice.step());
        if (i <= sessions_.size()) begin_period(*sessions_[i - 1]);
    }
    const int64_t now_ms = counted_ms_ = base::monotonic_ms();
    before_ms_ = now_ms - began_ms_;
    began_ms_ = now_ms;
    passing_ = false;
    accounts_.begin_period(now_ms);
    return {};
}

Rates SessionTable::rates(const Session& session) const {
    const Traffic now = session.traffic();
    const Meter& meter = meters_[session.index_];
    // While the sessions change periods one after another, for those that have already changed the previous period is
    // complete.
    const int64_t before_ms = passing_ && meter.period == period_ ? 0 : before_ms_;
    const int64_t ms = std::min(session.alive_ms(), before_ms + base::monotonic_ms() - began_ms_);
    const uint32_t received = static_cast<uint32_t>(now.received_bytes) - meter.mark_received;
    const uint32_t sent = static_cast<uint32_t>(now.sent_bytes) - meter.mark_sent;
    return {kbit_per_second(uint64_t{meter.before_received} + received, ms),
            kbit_per_second(uint64_t{meter.before_sent} + sent, ms)};
}

}  // namespace net
