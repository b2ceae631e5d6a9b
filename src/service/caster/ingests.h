#pragma once
// The ingests of a vhost whose input is a transport stream by UDP: each is a caster of mpegts_over_udp whose stream the
// ingest names.

#include "config/section.h"
#include "service/caster/config.h"
#include "service/ingest.h"

namespace service::caster {

// url: udp://[@]HOST:PORT or rtp://..., where HOST is an address of this machine or a multicast group; empty: all
// addresses. Its parameters: interface, and source or sources, the one sender. kConfig: it is not of that form; the
// text names the ingest.
base::Result<Caster> caster_of(const Ingest& ingest, const std::string& vhost);

// Adds those of the vhost to the snapshot's casters.
void add_ingests(config::Checks& checks, config::Vhost& vhost);

}  // namespace service::caster
