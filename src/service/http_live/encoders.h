#pragma once
// Which log a request watches: the key says format, options and framing, and from the key comes the encoder.

#include <memory>

#include "live/fanout/wire_encoder.h"
#include "service/http_live/flv_encoder.h"
#include "service/http_live/mount.h"

namespace service::http_live {

live::LogKey log_key(Format format, const FlvOptions& options, bool websocket);
std::unique_ptr<live::WireEncoder> make_encoder(const live::LogKey& key);
std::string_view content_type(Format format);

}  // namespace service::http_live
