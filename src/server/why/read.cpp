#include "server/why/read.h"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "base/ip.h"
#include "live/hub/stream.h"
#include "server/services.h"
#include "server/why/listeners.h"

namespace server::why {
namespace {

using service::url::CertificateFacts;
using service::url::Live;
using service::url::PublishedStream;

template <class T, void (*kFree)(T*)>
struct Freeing {
    void operator()(T* object) const { kFree(object); }
};

int64_t seconds_of(const ASN1_TIME* time) {
    tm parts{};
    return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

bool is_for(X509* certificate, const std::string& host) {
    if (base::IpAddress::parse(host)) return X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
    return X509_check_host(certificate, host.c_str(), host.size(), 0, nullptr) == 1;
}

PublishedStream facts_of(live::Stream& stream, const net::SessionTable& sessions) {
    PublishedStream facts;
    if (const live::PublicationOwner* owner = stream.publisher()) {
        facts.is_rtp = owner->publishes_rtp();
        const net::Session* session = sessions.find(owner->facts().session_id);
        if (session) facts.by = net::session_type_name(session->type());
    }
    for (const media::Track& track : stream.tracks()->tracks) {
        auto& codecs = track.kind == media::Kind::kVideo ? facts.video : facts.audio;
        if (track.codec != media::Codec::kNone && track.kind != media::Kind::kData) codecs.push_back(track.codec);
    }
    facts.has_b_frames = stream.health().recent().b_frames > 0;
    return facts;
}

}  // namespace

Live read_live(const service::SharedParts& parts, const Target& target, const config::Snapshot& snapshot) {
    Live live;
    const config::Vhost* vhost = snapshot.vhost(target.vhost);
    const base::StreamKey named{vhost ? vhost->name : target.vhost, target.app, target.stream};
    parts.registry.for_each([&](live::Stream& stream) {
        if (stream.published() && live.published.size() < service::url::kMaxNames)
            live.published.push_back(stream.key());
    });
    const auto stream = parts.registry.find(named);
    if (stream && stream->published()) live.stream = facts_of(*stream, parts.sessions);
    const service::OtherProcess* other = parts.offers.other_process;
    if (!live.stream && other && other->publishes(named)) live.stream.emplace().is_of_other_process = true;
    live.fetching = parts.offers.fetching(named);
    const auto visit = [&](const live::StreamKey&, service::StreamOutput output) {
        if (output.state == service::StreamOutput::State::kFails) live.failing_outputs.push_back(std::move(output));
    };
    for (const service::OutputOffer& offer : parts.offers.outputs) offer(&named, visit);
    const net::Admission& admission = parts.sessions.admission();
    live.connections = admission.connections() + admission.elsewhere();
    live.max_connections = admission.options().max_connections;
    live.load = parts.operations.load.level;
    return live;
}

std::optional<CertificateFacts> read_certificate(const Target& target, const config::Snapshot& snapshot) {
    const auto addresses = addresses_of(target, snapshot);
    if (!target.tls || addresses.empty()) return std::nullopt;
    const std::string_view block = block_of(listener_of(target, snapshot).value_or(addresses.front()));
    std::string path;
    for (const service::Description* service : services()) {
        if (!service->key_pairs) continue;
        for (service::KeyPair& pair : service->key_pairs(snapshot))
            if (pair.block == block) path = std::move(pair.cert);
    }
    if (path.empty()) return std::nullopt;
    CertificateFacts facts;
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
    if (!file) return facts.error = fmt::format("{}: {}", path, std::strerror(errno)), facts;
    const std::unique_ptr<X509, Freeing<X509, X509_free>> certificate(
        PEM_read_X509(file.get(), nullptr, nullptr, nullptr));
    if (!certificate) return facts.error = path + " is no PEM certificate", facts;
    facts.has_host = is_for(certificate.get(), target.host);
    facts.not_after_s = seconds_of(X509_get0_notAfter(certificate.get()));
    return facts;
}

// Columns: "sl local_address rem_address st ...", the address is hexadecimal ip:port; 0A is LISTEN, 07 that of UDP.
bool has_socket(std::string_view table, uint16_t port, bool is_tcp) {
    const std::string ending = fmt::format(":{:04X}", port);
    std::istringstream lines{std::string(table)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string number, local, remote, state;
        words >> number >> local >> remote >> state;
        if (state == (is_tcp ? "0A" : "07") && local.ends_with(ending)) return true;
    }
    return false;
}

std::optional<bool> read_listens(const Target& target, const config::Snapshot& snapshot) {
    const auto found = listener_of(target, snapshot);
    if (!found) return std::nullopt;
    const bool is_tcp = found->transport == config::Transport::kTcp;
    bool is_read = false;
    for (const char* version : {"", "6"}) {
        std::ifstream file(fmt::format("/proc/net/{}{}", is_tcp ? "tcp" : "udp", version));
        std::stringstream text;
        text << file.rdbuf();
        is_read |= static_cast<bool>(file);
        if (has_socket(text.str(), target.port, is_tcp)) return true;
    }
    return is_read ? std::optional(false) : std::nullopt;
}

}  // namespace server::why
