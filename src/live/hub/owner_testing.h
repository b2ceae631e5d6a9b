#pragma once
// An owner of a publication, for tests that publish.

#include <string>
#include <string_view>

#include "live/hub/stream.h"

namespace live::testing {

struct Owner : PublicationOwner {
    bool alive = true;
    std::string revoked;  // the reason, after publication_revoked()
    base::CloseReason reason = base::CloseReason::kUnknown;
    bool publisher_alive() const override { return alive; }
    void publication_revoked(std::string_view why, base::CloseReason because) override {
        revoked = why;
        reason = because;
    }
};

}  // namespace live::testing
