package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"
)

// connection is what publisher and player share: one codec per kind, addresses of this machine only, WHIP's HTTP.
type connection struct {
	peer      *webrtc.PeerConnection
	resource  string
	answer    string
	connected chan struct{}
}

var feedback = []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}, {Type: "ccm", Parameter: "fir"}}

func videoCapability(codec string) (webrtc.RTPCodecCapability, error) {
	known := map[string]webrtc.RTPCodecCapability{
		"h264": {MimeType: webrtc.MimeTypeH264, SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"},
		"h265": {MimeType: webrtc.MimeTypeH265},
		"vp8":  {MimeType: webrtc.MimeTypeVP8},
		"vp9":  {MimeType: webrtc.MimeTypeVP9, SDPFmtpLine: "profile-id=0"},
		"av1":  {MimeType: webrtc.MimeTypeAV1},
	}
	out, ok := known[codec]
	if !ok {
		return out, fmt.Errorf("what codec is %q?", codec)
	}
	out.ClockRate, out.RTCPFeedback = 90000, feedback
	return out, nil
}

var opusCapability = webrtc.RTPCodecCapability{
	MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1",
}

func newConnection(codec string, rtx bool) (*connection, error) {
	video, err := videoCapability(codec)
	if err != nil {
		return nil, err
	}
	engine := &webrtc.MediaEngine{}
	retransmission := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeRTX, ClockRate: 90000, SDPFmtpLine: "apt=96"}
	for _, one := range []struct {
		capability webrtc.RTPCodecCapability
		payload    webrtc.PayloadType
		kind       webrtc.RTPCodecType
	}{{video, 96, webrtc.RTPCodecTypeVideo}, {retransmission, 97, webrtc.RTPCodecTypeVideo}, {opusCapability, 111, webrtc.RTPCodecTypeAudio}} {
		if one.payload == 97 && !rtx {
			continue
		}
		parameters := webrtc.RTPCodecParameters{RTPCodecCapability: one.capability, PayloadType: one.payload}
		if err := engine.RegisterCodec(parameters, one.kind); err != nil {
			return nil, err
		}
	}
	registry := &interceptor.Registry{}
	if err := webrtc.ConfigureSimulcastExtensionHeaders(engine); err != nil {
		return nil, err
	}
	if err := webrtc.ConfigureTWCCHeaderExtensionSender(engine, registry); err != nil {
		return nil, err
	}
	if err := webrtc.RegisterDefaultInterceptors(engine, registry); err != nil {
		return nil, err
	}
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetInterfaceFilter(func(name string) bool { return name == "lo" })
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	api := webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings))
	peer, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	out := &connection{peer: peer, connected: make(chan struct{})}
	peer.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			close(out.connected)
		}
	})
	return out, nil
}

// start exchanges offer and answer and waits for the connection. port: instead of the one in the answer's candidates.
func (c *connection) start(where string, port int) error {
	offer, err := c.peer.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(c.peer)
	if err = c.peer.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	answer, err := c.post(where, c.peer.LocalDescription().SDP)
	if err != nil {
		return err
	}
	c.answer = answer
	if port != 0 {
		answer = throughPort(answer, port)
	}
	if err = c.peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		return fmt.Errorf("%w, of the answer\n%s", err, answer)
	}
	select {
	case <-c.connected:
		return nil
	case <-time.After(20 * time.Second):
		return errors.New("no connection within 20 s; the answer was\n" + answer)
	}
}

// post asks again for five seconds where nobody publishes yet.
func (c *connection) post(where, offer string) (string, error) {
	for attempt := 0; ; attempt++ {
		answer, err := http.Post(where, "application/sdp", strings.NewReader(offer))
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return "", err
		}
		if answer.StatusCode == http.StatusCreated {
			base, _ := url.Parse(where)
			location, err := base.Parse(answer.Header.Get("Location"))
			if err != nil {
				return "", err
			}
			c.resource = location.String()
			return string(body), nil
		}
		if answer.StatusCode != http.StatusNotFound || attempt == 25 {
			return "", fmt.Errorf("%s: %s %s\n%s", where, answer.Status, body, offer)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

var candidate = regexp.MustCompile(`(?m)^(a=candidate:\S+ \d+ (?i:udp) \d+ \S+ )\d+ `)
var overTcp = regexp.MustCompile(`(?mi)^a=candidate:\S+ \d+ tcp .*\r?\n`)

func throughPort(answer string, port int) string {
	return candidate.ReplaceAllString(overTcp.ReplaceAllString(answer, ""), fmt.Sprintf("${1}%d ", port))
}

func (c *connection) leave(vanish bool) {
	if vanish {
		return
	}
	if request, err := http.NewRequest(http.MethodDelete, c.resource, nil); err == nil {
		if answer, err := http.DefaultClient.Do(request); err == nil {
			answer.Body.Close()
		}
	}
	c.peer.Close()
}
