package main

import (
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
)

type publisher struct {
	*connection
	tracks map[string]*track
	local  map[string]*webrtc.TrackLocalStaticRTP
	begin  time.Time
	done   chan struct{}
	group  sync.WaitGroup
	lock   sync.Mutex
	counts map[string]int // of what was heard, by kind of RTCP packet
}

func newPublisher(o options) (*publisher, error) {
	base, err := newConnection(o.codec, o.publisherRtx)
	if err != nil {
		return nil, err
	}
	p := &publisher{connection: base, tracks: map[string]*track{}, local: map[string]*webrtc.TrackLocalStaticRTP{},
		done: make(chan struct{}), counts: map[string]int{}}
	if o.video != "" {
		units, err := readPictures(o.video, o.codec)
		if err != nil {
			return nil, err
		}
		capability, _ := videoCapability(o.codec)
		if err := p.add("video", capability, &track{units: units, payloads: payloader(o.codec), clock: videoClock, unitMs: pictureMs}); err != nil {
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
	p.tracks[kind], p.local[kind] = one, local
	go p.listen(transceiver.Sender())
	return nil
}

func (p *publisher) listen(sender *webrtc.RTPSender) {
	for {
		packets, _, err := sender.ReadRTCP()
		if err != nil {
			return
		}
		p.lock.Lock()
		for _, packet := range packets {
			switch packet.(type) {
			case *rtcp.PictureLossIndication:
				p.counts["pli"]++
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

func (p *publisher) heard() map[string]int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.counts
}

// send begins to send all tracks, in real time, until stop().
func (p *publisher) send() {
	p.begin = time.Now()
	for kind, one := range p.tracks {
		p.group.Add(1)
		go p.sendTrack(one, p.local[kind])
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
