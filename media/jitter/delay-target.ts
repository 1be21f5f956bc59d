/** Initial target and its bounds (ms). */
const START_MS = 40
const MIN_MS = 21
/** Enough for packets up to 120 ms late, with the margin and two pitch periods for adjustment. */
const MAX_MS = 160
/**
 * Margin above the jitter (ms): a tick needs 20 ms at once, and the packet that completes them may be that
 * old. The rest covers drift that is detected late.
 */
const MARGIN_MS = 21
/** The target shrinks one step at a time, so that a pause between two bursts of jitter costs little. */
const SHRINK_MS = 20
const SHRINK_EVERY_FRAMES = 50
/** The peak delay covers about the last 8 s (400 packets). */
const PEAKS = 8
const PEAK_PACKETS = 50

/**
 * Computes the playout delay from the lateness of packets: mean + 4 sigma of about 32 packets, but no more
 * than the peak of the last 400. It grows at once and shrinks by 20 ms per second.
 */
export class DelayTarget {
  /** The target delay (samples). */
  target: number
  readonly #perMs: number
  readonly #peaks = new Float64Array(PEAKS)
  #peakAt = 0
  #peakPackets = 0
  #mean = 0
  #variance = 0
  #frames = 0

  constructor(rate: number) {
    this.#perMs = rate / 1000
    this.target = START_MS * this.#perMs
  }

  /** The upper bound of the target (samples). */
  get maximum(): number {
    return MAX_MS * this.#perMs
  }

  /** Takes the lateness of a packet against the fastest packets (samples). */
  observe(late: number): void {
    const delay = Math.min(late, 2 * MAX_MS * this.#perMs)
    if (++this.#peakPackets > PEAK_PACKETS) {
      this.#peakPackets = 1
      this.#peakAt = (this.#peakAt + 1) % PEAKS
      this.#peaks[this.#peakAt] = 0
    }
    if (delay > (this.#peaks[this.#peakAt] as number)) this.#peaks[this.#peakAt] = delay
    const diff = delay - this.#mean
    this.#mean += diff / 32
    this.#variance += (diff * diff - this.#variance) / 32
    const wanted = this.#wanted()
    if (wanted > this.target) this.target = wanted
  }

  /** Takes note of a played frame. */
  framePlayed(): void {
    if (++this.#frames < SHRINK_EVERY_FRAMES) return
    this.#frames = 0
    this.target = Math.max(this.#wanted(), Math.min(this.target, this.target - SHRINK_MS * this.#perMs))
  }

  #wanted(): number {
    let peak = 0
    for (let i = 0; i < PEAKS; i++) peak = Math.max(peak, this.#peaks[i] as number)
    const jitter = Math.min(this.#mean + 4 * Math.sqrt(this.#variance), peak)
    const wanted = Math.ceil(jitter) + MARGIN_MS * this.#perMs
    return Math.min(MAX_MS * this.#perMs, Math.max(MIN_MS * this.#perMs, wanted))
  }
}
