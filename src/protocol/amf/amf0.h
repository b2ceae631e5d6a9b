#pragma once
// AMF0 (Action Message Format, AMF 0, December 2007), all types: number, boolean, string, object, null, undefined,
// ECMA array, strict array, date, long string, XML, typed object and the switch to AMF3. A reference (type 7) becomes
// null: no RTMP peer needs one. MovieClip, RecordSet and unknown markers are errors.

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/amf/value.h"

namespace amf {

// Reads the next value. After an error the reader's position is undefined. Errors: kProtocol, or kLimit where one of
// the limits was exceeded.
base::Result<Value> decode_amf0(base::ByteReader& reader, const Limits& limits = {});

// Reads values up to the reader's end, which is how a command or data message is built. The limits apply to all values
// together.
base::Result<std::vector<Value>> decode_amf0_all(base::ByteReader& reader, const Limits& limits = {});

// Appends the value. Strings above 65,535 bytes are written as long strings; a member's name is truncated to that
// length. A byte array is written as AMF3, behind the marker that switches to it.
void encode_amf0(const Value& value, base::ByteWriter& writer);

}  // namespace amf
