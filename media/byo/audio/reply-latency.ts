/** Loud enough to be speech or a tone, as a mean of squares: -40 dBFS. */
const LOUD = (32768 * 0.01) ** 2
/** So many quiet frames end a stretch of sound: 240 ms, longer than the pauses inside words. */
const QUIET_FRAMES = 12
/** An answer later than this answers something else. */
const LATEST_MS = 15_000

/**
 * How long callers wait for the bot: from the end of the caller's speech to the first sound of the
 * answer. By loudness only, which costs next to nothing; noise on the line makes it blind, never wrong
 * by much. Times are ms of one clock.
 */
export class ReplyLatency {
  readonly replyMs: number[] = []
  firstAudioMs: number | null = null
  #callerEndMs: number | null = null
  #callerLoud = false
  #botQuiet = QUIET_FRAMES

  /** A frame of the caller. */
  callerFrame(pcm: Int16Array, nowMs: number): void {
    if (isLoud(pcm)) {
      this.#callerLoud = true
      this.#callerEndMs = nowMs
    }
  }

  /** A frame of the bot, or null when it says nothing. */
  botFrame(pcm: Int16Array | null, nowMs: number): void {
    if (pcm === null || !isLoud(pcm)) {
      this.#botQuiet++
      return
    }
    this.firstAudioMs ??= nowMs
    if (this.#botQuiet >= QUIET_FRAMES && this.#callerLoud && this.#callerEndMs !== null) {
      const waitMs = nowMs - this.#callerEndMs
      // A bot that begins while the caller still speaks interrupts; it does not answer.
      if (waitMs > 40 && waitMs < LATEST_MS && this.replyMs.length < 10_000) this.replyMs.push(waitMs)
      this.#callerLoud = false
    }
    this.#botQuiet = 0
  }
}

/** Every fourth sample is enough to tell sound from silence. */
function isLoud(pcm: Int16Array): boolean {
  let sum = 0
  for (let i = 0; i < pcm.length; i += 4) sum += (pcm[i] as number) ** 2
  return sum > (LOUD * pcm.length) / 4
}
