#include "service/api/shape.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace service::api {
namespace {

TEST(Shape, EveryForm) {
    const Json schema =
        schema_of("total:int streams[@Stream] kbps{recv_30s:int} video{codec:str}|null name?:str tags[:str] x[a:num]");
    EXPECT_EQ(schema["required"], Json({"total", "streams", "kbps", "video", "tags", "x"}));
    const Json& p = schema["properties"];
    EXPECT_EQ(p["total"], Json({{"type", "integer"}}));
    EXPECT_EQ(p["streams"]["items"]["$ref"], "#/components/schemas/Stream");
    EXPECT_EQ(p["kbps"]["properties"]["recv_30s"]["type"], "integer");
    EXPECT_EQ(p["video"]["anyOf"].size(), 2u);
    EXPECT_EQ(p["video"]["anyOf"][1]["type"], "null");
    EXPECT_EQ(p["name"]["type"], "string");
    EXPECT_EQ(p["tags"]["items"]["type"], "string");
    EXPECT_EQ(p["x"]["items"]["properties"]["a"]["type"], "number");
}

TEST(Shape, NothingIsAnyObject) {
    EXPECT_EQ(schema_of(""), Json({{"type", "object"}, {"properties", Json::object()}}));
}

TEST(ShapeDeathTest, ABadOneIsABug) {
    EXPECT_DEATH(schema_of("a"), "CHECK|failed");
    EXPECT_DEATH(schema_of("a{b:int"), "CHECK|failed");
    EXPECT_DEATH(schema_of("a:float"), "CHECK|failed");
}

}  // namespace
}  // namespace service::api
