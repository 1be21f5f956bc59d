/** This many consecutive packets without loss end a burst (RFC 3611 section 4.7.2). */
const GAP_MIN = 16
/** A packet is classified after this many later ones, so that a reordered packet does not count as lost. */
const WINDOW = 64

const MISSING = 0
const HEARD = 1
const DISCARDED = 2

/** Distribution of losses as in RTCP XR. Shares are of packets, 0 to 1. */
export interface BurstLoss {
  /** Share of packets lost or discarded inside bursts, and between them. */
  readonly burstDensity: number
  readonly gapDensity: number
  /** Consecutive losses relative to random loss: 1 is random, 2 is bursty (ITU-T G.107). */
  readonly ratio: number
  /** Packets that were too late for playout. */
  readonly discarded: number
}

/**
 * Counts with the four-state model of RFC 3611 appendix A.2 over the packets of one stream in sequence order,
 * with a window for reordered packets. Allocates nothing.
 */
export class BurstCounter {
  readonly #window = new Uint8Array(WINDOW)
  /** The next sequence number to classify; -1 before the first packet. */
  #next = -1
  #highest = -1
  /** Good packets since the last bad one, and bad ones since the last gap. */
  #good = 0
  #bad = 0
  #c11 = 0
  #c13 = 0
  #c14 = 0
  #c22 = 0
  #c23 = 0
  #c33 = 0
  #packets = 0
  #badPackets = 0
  #discarded = 0
  #runs = 0
  #inRun = false

  /** Takes a packet by its unwrapped sequence number. `discarded` marks one that was too late for playout. */
  packet(extended: number, discarded: boolean): void {
    if (this.#next === -1) {
      this.#next = extended
      this.#highest = extended - 1
    }
    if (extended < this.#next) return
    if (extended > this.#highest) {
      // After a long gap at most a window of losses is classified one by one.
      while (extended - this.#next >= WINDOW) this.#classifyNext()
      this.#highest = extended
    }
    this.#window[extended % WINDOW] = discarded ? DISCARDED : HEARD
  }

  /** Restarts the sequence numbers. The counts stay. */
  restart(): void {
    while (this.#next !== -1 && this.#next <= this.#highest) this.#classifyNext()
    this.#next = -1
    this.#highest = -1
  }

  snapshot(): BurstLoss {
    const { burst, gap } = this.#densities()
    const share = this.#packets === 0 ? 0 : this.#badPackets / this.#packets
    const run = this.#runs === 0 ? 1 : this.#badPackets / this.#runs
    return {
      burstDensity: burst,
      gapDensity: gap,
      ratio: Math.max(1, run * (1 - share)),
      discarded: this.#discarded,
    }
  }

  #densities(): { readonly burst: number; readonly gap: number } {
    // The model counts a gap at the next loss. The snapshot counts the current gap as if a loss followed.
    const over = this.#good >= GAP_MIN
    const c14 = this.#c14 + (over && this.#bad === 1 ? 1 : 0)
    const c31 = this.#c13 + (over && this.#bad > 1 ? 1 : 0)
    const c32 = this.#c23
    const losses = c31 + c32 + this.#c33
    const p32 = losses === 0 ? 0 : c32 / losses
    const within = this.#c22 + this.#c23
    const p23 = within === 0 ? 1 : 1 - this.#c22 / within
    const between = this.#c11 + c14 + (over ? this.#good : 0)
    return {
      burst: losses === 0 ? 0 : p23 / (p23 + p32),
      gap: between === 0 ? 0 : c14 / between,
    }
  }

  #classifyNext(): void {
    const slot = this.#next % WINDOW
    const state = this.#window[slot] as number
    this.#window[slot] = MISSING
    this.#next++
    this.#packets++
    if (state === HEARD) {
      this.#good++
      this.#inRun = false
      return
    }
    this.#badPackets++
    if (state === DISCARDED) this.#discarded++
    if (!this.#inRun) this.#runs++
    this.#inRun = true
    if (this.#good >= GAP_MIN) {
      if (this.#bad === 1) this.#c14++
      else if (this.#bad > 1) this.#c13++
      this.#bad = 1
      this.#c11 += this.#good
    } else {
      this.#bad++
      if (this.#good === 0) this.#c33++
      else {
        this.#c23++
        this.#c22 += this.#good - 1
      }
    }
    this.#good = 0
  }
}
