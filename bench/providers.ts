import { type FakeRequest, type FakeStep, openFakeOpenAi } from '../fixtures/fake-openai.js'
import { chatFrames, pcmBytes } from '../fixtures/openai-frames.js'
import { seeded } from '../fixtures/random.js'
import { systemClock } from '../media/base/clock.js'

/** What the providers take before they say anything, in ms. */
export interface Profile {
  readonly name: 'zero' | 'typical'
  readonly transcriptionMs: number
  readonly modelMs: number
  readonly speechMs: number
}

export const PROFILES: Readonly<Record<Profile['name'], Profile>> = {
  zero: { name: 'zero', transcriptionMs: 0, modelMs: 0, speechMs: 0 },
  typical: { name: 'typical', transcriptionMs: 250, modelMs: 400, speechMs: 120 },
}

export const BENCH_MODELS = {
  chat: 'bench-chat',
  transcription: 'bench-transcribe',
  speech: 'bench-speech',
  voice: 'bench',
} as const

const SPEECH_RATE = 24_000
const BLOCK_SAMPLES = SPEECH_RATE / 10

/** How long the providers really waited for one turn, from the chain of its three requests. */
export interface TurnWaits {
  /** Monotonic time at which the first byte of speech was sent. */
  readonly speechSentMs: number
  readonly transcriptionMs: number
  readonly modelMs: number
  readonly speechMs: number
}

/** Local fakes on the vendors' wire protocol. */
export interface BenchProviders {
  readonly env: Readonly<Record<string, string>>
  /** Text of the utterances from now on; null is the numbered question. */
  hears(text: string | null): void
  /** Of all turns so far, by `speechSentMs`. */
  waits(): readonly TurnWaits[]
  close(): Promise<void>
}

interface Asked {
  readonly request: FakeRequest
  readonly atMs: number
}

/**
 * One sentence for every question, `replySeconds` of speech for every sentence. The text of each
 * transcription carries a number, and so do the answer and its speech: that ties a turn's requests
 * together.
 */
export async function openProviders(profile: Profile, replySeconds: number): Promise<BenchProviders> {
  const fake = await openFakeOpenAi()
  const wait = (ms: number): FakeStep[] => (ms === 0 ? [] : [{ waitMs: ms }])
  const heard = new Map<number, Asked>()
  const asked = new Map<number, Asked>()
  const spoken = new Map<number, Asked>()
  const audio = speech(replySeconds)
  let count = 0
  let fixed: string | null = null
  fake.setDefault('transcriptions', (request) => {
    count++
    heard.set(count, { request, atMs: systemClock.now() })
    const text = fixed ?? `Please tell me more about offer ${count} today.`
    return {
      headers: { 'content-type': 'application/json' },
      steps: [...wait(profile.transcriptionMs), { send: JSON.stringify({ text }) }],
    }
  })
  fake.setDefault('chat', (request) => {
    const number = lastNumber(request)
    asked.set(number, { request, atMs: systemClock.now() })
    const frames = chatFrames(['Certainly', ', this is', ` offer ${number} of today.`])
    return {
      headers: { 'content-type': 'text/event-stream' },
      steps: [...wait(profile.modelMs), ...frames.map((send): FakeStep => ({ send }))],
    }
  })
  fake.setDefault('speech', (request) => {
    spoken.set(lastNumber(request), { request, atMs: systemClock.now() })
    return { headers: { 'content-type': 'audio/pcm' }, steps: [...wait(profile.speechMs), ...audio] }
  })
  return {
    env: {
      PARLEY_OPENAI_BASE_URL: fake.baseUrl,
      PARLEY_OPENAI_API_KEY: 'bench',
      PARLEY_OPENAI_CHAT_MODEL: BENCH_MODELS.chat,
      PARLEY_OPENAI_TRANSCRIPTION_MODEL: BENCH_MODELS.transcription,
      PARLEY_OPENAI_SPEECH_MODEL: BENCH_MODELS.speech,
      PARLEY_OPENAI_SPEECH_VOICE: BENCH_MODELS.voice,
      PARLEY_OPENAI_SPEECH_RATE: String(SPEECH_RATE),
    },
    hears(text) {
      fixed = text
    },
    waits() {
      const turns: TurnWaits[] = []
      for (const [number, speechRequest] of spoken) {
        const transcription = heard.get(number)
        const model = asked.get(number)
        if (transcription === undefined || model === undefined) continue
        const speechMs = actual(speechRequest)
        turns.push({
          speechSentMs: speechRequest.atMs + speechMs,
          transcriptionMs: actual(transcription),
          modelMs: actual(model),
          speechMs,
        })
      }
      return turns.sort((a, b) => a.speechSentMs - b.speechSentMs)
    },
    close: () => fake.close(),
  }
}

function actual({ request }: Asked): number {
  return request.waits.reduce((sum, { actualMs }) => sum + actualMs, 0)
}

/** The number after the last `offer` of a request's body; 0 where there is none (an opening line). */
function lastNumber(request: FakeRequest): number {
  return Number([...request.body.toString('utf8').matchAll(/offer (\d+)/g)].at(-1)?.[1] ?? 0)
}

/** Voiced noise that swells like syllables, never by more than 10 dB: no silence to mistake for an end. */
function speech(seconds: number): FakeStep[] {
  const random = seeded(24)
  let smooth = 0
  let level = 1
  let towards = 1
  const steps: FakeStep[] = []
  for (let at = 0; at < seconds * SPEECH_RATE; at += BLOCK_SAMPLES) {
    const block = Int16Array.from({ length: BLOCK_SAMPLES }, (_, i) => {
      smooth += 0.15 * (random.normal() - smooth)
      // About six times a second another loudness, reached in 20 ms.
      if (random.next() < 6 / SPEECH_RATE) towards = random.between(0.3, 1)
      level += 0.002 * (towards - level)
      return level * (5000 * Math.sin((2 * Math.PI * 160 * (at + i)) / SPEECH_RATE) + 5000 * smooth)
    })
    steps.push({ send: pcmBytes(block) })
  }
  return steps
}
