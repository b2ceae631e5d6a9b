#pragma once
// The OpenAPI 3.1 document, made of the very rows that are served. Pure.

#include <functional>
#include <span>
#include <string_view>

#include "service/api/endpoint.h"
#include "service/api/envelope.h"

namespace service::api {

Json openapi_document(std::span<const Endpoint> rows, std::string_view version);
// between: called after each operation, to give way to others; its error ends it.
base::Result<Json> openapi_document(std::span<const Endpoint> rows, std::string_view version,
                                    const std::function<base::Result<void>()>& between);

}  // namespace service::api
