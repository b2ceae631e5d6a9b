// The wall clock as black and white cells in a video frame, from which its viewer computes the latency from frame to
// screen. The upper fifteenth of the frame has two rows of 24 cells; the second row is the inverse of the first, so
// that other video is not taken for a code. Columns 1 to 22 are the time in ms modulo 2^22 (70 minutes), as a Gray code
// with the most significant bit first: an encoder that reads its clock per cell is 1 ms wrong at most. Column 0 is
// white, column 23 black. scripts/run has ffmpeg write the same.
export const COLUMNS = 24;
export const HEIGHT_DIVISOR = 15;
const BITS = 22;
const PERIOD = 2 ** BITS;
// Levels of 0 to 255: what the two rows of a column differ by at least.
const MIN_CONTRAST = 90;

// The cells of the first row, 0 or 1.
export function cellsOf(ms) {
    const value = Math.floor(ms) % PERIOD;
    const gray = value ^ (value >> 1);
    return Array.from({ length: COLUMNS }, (_, column) =>
        column === 0 ? 1 : column > BITS ? 0 : (gray >> (BITS - column)) & 1,
    );
}

// The time modulo PERIOD, from the cells; null: that is no code.
export function timeOf(cells) {
    if (cells.length !== COLUMNS || cells[0] !== 1 || cells[COLUMNS - 1] !== 0) return null;
    let value = 0;
    for (let column = 1; column <= BITS; ++column) value = (value << 1) | ((value & 1) ^ cells[column]);
    return value;
}

export function draw(context, width, height, ms) {
    const row = height / HEIGHT_DIVISOR / 2;
    cellsOf(ms).forEach((cell, column) => {
        const left = Math.floor((column * width) / COLUMNS);
        const right = Math.floor(((column + 1) * width) / COLUMNS);
        context.fillStyle = cell ? "#fff" : "#000";
        context.fillRect(left, 0, right - left, row);
        context.fillStyle = cell ? "#000" : "#fff";
        context.fillRect(left, row, right - left, row);
    });
}

// The cells of a frame. context: of a canvas of SAMPLE.width by SAMPLE.height. null: there are none.
export const SAMPLE = { width: COLUMNS * 4, height: 8 };

export function read(context, video) {
    const height = video.videoHeight / HEIGHT_DIVISOR;
    context.drawImage(video, 0, 0, video.videoWidth, height, 0, 0, SAMPLE.width, SAMPLE.height);
    const { data } = context.getImageData(0, 0, SAMPLE.width, SAMPLE.height);
    const level = (x, y) => data[(y * SAMPLE.width + x) * 4 + 1];
    // The middle four of the sixteen samples of a cell.
    const cell = (column, row) => {
        const [x, y] = [column * 4 + 1, row * 4 + 1];
        return (level(x, y) + level(x + 1, y) + level(x, y + 1) + level(x + 1, y + 1)) / 4;
    };
    const cells = [];
    for (let column = 0; column < COLUMNS; ++column) {
        const difference = cell(column, 0) - cell(column, 1);
        if (Math.abs(difference) < MIN_CONTRAST) return null;
        cells.push(difference > 0 ? 1 : 0);
    }
    return timeOf(cells);
}

// How much later than the code's time `now` is, ms; negative where the clocks differ.
export function age(now, time) {
    const difference = (((Math.floor(now) % PERIOD) - time) % PERIOD + PERIOD) % PERIOD;
    return difference > PERIOD / 2 ? difference - PERIOD : difference;
}
