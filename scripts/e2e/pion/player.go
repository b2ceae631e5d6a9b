package main

import (
	"sort"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

type received struct {
	sequence  int64 // unwrapped
	timestamp uint32
	marker    bool
	payload   string
}

// inbound is what came of one track.
type inbound struct {
	packets    []received
	seen       map[int64]bool
	newest     int64
	holes      map[int64]time.Time // sequence -> since when it is missing
	longest    time.Duration       // of the holes that were mended
	mended     int
	last       time.Time     // when the newest came
	gap        time.Duration // the longest between two that were the newest
	duplicates int
	codec      string
	payload    uint8
	ssrc       uint32
	report     *rtcp.SenderReport
}

// overdue counts holes that were not mended for a second while packets came. pion hands out what came by RTX only when
// another packet comes, so at the end some are left.
func (t *inbound) overdue() int {
	count := 0
	for _, since := range t.holes {
		if t.last.Sub(since) > time.Second {
			count++
		}
	}
	return count
}

type player struct {
	*connection
	lock   sync.Mutex
	tracks map[string]*inbound
}

func newPlayer(o options) (*player, error) {
	base, err := newConnection(o.codec, o.rtx)
	if err != nil {
		return nil, err
	}
	p := &player{connection: base, tracks: map[string]*inbound{}}
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio} {
		if _, err := p.peer.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}); err != nil {
			return nil, err
		}
	}
	p.peer.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		one := &inbound{seen: map[int64]bool{}, holes: map[int64]time.Time{}, newest: -1, codec: remote.Codec().MimeType, payload: uint8(remote.PayloadType()), ssrc: uint32(remote.SSRC())}
		p.lock.Lock()
		p.tracks[remote.Kind().String()] = one
		p.lock.Unlock()
		go p.readReports(one, receiver)
		for {
			packet, _, err := remote.ReadRTP()
			if err != nil {
				return
			}
			p.lock.Lock()
			one.take(packet, time.Now())
			p.lock.Unlock()
		}
	})
	return p, nil
}

func (p *player) readReports(one *inbound, receiver *webrtc.RTPReceiver) {
	for {
		packets, _, err := receiver.ReadRTCP()
		if err != nil {
			return
		}
		for _, packet := range packets {
			// A compound goes to each of the tracks that it speaks of.
			if report, ok := packet.(*rtcp.SenderReport); ok && report.SSRC == one.ssrc {
				p.lock.Lock()
				one.report = report
				p.lock.Unlock()
			}
		}
	}
}

func (t *inbound) take(packet *rtp.Packet, now time.Time) {
	sequence := int64(packet.SequenceNumber)
	if t.newest >= 0 {
		sequence = t.newest + int64(int16(packet.SequenceNumber-uint16(t.newest)))
	}
	if t.seen[sequence] {
		t.duplicates++
		return
	}
	t.seen[sequence] = true
	if since, ok := t.holes[sequence]; ok {
		if now.Sub(since) > t.longest {
			t.longest = now.Sub(since)
		}
		t.mended++
		delete(t.holes, sequence)
	}
	for missing := t.newest + 1; t.newest >= 0 && missing < sequence; missing++ {
		t.holes[missing] = now
	}
	if sequence > t.newest {
		if gap := now.Sub(t.last); t.newest >= 0 && gap > t.gap {
			t.gap = gap
		}
		t.newest, t.last = sequence, now
	}
	t.packets = append(t.packets, received{sequence, packet.Timestamp, packet.Marker, string(packet.Payload)})
}

// compare says of each kind how what came fits to what the publisher, which may be nil, has sent.
func (p *player) compare(sender *publisher) map[string]any {
	p.lock.Lock()
	defer p.lock.Unlock()
	out := map[string]any{}
	late := map[string]float64{}
	for kind, one := range p.tracks {
		sort.Slice(one.packets, func(i, j int) bool { return one.packets[i].sequence < one.packets[j].sequence })
		facts := map[string]any{
			"codec": one.codec, "payload_type": one.payload, "got": len(one.packets), "duplicates": one.duplicates, "holes_mended": one.mended,
			"holes_left": len(one.holes), "holes_overdue": one.overdue(), "longest_hole_ms": one.longest.Milliseconds(), "longest_gap_ms": one.gap.Milliseconds(), "sender_reports": one.report != nil,
		}
		if sender != nil && sender.tracks[kind] != nil && len(one.packets) > 0 {
			if ms, ok := match(facts, one, sender.tracks[kind]); ok {
				late[kind] = ms
			}
		}
		out[kind] = facts
	}
	if len(late) == 2 {
		out["sound_behind_picture_ms"] = late["audio"] - late["video"]
	}
	return out
}

// The packet sent that came first. A steady tone repeats payloads: of all that have the first one's, it is the one from
// which on the most are as they came.
func firstOf(one *inbound, sent *track) int {
	best, most := len(sent.sent), 0
	for first := range sent.sent {
		if sent.sent[first].payload != one.packets[0].payload {
			continue
		}
		at, same, previous := first, 0, one.packets[0].sequence
		for _, packet := range one.packets {
			at += int(packet.sequence - previous)
			previous = packet.sequence
			if at < len(sent.sent) && sent.sent[at].payload == packet.payload {
				same++
			}
		}
		if same > most {
			best, most = first, same
		}
	}
	return best
}

// match walks along both lists. It returns the milliseconds between a packet's place in the published stream and the time
// that sender reports give it, which is the same for all tracks of one sender, about.
func match(facts map[string]any, one *inbound, sent *track) (float64, bool) {
	first := firstOf(one, sent)
	at := first
	foreign, timestamps, markers := 0, 0, 0
	previous := one.packets[0].sequence
	for _, packet := range one.packets {
		at += int(packet.sequence - previous)
		previous = packet.sequence
		if at >= len(sent.sent) || sent.sent[at].payload != packet.payload {
			foreign++
			continue
		}
		if packet.timestamp-one.packets[0].timestamp != sent.sent[at].timestamp-sent.sent[first].timestamp {
			timestamps++
		}
		if packet.marker != sent.sent[at].marker {
			markers++
		}
	}
	facts["sent"], facts["first"], facts["foreign"] = len(sent.sent), first, foreign
	facts["timestamp_errors"], facts["marker_errors"], facts["not_at_end"] = timestamps, markers, len(sent.sent)-1-at
	if first >= len(sent.sent) || one.report == nil {
		return 0, false
	}
	facts["first_second"] = sent.sent[first].at.Seconds()
	clock := float64(sent.clock)
	reported := float64(one.report.NTPTime>>32) + float64(uint32(one.report.NTPTime))/(1<<32)
	place := reported + float64(int32(one.packets[0].timestamp-one.report.RTPTime))/clock
	return (place - sent.sent[first].at.Seconds()) * 1000, true
}
