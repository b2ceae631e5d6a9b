// A loader of mpegts.js for streams over WebSocket. Its own one throws when it is aborted while it connects, and does not
// tell a stream that has ended from a connection that was lost.
import mpegts from "mpegts.js";

// The class for mpegts.js's customLoader. closed(event, wasOpen) is called when the server or the network closes it.
export function socketLoader(closed) {
    return class extends mpegts.BaseLoader {
        constructor() {
            super("websocket");
            this._needStash = true;
            this.received = 0;
        }

        open({ url }) {
            const socket = (this.socket = new WebSocket(url));
            socket.binaryType = "arraybuffer";
            this._status = mpegts.LoaderStatus.kConnecting;
            socket.onopen = () => (this._status = mpegts.LoaderStatus.kBuffering);
            socket.onmessage = ({ data }) => {
                if (!(data instanceof ArrayBuffer)) return;
                const at = this.received;
                this.received += data.byteLength;
                this.onDataArrival?.(data, at, this.received);
            };
            socket.onclose = (event) => {
                const wasOpen = this._status === mpegts.LoaderStatus.kBuffering;
                this._status = mpegts.LoaderStatus.kComplete;
                closed(event, wasOpen);
            };
        }

        abort() {
            const { socket } = this;
            if (!socket) return;
            this.socket = socket.onopen = socket.onmessage = socket.onclose = null;
            this._status = mpegts.LoaderStatus.kComplete;
            socket.close();
        }

        destroy() {
            this.abort();
            super.destroy();
        }
    };
}
