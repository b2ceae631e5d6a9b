#pragma once
// The offerer's side, as small as a test client or a load generator needs it: an offer of at most one audio and one
// video in one BUNDLE, and what an answer to it agreed. Of the same options as an answer: codecs are offered in their
// order, setup as it says.

#include <cstdint>
#include <string>

#include "protocol/sdp/negotiation.h"

namespace sdp {

// Payload types from 96 on, RTX right behind its codec, G.711 at its own. mids "0" and "1": audio, then video.
SessionDescription make_offer(const LocalOptions& local);

// What was agreed, as the offerer sees it: remote_ice and so on are the answerer's; ssrcs and msid are those it sends.
// kProtocol: the answer does not fit the offer, or takes nothing of it.
base::Result<Negotiated> read_answer(const SessionDescription& offer, const SessionDescription& answer);

}  // namespace sdp
