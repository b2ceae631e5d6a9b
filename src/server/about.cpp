#include "server/about.h"

#include <ares.h>
#include <fmt/format.h>
#include <http_parser.h>
#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <srtp2/srtp.h>
#include <zlib.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

#include "convert/libav/libav.h"
#include "protocol/srtp/gcm.h"
#include "runtime/diagnose/libraries.h"
#include "server/services.h"
#include "server/version.h"

namespace server {
namespace {

std::string names_of_services() {
    std::string names;
    for (const service::Description* one : services())
        names += fmt::format("{}{}", names.empty() ? "" : " ", one->name);
    return names;
}

// Versions of libraries: the one that is loaded where the library reports it, else that of the headers.
std::string libraries() {
    const unsigned long parser = http_parser_version();
    std::string text =
        fmt::format("OpenSSL {}, zlib {}, c-ares {}, http-parser {}.{}.{}", OpenSSL_version(OPENSSL_VERSION_STRING),
                    zlibVersion(), ares_version(nullptr), parser >> 16, parser >> 8 & 255, parser & 255);
    for (const runtime::Library& library : runtime::libraries())
        text += fmt::format(", {} {}", library.name, library.version);
    const std::string_view libsrtp = srtp_get_version_string();  // "libsrtp2 2.5.0"
    text += fmt::format(", {}, AES-GCM of {}, fmt {}.{}.{}, spdlog {}.{}.{}, nlohmann-json {}.{}.{}, CLI11 {}", libsrtp,
                        srtp::Gcm::library(), FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
                        SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH, NLOHMANN_JSON_VERSION_MAJOR,
                        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, CLI11_VERSION);
    return text;
}

}  // namespace

std::string about(const BuildFacts& facts) {
    return fmt::format(
        "{}\n"
        "commit {}, compiled by g++ {}; the interface of SRS {}\n"
        "services: {}\n"
        "libraries: {}\n"
        "loaded to convert audio and pictures: libavcodec {}, libswresample {}, libswscale {}\n"
        "diagnostic options: {}\n",
        kVersion, facts.commit, __VERSION__, kInterfaceVersion, names_of_services(), libraries(),
        LIBAVCODEC_VERSION_MAJOR, LIBSWRESAMPLE_VERSION_MAJOR, LIBSWSCALE_VERSION_MAJOR,
        facts.diagnostic_options.empty() ? "none" : facts.diagnostic_options);
}

}  // namespace server
