import type { SpeechToText, SpeechToTextEvents, TextToSpeech } from '../../../media/agent/vendor-ports.js'
import { FRAME_MS } from '../../../media/base/frame.js'
import type { Vad, VadFactory } from '../../../media/vad/vad.js'

/** Spoken at once: the words are read, not heard. */
const SPOKEN_MS = FRAME_MS

/**
 * A caller who types: stands in for the ears of a conversation. What is typed is heard as one
 * utterance, and is complete at once.
 */
export class TypedCaller {
  readonly #lines: string[] = []
  readonly #streams = new Set<SpeechToTextEvents>()

  /** The caller says this next. */
  say(line: string): void {
    this.#lines.push(line)
  }

  /** Speech begins with the first frame after a line was typed and ends with the next. */
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

/** A voice that takes no time: the text shows in the turns of the conversation. */
export const printedVoice: TextToSpeech = {
  id: 'printed',
  firstAudioDeadlineMs: 1000,
  speak({ rate }, events) {
    let cancelled = false
    queueMicrotask(() => {
      if (cancelled) return
      // Not silence: that would be trimmed, and nothing would have been said.
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
