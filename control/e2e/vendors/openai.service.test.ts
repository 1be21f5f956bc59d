import t from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { openService, type Service } from '../../../fixtures/service/service.js'
import { dial, type Phone } from '../../../fixtures/sip/phone.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'
import {
  eventStream,
  type FakeReply,
  type FakeRequest,
  jsonReply,
  openFakeOpenAi,
  pcmReply,
} from '../../../fixtures/vendors/fake-openai.js'
import {
  chatFrames,
  errorBody,
  pcmBytes,
  ROLE_FRAME,
  textFrame,
} from '../../../fixtures/vendors/openai-frames.js'
import { TurnClock } from '../../../fixtures/virtual-call/turn-clock.js'

/*
 * The whole service with an OpenAI-compatible vendor on a real socket: what the caller hears, what the model
 * receives, and what happens when the vendor is down, slow, or closes mid-stream.
 */

const SPEECH_RATE = 24_000
/** Longest silence during the agent's turn. It must not exceed 3 s without an event that explains it. */
const DEAD_AIR_MS = 3_000

/** The fake voice: a tone as long as the text takes to say. */
function speechOf(request: FakeRequest): FakeReply {
  const { input } = JSON.parse(request.body.toString()) as { input: string }
  return pcmReply([pcmBytes(tone(700, input.length * 60, SPEECH_RATE))])
}

const says = (...words: string[]): FakeReply => eventStream(chatFrames(words))
const heard = (text: string): FakeReply => jsonReply(JSON.stringify({ text }))

async function open(t: Parameters<typeof openService>[0]) {
  const clock = new TurnClock()
  const fake = await openFakeOpenAi(clock)
  t.teardown(() => fake.close())
  fake.setDefault('speech', speechOf)
  fake.setDefault('transcriptions', heard('I have a question.'))
  const service = await openService(t, {
    virtual: clock,
    env: {
      PARLEY_OPENAI_BASE_URL: fake.baseUrl,
      PARLEY_OPENAI_CHAT_MODEL: 'fake-chat',
      PARLEY_OPENAI_TRANSCRIPTION_MODEL: 'fake-ears',
      PARLEY_OPENAI_SPEECH_MODEL: 'fake-voice',
      PARLEY_OPENAI_SPEECH_VOICE: 'vera',
    },
    agent: {
      systemPrompt: 'You work for {{company}}.',
      inputVariables: [{ name: 'company', description: '', required: false, default: 'Acme' }],
      llmModel: 'fake-chat',
      voice: { sttModel: 'fake-ears', ttsModel: 'fake-voice', ttsVoice: 'vera' },
      callSettings: { inboundOpeningLine: { text: 'Hello there.' }, hangupLine: { text: 'Bye.' } },
    },
  })
  const peer = await openSipPeer({ clock })
  t.teardown(() => peer.close())
  return { clock, fake, service, peer }
}

type Rig = Awaited<ReturnType<typeof open>>

/** Calls the number and waits for the end of the greeting. */
async function callIn({ service, peer }: Rig): Promise<{ phone: Phone; callId: string }> {
  const target = service.target('udp')
  const before = service.events.length
  const phone = await dial(peer, {
    uri: `sip:${service.number}@${target.address}:${target.port}`,
    target,
    from: '+919812345678',
    rtp: { codec: 'PCMA', clock: service.clock },
    network: service.network,
  })
  const turns = () => service.events.slice(before).filter((event) => event.type === 'turn')
  await service.until('the greeting', () => turns().length > 0)
  return { phone, callId: service.events[before]?.callId ?? '' }
}

/** Plays the caller's speech. Resolves after its last sample. */
async function speak(phone: Phone): Promise<void> {
  await phone.rtp.say(readClip(findClip('interrupt-price'))).done
}

function agentTexts(service: Service, callId: string): string[] {
  return service
    .of(callId, 'turn')
    .filter((event) => event.turn.speaker === 'agent')
    .map((event) => event.turn.heardText)
}

/**
 * Returns the agent's longest silence from the arrival `fromMs` to its last sound, in session time (ms),
 * which the packets carry. A uniform delay of all packets does not count.
 */
function longestSilence(phone: Phone, fromMs: number): number {
  const last = phone.rtp.audio().find(({ atMs }) => atMs >= fromMs)
  let from = last?.timestamp ?? 0
  let longest = 0
  for (const { atMs, timestamp } of phone.rtp.loud()) {
    if (atMs < fromMs) continue
    longest = Math.max(longest, ((timestamp - from) | 0) / 8)
    from = timestamp
  }
  return longest
}

t.test('a conversation over all three endpoints, with an interruption', { timeout: 150_000 }, async (t) => {
  const rig = await open(t)
  const { fake, service } = rig
  fake.enqueue('transcriptions', heard('How much does it cost?'), heard('Stop, I understand.'))
  fake.enqueue(
    'chat',
    says(
      'It costs five hundred rupees. ',
      'That includes ',
      'the first visit and everything you need for it.',
    ),
    says('All right.'),
  )
  const { phone, callId } = await callIn(rig)
  await speak(phone)
  await service.until('the reply', () => service.of(callId, 'trace').length > 0)
  await service.until('two seconds of the reply', () => phone.rtp.loud().length > 100)
  await speak(phone)
  await service.until('two replies', () => agentTexts(service, callId).length >= 3)

  const texts = agentTexts(service, callId)
  t.equal(texts[0], 'Hello there.')
  t.match(texts[1], /^It costs five/)
  t.notMatch(texts[1], /need for it/, 'cut before its end')
  t.equal(texts[2], 'All right.')
  const chats = fake.requests.filter((request) => request.path.endsWith('/chat/completions'))
  const messages = chats.map((request) => JSON.parse(request.body.toString()).messages)
  t.match(messages[0][0], { role: 'system', content: /You work for Acme\./ })
  t.match(messages[0].slice(1), [
    { role: 'assistant', content: 'Hello there.' },
    { role: 'user', content: 'How much does it cost?' },
  ])
  t.match(messages[1].at(-2), { role: 'assistant', content: `${texts[1]} [interrupted by the caller]` })
  t.match(messages[1].at(-1), { role: 'user', content: 'Stop, I understand.' })
  await phone.close()
  t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'caller_hangup' })
})

const CHAT_FAULTS: readonly [string, readonly FakeReply[], RegExp][] = [
  [
    'answers 500 twice',
    [jsonReply(errorBody('down'), 500), jsonReply(errorBody('down'), 500)],
    /Recovered\./,
  ],
  [
    'opens and stalls',
    [{ headers: { 'content-type': 'text/event-stream' }, steps: [{ stall: true }] }],
    /Recovered\./,
  ],
  [
    'closes after a sentence',
    [
      {
        headers: { 'content-type': 'text/event-stream' },
        steps: [{ send: ROLE_FRAME }, { send: textFrame('This much I know. And then ') }, { cut: true }],
      },
    ],
    /This much I know\./,
  ],
]

for (const [name, replies, expected] of CHAT_FAULTS) {
  t.test(`the model ${name}`, { timeout: 150_000 }, async (t) => {
    const rig = await open(t)
    const { fake, service } = rig
    fake.setDefault('chat', says('Recovered.'))
    fake.enqueue('chat', ...replies)
    const { phone, callId } = await callIn(rig)
    await speak(phone)
    const spokenAt = phone.rtp.sent.at(-1)?.atMs ?? service.clock.now()
    await service.until('the reply', () => expected.test(agentTexts(service, callId).slice(1).join(' ')))
    t.ok(
      service.of(callId, 'trouble').some((event) => event.part === 'language_model'),
      'an event tells of it',
    )
    const silentMs = longestSilence(phone, spokenAt)
    t.ok(silentMs < DEAD_AIR_MS, `no dead air: ${silentMs} ms`)
    await phone.close()
    const call = await service.ended(callId)
    t.match(call, { disposition: 'answered' })
    const transcript = await service.api('GET', `/v1/calls/${callId}/transcript`)
    t.ok(
      (transcript.segments as { role: string }[]).some((segment) => segment.role === 'system'),
      'and so does the transcript',
    )
  })
}

t.test('TTS is down: the fallback speaks', { timeout: 150_000 }, async (t) => {
  const rig = await open(t)
  const { fake, service } = rig
  fake.setDefault('chat', says('Here I am.'))
  const { phone, callId } = await callIn(rig)
  fake.setDefault('speech', jsonReply(errorBody('down'), 503))
  await speak(phone)
  const spokenAt = phone.rtp.sent.at(-1)?.atMs ?? service.clock.now()
  await service.until('the reply', () => agentTexts(service, callId).includes('Here I am.'))
  t.ok(service.of(callId, 'trouble').some((event) => event.part === 'text_to_speech'))
  const silentMs = longestSilence(phone, spokenAt)
  t.ok(silentMs < DEAD_AIR_MS, `no dead air: ${silentMs} ms`)
  await phone.close()
  await service.ended(callId)
})

t.test('recognition is down: the caller is asked again without silence', { timeout: 150_000 }, async (t) => {
  const rig = await open(t)
  const { fake, service } = rig
  fake.setDefault('chat', says('Understood.'))
  fake.enqueue('transcriptions', jsonReply(errorBody('down'), 500), jsonReply(errorBody('down'), 500))
  const { phone, callId } = await callIn(rig)
  await speak(phone)
  const spokenAt = phone.rtp.sent.at(-1)?.atMs ?? service.clock.now()
  await service.until('a question', () => agentTexts(service, callId).length >= 2)
  t.ok(service.of(callId, 'trouble').some((event) => event.part === 'speech_to_text'))
  const silentMs = longestSilence(phone, spokenAt)
  t.ok(silentMs < DEAD_AIR_MS, `no dead air: ${silentMs} ms`)
  await speak(phone)
  await service.until('the reply', () => agentTexts(service, callId).includes('Understood.'))
  await phone.close()
  await service.ended(callId)
})

t.test(
  'all vendors are down: the call ends with a spoken apology and events',
  { timeout: 150_000 },
  async (t) => {
    const rig = await open(t)
    const { fake, service } = rig
    const { phone, callId } = await callIn(rig)
    fake.setDefault('chat', jsonReply(errorBody('down'), 500))
    fake.setDefault('speech', jsonReply(errorBody('down'), 500))
    await speak(phone)
    const spokenAt = phone.rtp.sent.at(-1)?.atMs ?? service.clock.now()
    const call = await service.ended(callId)
    t.match(call, { status: 'ended', endedReason: 'internal' })
    t.match(agentTexts(service, callId).at(-1), /technical problem/)
    const silentMs = longestSilence(phone, spokenAt)
    t.ok(silentMs < DEAD_AIR_MS, `no dead air: ${silentMs} ms`)
    await phone.close()
  },
)
