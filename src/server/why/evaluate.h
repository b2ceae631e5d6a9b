#pragma once
// Evaluates whether a URL can be played or published: facts in, findings out. Pure: it reads nothing, asks no hook and
// connects to nothing. Rules, signatures and names are evaluated by the functions that the services use; what is a
// service's own is evaluated by that (service/url/protocol.h). doc/why.md lists the checks.

#include <string_view>

#include "service/url/facts.h"
#include "service/url/finding.h"

namespace server::why {

using service::url::Facts;
using service::url::Finding;
using service::url::Findings;
using service::url::Verdict;

Findings evaluate(const Facts& facts);

// Whether a name that somebody else chose, in the URL or the page's address, may stand in a line of configuration for
// the operator to copy: a host name or an address, and nothing that ends a word, in a file or in a shell.
bool is_host_name(std::string_view name);

// The parts of evaluate(), each in a file of its own. Each adds findings; false: what follows makes no sense.
bool check_addresses(const Facts& facts, Findings& findings);  // protocol, port, socket, certificate
bool check_vhost(const Facts& facts, Findings& findings);      // vhost, protocol in it, path
void check_access(const Facts& facts, const config::Vhost& vhost, Findings& findings);
void check_stream(const Facts& facts, const config::Vhost& vhost, Findings& findings);  // publisher, codecs

}  // namespace server::why
