import t from 'tap'
import { levelDbfs, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { dial } from '../../../fixtures/sip/phone.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'
import { FakeRealtime } from '../../../fixtures/vendors/fake-realtime.js'
import { TurnClock } from '../../../fixtures/virtual-call/turn-clock.js'

/*
 * A whole call to an agent with a speech-to-speech model: real SIP and RTP on one side, the vendor's socket
 * on the other. The model speaks a tone of 700 Hz.
 */

const LONG =
  'It costs five hundred rupees, and that includes the first visit and everything that you may need for it.'
const AGENT = {
  llmModel: 'gpt-realtime',
  voice: { sttModel: 'gpt-realtime', ttsModel: 'gpt-realtime', ttsVoice: 'cedar' },
  tools: [
    { name: 'end_call', description: 'Ends the call.', preset: 'end_call' },
    {
      name: 'look',
      description: 'Looks up a day.',
      parameters: [{ name: 'day', description: 'Which', type: 'string', required: true }],
      mock: { enabled: true, response: 'Free at nine.' },
    },
  ],
  callSettings: { inboundOpeningLine: { text: 'Hello there.' }, hangupLine: { text: 'Bye for now.' } },
}

const SUMMARY = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      message: {
        role: 'assistant',
        content: '{"summary":"A caller asked for the price.","outputs":{},"evaluation":[]}',
      },
    },
  ],
})

async function open(t: Parameters<typeof openService>[0], env: Readonly<Record<string, string>> = {}) {
  const clock = new TurnClock()
  const fake = await FakeRealtime.open(clock)
  t.teardown(() => fake.close())
  const service = await openService(t, {
    virtual: clock,
    env: {
      PARLEY_OPENAI_BASE_URL: `${fake.socket.baseUrl.replace('ws:', 'http:')}/v1`,
      PARLEY_OPENAI_API_KEY: 'sk-realtime-secret',
      PARLEY_OPENAI_REALTIME_MODELS: 'gpt-realtime',
      ...env,
    },
    agent: AGENT,
  })
  const peer = await openSipPeer({ clock })
  t.teardown(() => peer.close())
  return { clock, fake, service, peer }
}

t.test(
  'a call: asked, answered, interrupted, a tool, ended by the model',
  { timeout: 150_000 },
  async (t) => {
    const { fake, service, peer } = await open(t)
    const asked: Json[] = []
    fake.socket.script.request = (path, body) => {
      asked.push({ path, ...(JSON.parse(body) as Json) })
      return SUMMARY
    }
    fake.transcripts.push({ text: 'How much does it cost?', afterMs: 300 }, { text: 'Stop, I understand.' })
    fake.replies.push(
      { items: [{ words: LONG, ms: 8000 }] },
      { calls: [{ id: 'call_1', name: 'look', arguments: '{"day":"Monday"}' }] },
      {
        items: [{ words: 'Monday is free at nine. See you then.', ms: 1500 }],
        calls: [{ id: 'call_2', name: 'end_call', arguments: '{}' }],
      },
    )
    const target = service.target('udp')
    const phone = await dial(peer, {
      uri: `sip:${service.number}@${target.address}:${target.port}`,
      target,
      from: '+919812345678',
      rtp: { codec: 'PCMA', clock: service.clock },
      network: service.network,
    })
    await service.until('the greeting', () => service.events.some((event) => event.type === 'turn'))
    const callId = service.events[0]?.callId ?? ''
    const greetingMs = 'Hello there.'.length * 60 - 40
    await service.until('the greeting on the line', () => phone.rtp.loud().length * 20 >= greetingMs)
    const greeting = phone.rtp.loud().length

    await phone.rtp.say(readClip(findClip('interrupt-price'))).done
    await service.until('the answer', () => service.of(callId, 'trace').length > 0)
    await service.until('two seconds of the answer', () => phone.rtp.loud().length > greeting + 100)
    await phone.rtp.say(readClip(findClip('interrupt-stop'))).done
    await service.until('the interruption', () => service.of(callId, 'interrupted').length > 0)
    await fake.socket.until(() => fake.truncated.length > 0, 'the truncation')
    const [told] = fake.truncated

    const call = await service.ended(callId)
    t.match(call, { disposition: 'answered', endedReason: 'agent_hangup' })
    const turns = service.of(callId, 'turn').map(({ turn }) => turn)
    t.same(
      turns.map(({ speaker }) => speaker),
      ['agent', 'caller', 'agent', 'caller', 'agent', 'agent'],
    )
    // Packets carry session time. It identifies those of the answer, whenever they arrived.
    const zero = phone.rtp.audio()[0]?.timestamp ?? 0
    const heardMs =
      phone.rtp.loud().filter(({ timestamp }) => {
        const atMs = ((timestamp - zero) | 0) / 8
        return atMs >= (turns[2]?.startMs ?? 0) - 40 && atMs <= (turns[2]?.endMs ?? 0) + 40
      }).length * 20
    t.ok(
      told !== undefined && Math.abs(told.ms - heardMs) <= 60,
      `the model was told of ${told?.ms} ms, ${heardMs} ms were heard`,
    )
    const texts = turns.map(({ heardText }) => heardText)
    const cut = texts[2] ?? ''
    t.same(
      [...texts.slice(0, 2), ...texts.slice(3)],
      [
        'Hello there.',
        'How much does it cost?',
        'Stop, I understand.',
        'Monday is free at nine. See you then.',
        'Bye for now.',
      ],
    )
    t.ok(LONG.startsWith(cut) && cut.length < LONG.length, cut)
    t.same(
      service.of(callId, 'tool').map(({ name, result }) => [name, result]),
      [
        ['look', 'Free at nine.'],
        ['end_call', 'The call ends after these words.'],
      ],
    )
    t.same(service.of(callId, 'trouble'), [])

    // Returns what the vendor received, in order, and asserts that it reported no error.
    const told_ = fake.socket.last.texts
      .filter(({ type }) => type === 'conversation.item.create')
      .map(({ item }) => item as Json)
    t.match(told_, [
      { role: 'assistant', content: [{ type: 'output_text', text: 'Hello there.' }] },
      { type: 'function_call_output', call_id: 'call_1', output: 'Free at nine.' },
    ])
    t.same(fake.errors, [])
    t.equal(fake.socket.connections.length, 1)
    t.equal(fake.socket.last.headers.authorization, 'Bearer sk-realtime-secret')
    t.match(fake.sent('session.update')[0], {
      session: { audio: { output: { voice: 'cedar' } }, instructions: /receptionist of Smile Dental Clinic/ },
    })

    const { segments } = (await service.api('GET', `/v1/calls/${callId}/transcript`)) as {
      readonly segments: readonly Json[]
    }
    t.same(
      segments.filter(({ role }) => role !== 'tool').map(({ role, text }) => [role, text]),
      turns.map(({ speaker, heardText }) => [speaker, heardText]),
    )
    t.equal(segments.find(({ text }) => text === cut)?.interrupted, true)

    const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
    const wav = readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
    const [caller, agent] = wav.channels
    if (caller === undefined || agent === undefined) throw new Error('not a stereo recording')
    const answer = turns[2]
    const from = (answer?.startMs ?? 0) + 200
    const middle = agent.subarray(from * 8, (from + 1000) * 8)
    t.ok(usualToneLevel(middle, 700) > 0.1, 'the model’s voice in the agent’s channel')
    t.ok(levelDbfs(caller) > -50, 'the caller in the other')
    await phone.close()

    // The result of the call is asked of a text model.
    await fake.socket.until(() => asked.length > 0, 'the question about the call')
    t.match(asked[0], { path: '/v1/chat/completions', model: 'gpt-6-luna' })
    t.match(JSON.stringify(asked[0]), /How much does it cost/)
  },
)

t.test(
  'the vendor is down: the embedded voice greets, apologises and says goodbye',
  { timeout: 150_000 },
  async (t) => {
    // There is no fallback for it (media/agent/realtime/realtime-failover.test.ts).
    const { fake, service, peer } = await open(t, { PARLEY_STT_FALLBACK: 'none' })
    fake.socket.refuse(
      ...Array.from({ length: 50 }, () => ({ status: 503, body: '{"error":{"message":"down"}}' })),
    )
    const target = service.target('udp')
    const phone = await dial(peer, {
      uri: `sip:${service.number}@${target.address}:${target.port}`,
      target,
      rtp: { codec: 'PCMA', clock: service.clock },
      network: service.network,
    })
    await service.until('the call', () => service.events.length > 0)
    const callId = service.events[0]?.callId ?? ''
    const call = await service.ended(callId)
    t.match(call, { status: 'ended', endedReason: 'internal' })
    const texts = service.of(callId, 'turn').map(({ turn }) => turn.heardText)
    t.match(texts.at(-1), /technical problem/)
    t.ok(phone.rtp.loud().length > 50, 'it was heard')
    t.ok(service.of(callId, 'trouble').length > 0, 'events tell why')
    await phone.close()
  },
)

t.test(
  'an unsupported combination is rejected by its path; the catalogue lists the supported ones',
  async (t) => {
    const { service } = await open(t)
    const refused = async (fields: Json) => {
      const { status, body } = await service.send('PATCH', `/v1/agents/${service.agentId}`, fields)
      return [status, (body.error as Json & { readonly details: Json }).details.path]
    }
    t.same(
      await refused({ voice: { ttsModel: 'espeak-ng', ttsVoice: 'asha', sttModel: 'parley-sandbox' } }),
      [422, 'voice.ttsModel'],
    )
    t.same(await refused({ llmModel: 'parley-rules-1' }), [422, 'voice.ttsModel'])
    t.same(await refused({ voice: { sttModel: 'parley-sandbox' } }), [422, 'voice.sttModel'])
    t.same(await refused({ voice: { ttsVoice: 'onyx' } }), [422, 'voice.ttsVoice'])
    t.same(await refused({ ttsOptions: { pace: 3 } }), [422, 'ttsOptions.pace'])
    t.same(await refused({ llmModel: 'gpt-realtime-2' }), [422, 'voice.ttsModel'])
    const voices = (await service.send('GET', '/v1/voices')).body.data as Json[]
    const own = voices.filter(({ ttsModel }) => ttsModel === 'gpt-realtime')
    t.ok(own.some(({ ttsVoice }) => ttsVoice === 'marin'))
    t.ok(own.every(({ sttModels }) => JSON.stringify(sttModels) === '["gpt-realtime"]'))
    const others = voices.filter(({ ttsModel }) => ttsModel !== 'gpt-realtime')
    t.notOk(others.some(({ sttModels }) => (sttModels as string[]).includes('gpt-realtime')))
    const models = (await service.send('GET', '/v1/models')).body.data as Json[]
    t.match(
      models.filter(({ llmModel }) => llmModel === 'gpt-realtime'),
      [{ available: true, label: /Realtime/ }],
    )
  },
)
