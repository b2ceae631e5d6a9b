#include "net/http/api_endpoint.h"

namespace net {

void ApiTable::add(ApiEndpoint row) { rows.push_back(std::move(row)); }

}  // namespace net
