#pragma once
// The doctor's evaluation: facts in, findings out. Pure: it reads nothing. Each check is a row in evaluate.cpp.

#include <string>
#include <vector>

#include "server/doctor/facts.h"

namespace server::doctor {

enum class Grade : uint8_t {
    kGood,
    kBetter,  // it works but could be improved
    kBad,     // the server as configured cannot work
    kUnknown,
};
std::string_view grade_name(Grade grade);

struct Finding {
    std::string check;
    Grade grade = Grade::kGood;
    std::string text;
    std::string fix;  // the command that fixes it; empty: nothing to fix
};

std::vector<Finding> evaluate(const Facts& facts);
// One line per finding, one more for its fix, and the count at the end.
std::string report(const std::vector<Finding>& findings);
bool has_bad(const std::vector<Finding>& findings);

}  // namespace server::doctor
