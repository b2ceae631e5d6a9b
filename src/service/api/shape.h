#pragma once
// Shapes of JSON values, written as the interface page writes them, and made into JSON Schema (2020-12, as OpenAPI 3.1
// has it):
//
//   total:int streams[@Stream] kbps{recv_30s:int send_30s:int} video{codec:str}|null name?:str tags[:str] data:any
//
// A field is a name and, without a space, what it is: :int :num :str :bool :any, {fields}, [fields] (an array of
// objects), [:type] (an array of values), @Name (that schema), [@Name]. name? may be missing; |null at the end may be
// null. Every field that is named is required; more may be there. Shapes are ours: a bad one is a bug.

#include <string_view>

#include "service/api/envelope.h"

namespace service::api {

// {"type": "object", "properties": ..., "required": ...}
Json schema_of(std::string_view shape);

}  // namespace service::api
