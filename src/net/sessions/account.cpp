#include "net/sessions/account.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/clock.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "net/sessions/session_observer.h"

namespace net {

namespace {

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

}  // namespace

void RateWindow::begin_period(const Traffic& total, int64_t now_ms) {
    before_ = {minus(total.received_bytes, mark_.received_bytes), minus(total.sent_bytes, mark_.sent_bytes)};
    before_ms_ = now_ms - began_ms_;
    mark_ = total;
    began_ms_ = now_ms;
}

Rates RateWindow::rates(const Traffic& total, int64_t now_ms) const {
    const int64_t ms = before_ms_ + now_ms - began_ms_;
    return {kbit_per_second(before_.received_bytes + minus(total.received_bytes, mark_.received_bytes), ms),
            kbit_per_second(before_.sent_bytes + minus(total.sent_bytes, mark_.sent_bytes), ms)};
}

// From a digest, so that a name cannot be chosen to get the id of another one.
std::string stable_id(std::string_view name) {
    constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    CHECK(EVP_Digest(name.data(), name.size(), digest, &size, EVP_sha256(), nullptr) == 1);
    uint64_t number = 0;
    for (size_t i = 0; i < 8; ++i) number = number << 8 | digest[i];
    std::string id = "vid-";
    for (size_t i = 0; i < 11; ++i, number /= kDigits.size()) id.push_back(kDigits[number % kDigits.size()]);
    return id;
}

// Apps and names may contain slashes; a newline makes the name unambiguous.
std::string stream_id(const base::StreamKey& stream) {
    return stable_id(stream.vhost + "\n" + stream.app + "\n" + stream.name);
}

std::string_view reported_param(SessionType type, std::string_view param) {
    const bool is_rtc = type == SessionType::kRtcPublish || type == SessionType::kRtcPlay;
    if (is_rtc && param.starts_with('?')) param.remove_prefix(1);
    return param;
}

std::string stream_url(const base::StreamKey& stream) {
    return (stream.vhost == config::kDefaultVhost ? "" : stream.vhost) + "/" + stream.app + "/" + stream.name;
}

StreamAccount::StreamAccount(Accounts& accounts, VhostAccount& vhost, const base::StreamKey& key, int64_t now_ms)
    : accounts_(accounts), vhost_(vhost), key_(key), id_(stream_id(key)), window_(now_ms) {}

StreamAccount::~StreamAccount() { accounts_.streams_.erase(key_); }

void VhostAccount::add(const Traffic& more, SessionType type) {
    traffic_ += more;
    by_type_[type.index()] += more;
}

void StreamAccount::add(const Traffic& more, SessionType type) {
    traffic_ += more;
    vhost_.add(more, type);
}

VhostAccount& Accounts::open_vhost(const std::string& name) {
    auto vhost = vhosts_.find(name);
    if (vhost == vhosts_.end())
        vhost = vhosts_.emplace(name, std::make_unique<VhostAccount>(name, base::monotonic_ms())).first;
    return *vhost->second;
}

base::Ref<StreamAccount> Accounts::open(const base::StreamKey& stream) {
    if (StreamAccount* found = find(stream)) return base::Ref<StreamAccount>(found);
    auto account = base::make_ref<StreamAccount>(*this, open_vhost(stream.vhost), stream, base::monotonic_ms());
    streams_.emplace(stream, account.get());
    return account;
}

void Accounts::add(const base::StreamKey& stream, const Traffic& more) {
    if (observer_) observer_->on_stream_traffic(stream, more);
    if (StreamAccount* found = find(stream)) return found->add(more, SessionType::kHlsPlay);
    open_vhost(stream.vhost).add(more, SessionType::kHlsPlay);
}

StreamAccount* Accounts::find(const base::StreamKey& stream) const {
    auto found = streams_.find(stream);
    return found == streams_.end() ? nullptr : found->second;
}

const VhostAccount* Accounts::find_vhost(std::string_view name) const {
    auto found = vhosts_.find(name);
    return found == vhosts_.end() ? nullptr : found->second.get();
}

void Accounts::for_each(const std::function<void(const StreamAccount&)>& visit) const {
    for (const auto& [key, account] : streams_) visit(*account);
}

void Accounts::for_each_vhost(const std::function<void(const VhostAccount&)>& visit) const {
    for (const auto& [name, vhost] : vhosts_) visit(*vhost);
}

void Accounts::begin_period(int64_t now_ms) {
    for (auto& [key, account] : streams_) account->window_.begin_period(account->traffic_, now_ms);
    for (auto& [name, vhost] : vhosts_) vhost->window_.begin_period(vhost->traffic_, now_ms);
}

}  // namespace net
