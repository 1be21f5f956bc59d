import type { SpeechToText, SpeechToTextEvents, TextToSpeech } from '../../../media/agent/vendor-ports.js'
import { FRAME_MS } from '../../../media/base/frame.js'
import type { Vad, VadFactory } from '../../../media/vad/vad.js'

/** Pretends to be spoken instantly: the words are read, not heard. */
const SPOKEN_MS = FRAME_MS

/** A caller who types. It replaces VAD and STT: each line is one complete utterance. */
export class TypedCaller {
  readonly #lines: string[] = []
  readonly #streams = new Set<SpeechToTextEvents>()

  /** Queues the caller's next line. */
  say(line: string): void {
    this.#lines.push(line)
  }

  /** Speech starts with the first frame after a line was typed and ends with the next frame. */
  readonly vad: VadFactory = { open: () => new TypedDetector(() => this.#lines.length > 0) }

  readonly recogniser: SpeechToText = {
    id: 'typed',
    open: (_options, events) => {
      this.#streams.add(events)
      return {
        capabilities: {
          partials: false,
          endOfUtterance: false,
          wordTimes: false,
          understandsSpeech: true,
          finalDeadlineMs: 1000,
        },
        write() {},
        utteranceStart() {},
        utteranceEnd: () => {
          const line = this.#lines.shift()
          if (line !== undefined) events.final(line, null)
        },
        close: () => {
          this.#streams.delete(events)
        },
      }
    },
  }
}

/** A voice that takes no time. The conversation's turns hold its text. */
export const printedVoice: TextToSpeech = {
  id: 'printed',
  firstAudioDeadlineMs: 1000,
  speak({ rate }, events) {
    let cancelled = false
    queueMicrotask(() => {
      if (cancelled) return
      // Not silence: the lead trim would remove it, and nothing would count as spoken.
      events.audio(new Int16Array((rate / 1000) * SPOKEN_MS).fill(8000), rate)
      if (!cancelled) events.done()
    })
    return {
      cancel: () => {
        cancelled = true
      },
    }
  },
}

class TypedDetector implements Vad {
  speaking = false
  onsetMs = 0
  lastVoicedMs = 0
  voicedMs = 0
  readonly #typed: () => boolean

  constructor(typed: () => boolean) {
    this.#typed = typed
  }

  process(_pcm: Int16Array, atMs: number): 'onset' | 'offset' | null {
    if (this.speaking) {
      this.speaking = false
      this.lastVoicedMs = atMs
      return 'offset'
    }
    if (!this.#typed()) return null
    this.speaking = true
    this.onsetMs = atMs
    this.voicedMs = FRAME_MS
    return 'onset'
  }

  learnNoise(): void {}

  close(): void {}
}
