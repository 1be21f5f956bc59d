import t from 'tap'
import { tone } from '../../../fixtures/audio/tones.js'
import { openService } from '../../../fixtures/service/service.js'
import { dial } from '../../../fixtures/sip/phone.js'
import { openSipPeer } from '../../../fixtures/sip/sip-peer.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'
import { eventStream, openFakeOpenAi, pcmReply } from '../../../fixtures/vendors/fake-openai.js'
import { openFakeVendorSocket } from '../../../fixtures/vendors/fake-vendor-socket.js'
import { chatFrames, pcmBytes } from '../../../fixtures/vendors/openai-frames.js'
import { DEEPGRAM_LISTEN } from '../../../fixtures/vendors/recognition-messages.js'
import { TurnClock } from '../../../fixtures/virtual-call/turn-clock.js'

/*
 * A whole call on real sockets: the model is asked before the recogniser has sent its final text.
 */

const PARTIAL = 'what does it cost'
const FINAL = 'What does it cost?'

t.test('the recogniser waits for the model, and one request answers', { timeout: 150_000 }, async (t) => {
  const deepgram = await openFakeVendorSocket()
  const clock = new TurnClock()
  const fake = await openFakeOpenAi(clock)
  t.teardown(async () => {
    await Promise.all([deepgram.close(), fake.close()])
  })
  const chats = () => fake.requests.filter(({ path }) => path.endsWith('/chat/completions'))
  let loud = 0
  let finals = 0
  deepgram.script.binary = (data, connection) => {
    if (Math.abs(data.readInt16LE((data.length >> 1) & ~1)) > 500) loud++
    if (loud === 8) for (const message of DEEPGRAM_LISTEN.partial?.(PARTIAL) ?? []) connection.send(message)
  }
  deepgram.script.text = (message, connection) => {
    if (message.type !== 'Finalize') return
    // The final text is held back until the model was asked.
    fake
      .until(() => chats().length > 0)
      .then(
        () => {
          finals++
          for (const final of DEEPGRAM_LISTEN.final(FINAL)) connection.send(final)
        },
        () => {},
      )
  }
  fake.setDefault('speech', (request) => {
    const { input } = JSON.parse(request.body.toString()) as { input: string }
    return pcmReply([pcmBytes(tone(700, input.length * 60, 24_000))])
  })
  fake.setDefault('chat', eventStream(chatFrames(['Nine hundred rupees.'])))
  const service = await openService(t, {
    virtual: clock,
    env: {
      PARLEY_DEEPGRAM_API_KEY: 'secret-key',
      PARLEY_DEEPGRAM_URL: deepgram.baseUrl,
      PARLEY_OPENAI_BASE_URL: fake.baseUrl,
      PARLEY_OPENAI_CHAT_MODEL: 'fake-chat',
      PARLEY_OPENAI_SPEECH_MODEL: 'fake-voice',
      PARLEY_OPENAI_SPEECH_VOICE: 'vera',
      PARLEY_STT_FALLBACK: 'none',
    },
    agent: {
      systemPrompt: 'You work for a clinic.',
      llmModel: 'fake-chat',
      voice: { sttModel: 'nova-3', ttsModel: 'fake-voice', ttsVoice: 'vera' },
      callSettings: { inboundOpeningLine: { text: 'Hello there.' } },
    },
  })
  const peer = await openSipPeer({ clock })
  t.teardown(() => peer.close())
  const target = service.target('udp')
  const phone = await dial(peer, {
    uri: `sip:${service.number}@${target.address}:${target.port}`,
    target,
    from: '+919812345678',
    rtp: { codec: 'PCMA', clock },
    network: service.network,
  })
  const records = () =>
    service.events.flatMap((event) => (event.type === 'turn_record' ? [event.record] : []))
  await service.until('the greeting', () => records().length === 1)
  await phone.rtp.say(readClip(findClip('interrupt-price'))).done
  await service.until('the answer', () => records().length === 2)
  await phone.close()

  t.match(records()[1], { kind: 'reply', speculation: 'kept', ending: 'said' })
  t.ok(finals > 0, 'the final text came, after the request')
  t.equal(chats().length, 1)
  t.match(String(chats()[0]?.body), PARTIAL)
  const turns = service.events.flatMap((event) => (event.type === 'turn' ? [event.turn.heardText] : []))
  t.same(turns, ['Hello there.', FINAL, 'Nine hundred rupees.'])
  const { modelRequestMs, sttFinalMs, decidedMs } = records()[1] ?? {}
  t.ok((modelRequestMs ?? 0) <= (sttFinalMs ?? -1), `${modelRequestMs} before ${sttFinalMs}`)
  t.ok((sttFinalMs ?? 0) <= (decidedMs ?? -1))
})
