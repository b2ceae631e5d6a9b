package main

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
)

// sending is a track, or a layer of one, and where it is written to.
type sending struct {
	what  *track
	local *webrtc.TrackLocalStaticRTP
}

type publisher struct {
	*connection
	tracks  map[string]*track // by kind; of layers the largest
	answers bool              // requests for keyframes
	senders []sending
	begin   time.Time
	done    chan struct{}
	group   sync.WaitGroup
	lock    sync.Mutex
	counts  map[string]int // of what was heard, by kind of RTCP packet
}

func newPublisher(o options) (*publisher, error) {
	base, err := newConnection(o.codec, o.publisherRtx)
	if err != nil {
		return nil, err
	}
	p := &publisher{connection: base, answers: o.keyframes, tracks: map[string]*track{}, done: make(chan struct{}), counts: map[string]int{}}
	if o.layers != "" {
		if err := p.addLayers(o); err != nil {
			return nil, err
		}
	}
	if o.video != "" && o.layers == "" {
		one, err := videoTrack(o.video, o.codec)
		if err != nil {
			return nil, err
		}
		capability, _ := videoCapability(o.codec)
		if err := p.add("video", capability, one); err != nil {
			return nil, err
		}
	}
	if o.audio != "" {
		units, err := readSounds(o.audio)
		if err != nil {
			return nil, err
		}
		if err := p.add("audio", opusCapability, &track{units: units, payloads: payloader("opus"), clock: audioClock, unitMs: frameMs}); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *publisher) add(kind string, capability webrtc.RTPCodecCapability, one *track) error {
	local, err := webrtc.NewTrackLocalStaticRTP(capability, kind, "stream")
	if err != nil {
		return err
	}
	transceiver, err := p.peer.AddTransceiverFromTrack(local, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	if err != nil {
		return err
	}
	p.tracks[kind] = one
	p.senders = append(p.senders, sending{one, local})
	go p.listen(func() ([]rtcp.Packet, error) {
		packets, _, err := transceiver.Sender().ReadRTCP()
		return packets, err
	})
	return nil
}

func videoTrack(path, codec string) (*track, error) {
	units, err := readPictures(path, codec)
	return &track{units: units, payloads: payloader(codec), clock: videoClock, unitMs: pictureMs}, err
}

func (p *publisher) addLayers(o options) error {
	capability, _ := videoCapability(o.codec)
	most := 0
	var sender *webrtc.RTPSender
	for _, layer := range strings.Split(o.layers, ",") {
		rid, path, _ := strings.Cut(layer, "=")
		one, err := videoTrack(path, o.codec)
		if err != nil {
			return err
		}
		one.rid = rid
		local, err := webrtc.NewTrackLocalStaticRTP(capability, "video", "stream", webrtc.WithRTPStreamID(rid))
		if err != nil {
			return err
		}
		if sender == nil {
			transceiver, err := p.peer.AddTransceiverFromTrack(local, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
			if err != nil {
				return err
			}
			sender = transceiver.Sender()
		} else if err := sender.AddEncoding(local); err != nil {
			return err
		}
		go p.listen(func() ([]rtcp.Packet, error) {
			packets, _, err := sender.ReadSimulcastRTCP(rid)
			return packets, err
		})
		p.senders = append(p.senders, sending{one, local})
		if size := one.bytes(); size > most {
			most, p.tracks["video"] = size, one
		}
	}
	return nil
}

// start also takes from the answer by which header extension the layers are named.
func (p *publisher) start(where string, port int) error {
	if err := p.connection.start(where, port); err != nil {
		return err
	}
	for _, sender := range p.peer.GetSenders() {
		for _, extension := range sender.GetParameters().HeaderExtensions {
			if extension.URI != "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id" {
				continue
			}
			for _, one := range p.senders {
				if one.what.rid != "" {
					one.what.ridId = uint8(extension.ID)
				}
			}
		}
	}
	for _, one := range p.senders {
		if one.what.rid != "" && one.what.ridId == 0 {
			return errors.New("layers cannot be told apart; the answer was\n" + p.answer)
		}
	}
	return nil
}

var simulcast = regexp.MustCompile(`(?m)^a=simulcast:recv (\S+)`)

func (p *publisher) answeredLayers() string {
	if found := simulcast.FindStringSubmatch(p.answer); found != nil {
		return found[1]
	}
	return ""
}

func (p *publisher) listen(read func() ([]rtcp.Packet, error)) {
	for {
		packets, err := read()
		if err != nil {
			return
		}
		p.lock.Lock()
		for _, packet := range packets {
			switch packet.(type) {
			case *rtcp.PictureLossIndication:
				p.counts["pli"]++
				p.wantKeyframes()
			case *rtcp.FullIntraRequest:
				p.counts["fir"]++
			case *rtcp.TransportLayerNack:
				p.counts["nack"]++
			case *rtcp.ReceiverReport:
				p.counts["rr"]++
			case *rtcp.TransportLayerCC:
				p.counts["twcc"]++
			case *rtcp.ReceiverEstimatedMaximumBitrate:
				p.counts["remb"]++
			}
		}
		p.lock.Unlock()
	}
}

// wantKeyframes has all layers begin a GOP with their next unit, as browsers do at a request for any of them.
func (p *publisher) wantKeyframes() {
	for _, one := range p.senders {
		if p.answers && one.what.clock == videoClock {
			one.what.wanted.Store(true)
		}
	}
}

func (p *publisher) heard() map[string]int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.counts
}

// send begins to send all tracks, in real time, until stop().
func (p *publisher) send() {
	p.begin = time.Now()
	for _, one := range p.senders {
		p.group.Add(1)
		go p.sendTrack(one.what, one.local)
	}
}

func (p *publisher) sendTrack(one *track, local *webrtc.TrackLocalStaticRTP) {
	defer p.group.Done()
	for number := 0; ; number++ {
		due := p.begin.Add(time.Duration(number*one.unitMs) * time.Millisecond)
		select {
		case <-p.done:
			return
		case <-time.After(time.Until(due)):
		}
		for _, packet := range one.packets(number) {
			if local.WriteRTP(packet) != nil {
				return
			}
		}
	}
}

func (p *publisher) stop() {
	close(p.done)
	p.group.Wait()
}
