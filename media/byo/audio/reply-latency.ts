/** Mean square above which a frame is speech or a tone: -40 dBFS. */
const LOUD = (32768 * 0.01) ** 2
/** Quiet frames that end a stretch of audio: 240 ms, longer than the pauses inside words. */
const QUIET_FRAMES = 12
/** A reply later than this (ms) is not a reply to the caller's last words. */
const MAX_REPLY_MS = 15_000

/**
 * Measures how long callers wait for the bot: from the end of the caller's speech to the first audio of the
 * reply. Goes by loudness only, which costs next to nothing; a noisy call yields fewer measurements, not
 * wrong ones. Times are ms of one clock.
 */
export class ReplyLatency {
  readonly replyMs: number[] = []
  firstAudioMs: number | null = null
  #callerEndMs: number | null = null
  #callerLoud = false
  #botQuiet = QUIET_FRAMES

  /** Takes a frame of the caller. */
  callerFrame(pcm: Int16Array, nowMs: number): void {
    if (isLoud(pcm)) {
      this.#callerLoud = true
      this.#callerEndMs = nowMs
    }
  }

  /** Takes a frame of the bot, or null when the bot is silent. */
  botFrame(pcm: Int16Array | null, nowMs: number): void {
    if (pcm === null || !isLoud(pcm)) {
      this.#botQuiet++
      return
    }
    this.firstAudioMs ??= nowMs
    if (this.#botQuiet >= QUIET_FRAMES && this.#callerLoud && this.#callerEndMs !== null) {
      const waitMs = nowMs - this.#callerEndMs
      // A bot that starts while the caller still speaks is interrupting, not replying.
      if (waitMs > 40 && waitMs < MAX_REPLY_MS && this.replyMs.length < 10_000) this.replyMs.push(waitMs)
      this.#callerLoud = false
    }
    this.#botQuiet = 0
  }
}

/** Samples every fourth value, which is enough to tell audio from silence. */
function isLoud(pcm: Int16Array): boolean {
  let sum = 0
  for (let i = 0; i < pcm.length; i += 4) sum += (pcm[i] as number) ** 2
  return sum > (LOUD * pcm.length) / 4
}
