#pragma once
// A row of the API's route table: net/http/api_endpoint.h, under the names of this service.

#include "net/http/api_endpoint.h"

namespace service::api {

using Endpoint = net::ApiEndpoint;
using Parameter = net::ApiParameter;
using Access = net::ApiAccess;

}  // namespace service::api
