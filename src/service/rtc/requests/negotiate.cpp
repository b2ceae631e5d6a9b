// Creates an answer from an offer, and an ICE restart from a fragment. It combines protocol/sdp, the media's options
// and the session's transport.

#include "base/log.h"
#include "protocol/sdp/fragment.h"
#include "protocol/sdp/negotiation.h"
#include "runtime/loop/random.h"
#include "service/rtc/config.h"
#include "service/rtc/service.h"

namespace service::rtc {

using base::Code;
using base::Result;

namespace {

std::vector<sdp::Candidate> candidates_of(const std::vector<CandidateAddress>& addresses) {
    std::vector<sdp::Candidate> candidates;
    for (const CandidateAddress& address : addresses)
        candidates.push_back(
            sdp::host_candidate(address.host, address.port, address.tcp, static_cast<uint32_t>(candidates.size())));
    return candidates;
}

sdp::Fingerprint fingerprint_of(const dtls::Certificate& certificate) {
    const std::string& text = certificate.fingerprint();
    const size_t space = text.find(' ');
    return {text.substr(0, space), text.substr(space + 1)};
}

dtls::Version version_of(const VhostConfig& rtc) {
    if (rtc.dtls_version == "dtls1.0") return dtls::Version::kDtls10;
    return rtc.dtls_version == "dtls1.2" ? dtls::Version::kDtls12 : dtls::Version::kAuto;
}

}  // namespace

Result<std::string> Service::negotiate(RtcSession& session, const SessionRequest& request, const config::Vhost& vhost) {
    const auto offer = TRY(sdp::SessionDescription::parse(request.offer));
    const auto& rtc = vhost.get<VhostConfig>();
    const bool publishes = request.visitor.action == net::Action::kPublish;
    MediaParts parts{session,        registry_,      codec_log_, session.key(), snapshot_, vhost,
                     request.vcodec, request.acodec, {}};
    parts.layer = request.layer;
    parts.facts = {
        session.id(), session.ip(), request.visitor.tc_url, request.visitor.page_url, request.visitor.param, {}};
    sdp::LocalOptions options;
    publishes ? add_publisher_options(parts, options) : add_player_options(parts, options);
    options.send = !publishes;
    options.start_at_offered_rate = rtc.init_rate_from_sdp;
    options.session_id = runtime::random_u64() >> 1;  // some implementations parse it as a signed number
    options.ice = {session.agent().local().ufrag, session.agent().local().password};
    options.fingerprint = fingerprint_of(context_->certificate());
    options.setup = rtc.dtls_role == "active" ? sdp::Setup::kActive : sdp::Setup::kPassive;
    options.candidates = candidates_of(request.candidates);
    auto answered = TRY(sdp::answer(offer, options));
    const sdp::Negotiated& agreed = answered.negotiated;
    TRY(session.set_remote({agreed.remote_ice.ufrag, agreed.remote_ice.pwd, agreed.remote_fingerprint.algorithm,
                            agreed.remote_fingerprint.value,
                            agreed.setup == sdp::Setup::kActive ? dtls::Role::kClient : dtls::Role::kServer,
                            version_of(rtc), context_}));
    session.set_media(
        TRY(publishes ? make_publisher(std::move(parts), agreed) : make_player(std::move(parts), agreed)));
    session.candidates = request.candidates;
    return answered.description.write();
}

Result<PatchResult> Service::patch(std::string_view session, std::string_view token, std::string_view if_match,
                                   std::string_view fragment) {
    RtcSession* found = TRY(find(session, token));
    runtime::ContextScope scope(found->id());
    const auto parsed = TRY(sdp::Fragment::parse(fragment));
    const bool any = if_match.empty() || if_match == "*";
    if (!any && if_match != found->etag()) return base::fail(Code::kBusy, "the entity tag is of another ICE session");
    // Candidates are ignored: the peer's requests show its addresses.
    if (parsed.ice.ufrag.empty() || parsed.ice.ufrag == found->agent().remote_ufrag())
        return PatchResult{{}, found->etag()};
    if (parsed.ice.pwd.size() < ice::kMinPassword) return base::fail(Code::kProtocol, "a=ice-pwd is missing or short");
    ice::Credentials local = new_credentials();
    routes_.add(local.ufrag, *found);
    sdp::Fragment answer;
    answer.ice = {local.ufrag, local.password};
    answer.ice_lite = true;
    answer.mid = parsed.mid;
    answer.media_line = parsed.media_line;
    answer.candidates = candidates_of(found->candidates);
    answer.end_of_candidates = true;
    found->restart(std::move(local), parsed.ice.ufrag, parsed.ice.pwd, new_etag());
    base::log::info("WebRTC: ICE restart requested by PATCH");
    return PatchResult{answer.write(), found->etag()};
}

}  // namespace service::rtc
