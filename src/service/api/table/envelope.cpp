#include "service/api/table/envelope.h"

#include "base/json.h"

namespace service::api {

base::Result<void> send_data(net::HttpResponse& response, const Identity& identity, Json data) {
    return send_fields(response, identity, {{"data", std::move(data)}});
}

base::Result<void> send_missing(net::HttpResponse& response, const Identity& identity, Missing missing) {
    Json body = envelope(identity, static_cast<int>(missing));
    body["error"] = missing == Missing::kVhost    ? "there is no such vhost"
                    : missing == Missing::kStream ? "there is no such stream"
                                                  : "there is no such client";
    return send_json(response, body);
}

}  // namespace service::api
