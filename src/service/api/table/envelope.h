#pragma once
// The answers of this service beside those that all endpoints share (service/api_answer.h).

#include <nlohmann/json_fwd.hpp>

#include "service/api_answer.h"

namespace service::api {

// Fields keep the order in which they were added.
using Json = nlohmann::ordered_json;

// A successful answer with the field data.
base::Result<void> send_data(net::HttpResponse& response, const Identity& identity, Json data);

// Answers a request for something that does not exist, as SRS does: with status 200, and its code.
enum class Missing : int { kVhost = 2014, kStream = 2048, kClient = 2049 };
base::Result<void> send_missing(net::HttpResponse& response, const Identity& identity, Missing missing);

}  // namespace service::api
