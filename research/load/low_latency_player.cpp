#include "load/low_latency_player.h"

#include <ctime>
#include <tuple>

namespace load {

namespace {

// The dates of playlists are of the wall clock.
int64_t wall_us() {
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1'000'000LL + time.tv_nsec / 1000;
}

bool is_redirect(int status) { return status >= 301 && status <= 308 && status != 304; }

}  // namespace

LowLatencyPlayer::LowLatencyPlayer(Target target, std::shared_ptr<runtime::TlsContext> tls, Ledger& ledger,
                                   LowLatencyTotals& totals, LowLatencyPlaylists& playlists)
    : target_(std::move(target)),
      tls_(std::move(tls)),
      ledger_(ledger),
      totals_(totals),
      playlists_(playlists),
      path_(target_.path) {}

base::Result<void> LowLatencyPlayer::open(runtime::Deadline deadline) {
    ++ledger_.opening;
    auto requests = connect_http(target_, tls_, *this, ledger_, deadline);
    --ledger_.opening;
    if (!requests) {
        ++ledger_.failed;
        ledger_.count_reason("opening", requests.error());
        return std::unexpected(std::move(requests.error()));
    }
    requests_ = *std::move(requests);
    ++ledger_.open;
    ++ledger_.opened;
    if (auto asked = ask_playlist({}); !asked) on_lost(asked.error());
    return {};
}

base::Result<void> LowLatencyPlayer::ask_playlist(std::string_view directives) {
    asks_part_ = false;
    if (directives.empty()) return requests_->get(path_, true);
    static std::string path;
    path.assign(path_).append(path_.find('?') == path_.npos ? "?" : "&").append(directives);
    return requests_->get(path, true);
}

base::Result<void> LowLatencyPlayer::on_answer(const HttpAnswer& answer) {
    return asks_part_ ? on_part(answer) : on_playlist(answer);
}

base::Result<void> LowLatencyPlayer::on_playlist(const HttpAnswer& answer) {
    if (is_redirect(answer.status)) {
        path_ = path_of(answer.location);
        return ask_playlist({});
    }
    if (answer.status != 200)
        return base::fail(base::Code::kRefused, fmt::format("status {} for a playlist", answer.status));
    if (!plays_) {
        if (const std::string variant = first_variant(answer.body); !variant.empty()) {
            path_ = path_of(variant);
            return ask_playlist({});
        }
    }
    playlist_ = TRY(playlists_.read(answer.body));
    if (playlist_->ended) return base::fail(base::Code::kClosed, "the stream has ended");
    const auto& parts = playlist_->parts;
    next_ = parts.size();
    const auto is_new = [&](const LowLatencyPlaylist::Part& part) {
        return std::tie(part.msn, part.index) > std::tie(msn_, index_);
    };
    while (plays_ && next_ > 0 && is_new(parts[next_ - 1])) --next_;
    if (plays_ && next_ == 0 && !parts.empty()) ++totals_.missed;
    if (plays_ && next_ < parts.size() && parts.back().due_us) totals_.playlist_us.add(wall_us() - parts.back().due_us);
    if (!parts.empty()) std::tie(msn_, index_, plays_) = std::tuple(parts.back().msn, parts.back().index, true);
    ++totals_.playlists;
    return ask_next();
}

base::Result<void> LowLatencyPlayer::ask_next() {
    const auto& parts = playlist_->parts;
    while (next_ < parts.size() && parts[next_].gap) ++next_;
    if (next_ == parts.size()) return ask_playlist(playlist_->directives);
    asks_part_ = true;
    asked_us_ = wall_us();
    return requests_->get(path_of(parts[next_].uri), false);
}

base::Result<void> LowLatencyPlayer::on_part(const HttpAnswer& answer) {
    const int64_t now_us = wall_us(), due_us = playlist_->parts[next_++].due_us;
    if (answer.status == 200) {
        ++totals_.parts;
        ++ledger_.messages;
        totals_.fetch_us.add(now_us - asked_us_);
        if (due_us) totals_.part_us.add(now_us - due_us);
    } else {
        ++totals_.refused;
        ledger_.count_reason("playing", base::Error(base::Code::kRefused, fmt::format("status {}", answer.status)));
    }
    return ask_next();
}

std::string LowLatencyPlayer::path_of(std::string_view uri) const {
    if (uri.starts_with('/')) return std::string(uri);
    const std::string_view path = std::string_view(path_).substr(0, path_.find('?'));
    return std::string(path.substr(0, path.rfind('/') + 1)).append(uri);
}

void LowLatencyPlayer::on_lost(const base::Error& error) {
    if (!requests_) return;
    ++ledger_.lost;
    ledger_.count_reason("playing", error);
    close();
}

void LowLatencyPlayer::close() {
    if (!requests_) return;
    --ledger_.open;
    requests_.reset();
}

}  // namespace load
