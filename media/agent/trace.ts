import type { TurnId, TurnTrace } from './events.js'

/** Collects where the time of one reply goes; each stage counts once, the first time. */
export class ReplyTrace {
  readonly turn: TurnId
  readonly #speechEndMs: number
  readonly #decidedMs: number
  readonly #vadStopMs: number | null
  readonly #sttFinalMs: number | null
  #firstTokenMs: number | null = null
  #firstSentenceMs: number | null = null
  #firstAudioMs: number | null = null

  /** `lastOffsetMs`, `lastFinalMs`: the latest ones of the call; older than the speech they do not count. */
  constructor(
    turn: TurnId,
    speechEndMs: number,
    decidedMs: number,
    lastOffsetMs: number | null,
    lastFinalMs: number | null,
  ) {
    this.turn = turn
    this.#speechEndMs = speechEndMs
    this.#decidedMs = decidedMs
    this.#vadStopMs = lastOffsetMs !== null && lastOffsetMs >= speechEndMs ? lastOffsetMs : null
    this.#sttFinalMs = lastFinalMs !== null && lastFinalMs >= speechEndMs ? lastFinalMs : null
  }

  firstToken(turn: TurnId, atMs: number): void {
    if (turn === this.turn) this.#firstTokenMs ??= atMs
  }

  firstSentence(turn: TurnId, atMs: number): void {
    if (turn === this.turn) this.#firstSentenceMs ??= atMs
  }

  firstAudio(turn: TurnId, atMs: number): void {
    if (turn === this.turn) this.#firstAudioMs ??= atMs
  }

  finish(firstPacketMs: number): TurnTrace {
    return {
      turnId: this.turn,
      speechEndMs: this.#speechEndMs,
      vadStopMs: this.#vadStopMs,
      sttFinalMs: this.#sttFinalMs,
      decidedMs: this.#decidedMs,
      modelFirstTokenMs: this.#firstTokenMs,
      firstSentenceMs: this.#firstSentenceMs,
      ttsFirstAudioMs: this.#firstAudioMs,
      firstPacketMs,
    }
  }
}
