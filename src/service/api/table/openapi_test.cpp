#include "service/api/table/openapi.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace service::api {
namespace {

Endpoint row(std::string pattern, Access access) {
    Endpoint row;
    row.methods = {http::Method::kGet};
    row.pattern = std::move(pattern);
    row.summary = "what it is";
    row.access = access;
    return row;
}

TEST(OpenApi, ARowWithParameters) {
    Endpoint one = row("/api/v1/streams/{id}", Access::kRead);
    one.shape = "stream@Stream";
    one.parameters = {{Parameter::In::kQuery, "count", Parameter::Type::kInteger, "how many", 1, 9, 3}};
    one.failures = {{404, "there is none"}};
    const Json document = *openapi_document(std::vector{one}, "1.2.3");
    EXPECT_EQ(document["openapi"], "3.1.0");
    EXPECT_EQ(document["info"]["version"], "1.2.3");
    const Json& get = document["paths"]["/api/v1/streams/{id}"]["get"];
    EXPECT_EQ(get["operationId"], "getApiV1StreamsId");
    ASSERT_EQ(get["parameters"].size(), 2u);
    EXPECT_EQ(get["parameters"][0],
              Json({{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}));
    EXPECT_EQ(get["parameters"][1]["schema"],
              Json({{"type", "integer"}, {"minimum", 1}, {"maximum", 9}, {"default", 3}}));
    for (const char* status : {"200", "400", "401", "404"}) EXPECT_TRUE(get["responses"].contains(status)) << status;
    EXPECT_FALSE(get["responses"].contains("403"));
    const Json& schema = get["responses"]["200"]["content"]["application/json"]["schema"];
    EXPECT_EQ(schema["required"], Json({"code", "server", "service", "pid", "stream"}));
    EXPECT_EQ(schema["properties"]["stream"]["$ref"], "#/components/schemas/Stream");
    EXPECT_TRUE(document["components"]["schemas"]["Stream"]["properties"].contains("live_ms"));
}

TEST(OpenApi, AccessIsSaid) {
    Endpoint kick = row("/a/{id}", Access::kPrivileged), health = row("/healthz", Access::kOpen),
             all = row("/*", Access::kRead);
    kick.methods = {http::Method::kDelete};
    kick.body_shape = "path?:str";
    health.content_type = "text/plain";
    health.failures = {{503, "draining"}};
    const Json document = *openapi_document(std::vector{kick, health, all}, "1");
    const Json& paths = document["paths"];
    EXPECT_EQ(paths.size(), 2u) << "a wildcard is no path of OpenAPI";
    EXPECT_TRUE(paths["/a/{id}"]["delete"]["responses"].contains("403"));
    EXPECT_EQ(
        paths["/a/{id}"]["delete"]["requestBody"]["content"]["application/json"]["schema"]["additionalProperties"],
        false);
    EXPECT_EQ(paths["/healthz"]["get"]["security"], Json::array());
    EXPECT_TRUE(paths["/healthz"]["get"]["responses"]["200"]["content"].contains("text/plain"));
    EXPECT_TRUE(paths["/healthz"]["get"]["responses"]["503"]["content"].contains("text/plain"));
    EXPECT_FALSE(paths["/healthz"]["get"]["responses"].contains("401"));
}

}  // namespace
}  // namespace service::api
