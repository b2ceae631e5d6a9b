#pragma once
// The streams that lists have: published, or with a player that is there or waits, or with a session that counts as a
// player (HLS).

#include <vector>

#include "service/shared_parts.h"

namespace service::api {

bool is_there(const live::Stream& stream);
// In order of their names. Does not yield.
std::vector<live::StreamKey> keys_of_streams(const SharedParts& parts);

}  // namespace service::api
