#include "net/admission/tls_pair.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/threads/workers.h"

namespace net {
namespace {

bool is_forbidden(const std::string& file) {
    return faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

constexpr int64_t kDayS = 86'400;

std::vector<TlsPair*>& pairs() {
    static std::vector<TlsPair*> pairs;
    return pairs;
}

}  // namespace

TlsPair::TlsPair(std::string what) : what_(std::move(what)) { pairs().push_back(this); }

TlsPair::~TlsPair() { std::erase(pairs(), this); }

std::vector<TlsPair::Status> TlsPair::all() {
    std::vector<Status> all;
    for (const TlsPair* pair : pairs())
        if (pair->context_) all.push_back({pair->what_, pair->valid_until_s_});
    return all;
}

void TlsPair::warn_of_ends(int64_t now_s) {
    for (TlsPair* pair : pairs())
        if (pair->context_) pair->warn_of_end(now_s);
}

void TlsPair::warn_of_end(int64_t now_s) {
    const int64_t left_s = valid_until_s_ - now_s;
    if (left_s < 0) {
        if (std::exchange(warned_days_, 0) != 0) base::log::error("{}: the certificate has expired: {}", what_, text_);
        return;
    }
    const auto days = std::ranges::find_if(kWarnDays, [&](int days) { return left_s <= days * kDayS; });
    if (days == kWarnDays.end() || *days >= warned_days_) return;
    warned_days_ = *days;
    base::log::warn("{}: the certificate ends in {} hours: {}; a reload reads a new one", what_, left_s / 3600, text_);
}

base::Result<void> TlsPair::load(const std::string& certificate, const std::string& key) {
    adopt(TRY(runtime::tls_server_context(certificate, key, protocols_), what_));
    certificate_ = certificate;
    key_ = key;
    return {};
}

base::Result<TlsPair::Context> TlsPair::prepare(const std::string& certificate, const std::string& key) {
    if (!context_) return Context();
    struct Job {
        bool forbidden = false;
        base::Result<Context> loaded{};
    };
    auto job = std::make_shared<Job>();
    const bool same_files = certificate == certificate_ && key == key_;
    TRY(runtime::offload(
            [job, certificate, key, same_files, protocols = protocols_] {
                job->forbidden = same_files && (is_forbidden(certificate) || is_forbidden(key));
                if (!job->forbidden) job->loaded = runtime::tls_server_context(certificate, key, protocols);
            },
            runtime::Deadline::in_ms(30'000)),
        what_);
    if (job->forbidden)
        base::log::warn("{}: uid {} may not read {} and {} again; the old ones stay", what_, geteuid(), certificate,
                        key);
    return TRY(std::move(job->loaded), what_);
}

void TlsPair::adopt(Context next) {
    if (!next) return;
    context_ = std::move(next);
    const runtime::CertificateInfo info = runtime::describe_certificate(*context_);
    if (info.text != text_)
        base::log::trace("{}: certificate {}{}", what_, info.text,
                         text_.empty() ? "" : ", for connections from now on");
    text_ = info.text;
    valid_until_s_ = info.valid_until_s;
    warned_days_ = INT_MAX;
    warn_of_end(base::wall_ms() / 1000);
}

}  // namespace net
