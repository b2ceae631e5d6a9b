#pragma once
// How answers of this process and of the one that it has replaced become one (net::ApiOfBoth). Pure.

#include <string>

#include "net/http/api_endpoint.h"
#include "service/api/diagnosis/stream_diagnosis.h"
#include "service/api/table/envelope.h"

namespace service::api {

// Adds the other answer. Both have the lists from their first entries on; the page is cut from what becomes of them.
// What is not of the kind that it should be is left as it is. page: null for one too far behind for that: lists with
// pages are this process's then, their totals those of both (an entry that both have counts twice).
void merge_answers(Json& mine, Json theirs, const net::ApiOfBoth& how, const Page* page);

// Of the answers of explain: that of the process with the publisher, and the worse ones of the checks about players and
// outputs, which both have. Without a publisher there it is this process's.
void merge_explained(Json& mine, Json theirs, bool is_published_there);

// Empty: it is no object, or has no text of that name.
std::string text_of(const Json& object, const std::string& name);
// Adds a number of the other object to that of the same name, if both have one.
void add_number(Json& mine, const Json& theirs, const std::string& name);

}  // namespace service::api
