#pragma once
// The offerer's side, reduced to what a test client or a load generator needs: makes an offer of at most one audio and
// one video in one BUNDLE, and reads the result from the answer. The options are those of an answer: codecs are offered
// in their order, setup as given.

#include <cstdint>
#include <string>

#include "protocol/sdp/negotiation.h"

namespace sdp {

// Payload types start at 96, RTX follows its codec, G.711 has its static type. mids "0" and "1": audio, then video.
SessionDescription make_offer(const LocalOptions& local);

// The negotiated result from the offerer's point of view: remote_ice and the other remote fields are the answerer's;
// ssrcs and msid are those it sends. kProtocol: the answer does not match the offer, or accepts nothing of it.
base::Result<Negotiated> read_answer(const SessionDescription& offer, const SessionDescription& answer);

}  // namespace sdp
