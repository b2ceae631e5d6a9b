#pragma once
// The OpenAPI 3.1 document, generated from the rows that are served. Pure.

#include <functional>
#include <span>
#include <string_view>

#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

// between: called after each operation, to let others run; if it returns an error, the generation ends.
base::Result<Json> openapi_document(
    std::span<const Endpoint> rows, std::string_view version,
    const std::function<base::Result<void>()>& between = [] { return base::Result<void>(); });

}  // namespace service::api
