import { decodeMessage, encodeMessage } from './protobuf.js'

/*
 * Messages of `google.cloud.speech.v2.Speech/StreamingRecognize`, with the field numbers of the vendor's
 * `cloud_speech.proto`. https://docs.cloud.google.com/speech-to-text/docs/reference/rpc/google.cloud.speech.v2
 */

const LINEAR16 = 1

export interface RecognitionSetup {
  /** `projects/P/locations/L/recognizers/_`. */
  readonly recognizer: string
  readonly model: string
  readonly rate: number
  /** BCP 47 tags. */
  readonly languages: readonly string[]
  readonly terms: readonly string[]
}

/** Encodes the first request of a stream: the configuration. */
export function setupRequest({ recognizer, model, rate, languages, terms }: RecognitionSetup): Uint8Array {
  const phraseSet = encodeMessage(...terms.map((term) => [3, encodeMessage([1, term])] as const))
  const adaptation = encodeMessage([1, encodeMessage([2, phraseSet])])
  const config = encodeMessage(
    // features.enable_automatic_punctuation
    [2, encodeMessage([4, true])],
    ...(terms.length === 0 ? [] : [[6, adaptation] as const]),
    // explicit_decoding_config
    [8, encodeMessage([1, LINEAR16], [2, rate], [3, 1])],
    [9, model],
    ...languages.map((language) => [10, language] as const),
  )
  // streaming_config: config, streaming_features.interim_results
  const streaming = encodeMessage([1, config], [2, encodeMessage([2, true])])
  return encodeMessage([3, recognizer], [6, streaming])
}

/** Encodes a request that carries audio. */
export function audioRequest(audio: Uint8Array): Uint8Array {
  return encodeMessage([5, audio])
}

export interface RecognitionResult {
  readonly text: string
  readonly isFinal: boolean
  /** The vendor's tag, empty when it names none. */
  readonly language: string
}

/** Decodes the results of a response. Throws RangeError when the bytes are no response. */
export function readResponse(bytes: Uint8Array): readonly RecognitionResult[] {
  return decodeMessage(bytes).flatMap(([number, value]) =>
    number === 6 && typeof value !== 'number' ? [readResult(value)] : [],
  )
}

function readResult(bytes: Uint8Array): RecognitionResult {
  let text: string | null = null
  let isFinal = false
  let language = ''
  for (const [number, value] of decodeMessage(bytes)) {
    // The alternatives come in the order of their likelihood.
    if (number === 1 && typeof value !== 'number') text ??= firstText(value)
    else if (number === 2) isFinal = value === 1
    else if (number === 6 && typeof value !== 'number') language = utf8(value)
  }
  return { text: (text ?? '').trim(), isFinal, language }
}

function firstText(alternative: Uint8Array): string {
  const found = decodeMessage(alternative).find(([number]) => number === 1)?.[1]
  return found === undefined || typeof found === 'number' ? '' : utf8(found)
}

function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
