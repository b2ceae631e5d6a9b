#pragma once
// AMF3 (Action Message Format, AMF 3, January 2013): undefined, null, booleans, integer, double, string, XML, date,
// array, object and byte array, with the three reference tables. A reference to an object that is not complete yet (a
// cycle) becomes null. Vectors, dictionaries and externalizable objects are errors: no RTMP command has them.

#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/amf/value.h"

namespace amf {

// Reads one value, with its own reference tables.
base::Result<Value> decode_amf3(base::ByteReader& reader, const Limits& limits = {});

// Appends a byte array, the one type that AMF0 has no form for. All else is written as AMF0.
void put_amf3_byte_array(std::string_view bytes, base::ByteWriter& writer);

}  // namespace amf
