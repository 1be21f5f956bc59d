import t, { type Test } from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { REQUEST_MS } from '../../../fixtures/host/deadlines.js'
import { until } from '../../../fixtures/host/until.js'
import { openService } from '../../../fixtures/service/service.js'
import { dial } from '../../../fixtures/sip/phone.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'
import { eventStream, jsonReply, openFakeOpenAi, pcmReply } from '../../../fixtures/vendors/fake-openai.js'
import { openFakeSarvam } from '../../../fixtures/vendors/fake-sarvam.js'
import { chatFrames, errorBody, pcmBytes } from '../../../fixtures/vendors/openai-frames.js'
import { SARVAM_REALTIME } from '../../../fixtures/vendors/recognition-messages.js'
import { SARVAM } from '../../../fixtures/vendors/speech-messages.js'
import { TurnClock } from '../../../fixtures/virtual-call/turn-clock.js'

/*
 * The whole service with two vendors on real sockets. One takes over when the other fails, and the agent
 * follows a caller who changes the language.
 */

const HINDI = 'मुझे कल शाम को कितने बजे आना है'
const says = (text: string) => eventStream(chatFrames([text]))
const heard = (text: string) => jsonReply(JSON.stringify({ text }))

async function open(t: Parameters<typeof openService>[0]) {
  const clock = new TurnClock()
  const fake = await openFakeOpenAi(clock)
  const second = await openFakeOpenAi(clock)
  const sarvam = await openFakeSarvam(() => 'Heard by the other one.')
  t.teardown(async () => {
    await Promise.all([fake.close(), second.close(), sarvam.close()])
  })
  second.setDefault('chat', says('The second answers.'))
  const service = await openService(t, {
    virtual: clock,
    env: {
      PARLEY_OPENAI_BASE_URL: fake.baseUrl,
      PARLEY_OPENAI_CHAT_MODEL: 'fake-chat',
      PARLEY_OPENAI_TRANSCRIPTION_MODEL: 'fake-ears',
      PARLEY_OPENAI_SPEECH_MODEL: 'fake-voice',
      PARLEY_OPENAI_SPEECH_VOICE: 'vera',
      PARLEY_SARVAM_API_KEY: 'secret-key',
      PARLEY_SARVAM_URL: sarvam.baseUrl,
      PARLEY_LLM_FALLBACK: 'other-chat',
      PARLEY_LLM_FALLBACK_URL: second.baseUrl,
    },
    agent: {
      systemPrompt: 'You help.',
      llmModel: 'fake-chat',
      voice: {
        sttModel: 'fake-ears',
        ttsModel: 'fake-voice',
        ttsVoice: 'vera',
        languages: ['en-IN', 'hi-IN'],
        sttLanguage: 'en-IN',
      },
      callSettings: { inboundOpeningLine: { text: 'Hello there.' } },
    },
  })
  const peer = await openSipPeer({ clock })
  t.teardown(() => peer.close())
  return { clock, fake, second, sarvam, service, peer }
}

const rig = await open(t)
const { fake, second, sarvam, service } = rig

/** Calls while all vendors work. Resolves after the greeting. */
async function call(t: Test) {
  fake.setDefault('speech', (request) => {
    const { input } = JSON.parse(request.body.toString()) as { input: string }
    return pcmReply([pcmBytes(tone(700, input.length * 15, 24_000))])
  })
  fake.setDefault('transcriptions', heard('I have a question about tomorrow.'))
  fake.setDefault('chat', says('The first answers.'))
  const target = service.target('udp')
  const from = service.events.length
  const phone = await dial(rig.peer, {
    uri: `sip:${service.number}@${target.address}:${target.port}`,
    target,
    from: '+919812345678',
    rtp: { codec: 'PCMA', clock: service.clock },
    network: service.network,
  })
  const turns = () => service.events.slice(from).filter((event) => event.type === 'turn')
  await service.until('the greeting', () => turns().length > 0)
  const callId = service.events[from]?.callId ?? ''
  t.teardown(async () => {
    await phone.close()
    await service.ended(callId)
  })
  return { callId, speak: () => phone.rtp.say(readClip(findClip('interrupt-price'))).done }
}

function said(callId: string, speaker: 'agent' | 'caller'): string[] {
  return service
    .of(callId, 'turn')
    .filter((event) => event.turn.speaker === speaker)
    .map((event) => event.turn.heardText)
}

const answers = (callId: string, text: string) =>
  service.until(text, () => said(callId, 'agent').some((words) => words.includes(text)), 30_000)

t.test('the call follows a caller who changes the language', { timeout: 150_000 }, async (t) => {
  const { callId, speak } = await call(t)
  await speak()
  await answers(callId, 'The first answers.')
  fake.setDefault('transcriptions', heard(HINDI))
  fake.setDefault('chat', says('आप पाँच बजे आ सकते हैं।'))
  await speak()
  await answers(callId, 'पाँच बजे')
  const prompts = fake.requests
    .filter(({ path }) => path.endsWith('/chat/completions'))
    .map((request) => JSON.parse(request.body.toString()).messages[0].content as string)
  t.match(prompts[0], /speaks English now/)
  t.match(prompts.at(-1), /speaks Hindi now: answer in Hindi, written in Devanagari/)
  const forms = fake.requests.filter(({ path }) => path.endsWith('/transcriptions'))
  t.notMatch(forms[0]?.body.toString('latin1') ?? '', /name="language"/, 'no language is forced')
  // Words of a live call are stored within a second.
  const languages = async () =>
    (await service.api('GET', `/v1/calls/${callId}/transcript`)).languages as string[]
  await until(async () => (await languages()).length === 2, { everyMs: REQUEST_MS })
  t.same(await languages(), ['en-IN', 'hi-IN'])
})

t.test('STT is down: the fallback recognises the buffered audio', { timeout: 150_000 }, async (t) => {
  const { callId, speak } = await call(t)
  fake.setDefault('transcriptions', jsonReply(errorBody('down'), 500))
  await speak()
  await answers(callId, 'The first answers.')
  t.same(said(callId, 'caller'), ['Heard by the other one.'], 'asked for nothing again')
  const ears = sarvam.connections.filter(({ url }) => url.pathname === SARVAM_REALTIME.path)
  t.equal(ears.length, 1)
  t.equal(ears[0]?.url.searchParams.get('language_code'), 'auto', 'it listens for both languages')
  t.match(
    service.of(callId, 'trouble').filter((event) => event.part === 'speech_to_text'),
    [{ vendor: 'openai', instead: 'sarvam' }],
  )
})

t.test('the LLM stalls: a second endpoint answers', { timeout: 150_000 }, async (t) => {
  const { callId, speak } = await call(t)
  fake.setDefault('chat', { headers: { 'content-type': 'text/event-stream' }, steps: [{ stall: true }] })
  await speak()
  await answers(callId, 'The second answers.')
  t.equal(JSON.parse(second.requests[0]?.body.toString() ?? '{}').model, 'other-chat')
  t.match(service.of(callId, 'trouble')[0], {
    part: 'language_model',
    code: 'vendor_stalled',
    vendor: 'openai fake-chat',
    instead: 'openai-second other-chat',
  })
})

t.test('TTS is down: the fallback speaks', { timeout: 150_000 }, async (t) => {
  const { callId, speak } = await call(t)
  fake.setDefault('speech', jsonReply(errorBody('down'), 503))
  await speak()
  await answers(callId, 'The first answers.')
  const spoken = sarvam.connections
    .filter(({ url }) => SARVAM.path.test(url.pathname))
    .flatMap(SARVAM.requestOf)
  t.ok(spoken.some(({ text }) => text === 'The first answers.'))
  t.ok(
    service
      .of(callId, 'trouble')
      .some((event) => event.part === 'text_to_speech' && event.instead === 'sarvam'),
    'an event says who took over',
  )
})
