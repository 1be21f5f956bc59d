import { type FakeOpenAi, type FakeStep, openFakeOpenAi } from '../fixtures/fake-openai.js'
import { chatFrames, pcmBytes } from '../fixtures/openai-frames.js'
import { seeded } from '../fixtures/random.js'

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

const SPEECH_RATE = 24_000
const BLOCK_SAMPLES = SPEECH_RATE / 10

/** Local fakes on the vendors' wire protocol; each logs how long it really waited. */
export interface BenchProviders {
  readonly env: Readonly<Record<string, string>>
  /** Waits of the requests since the last call, per operation, in order of the requests. */
  takeWaits(): { readonly transcription: number[]; readonly model: number[]; readonly speech: number[] }
  close(): Promise<void>
}

/** `replySeconds` of speech for every sentence, one sentence for every question. */
export async function openProviders(profile: Profile, replySeconds: number): Promise<BenchProviders> {
  const fake = await openFakeOpenAi()
  const wait = (ms: number): FakeStep[] => (ms === 0 ? [] : [{ waitMs: ms }])
  fake.setDefault('transcriptions', {
    headers: { 'content-type': 'application/json' },
    steps: [...wait(profile.transcriptionMs), { send: '{"text":"Please tell me more about the offer."}' }],
  })
  const frames = chatFrames(['Certainly', ', here is', ' what we offer.'])
  fake.setDefault('chat', {
    headers: { 'content-type': 'text/event-stream' },
    steps: [...wait(profile.modelMs), ...frames.map((send): FakeStep => ({ send }))],
  })
  fake.setDefault('speech', {
    headers: { 'content-type': 'audio/pcm' },
    steps: [...wait(profile.speechMs), ...speech(replySeconds)],
  })
  let seen = 0
  return {
    env: {
      PARLEY_OPENAI_BASE_URL: fake.baseUrl,
      PARLEY_OPENAI_API_KEY: 'bench',
      PARLEY_OPENAI_CHAT_MODEL: 'bench-chat',
      PARLEY_OPENAI_TRANSCRIPTION_MODEL: 'bench-transcribe',
      PARLEY_OPENAI_SPEECH_MODEL: 'bench-speech',
      PARLEY_OPENAI_SPEECH_VOICE: 'bench',
      PARLEY_OPENAI_SPEECH_RATE: String(SPEECH_RATE),
    },
    takeWaits() {
      const fresh = fake.requests.slice(seen)
      seen = fake.requests.length
      return {
        transcription: waits(fresh, 'transcriptions'),
        model: waits(fresh, 'completions'),
        speech: waits(fresh, 'speech'),
      }
    },
    close: () => fake.close(),
  }
}

function waits(requests: FakeOpenAi['requests'], path: string): number[] {
  return requests
    .filter((request) => request.path.endsWith(path) && request.waits.length > 0)
    .map((request) => request.waits.reduce((sum, { actualMs }) => sum + actualMs, 0))
}

/** Voiced noise at an even level from the first sample to the last: no silence to mistake for an end. */
function speech(seconds: number): FakeStep[] {
  const random = seeded(24)
  let smooth = 0
  const steps: FakeStep[] = []
  for (let at = 0; at < seconds * SPEECH_RATE; at += BLOCK_SAMPLES) {
    const block = Int16Array.from({ length: BLOCK_SAMPLES }, (_, i) => {
      smooth += 0.15 * (random.normal() - smooth)
      return 5000 * Math.sin((2 * Math.PI * 160 * (at + i)) / SPEECH_RATE) + 5000 * smooth
    })
    steps.push({ send: pcmBytes(block) })
  }
  return steps
}
