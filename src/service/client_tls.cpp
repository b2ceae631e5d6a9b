#include "service/client_tls.h"

#include "runtime/threads/workers.h"

namespace service {

using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kReadCertificatesMs = 10'000;

}  // namespace

Result<std::shared_ptr<runtime::TlsContext>> ClientTls::context() {
    if (context_) return context_;
    // The certificates are read from files, so by a worker thread.
    auto made = std::make_shared<Result<std::shared_ptr<runtime::TlsContext>>>();
    TRY(runtime::offload([made] { *made = runtime::tls_client_context(true); }, Deadline::in_ms(kReadCertificatesMs)));
    context_ = TRY(std::move(*made));
    return context_;
}

}  // namespace service
