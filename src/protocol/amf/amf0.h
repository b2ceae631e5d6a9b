#pragma once
// AMF0 (Action Message Format, AMF 0, December 2007), all types: number, boolean, string, object, null, undefined,
// ECMA array, strict array, date, long string, XML, typed object and the switch to AMF3. A reference (type 7) becomes
// null: no RTMP peer needs one. MovieClip, RecordSet and unknown markers are errors.

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/amf/value.h"

namespace amf {

// Reads the next value. After an error the reader's position is of no use. Errors are kProtocol, or kLimit where a
// bound of ours was reached.
base::Result<Value> decode_amf0(base::ByteReader& reader, const Limits& limits = {});

// Reads values to the reader's end, as a command or data message is made of; the limits hold for all together.
base::Result<std::vector<Value>> decode_amf0_all(base::ByteReader& reader, const Limits& limits = {});

// Appends the value. Strings above 65,535 bytes become long strings; a member's name is cut there. A byte array is
// written in AMF3, by the switch.
void encode_amf0(const Value& value, base::ByteWriter& writer);

}  // namespace amf
