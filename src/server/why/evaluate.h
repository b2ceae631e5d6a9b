#pragma once
// Evaluates whether a URL can be played or published: facts in, findings out. Pure: it reads nothing, asks no hook and
// connects to nothing. Rules, signatures and names are evaluated by the functions that the services use. Each check is
// a row in evaluate.cpp; doc/why.md lists them.

#include <string>
#include <string_view>
#include <vector>

#include "server/why/facts.h"
#include "service/api/diagnosis/stream_diagnosis.h"

namespace server::why {

using Verdict = service::api::CheckVerdict;

struct Finding {
    std::string_view check{};
    Verdict verdict = Verdict::kOk;
    std::string text{};    // what was found
    std::string line{};    // the line of configuration that mends it; empty: none does
    std::string where{};   // where the line belongs; empty: anywhere
    std::string url{};     // the URL that is to be used instead; empty: this one
    std::string advice{};  // what else can be done; empty: nothing
};
using Findings = std::vector<Finding>;

Findings evaluate(const Facts& facts);
// The worst verdict; unknown counts as good.
Verdict worst(const Findings& findings);

// The parts of evaluate(), each in a file of its own. Each adds findings; false: what follows makes no sense.
bool check_addresses(const Facts& facts, Findings& findings);  // protocol, port, socket, certificate
bool check_vhost(const Facts& facts, Findings& findings);      // vhost, protocol in it, path
void check_access(const Facts& facts, const config::Vhost& vhost, Findings& findings);
void check_stream(const Facts& facts, const config::Vhost& vhost, Findings& findings);  // publisher, codecs
void check_candidates(const Facts& facts, Findings& findings);                          // of WebRTC

// A finding whose line sets a directive.
Finding missing(const Facts& facts, std::string_view check, std::string text, std::string_view vhost,
                std::string_view path, std::string_view value);

}  // namespace server::why
