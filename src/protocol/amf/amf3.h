#pragma once
// AMF3 (Action Message Format, AMF 3, January 2013): undefined, null, booleans, integer, double, string, XML, date,
// array, object and byte array, with the three reference tables. A reference to an object that is not complete yet (a
// cycle) becomes null. Vectors, dictionaries and externalizable objects are errors: no RTMP command has them.

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/amf/value.h"

namespace amf {

// Reads one value, with its own reference tables.
base::Result<Value> decode_amf3(base::ByteReader& reader, const Limits& limits = {});

// Appends the value, without using references. Whole numbers that fit 29 bits are written as integers.
void encode_amf3(const Value& value, base::ByteWriter& writer);

}  // namespace amf
