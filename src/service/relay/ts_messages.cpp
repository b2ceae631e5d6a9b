#include "service/relay/ts_messages.h"

#include <memory>

#include "convert/ts/to_ts.h"

namespace service::relay {
namespace {

std::unique_ptr<live::WireEncoder> make_encoder(const live::LogKey&) { return std::make_unique<convert::TsEncoder>(); }
constexpr live::WireFormat kFormat{"ts-messages", make_encoder};

}  // namespace

live::MessageLane& ts_messages(live::Stream& stream) { return stream.message_lane({&kFormat, {}}); }

}  // namespace service::relay
