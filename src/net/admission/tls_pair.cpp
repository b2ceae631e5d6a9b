#include "net/admission/tls_pair.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/threads/workers.h"

namespace net {
namespace {

bool is_forbidden(const std::string& file) {
    return faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

}  // namespace

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
    if (info.expired) base::log::warn("{}: the certificate has expired: {}", what_, info.text);
    text_ = info.text;
}

}  // namespace net
