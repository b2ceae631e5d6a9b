#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/bytes.h"
#include "protocol/dtls/dtls_testing.h"
#include "protocol/dtls/record.h"

namespace dtls {
namespace {

std::string hex_of(const Context& context) { return context.certificate().fingerprint().substr(8); }

void expect_same_keys(Link& link, srtp::Profile profile) {
    auto client = link.client.take_srtp_keys(), server = link.server.take_srtp_keys();
    ASSERT_TRUE(client && server);
    EXPECT_EQ(client->profile, profile);
    EXPECT_EQ(server->profile, profile);
    EXPECT_EQ(client->local.key, server->remote.key);
    EXPECT_EQ(client->remote.key, server->local.key);
    EXPECT_EQ(client->local.salt, server->remote.salt);
    EXPECT_EQ(client->remote.salt, server->local.salt);
    EXPECT_NE(client->local.key, client->remote.key);
    EXPECT_FALSE(link.client.take_srtp_keys());
}

TEST(DtlsCertificate, FingerprintsAreReadAndCompared) {
    for (KeyKind kind : {KeyKind::kEcdsa, KeyKind::kRsa}) {
        const auto& certificate = context_of(kind)->certificate();
        const std::string& text = certificate.fingerprint();
        ASSERT_EQ(text.substr(0, 8), "sha-256 ");
        EXPECT_EQ(text.size(), 8u + 32 * 3 - 1);
        auto right = Fingerprint::parse("SHA-256", text.substr(8));
        ASSERT_TRUE(right);
        EXPECT_TRUE(right->matches(certificate.x509()));
        right->digest[31] ^= 1;
        EXPECT_FALSE(right->matches(certificate.x509()));
        EXPECT_GT(X509_cmp_current_time(X509_get0_notAfter(certificate.x509())), 0);
        EXPECT_LT(X509_cmp_current_time(X509_get0_notBefore(certificate.x509())), 0);
        EXPECT_EQ(X509_verify(certificate.x509(), certificate.key()), 1);
    }
    const std::string sha1 = "4A:AD:B9:B1:3F:82:18:3B:54:02:12:DF:3E:5D:49:6B:19:E5:7C:AB";
    EXPECT_TRUE(Fingerprint::parse("sha-1", sha1));
    EXPECT_FALSE(Fingerprint::parse("md5", sha1));
    EXPECT_FALSE(Fingerprint::parse("sha-256", sha1));
    EXPECT_FALSE(Fingerprint::parse("sha-1", sha1.substr(3)));
    EXPECT_FALSE(Fingerprint::parse("sha-1", sha1 + ":00"));
    EXPECT_FALSE(Fingerprint::parse("sha-1", "4A-AD-B9:B1:3F:82:18:3B:54:02:12:DF:3E:5D:49:6B:19:E5:7C:AB"));
    EXPECT_FALSE(Fingerprint::parse("sha-1", "4G:AD:B9:B1:3F:82:18:3B:54:02:12:DF:3E:5D:49:6B:19:E5:7C:AB"));
    EXPECT_FALSE(Fingerprint::parse("", ""));
}

TEST(DtlsEndpoint, AllKindsOfCertificatesAndVersions) {
    for (Version version : {Version::kAuto, Version::kDtls12, Version::kDtls10}) {
        for (KeyKind client : {KeyKind::kEcdsa, KeyKind::kRsa}) {
            for (KeyKind server : {KeyKind::kEcdsa, KeyKind::kRsa}) {
                SCOPED_TRACE(testing::Message()
                             << "version " << int(version) << " client " << int(client) << " server " << int(server));
                Link link(context_of(client), context_of(server, version));
                ASSERT_TRUE(link.run(10'000)) << link.client.error() << ", " << link.server.error();
                EXPECT_EQ(link.now_ms, 40);  // two round trips
                EXPECT_LE(link.largest, Endpoint::kMtu);
                expect_same_keys(link, srtp::Profile::kAeadAes128Gcm);
            }
        }
    }
}

TEST(DtlsEndpoint, FlightsFitTheMtu) {
    for (KeyKind kind : {KeyKind::kEcdsa, KeyKind::kRsa}) {
        for (size_t mtu : {300, 500, 800, 1200}) {
            Link link(context_of(kind), context_of(kind), mtu);
            ASSERT_TRUE(link.run(10'000)) << mtu << ": " << link.client.error() << ", " << link.server.error();
            EXPECT_LE(link.largest, mtu);
            EXPECT_EQ(link.now_ms, 40);
        }
    }
    Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
    link.run(10'000);
    EXPECT_EQ(link.sent, 4);  // one datagram per flight
}

TEST(DtlsEndpoint, TheOldVersionMeetsOnlyWhoTakesIt) {
    Link old(context_of(KeyKind::kEcdsa, Version::kDtls10), context_of(KeyKind::kEcdsa, Version::kDtls12));
    EXPECT_FALSE(old.run(3000));
    EXPECT_FALSE(old.server.established());
    EXPECT_FALSE(old.server.error().empty());
    // The same limited by the endpoint, on a context that allows both versions.
    const auto& context = context_of(KeyKind::kEcdsa);
    for (Version client : {Version::kDtls10, Version::kDtls12}) {
        for (Version server : {Version::kAuto, Version::kDtls10, Version::kDtls12}) {
            Link link(context, context);
            link.client = Endpoint(context, Role::kClient, Endpoint::kMtu, client);
            link.server = Endpoint(context, Role::kServer, Endpoint::kMtu, server);
            link.client.accept_any_certificate();
            link.server.accept_any_certificate();
            EXPECT_EQ(link.run(1000), server == Version::kAuto || server == client) << int(client) << int(server);
        }
    }
}

// Loses, duplicates and reorders a third of all datagrams. Lost ones are retransmitted, so both sides get through.
TEST(DtlsEndpoint, GetsThroughALossyLink) {
    int64_t slowest = 0;
    for (unsigned seed = 0; seed < 600; ++seed) {
        std::mt19937 random(seed);
        auto chance = [&random](unsigned of) { return random() % of == 0; };
        const KeyKind kind = seed % 2 ? KeyKind::kRsa : KeyKind::kEcdsa;
        Link link(context_of(kind), context_of(kind, seed % 5 == 4 ? Version::kDtls10 : Version::kAuto),
                  seed % 3 ? 1200 : 400);
        link.on_send = [&](bool to_server, Bytes& bytes) {
            if (chance(4))
                link.flying.push_back({link.now_ms + static_cast<int64_t>(random() % 100), to_server, bytes});
            return !chance(3);
        };
        link.delay_ms = [&](bool) { return 1 + random() % 100; };
        ASSERT_TRUE(link.run(60'000)) << "seed " << seed << ": " << link.client.error() << ", " << link.server.error();
        expect_same_keys(link, srtp::Profile::kAeadAes128Gcm);
        slowest = std::max(slowest, link.now_ms);
    }
    EXPECT_LT(slowest, 8'000);
}

// Each datagram of a handshake is lost once, one per run.
TEST(DtlsEndpoint, MendsTheLossOfAnyDatagram) {
    for (int lost = 0; lost < 9; ++lost) {
        Link link(context_of(KeyKind::kRsa), context_of(KeyKind::kRsa), 700);
        int count = 0;
        link.on_send = [&](bool, Bytes&) { return count++ != lost; };
        ASSERT_TRUE(link.run(5000)) << lost;
        EXPECT_LE(link.now_ms, 40 + Endpoint::kFirstTimeoutMs + 20) << lost;
    }
}

TEST(DtlsEndpoint, SendsAFlightAgainSoonThenLessAndLessOften) {
    Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
    std::vector<int64_t> times;
    link.on_send = [&](bool, Bytes&) {
        times.push_back(link.now_ms);
        return false;
    };
    EXPECT_FALSE(link.run(23'000));
    EXPECT_TRUE(link.client.failed());
    ASSERT_EQ(times.size(), Endpoint::kMaxSends);
    EXPECT_EQ(times.back(), 21'550);
    times.resize(8);
    EXPECT_EQ(times, (std::vector<int64_t>{0, 50, 150, 350, 750, 1550, 2550, 3550}));
}

// Every handshake message is split into fragments in records of their own, which are sent in reverse order.
TEST(DtlsEndpoint, FragmentsOutOfOrder) {
    Link link(context_of(KeyKind::kRsa), context_of(KeyKind::kEcdsa), 300);
    std::mt19937 random(7);
    link.delay_ms = [&](bool) { return 1 + random() % 50; };
    ASSERT_TRUE(link.run(5000));
    EXPECT_LT(link.now_ms, 500);
    EXPECT_GT(link.sent, 12);
}

TEST(DtlsEndpoint, ChecksFingerprints) {
    for (bool right : {true, false}) {
        auto client = context_of(KeyKind::kEcdsa), server = context_of(KeyKind::kRsa);
        Link link(client, server);
        link.client = Endpoint(client, Role::kClient);
        link.server = Endpoint(server, Role::kServer);
        ASSERT_TRUE(link.client.expect_fingerprint("sha-256", hex_of(*server)));
        ASSERT_TRUE(link.server.expect_fingerprint("sha-256", hex_of(*server)));
        if (right) {
            ASSERT_TRUE(link.server.expect_fingerprint("sha-256", hex_of(*client)));
        }
        EXPECT_EQ(link.run(30'000), right);
        EXPECT_EQ(link.server.failed(), !right);
        EXPECT_EQ(link.server.take_srtp_keys().has_value(), right);
        if (!right) {
            EXPECT_EQ(link.server.error(), "the certificate does not have the announced fingerprint");
        }
    }
    Link none(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
    none.server = Endpoint(context_of(KeyKind::kEcdsa), Role::kServer);
    EXPECT_FALSE(none.run(30'000));
    EXPECT_TRUE(none.server.failed());
}

TEST(DtlsEndpoint, SaysAndHearsFarewell) {
    for (Version version : {Version::kAuto, Version::kDtls10}) {
        for (bool client_closes : {true, false}) {
            Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa, version));
            ASSERT_TRUE(link.run(1000));
            auto& one = link.sender(client_closes);
            auto& other = link.receiver(client_closes);
            one.close();
            EXPECT_TRUE(one.closed());
            auto farewell = one.next_datagram();
            ASSERT_FALSE(farewell.empty());
            Bytes bytes(farewell.begin(), farewell.end());
            EXPECT_TRUE(one.next_datagram().empty());
            for (size_t i = 0; i < bytes.size(); ++i) {
                Bytes forged = bytes;
                forged[i] ^= 4;
                other.on_datagram(forged, 2000);
                EXPECT_TRUE(other.established()) << i;
            }
            other.on_datagram(bytes, 2000);
            EXPECT_TRUE(other.closed());
            EXPECT_FALSE(other.next_datagram().empty());
            EXPECT_TRUE(other.next_datagram().empty());
        }
    }
}

// The server's last flight is lost several times: it is retransmitted whenever the client repeats its own.
TEST(DtlsEndpoint, AnswersARepeatedLastFlight) {
    Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
    int lost = 0;
    std::vector<Bytes> finished;
    link.on_send = [&](bool to_server, Bytes& bytes) {
        std::span<const uint8_t> rest = bytes;
        while (auto record = next_record(rest)) {
            if (to_server && record->epoch == 1) finished.emplace_back(record->all.begin(), record->all.end());
        }
        return to_server || !link.server.established() || ++lost > 3;
    };
    ASSERT_TRUE(link.run(5000));
    EXPECT_EQ(lost, 4);
    // The client's Finished has a new sequence number each time, or a server would take it for a replay.
    ASSERT_EQ(finished.size(), 4u);
    for (size_t i = 0; i < finished.size(); ++i) {
        EXPECT_EQ(finished[i].size(), finished[0].size());
        EXPECT_EQ(finished[i][10], i);
        for (size_t k = 0; k < i; ++k) EXPECT_FALSE(std::equal(&finished[i][13], &finished[i][21], &finished[k][13]));
    }
    // The close_notify has the number after those.
    link.client.close();
    const auto farewell = link.client.next_datagram();
    ASSERT_FALSE(farewell.empty());
    EXPECT_EQ(farewell[10], 4);
    link.server.on_datagram(farewell, 6000);
    EXPECT_TRUE(link.server.closed());
}

TEST(DtlsEndpoint, GarbageKillsNoHandshake) {
    std::mt19937 random(3);
    for (int round = 0; round < 30; ++round) {
        Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
        Bytes last;
        link.on_send = [&](bool to_server, Bytes& bytes) {
            for (int i = 0; i < 20; ++i) {
                Bytes garbage(1 + random() % 200);
                for (auto& byte : garbage) byte = static_cast<uint8_t>(random());
                // Also plausible headers: types 20 to 23, both epochs, the right length.
                if (i % 2 && garbage.size() > kRecordHeader) {
                    const Bytes header = {static_cast<uint8_t>(20 + random() % 4),
                                          0xfe,
                                          0xfd,
                                          0,
                                          static_cast<uint8_t>(random() % 3),
                                          0,
                                          0,
                                          0,
                                          0,
                                          1,
                                          static_cast<uint8_t>(random()),
                                          0,
                                          static_cast<uint8_t>(garbage.size() - kRecordHeader)};
                    std::copy(header.begin(), header.end(), garbage.begin());
                }
                link.receiver(to_server).on_datagram(garbage, link.now_ms);
            }
            // A plaintext alert, and the last datagram again.
            const Bytes alert = {21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 99, 0, 2, 2, 40};
            link.receiver(to_server).on_datagram(alert, link.now_ms);
            if (!last.empty()) link.receiver(to_server).on_datagram(last, link.now_ms);
            last = bytes;
            return true;
        };
        ASSERT_TRUE(link.run(10'000)) << round << ": " << link.client.error() << ", " << link.server.error();
    }
}

TEST(DtlsEndpoint, ABrokenHelloDoesNotKeepTheNextOneOut) {
    Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
    bool first = true;
    link.on_send = [&](bool to_server, Bytes& bytes) {
        if (to_server && std::exchange(first, false)) {
            Bytes broken = bytes;
            broken[kRecordHeader + kFragmentHeader + 34] = 200;  // length of the session id
            link.server.on_datagram(broken, link.now_ms);
            EXPECT_FALSE(link.server.failed());
            EXPECT_FALSE(link.server.error().empty());
        }
        return true;
    };
    EXPECT_TRUE(link.run(5000));
}

// Forged fragments of a hello with another length arrive before the valid hello.
TEST(DtlsEndpoint, AForgedPieceOfAHelloDoesNotKeepTheTrueOneOut) {
    Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
    bool first = true;
    link.on_send = [&](bool to_server, Bytes& bytes) {
        if (to_server && std::exchange(first, false)) {
            Bytes piece(bytes.begin(), bytes.begin() + kRecordHeader + kFragmentHeader + 10);
            piece[12] = kFragmentHeader + 10;  // length of the record
            piece[11] = 0;
            piece[kRecordHeader + 3] ^= 1;  // length of the message
            piece[kRecordHeader + 9] = piece[kRecordHeader + 10] = 0;
            piece[kRecordHeader + 11] = 10;  // length of the fragment
            link.server.on_datagram(piece, link.now_ms);
        }
        return true;
    };
    EXPECT_TRUE(link.run(5000));
    EXPECT_EQ(link.now_ms, 40);
}

TEST(DtlsEndpoint, GivesUpWhenNobodyAnswers) {
    Link link(context_of(KeyKind::kEcdsa), context_of(KeyKind::kEcdsa));
    link.on_send = [](bool, Bytes&) { return false; };
    EXPECT_FALSE(link.run(60'000));
    EXPECT_TRUE(link.client.failed());
    EXPECT_EQ(link.client.error(), "the peer does not answer");
    EXPECT_EQ(link.sent, Endpoint::kMaxSends);
}

TEST(DtlsEndpoint, ClosedBeforeItBegan) {
    Endpoint server(context_of(KeyKind::kEcdsa), Role::kServer);
    server.close();
    EXPECT_TRUE(server.closed());
    EXPECT_TRUE(server.next_datagram().empty());
    server.on_datagram(Bytes(100, 22), 5);
    server.on_timeout(1'000'000);
    EXPECT_TRUE(server.next_datagram().empty());
}

TEST(DtlsFilter, BoundsWhatAPeerCanMakeUsKeep) {
    auto fragment = [](uint8_t type, uint32_t length, uint16_t sequence, uint32_t offset, uint32_t size) {
        Bytes bytes;
        base::ByteWriter writer(bytes);
        writer.u8(type);
        writer.u24(length);
        writer.u16(sequence);
        writer.u24(offset);
        writer.u24(size);
        bytes.resize(bytes.size() + size);
        return bytes;
    };
    FragmentFilter filter(FragmentFilter::From::kClient);
    EXPECT_TRUE(filter.admits(fragment(1, 100, 0, 50, 50)));
    EXPECT_TRUE(filter.admits(fragment(1, 100, 0, 0, 50)));
    EXPECT_FALSE(filter.admits(fragment(1, 101, 0, 0, 50)));  // another length than before
    EXPECT_FALSE(filter.admits(fragment(2, 10, 1, 0, 10)));   // a message of a server
    EXPECT_FALSE(filter.admits(fragment(20, 12, 1, 0, 12)));  // a plaintext Finished
    EXPECT_FALSE(filter.admits(fragment(11, 10, 1, 5, 6)));
    EXPECT_FALSE(filter.admits(fragment(11, 10, 1, 0, 0)));
    EXPECT_FALSE(filter.admits(fragment(11, FragmentFilter::kMaxMessage + 1, 1, 0, 1)));
    EXPECT_FALSE(filter.admits(fragment(11, 10, FragmentFilter::kMaxMessages, 0, 1)));
    EXPECT_TRUE(filter.admits(fragment(11, FragmentFilter::kMaxMessage, 1, 0, 1)));
    EXPECT_FALSE(filter.admits(fragment(11, FragmentFilter::kMaxMessage, 2, 0, 1)));  // exceeds kMaxTotal
    Bytes cut = fragment(11, FragmentFilter::kMaxMessage, 1, 0, 10);
    cut.pop_back();
    EXPECT_FALSE(filter.admits(cut));
}

#ifndef SRS_SANITIZER
size_t heap() { return mallinfo2().uordblks; }

// The memory of a server's endpoint, measured by the allocator.
TEST(DtlsEndpoint, MemoryHalfOpenAndEstablished) {
    constexpr size_t kCount = 50;
    const auto& context = context_of(KeyKind::kEcdsa);
    ASSERT_TRUE(Link(context, context).run(1000));  // OpenSSL's tables are allocated from here on
    Link half(context, context);
    half.client.start(0);
    const auto hello = half.client.next_datagram();
    size_t before = heap();
    half.server.on_datagram(hello, 0);
    const size_t half_open = heap() - before;
    ASSERT_FALSE(half.server.next_datagram().empty());

    std::vector<Endpoint> servers;
    servers.reserve(kCount);
    before = heap();
    for (size_t i = 0; i < kCount; ++i) {
        Link link(context, context);
        ASSERT_TRUE(link.run(1000));
        ASSERT_TRUE(link.server.take_srtp_keys());
        servers.push_back(std::move(link.server));
    }
    const size_t established = (heap() - before) / kCount;
    std::printf("bytes of heap: half open %zu, established %zu, beside %zu of the object\n", half_open, established,
                sizeof(Endpoint));
    EXPECT_LT(established, 1000u);
    EXPECT_LT(half_open, 60'000u);
}
#endif

}  // namespace
}  // namespace dtls
