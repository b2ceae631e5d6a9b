#include "service/relay/srt_kek.h"

#include <memory>

#include "runtime/loop/sync.h"
#include "runtime/threads/compute.h"

namespace service::relay {

using base::Code;
using base::fail;
using base::Result;

Result<::srt::AesKey> derive_srt_kek(const std::string& passphrase, const ::srt::Salt& salt, size_t key_size) {
    struct Job {
        std::string passphrase;
        ::srt::Salt salt;
        size_t key_size;
        ::srt::AesKey kek{};
        runtime::Event done{"a key of SRT"};
    };
    const auto job = std::make_shared<Job>(passphrase, salt, key_size);
    if (!runtime::compute(
            [job = job.get()] { job->kek = ::srt::derive_kek(job->passphrase, job->salt, job->key_size); },
            [job] { job->done.set(); }))
        return fail(Code::kSystem, "no thread derives its key");
    TRY(job->done.wait(runtime::Deadline::never()), "deriving its key");
    return job->kek;
}

}  // namespace service::relay
