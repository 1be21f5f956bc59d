import t from 'tap'
import { openReceiver } from '../../../fixtures/api/webhooks.js'
import { tone } from '../../../fixtures/audio/tones.js'
import { openService } from '../../../fixtures/service/service.js'
import { dial } from '../../../fixtures/sip/phone.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'
import { eventStream, jsonReply, openFakeOpenAi, pcmReply } from '../../../fixtures/vendors/fake-openai.js'
import {
  chatFrames,
  DONE_FRAME,
  deltaFrame,
  finishFrame,
  pcmBytes,
} from '../../../fixtures/vendors/openai-frames.js'

/* A call in which the agent asks another system, over real HTTP, and presses keys. */

const toolCall = (id: string, name: string, given: string): string =>
  deltaFrame(
    `{"tool_calls":[{"index":0,"id":"${id}","type":"function","function":{"name":"${name}","arguments":${JSON.stringify(given)}}}]}`,
  )

t.test('an HTTP tool looks up an order; the agent sends DTMF', { timeout: 150_000 }, async (t) => {
  const shop = await openReceiver()
  const fake = await openFakeOpenAi()
  t.teardown(async () => {
    await shop.close()
    await fake.close()
  })
  fake.setDefault('speech', (request) => {
    const { input } = JSON.parse(request.body.toString()) as { input: string }
    return pcmReply([pcmBytes(tone(700, input.length * 60, 24_000))])
  })
  fake.setDefault('transcriptions', jsonReply('{"text":"Where is my order?"}'))
  fake.enqueue(
    'chat',
    eventStream([toolCall('call_1', 'look_up', '{"order":"A1"}'), finishFrame('tool_calls'), DONE_FRAME]),
    eventStream([toolCall('call_2', 'keys', '{"digits":"42#"}'), finishFrame('tool_calls'), DONE_FRAME]),
    eventStream(chatFrames(['It arrives', ' tomorrow.'])),
  )
  const service = await openService(t, {
    virtual: true,
    env: {
      PARLEY_ALLOW_PRIVATE_URLS: 'true',
      PARLEY_OPENAI_BASE_URL: fake.baseUrl,
      PARLEY_OPENAI_CHAT_MODEL: 'fake-chat',
      PARLEY_OPENAI_TRANSCRIPTION_MODEL: 'fake-ears',
      PARLEY_OPENAI_SPEECH_MODEL: 'fake-voice',
      PARLEY_OPENAI_SPEECH_VOICE: 'vera',
    },
    agent: {
      systemPrompt: 'You work for a shop.',
      llmModel: 'fake-chat',
      voice: { sttModel: 'fake-ears', ttsModel: 'fake-voice', ttsVoice: 'vera' },
      callSettings: { inboundOpeningLine: { text: 'Hello there.' } },
      tools: [
        {
          name: 'look_up',
          description: 'Finds an order',
          parameters: [{ name: 'order', description: 'Its number', type: 'string', required: true }],
          speech: { 'en-IN': 'Let me see.' },
          http: { method: 'POST', url: shop.url, bodyRoot: 'query', headers: { 'X-Shop': '7' } },
        },
        {
          name: 'keys',
          description: 'Presses keys',
          parameters: [{ name: 'digits', description: 'Which', type: 'string', required: true }],
          preset: 'send_dtmf',
        },
      ],
    },
  })
  // The filler is said while the shop looks.
  shop.answer = (response) => {
    service.clock.after(1500, () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"arrives":"tomorrow"}')
    })
  }
  const peer = await openSipPeer({ clock: service.clock })
  t.teardown(() => peer.close())
  const target = service.target('udp')
  const phone = await dial(peer, {
    uri: `sip:${service.number}@${target.address}:${target.port}`,
    target,
    from: '+919812345678',
    rtp: { codec: 'PCMA', clock: service.clock },
    network: service.network,
  })
  const turns = (speaker: string) =>
    service.events.flatMap((event) =>
      event.type === 'turn' && event.turn.speaker === speaker ? [event.turn] : [],
    )
  await service.until('the greeting', () => turns('agent').length > 0)
  await phone.rtp.say(readClip(findClip('interrupt-price'))).done
  await service.until('the answer', () => turns('agent').length > 1)

  t.match(shop.received, [{ method: 'POST', headers: { 'x-shop': '7' }, body: '{"query":{"order":"A1"}}' }])
  t.equal(turns('agent')[1]?.heardText, 'Let me see. It arrives tomorrow.')
  const used = service.events.flatMap((event) => (event.type === 'tool' ? [[event.name, event.result]] : []))
  t.same(used, [
    ['look_up', '{"arrives":"tomorrow"}'],
    ['keys', 'The keys 42# are being sent.'],
  ])
  // RFC 4733: the key is the first byte, the second one's top bit ends it.
  const keys = () => [
    ...new Set(
      phone.rtp.received
        .filter(({ payloadType }) => payloadType === 101)
        .map(({ timestamp, payload }) => `${timestamp}:${payload[0]}`),
    ),
  ]
  await service.until('the keys on the wire', () => keys().length === 3)
  t.same(
    keys().map((key) => Number(key.split(':')[1])),
    [4, 2, 11],
  )
  await phone.close()
})
