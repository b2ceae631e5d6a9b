#pragma once
// Lines of fields for the small files of the server itself: the fields are separated by tabs, and control characters
// and '%' in them are percent-encoded, so that any text of a client is one field of one line.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace base {

// The line of these fields, with its end.
std::string record_line(std::initializer_list<std::string_view> fields);
// The fields of a line without its end: at least one. What is no valid escape stays as it is.
std::vector<std::string> record_fields(std::string_view line);
// Removes the first line and its end from the text, and returns it without its end. False: there is no complete line,
// as at the end of a file that a crash cut.
bool take_line(std::string_view& text, std::string_view& line);

}  // namespace base
