#pragma once
// StreamKey: the name of a live stream in this server, which every protocol and interface uses.

#include <compare>
#include <string>

namespace base {

struct StreamKey {
    std::string vhost;  // as configured: "__defaultVhost__"
    std::string app;    // may have several levels: "a/b"
    std::string name;
    std::string text() const { return vhost + "/" + app + "/" + name; }  // for lists and logs
    auto operator<=>(const StreamKey&) const = default;
};

}  // namespace base
