// Fuzzes the parameters of a signed URL: only a signature made with the secret must be accepted.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "net/access/signed_urls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    config::VhostSignedUrls options;
    options.secret = {"a secret that no input knows"};
    net::Visitor visitor;
    visitor.param.assign(reinterpret_cast<const char*>(data), size);
    CHECK(!net::verify_signed_url(options, visitor, 1'700'000'000));
    return 0;
}
