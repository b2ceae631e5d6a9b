// TestPattern: video and audio of our own to publish: colour bars, a clock, the time code by which players compute their
// latency, and a quiet tone that beeps each second.
import { draw as drawCode, HEIGHT_DIVISOR } from "./timecode.js";

const [WIDTH, HEIGHT, FPS] = [640, 360, 30];
const COLOURS = ["#b4b4b4", "#b4b410", "#10b4b4", "#10b410", "#b410b4", "#b41010", "#1010b4"];
const BEEP_S = 0.1;

export class TestPattern {
    // Call it in an event handler of a click, or the browser does not start the audio.
    constructor() {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [WIDTH, HEIGHT];
        this.context = canvas.getContext("2d", { alpha: false });
        this.paint();
        this.painter = setInterval(() => this.paint(), 1000 / FPS);
        this.stream = canvas.captureStream(FPS);
        this.addTone();
    }

    addTone() {
        this.audio = new AudioContext();
        const tone = this.audio.createOscillator();
        this.gain = this.audio.createGain();
        const output = this.audio.createMediaStreamDestination();
        tone.frequency.value = 440;
        this.gain.gain.value = 0.02;
        tone.connect(this.gain).connect(output);
        tone.start();
        this.audio.resume();
        this.beeper = setInterval(() => {
            const now = this.audio.currentTime;
            this.gain.gain.setValueAtTime(0.25, now);
            this.gain.gain.setValueAtTime(0.02, now + BEEP_S);
        }, 1000);
        this.stream.addTrack(output.stream.getAudioTracks()[0]);
    }

    paint() {
        const { context } = this;
        const now = Date.now();
        const top = HEIGHT / HEIGHT_DIVISOR;
        COLOURS.forEach((colour, i) => {
            context.fillStyle = colour;
            context.fillRect(Math.floor((i * WIDTH) / COLOURS.length), top, Math.ceil(WIDTH / COLOURS.length), HEIGHT * 0.7);
        });
        context.fillStyle = "#10141a";
        context.fillRect(0, HEIGHT * 0.72, WIDTH, HEIGHT);
        // A bar that crosses the frame each two seconds shows whether it plays evenly.
        context.fillStyle = "#6cb2ff";
        context.fillRect(((now % 2000) / 2000) * WIDTH, HEIGHT * 0.72, 12, HEIGHT * 0.06);
        context.fillStyle = "#fff";
        context.font = "600 46px ui-monospace, monospace";
        context.textAlign = "center";
        const time = new Date(now);
        const text = [time.getHours(), time.getMinutes(), time.getSeconds()].map((n) => `${n}`.padStart(2, "0")).join(":");
        context.fillText(`${text}.${`${time.getMilliseconds()}`.padStart(3, "0")}`, WIDTH / 2, HEIGHT * 0.93);
        drawCode(context, WIDTH, HEIGHT, now);
    }

    stop() {
        clearInterval(this.painter);
        clearInterval(this.beeper);
        this.audio.close();
        for (const track of this.stream.getTracks()) track.stop();
    }
}
