#include "service/caster/udp_port.h"

#include <algorithm>

#include "base/log.h"
#include "protocol/ts/demuxer.h"
#include "runtime/loop/clock.h"
#include "service/caster/encoder.h"
#include "service/caster/service.h"
#include "service/caster/stats.h"

namespace service::caster {

using base::Result;

namespace {

constexpr int kReceiveBytes = 4 * 1024 * 1024;
constexpr size_t kMaxProbes = 16;
constexpr int64_t kProbeUs = 5'000'000;
// A publisher that is silent for this long may have started again.
constexpr int64_t kRestartUs = 300'000;
// After a refusal: the next one would be for the same reason.
constexpr int64_t kHeldOffUs = 3'000'000;

}  // namespace

// A sender whose tables have not come yet.
class UdpPort::Probe final : private CellUser, private ts::DemuxerSink {
  public:
    Probe(const base::Endpoint& from, int64_t now_us) : from_(from), began_us_(now_us) {}

    void push(std::span<const uint8_t> datagram, int64_t now_us) {
        if (bytes_ + datagram.size() <= Encoder::kMaxEarly / 4) {
            bytes_ += datagram.size();
            datagrams_.push_back(base::Slice::copy(datagram));
        }
        input_.push(datagram, now_us, *this);
    }
    bool is_stream() const { return demuxer_.program().has_known_stream(); }
    const base::Endpoint& from() const { return from_; }
    int64_t began_us() const { return began_us_; }
    const std::vector<base::Slice>& datagrams() const { return datagrams_; }

  private:
    void on_cells(std::span<const uint8_t> bytes, int64_t) override { demuxer_.feed(bytes); }
    void on_gap() override { demuxer_.on_gap(); }
    void on_pes(ts::PesPacket) override {}

    const base::Endpoint from_;
    const int64_t began_us_;
    CellInput input_;
    ts::Demuxer demuxer_{*this, 1};  // it keeps no PES packets
    std::vector<base::Slice> datagrams_;
    size_t bytes_ = 0;
};

UdpPort::UdpPort(Service& service, const Caster& caster, config::ListenAddress address)
    : service_(service),
      address_(std::move(address)),
      interface_(caster.interface),
      source_text_(caster.source),
      source_(base::IpAddress::parse(caster.source)),
      output_(caster.output) {}

Result<std::unique_ptr<UdpPort>> UdpPort::open(Service& service, const Caster& caster,
                                               const config::ListenAddress& address) {
    std::unique_ptr<UdpPort> port(new UdpPort(service, caster, address));
    port->port_ = TRY(runtime::DatagramPort::open({address.host, address.port, address.ipv6_only},
                                                  {.receive_buffer_bytes = kReceiveBytes,
                                                   .for_clients = true,
                                                   .multicast_interface = caster.interface,
                                                   .multicast_source = caster.source},
                                                  "MPEG-TS", *port));
    base::log::trace("MPEG-TS over UDP on {} for {}", address.text(), caster.output);
    return port;
}

UdpPort::~UdpPort() {
    if (encoder_) {
        encoder_->leave_port();
        encoder_->close("its port is closed", base::CloseReason::kServerStop);
    }
    port_.reset();
}

bool UdpPort::is_for(const Caster& caster, const config::ListenAddress& address) const {
    return address == address_ && caster.interface == interface_ && caster.source == source_text_;
}

void UdpPort::update(const Caster& caster) {
    if (caster.output == output_) return;
    output_ = caster.output;
    held_off_until_us_ = 0;
    if (encoder_) encoder_->close("the port has another output by a reload", base::CloseReason::kServerStop);
}

void UdpPort::give_over() {
    if (encoder_) encoder_->close("the process that replaces this one receives it", base::CloseReason::kServerStop);
}

void UdpPort::encoder_left(Encoder& encoder) {
    if (encoder_ == &encoder) encoder_ = nullptr;
}

void UdpPort::encoder_refused() { held_off_until_us_ = runtime::now_us() + kHeldOffUs; }

bool UdpPort::may_begin(const base::Endpoint& from, int64_t now_us) const {
    return !encoder_ || (from.ip == encoder_->peer().ip && encoder_->silent_us(now_us) >= kRestartUs);
}

void UdpPort::on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort&, int64_t now_us) {
    if (packet.bytes.empty()) return;
    if (encoder_ && packet.from == encoder_->peer()) return encoder_->on_datagram(packet.bytes, now_us);
    if ((source_ && packet.from.ip != *source_) || !may_begin(packet.from, now_us))
        return void(++caster_stats().refused_other);
    if (!accepts_ || now_us < held_off_until_us_) return void(++caster_stats().refused_held_off);
    probe(packet, now_us);
}

void UdpPort::probe(const runtime::UdpPacket& packet, int64_t now_us) {
    std::erase_if(probes_, [&](const auto& probe) { return now_us - probe->began_us() > kProbeUs; });
    const auto known = std::ranges::find(probes_, packet.from, [](const auto& probe) { return probe->from(); });
    if (known == probes_.end() && !CellInput::begins_stream(packet.bytes))
        return void(++caster_stats().refused_unknown);
    Probe& probe = known == probes_.end() ? probe_of(packet.from, now_us) : **known;
    probe.push(packet.bytes, now_us);
    if (probe.is_stream()) begin(probe, now_us);
}

UdpPort::Probe& UdpPort::probe_of(const base::Endpoint& from, int64_t now_us) {
    if (probes_.size() == kMaxProbes) probes_.erase(probes_.begin());
    return *probes_.emplace_back(std::make_unique<Probe>(from, now_us));
}

void UdpPort::begin(Probe& probe, int64_t now_us) {
    const base::Endpoint from = probe.from();
    if (encoder_) {
        encoder_->continue_from(from);
    } else {
        net::SessionTable& sessions = service_.sessions();
        if (auto admitted = sessions.admission().admit_without_descriptor(from.ip.text()); !admitted) {
            sessions.log_refusal("UDP publisher", from.ip.text(), admitted.error());
            probes_.clear();
            return encoder_refused();
        }
        auto encoder = std::make_unique<Encoder>(service_, *this, output_, from);
        encoder_ = encoder.get();
        service_.add(std::move(encoder));
    }
    // It may not have started.
    const std::vector<base::Slice> datagrams = probe.datagrams();
    probes_.clear();
    for (const base::Slice& datagram : datagrams)
        if (encoder_) encoder_->on_datagram(datagram, now_us);
}

}  // namespace service::caster
