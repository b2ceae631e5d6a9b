// Loaded at run time, because two builds of one library cannot be linked into one program.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "srtp/subjects.h"

#if __has_include(<srtp2/srtp.h>)

#include <srtp2/srtp.h>

#include "base/result.h"

namespace measure {

namespace {

struct Library {
    decltype(&srtp_init) init;
    decltype(&srtp_create) create;
    decltype(&srtp_dealloc) dealloc;
    decltype(&srtp_protect) protect;
    decltype(&srtp_crypto_policy_set_rtp_default) set_cm;
    decltype(&srtp_crypto_policy_set_aes_gcm_128_16_auth) set_gcm;
};

struct LibsrtpContext final : Context {
    LibsrtpContext(const Library& l, srtp::Profile profile, const srtp::MasterKey& master) : library(l) {
        uint8_t key[srtp::kMasterKeySize + srtp::kMaxSaltSize];
        std::memcpy(key, master.key.data(), master.key.size());
        std::memcpy(key + master.key.size(), master.salt.data(), master.salt.size());
        srtp_policy_t policy = {};
        auto set = profile == srtp::Profile::kAeadAes128Gcm ? library.set_gcm : library.set_cm;
        set(&policy.rtp);
        set(&policy.rtcp);
        policy.ssrc.type = ssrc_any_outbound;
        policy.key = key;
        policy.window_size = 128;
        CHECK(library.create(&session, &policy) == srtp_err_status_ok);
    }
    ~LibsrtpContext() override { library.dealloc(session); }
    // In place alone, so the shared plaintext is copied first.
    size_t protect(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t, uint8_t* out) override {
        std::memcpy(out, header.data(), header.size());
        std::memcpy(out + header.size(), payload.data(), payload.size());
        int size = static_cast<int>(header.size() + payload.size());
        CHECK(library.protect(session, out, &size) == srtp_err_status_ok);
        return static_cast<size_t>(size);
    }
    const Library& library;
    srtp_t session = nullptr;
};

struct Libsrtp final : Subject {
    Library library;
    std::unique_ptr<Context> make(srtp::Profile profile, const srtp::MasterKey& key) override {
        return std::make_unique<LibsrtpContext>(library, profile, key);
    }
};

template <class F>
bool load(void* handle, const char* symbol, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, symbol));
    return function != nullptr;
}

}  // namespace

std::unique_ptr<Subject> libsrtp(const std::string& name, const std::string& file) {
    // Never closed: it has state of its own until the end.
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto subject = std::make_unique<Libsrtp>();
    Library& library = subject->library;
    bool good = handle && load(handle, "srtp_init", library.init) && load(handle, "srtp_create", library.create) &&
                load(handle, "srtp_dealloc", library.dealloc) && load(handle, "srtp_protect", library.protect) &&
                load(handle, "srtp_crypto_policy_set_rtp_default", library.set_cm) &&
                load(handle, "srtp_crypto_policy_set_aes_gcm_128_16_auth", library.set_gcm) &&
                library.init() == srtp_err_status_ok;
    if (!good) {
        const char* why = dlerror();
        std::fprintf(stderr, "srtp: NOT MEASURED: %s: %s\n", file.c_str(), why ? why : "srtp_init failed");
        return nullptr;
    }
    subject->name = name;
    return subject;
}

}  // namespace measure

#else

namespace measure {

std::unique_ptr<Subject> libsrtp(const std::string&, const std::string& file) {
    std::fprintf(stderr, "srtp: NOT MEASURED: %s: built without libsrtp2-dev\n", file.c_str());
    return nullptr;
}

}  // namespace measure

#endif
