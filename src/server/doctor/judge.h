#pragma once
// The doctor's judgement: facts in, findings out. Pure: it reads nothing. Each check is a row in judge.cpp.

#include <string>
#include <vector>

#include "server/doctor/facts.h"

namespace server::doctor {

enum class Verdict : uint8_t {
    kGood,
    kBetter,  // it works but could be improved
    kBad,     // the server as configured cannot work
    kUnknown,
};
std::string_view verdict_name(Verdict verdict);

struct Finding {
    std::string check;
    Verdict verdict = Verdict::kGood;
    std::string text;
    std::string fix;  // the command that fixes it; empty: nothing to fix
};

std::vector<Finding> judge(const Facts& facts);
// One line per finding, one more for its fix, and the count at the end.
std::string report(const std::vector<Finding>& findings);
bool has_bad(const std::vector<Finding>& findings);

}  // namespace server::doctor
