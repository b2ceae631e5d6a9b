#pragma once
// Shapes of JSON values, in the notation of the interface page, and their conversion to JSON Schema (2020-12, as used
// by OpenAPI 3.1):
//
//   total:int streams[@Stream] kbps{recv_30s:int send_30s:int} video{codec:str}|null name?:str tags[:str] data:any
//
// A field is a name followed, without a space, by its type: :int :num :str :bool :any, {fields}, [fields] (an array of
// objects), [:type] (an array of values), @Name (that schema), [@Name]. name? is optional; with |null at the end the
// value may be null. Every other named field is required; additional fields are allowed. Shapes are part of this
// program: an invalid one is a bug.

#include <string_view>

#include "service/api/table/envelope.h"

namespace service::api {

// {"type": "object", "properties": ..., "required": ...}
Json schema_of(std::string_view shape);

}  // namespace service::api
