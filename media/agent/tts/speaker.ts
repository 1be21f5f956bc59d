import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { Scope } from '../../base/scope.js'
import { Playout } from '../../session/playout.js'
import type { TimedWord } from '../agent-spec.js'
import type { TurnId } from '../conversation-events.js'
import type { Cancellable } from '../vendor-ports.js'
import { heardText, heardWords, type SpokenSentence, type SpokenWord, writtenPart } from './heard-text.js'
import { AUDIBLE_LEVEL } from './leading-silence.js'
import type { PreparedPhrase } from './phrase-cache.js'
import type { SentenceToSay } from './spoken-sentences.js'
import type { SynthesisEvents, Synthesiser, VoiceChoice } from './synthesis.js'

/** Audio buffered for playout. More audio stays in the backlog. */
const PLAYOUT_MS = 5000
/** Unsent audio beyond which no further sentence is synthesised ahead (ms): an interruption would waste it. */
const AHEAD_MS = 10_000

export interface SpeakerEvents {
  /** Text of the utterance is sent to a vendor. */
  requested(turn: TurnId, choice: VoiceChoice, characters: number): void
  /** Synthesis delivered the first audio of the utterance. */
  firstAudio(turn: TurnId): void
  /** No synthesis works. The utterance gets no more audio. */
  synthesisLost(turn: TurnId): void
}

/** The spoken part of an utterance, as it was written. Times are session ms. */
export interface SpokenUtterance {
  readonly text: string
  readonly heard: string
  readonly language: string
  readonly startMs: number
  readonly endMs: number
  readonly words: readonly TimedWord[] | null
}

/** Outcome of a pull. */
export interface PulledFrame {
  /** False when there is nothing to send. */
  readonly audio: boolean
  /** The utterance whose first or last sample is in the frame. */
  readonly first: TurnId | null
  readonly drained: TurnId | null
}

/** A sentence of a speech-to-speech model, whose words arrive with its audio. */
export interface StreamedSentence {
  addWords(piece: string): void
  /** Samples of it that were sent. Also valid after the utterance was stopped. */
  readonly sentSamples: number
}

/** Starts to deliver the audio. Only `done` must not be reported synchronously. */
export type StreamedAudio = (events: SynthesisEvents) => Cancellable

/** The end of a clause, as the last characters before the next word. */
const CLAUSE_END = /[,;:.!?\u2026\u0964\u2014][\s"')]*$/

interface Sentence extends SentenceToSay {
  text: string
  written: string | null
  readonly prepared: PreparedPhrase | null
  /** Null when the sentence is to be synthesised. */
  readonly streamed: StreamedAudio | null
  readonly words: SpokenWord[]
  start: number
  samples: number
  voiced: number
  complete: boolean
}

const EMPTY = {
  text: '',
  written: null,
  prepared: null,
  streamed: null,
  start: 0,
  samples: 0,
  voiced: 0,
  complete: false,
}

interface Utterance {
  readonly id: TurnId
  /** Closed when no further sentence is synthesised. */
  readonly reply: Scope
  readonly sentences: Sentence[]
  /** Number of sentences whose synthesis has begun. */
  begun: number
  job: Cancellable | null
  /** Audio that did not fit into playout. */
  readonly backlog: Int16Array[]
  queued: number
  finished: boolean
  ended: boolean
  /** Start of each continuous segment of audio: sample of the utterance and session ms. */
  readonly segments: { readonly sample: number; readonly atMs: number }[]
  segmentEndMs: number
}

/**
 * Turns the sentences of an utterance into audio, in order. The synthesis of a sentence begins when the
 * previous one begins to play, so that a barge-in wastes little and playout never runs dry. A voice whose
 * intonation would break by then gets the sentence earlier.
 */
export class Speaker {
  readonly #playout: Playout
  readonly #rate: SessionRate
  readonly #synthesiser: Synthesiser
  readonly #events: SpeakerEvents
  #current: Utterance | null = null
  /** Returned by each `pull`, so that a frame allocates nothing. */
  readonly #pulled: { -readonly [K in keyof PulledFrame]: PulledFrame[K] } = {
    audio: false,
    first: null,
    drained: null,
  }

  constructor(rate: SessionRate, synthesiser: Synthesiser, events: SpeakerEvents) {
    this.#playout = new Playout(rate, PLAYOUT_MS)
    this.#playout.onFirstSample = (turn) => {
      this.#pulled.first = turn
    }
    this.#playout.onDrained = (turn) => {
      this.#pulled.drained = turn
    }
    this.#rate = rate
    this.#synthesiser = synthesiser
    this.#events = events
  }

  /**
   * Adds a sentence. The first sentence starts the utterance. The returned function takes the sentence back,
   * unless some of it was played or audio of another sentence follows it.
   */
  say(id: TurnId, said: SentenceToSay, prepared: PreparedPhrase | null = null): () => void {
    const sentence: Sentence = { ...EMPTY, ...said, prepared, words: [] }
    const utterance = this.#append(id, sentence)
    return () => this.#withdraw(utterance, sentence)
  }

  /** Adds audio of a speech-to-speech model, with its words as they become known. */
  stream(id: TurnId, language: string, streamed: StreamedAudio): StreamedSentence {
    const sentence: Sentence = { ...EMPTY, language, streamed, words: [] }
    this.#append(id, sentence)
    const playout = this.#playout
    return {
      addWords: (piece) => {
        sentence.text += piece
      },
      get sentSamples() {
        return Math.min(sentence.samples, Math.max(0, playout.sentSamples(id) - sentence.start))
      },
    }
  }

  /** Ends the utterance after the sentences so far. */
  finish(id: TurnId): void {
    const utterance = this.#utterance(id)
    utterance.finished = true
    this.#pump(utterance)
  }

  /**
   * Ends the utterance at the end of the clause that is being played: after a punctuation mark when the times
   * of the words are known, else at the end of the sentence. The rest is neither synthesised nor played.
   */
  stopAtClause(id: TurnId): void {
    const utterance = this.#current
    if (utterance?.id !== id) return
    const { sentences } = utterance
    const sent = this.#playout.sentSamples(id)
    sentences.length = utterance.begun
    let last = sentences.at(-1)
    while (last !== undefined && sentences.length > 1 && last.start >= sent) {
      this.#withdraw(utterance, last)
      last = sentences.at(-1)
    }
    if (last !== undefined) this.#cutAfterClause(utterance, last, sent)
    this.finish(id)
  }

  #cutAfterClause(utterance: Utterance, sentence: Sentence, sent: number): void {
    const next = sentence.words.find(
      ({ sample, offset }) => sample > sent && CLAUSE_END.test(sentence.text.slice(0, offset)),
    )
    if (next === undefined) return
    utterance.job?.cancel()
    utterance.job = null
    this.#dropAudio(utterance, {
      start: next.sample,
      samples: utterance.queued - next.sample,
    })
    const text = sentence.text.slice(0, next.offset).trimEnd()
    if (sentence.written !== null) sentence.written = writtenPart(sentence, text)
    sentence.text = text
    sentence.words.splice(sentence.words.indexOf(next))
    sentence.samples = next.sample - sentence.start
    sentence.voiced = Math.min(sentence.voiced, sentence.samples)
    sentence.complete = true
  }

  /** Pauses playout with a fade. Returns whether the next frame holds only the fade-out. */
  pause(): boolean {
    this.#playout.pause()
    return this.#playout.fading
  }

  resume(): void {
    this.#playout.resume()
  }

  get paused(): boolean {
    return this.#playout.paused
  }

  /** True if the next frame holds only the fade-out of stopped audio. */
  get fading(): boolean {
    return this.#playout.fading
  }

  /**
   * Stops synthesis, discards unsent audio and ends a pause. Returns the spoken part, or null when `id` is not
   * the current utterance.
   */
  stop(id: TurnId): SpokenUtterance | null {
    const utterance = this.#current
    if (utterance?.id !== id) {
      // A pause ends with its reply, also when the reply has no audio yet.
      this.#playout.flush()
      return null
    }
    end(utterance)
    const spoken = this.#spoken(utterance)
    this.#playout.flush()
    this.#current = null
    return spoken
  }

  /** Stops synthesis and discards all audio. */
  close(): void {
    if (this.#current) end(this.#current)
    this.#current = null
    this.#playout.flush()
  }

  /** Writes the next frame, which is sent at `atMs`. The result is valid until the next pull. */
  pull(into: Int16Array, atMs: number): PulledFrame {
    const utterance = this.#current
    const pulled = this.#pulled
    pulled.first = null
    pulled.drained = null
    const sentBefore = utterance === null ? 0 : this.#playout.sentSamples(utterance.id)
    pulled.audio = this.#playout.pull(into)
    if (utterance !== null) this.#sent(utterance, sentBefore, atMs)
    return pulled
  }

  get current(): TurnId | null {
    return this.#current?.id ?? null
  }

  /** Records the audio sent by a pull and refills playout. */
  #sent(utterance: Utterance, sentBefore: number, atMs: number): void {
    const sent = this.#playout.sentSamples(utterance.id)
    if (sent > sentBefore) {
      if (utterance.segments.length === 0 || utterance.segmentEndMs !== atMs) {
        utterance.segments.push({ sample: sentBefore, atMs })
      }
      utterance.segmentEndMs = atMs + FRAME_MS
    }
    if (utterance.backlog.length > 0 || utterance.begun < utterance.sentences.length) this.#pump(utterance)
  }

  #append(id: TurnId, sentence: Sentence): Utterance {
    const utterance = this.#utterance(id)
    if (utterance.finished) return utterance
    utterance.sentences.push(sentence)
    this.#pump(utterance)
    return utterance
  }

  #withdraw(utterance: Utterance, sentence: Sentence): void {
    const index = utterance.sentences.indexOf(sentence)
    if (this.#current !== utterance || index < 0) return
    if (index < utterance.begun) {
      const last = index === utterance.begun - 1
      if (!last || this.#playout.sentSamples(utterance.id) > sentence.start) return
      utterance.job?.cancel()
      utterance.job = null
      utterance.begun--
      this.#dropAudio(utterance, sentence)
    }
    utterance.sentences.splice(index, 1)
    this.#pump(utterance)
  }

  /** Drops the audio of the last sentence with audio. */
  #dropAudio(utterance: Utterance, { start, samples }: Pick<Sentence, 'start' | 'samples'>): void {
    const { backlog } = utterance
    utterance.queued = start
    let excess = samples
    while (excess > 0) {
      const piece = backlog.pop()
      if (piece === undefined) break
      if (piece.length > excess) backlog.push(piece.subarray(0, piece.length - excess))
      excess -= piece.length
    }
    if (excess > 0) this.#playout.truncate(utterance.id, start)
  }

  #utterance(id: TurnId): Utterance {
    if (this.#current?.id === id) return this.#current
    if (this.#current) end(this.#current)
    const utterance: Utterance = {
      id,
      reply: new Scope(),
      sentences: [],
      begun: 0,
      job: null,
      backlog: [],
      queued: 0,
      finished: false,
      ended: false,
      segments: [],
      segmentEndMs: -1,
    }
    this.#current = utterance
    return utterance
  }

  #pump(utterance: Utterance): void {
    while (utterance.backlog.length > 0) {
      const chunk = utterance.backlog[0]
      if (chunk === undefined) break
      const taken = this.#playout.enqueue(utterance.id, chunk)
      if (taken < chunk.length) {
        utterance.backlog[0] = chunk.subarray(taken)
        break
      }
      utterance.backlog.shift()
    }
    while (utterance.job === null && utterance.begun < utterance.sentences.length) {
      if (!this.#mayBegin(utterance)) break
      this.#begin(utterance)
    }
    // A sentence that just began is sent in a microtask of its own, which comes first.
    const { begun, sentences, reply } = utterance
    if (utterance.finished && begun === sentences.length && !reply.closed) {
      queueMicrotask(() => void reply.close())
    }
    const settled = utterance.job === null && utterance.begun === utterance.sentences.length
    if (utterance.finished && settled && utterance.backlog.length === 0 && !utterance.ended) {
      utterance.ended = true
      this.#playout.end(utterance.id)
    }
  }

  /** Tells whether the next sentence is due for synthesis. */
  #mayBegin({ id, sentences, begun, queued }: Utterance): boolean {
    const before = sentences[begun - 1]
    const playing = this.#playout.sentSamples(id)
    if (before === undefined || before.samples === 0 || playing > before.start) return true
    const ahead = queued - playing < (AHEAD_MS * this.#rate) / 1000
    return ahead && this.#synthesiser.followsAtOnce(sentences[begun]?.language ?? before.language)
  }

  #begin(utterance: Utterance): void {
    const sentence = utterance.sentences[utterance.begun++]
    if (!sentence) return
    sentence.start = utterance.queued
    const { prepared } = sentence
    if (prepared) {
      for (const word of prepared.words) sentence.words.push(shifted(word, sentence.start))
      this.#add(utterance, sentence, prepared.pcm)
      sentence.complete = true
      return
    }
    const events: SynthesisEvents = {
      requested: (choice, characters) => this.#events.requested(utterance.id, choice, characters),
      audio: (pcm) => this.#add(utterance, sentence, pcm),
      word: (word) => {
        sentence.words.push(shifted(word, sentence.start))
      },
      done: () => {
        sentence.complete = true
        utterance.job = null
        this.#pump(utterance)
      },
      failed: () => {
        utterance.job = null
        this.#events.synthesisLost(utterance.id)
      },
    }
    utterance.job = sentence.streamed
      ? sentence.streamed(events)
      : this.#synthesiser.speak(sentence.text, sentence.language, events, { reply: utterance.reply })
  }

  #add(utterance: Utterance, sentence: Sentence, pcm: Int16Array): void {
    if (pcm.length === 0) return
    const first = utterance.queued === 0
    let end = pcm.length
    while (end > 0 && Math.abs(pcm[end - 1] ?? 0) < AUDIBLE_LEVEL) end--
    if (end > 0) sentence.voiced = sentence.samples + end
    sentence.samples += pcm.length
    utterance.queued += pcm.length
    const taken = utterance.backlog.length > 0 ? 0 : this.#playout.enqueue(utterance.id, pcm)
    if (taken < pcm.length) utterance.backlog.push(pcm.subarray(taken))
    if (first) this.#events.firstAudio(utterance.id)
  }

  #spoken(utterance: Utterance): SpokenUtterance {
    const sent = this.#playout.sentSamples(utterance.id)
    const sentences: readonly SpokenSentence[] = utterance.sentences
    const words = heardWords(sentences, sent, this.#rate)
    return {
      text: sentences.map(({ text, written }) => written ?? text).join(' '),
      heard: heardText(sentences, sent, this.#rate),
      language: utterance.sentences[0]?.language ?? '',
      startMs: utterance.segments[0]?.atMs ?? 0,
      endMs: this.#sessionMs(utterance, sent),
      words:
        words?.map(({ text, startSample, endSample }) => ({
          text,
          startMs: Math.round(this.#sessionMs(utterance, startSample)),
          endMs: Math.round(this.#sessionMs(utterance, endSample)),
        })) ?? null,
    }
  }

  /** Returns the session time (ms) at which a sample was sent. Pauses and gaps shift later samples. */
  #sessionMs(utterance: Utterance, sample: number): number {
    let from = utterance.segments[0]
    if (!from) return 0
    for (const segment of utterance.segments) {
      // The end of a word belongs to its own segment, not to the start of the next one.
      if (segment.sample < sample) from = segment
      else break
    }
    return from.atMs + ((sample - from.sample) * 1000) / this.#rate
  }
}

/** Stops the synthesis of an utterance for good. */
function end({ job, reply }: Utterance): void {
  job?.cancel()
  void reply.close()
}

function shifted(word: SpokenWord, samples: number): SpokenWord {
  return { ...word, sample: word.sample + samples }
}
