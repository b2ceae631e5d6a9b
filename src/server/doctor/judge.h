#pragma once
// The doctor's judgement: facts in, findings out. Pure: it reads nothing. One row per check, in judge.cpp.

#include <string>
#include <vector>

#include "server/doctor/facts.h"

namespace server::doctor {

enum class Verdict : uint8_t {
    kGood,
    kBetter,  // it works, and could be better
    kBad,     // the server as configured cannot do its work
    kUnknown,
};
std::string_view verdict_name(Verdict verdict);

struct Finding {
    std::string check;
    Verdict verdict = Verdict::kGood;
    std::string text;
    std::string fix;  // the command that changes it; empty where nothing is to be changed
};

std::vector<Finding> judge(const Facts& facts);
// A line per finding, one more for its fix, and the count at the end.
std::string report(const std::vector<Finding>& findings);
bool has_bad(const std::vector<Finding>& findings);

}  // namespace server::doctor
