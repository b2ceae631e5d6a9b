#pragma once
// What the command `srs why URL` is asked.

#include <string>

namespace server::why {

struct Question {
    std::string url{};
    bool publishes = false;
    bool plays = true;   // for two seconds, where that is possible
    std::string ip{};    // of the client; empty: 127.0.0.1
    std::string page{};  // that the player is in; empty: none
};

}  // namespace server::why
