#include "protocol/srtp/sender.h"
#include "srtp/subjects.h"

namespace measure {

namespace {

struct OwnContext final : Context {
    OwnContext(srtp::Profile profile, const srtp::MasterKey& key) : sender(profile, key) {}
    size_t protect(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index,
                   uint8_t* out) override {
        return sender.protect_rtp(header, payload, index, out);
    }
    srtp::Sender sender;
};

struct Own final : Subject {
    Own() { name = "ours"; }
    std::unique_ptr<Context> make(srtp::Profile profile, const srtp::MasterKey& key) override {
        return std::make_unique<OwnContext>(profile, key);
    }
};

}  // namespace

std::unique_ptr<Subject> own() { return std::make_unique<Own>(); }

}  // namespace measure
