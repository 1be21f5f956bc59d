import type { SpeakEvents, SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import { EngineError, errorText } from '../../base/errors.js'
import { EMBEDDED } from '../vendor-ids.js'
import type { Synthesis, SynthesisPort } from './synthesis-port.js'

/** Audio is delivered in chunks of this length (ms), each after the words that start in it. */
const CHUNK_MS = 100

/** A text without a letter or digit yields nothing but silence. */
const SPEAKABLE = /[\p{L}\p{N}]/u

/**
 * Opens the embedded synthesizer as a TTS vendor. It delivers the session's own rate and word times. A
 * sentence arrives as a whole, because it is synthesized in another thread.
 */
export function espeakTextToSpeech(port: SynthesisPort): TextToSpeech {
  return {
    id: EMBEDDED,
    // An idle core takes about 50 ms; the rest allows for a queue and for loading the synthesizer.
    firstAudioDeadlineMs: 2000,
    speak(request, events) {
      const stop = new AbortController()
      const { text, voice, language, pace, rate } = request
      const work = SPEAKABLE.test(text)
        ? port.synthesize({ text, voice, language, pace, rate }, stop.signal)
        : Promise.resolve<Synthesis>({ pcm: new Int16Array(0), words: [] })
      work.then(
        (synthesis) => {
          if (!stop.signal.aborted) deliver(synthesis, request, events, stop.signal)
        },
        (error: unknown) => {
          if (stop.signal.aborted) return
          stop.abort()
          events.failed(
            error instanceof EngineError
              ? error
              : new EngineError('vendor_failed', errorText(error), { cause: error }),
          )
        },
      )
      return { cancel: () => stop.abort() }
    },
  }
}

function deliver(synthesis: Synthesis, request: SpeakRequest, events: SpeakEvents, stop: AbortSignal): void {
  const { pcm, words } = synthesis
  const step = (request.rate * CHUNK_MS) / 1000
  let word = 0
  for (let at = 0; at < pcm.length; at += step) {
    const untilMs = ((at + step) * 1000) / request.rate
    for (let next = words[word]; next !== undefined && next.atMs < untilMs; next = words[++word]) {
      events.word(next.textOffset, next.length, next.atMs)
      if (stop.aborted) return
    }
    // A view is enough: the buffer was made for this request alone.
    events.audio(pcm.subarray(at, at + step), request.rate)
    if (stop.aborted) return
  }
  events.done()
}
