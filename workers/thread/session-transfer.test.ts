import t from 'tap'
import { keyTone } from '../../fixtures/audio/dtmf.js'
import { tone, usualToneLevel } from '../../fixtures/audio/tones.js'
import type { RtpPeer } from '../../fixtures/rtp/peer-stream.js'
import { VOICE_HZ } from '../../fixtures/virtual-call/scripted-vendors.js'
import { VirtualSession } from '../../fixtures/virtual-call/virtual-session.js'
import { CALLER_LEG } from '../channel/protocol.js'

const CALLER_HZ = 510
const PERSON_HZ = 870
const RINGBACK_HZ = 400
const PERSON = 'person'

/** Speaks a hum for a second, and returns the hums that a telephone hears meanwhile. */
async function heardBy(
  rig: VirtualSession,
  phone: RtpPeer,
  speakers: readonly (readonly [RtpPeer, number])[],
) {
  const from = phone.heard().pcm.length
  for (const [speaker, hertz] of speakers) speaker.say(tone(hertz, 1500, 8000, 0.3))
  await rig.run(1500)
  // Without the delay of the jitter buffers.
  const heard = phone.heard().pcm.subarray(from + 4000, from + 11_000)
  return [CALLER_HZ, PERSON_HZ, VOICE_HZ].filter((hertz) => usualToneLevel(heard, hertz) > 0.05)
}

t.test('a transfer from the agent to a person and back', async (t) => {
  const { rig, caller } = await VirtualSession.open({ heard: ['My order is late', 'Are you back?'] })
  t.teardown(() => rig.close())
  caller.say(tone(CALLER_HZ, 1000))
  await rig.run(6000)
  t.equal(rig.vendors.requests.length, 1, 'the agent answers the caller')

  t.equal(await rig.ask({ type: 'say', leg: CALLER_LEG, text: 'I will connect you.' }), 'said')
  t.equal(rig.vendors.spoken.at(-1), 'I will connect you.')
  await rig.ask({ type: 'route', mode: 'hold', persons: [] })
  const person = await rig.addPhone(PERSON, 'PCMU')
  await rig.ask({ type: 'hold', leg: PERSON, sound: 'ringback' })
  const music = caller.heard().pcm.length
  await rig.run(2000)
  const ringing = person.heard().pcm
  t.ok(usualToneLevel(ringing.subarray(-12_000), RINGBACK_HZ) > 0, 'the person hears something')
  t.ok(caller.loud().length > 0 && caller.heard().pcm.length > music, 'the caller hears music')

  const key = rig.begin({
    type: 'collect',
    leg: PERSON,
    options: { maxDigits: 1, terminator: null, timeoutMs: 10_000 },
  })
  const text = 'A caller with a late order. Press one.'
  t.equal(await rig.ask({ type: 'say', leg: PERSON, text }), 'said')
  t.ok(usualToneLevel(person.heard().pcm.subarray(-8000), VOICE_HZ) > 0.1, 'the person hears the brief')
  t.ok(usualToneLevel(caller.heard().pcm.subarray(-8000), VOICE_HZ) < 0.02, 'and the caller does not')
  person.press('1')
  t.strictSame(await rig.settled(key), { digits: '1', ending: 'complete' })

  await rig.ask({ type: 'route', mode: 'bridge', persons: [PERSON] })
  await rig.run(200)
  const both = [
    [caller, CALLER_HZ],
    [person, PERSON_HZ],
  ] as const
  t.strictSame(await heardBy(rig, caller, both), [PERSON_HZ])
  await rig.run(500)
  t.strictSame(await heardBy(rig, person, both), [CALLER_HZ])
  await rig.run(3000)
  t.equal(rig.vendors.requests.length, 1, 'the agent takes no part')
  t.equal(rig.vendors.openStreams, 0, 'and has nothing recognised')

  const stats = await rig.ask({ type: 'dropLeg', leg: PERSON, why: 'hangup' })
  t.ok(stats.packetsReceived > 100)
  await rig.ask({ type: 'route', mode: 'agent', persons: [] })
  t.equal(await rig.ask({ type: 'say', leg: null, text: 'I am back.' }), 'said')
  caller.say(tone(CALLER_HZ, 1000))
  await rig.run(6000)
  t.equal(rig.vendors.requests.length, 2, 'the agent answers again')
  const memory = rig.vendors.requests[1]?.messages.map(({ content }) => content).join('\n') ?? ''
  for (const words of ['My order is late', 'I am back.', 'Are you back?']) t.match(memory, words)

  await rig.ask({ type: 'finish', line: 'Goodbye then.' })
  await rig.run(3000)
  t.strictSame(
    rig.events.filter(({ type }) => type === 'finished'),
    [{ type: 'finished', why: 'asked' }],
  )
  t.equal(rig.vendors.spoken.at(-1), 'Goodbye then.')
})

t.test('a note reaches the model with the next reply, and nobody hears it', async (t) => {
  const { rig, caller } = await VirtualSession.open({ heard: ['My order is late', 'Well?'] })
  t.teardown(() => rig.close())
  caller.say(tone(CALLER_HZ, 1000))
  await rig.run(6000)
  const spoken = rig.vendors.spoken.length
  t.equal(await rig.ask({ type: 'note', text: 'The order leaves today.' }), true)
  await rig.run(2000)
  t.equal(rig.vendors.requests.length, 1, 'the model is not asked for it')
  t.equal(rig.vendors.spoken.length, spoken)
  t.match(
    rig.events.filter(({ type }) => type === 'note'),
    [{ type: 'note', text: 'The order leaves today.' }],
  )
  caller.say(tone(CALLER_HZ, 1000))
  await rig.run(6000)
  t.match(rig.vendors.requests[1]?.messages.at(-2), { role: 'system', content: 'The order leaves today.' })
  await t.rejects(rig.ask({ type: 'note', text: ' ' }), { code: 'config_invalid' })
  await t.rejects(rig.ask({ type: 'note', text: 'x'.repeat(2_001) }), { code: 'config_invalid' })
  await rig.ask({ type: 'finish', line: 'Goodbye then.' })
  t.equal(await rig.ask({ type: 'note', text: 'Too late.' }), false)
})

t.test('a person, and a caller who waits, are understood while the agent is away', async (t) => {
  const { rig, caller } = await VirtualSession.open({
    heard: ['My order is late', 'Yes, please.', 'Never mind.'],
  })
  t.teardown(() => rig.close())
  const speech = () => tone(CALLER_HZ, 1000)
  caller.say(speech())
  await rig.run(6000)
  await rig.ask({ type: 'route', mode: 'hold', persons: [] })
  const person = await rig.addPhone(PERSON, 'PCMU')
  await rig.ask({ type: 'listen', leg: CALLER_LEG, languages: ['en-IN'] })
  await rig.ask({ type: 'listen', leg: PERSON, languages: ['hi-IN', 'en-IN'] })
  t.equal(rig.vendors.openStreams, 2)
  person.say(speech())
  await rig.run(2500)
  caller.say(speech())
  await rig.run(2500)
  const heard = () => rig.events.flatMap((event) => (event.type === 'heard' ? [event] : []))
  t.match(heard(), [
    { leg: PERSON, text: 'Yes, please.', language: 'hi-IN' },
    { leg: CALLER_LEG, text: 'Never mind.', language: 'en-IN' },
  ])
  for (const { startMs, endMs, atMs } of heard()) {
    t.ok(Math.abs(endMs - startMs - 1000) < 200 && endMs < atMs, `${startMs} to ${endMs}, told at ${atMs}`)
  }
  t.equal(rig.vendors.requests.length, 1, 'the agent answers nobody')
  await rig.ask({ type: 'listen', leg: PERSON, languages: null })
  person.say(speech())
  await rig.run(2500)
  t.equal(heard().length, 2)
  await rig.ask({ type: 'route', mode: 'agent', persons: [] })
  t.equal(await rig.ask({ type: 'say', leg: PERSON, text: 'Hold on.' }), 'said', 'by another voice')
  await rig.ask({ type: 'route', mode: 'hold', persons: [] })
  await rig.ask({ type: 'listen', leg: PERSON, languages: ['hi-IN'] })
  await rig.ask({ type: 'dropLeg', leg: PERSON, why: 'hangup' })
  t.equal(rig.vendors.openStreams, 1, 'a leg that leaves is not recognised any more')
  await t.rejects(rig.ask({ type: 'listen', leg: PERSON, languages: ['hi-IN'] }), { code: 'closed' })
  await t.rejects(rig.ask({ type: 'listen', leg: CALLER_LEG, languages: [] }), { code: 'config_invalid' })
  await rig.close()
  const [besides, conversation] = rig.events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))
  t.match(besides, { models: [], speech: [{ vendor: 'main', requests: 1, characters: 8 }] })
  const [{ audioMs } = { audioMs: 0 }] = besides?.recognition ?? []
  t.ok(audioMs >= 12_400, `person and caller were listened to for ${audioMs} ms`)
  t.match(conversation, { models: [{ requests: 1 }] }, 'the conversation is counted apart')
})

t.test('an agent that is told to end stops at its clause', async (t) => {
  const long = 'Your order left us on Monday, it is on the way, and it will be there within a week or two.'
  const { rig } = await VirtualSession.open({ agent: { openingLine: long } })
  t.teardown(() => rig.close())
  await rig.run(1500)
  await rig.ask({ type: 'finish', line: 'Goodbye.' })
  await rig.run(6000)
  const said = rig.events.flatMap((event) =>
    event.type === 'turn' && event.turn.speaker === 'agent' ? [event.turn.heardText] : [],
  )
  t.strictSame(said, ['Your order left us on Monday,', 'Goodbye.'])
  t.match(rig.events.at(-1)?.type === 'usage' ? rig.events.at(-2) : rig.events.at(-1), { why: 'asked' })
})

t.test('a speaker says a text and collects keys, and hears nothing', async (t) => {
  const voice = {
    languages: ['en-IN'],
    textToSpeech: { vendor: 'main', model: null, voice: 'v', pace: 1 },
  }
  const { rig, caller } = await VirtualSession.open({
    party: { kind: 'speaker', voice, maxCallSeconds: 60 },
  })
  t.teardown(() => rig.close())
  t.equal(await rig.ask({ type: 'say', leg: CALLER_LEG, text: 'Your code is one two three.' }), 'said')
  t.ok(usualToneLevel(caller.heard().pcm.subarray(-8000), VOICE_HZ) > 0.1)
  const options = { maxDigits: 4, terminator: '#', timeoutMs: 5000 } as const
  const keys = rig.begin({ type: 'collect', leg: CALLER_LEG, options })
  caller.press('12#')
  t.strictSame(await rig.settled(keys), { digits: '12', ending: 'terminator' })
  const first = rig.begin({ type: 'say', leg: null, text: 'This is a long text that is cut.' })
  await rig.run(300)
  t.equal(await rig.ask({ type: 'say', leg: null, text: 'Bye.' }), 'said')
  t.equal(await first, 'cut')
  await rig.ask({ type: 'finish', line: 'Goodbye.' })
  await rig.run(2000)
  t.strictSame(rig.events, [{ type: 'finished', why: 'asked' }])
})

t.test('a speaker with a text says it from the answer on, and hangs up', async (t) => {
  const voice = {
    languages: ['en-IN'],
    textToSpeech: { vendor: 'main', model: null, voice: 'v', pace: 1 },
  }
  const text = 'Your code is one, two.'
  const { rig, caller } = await VirtualSession.open({
    party: { kind: 'speaker', voice, maxCallSeconds: 60, text },
  })
  t.teardown(() => rig.close())
  await rig.run(5000)
  t.strictSame(rig.vendors.spoken, [text])
  t.ok(caller.holding(VOICE_HZ).length > 20, 'the telephone hears it')
  t.strictSame(rig.events, [{ type: 'hang_up' }], 'and no event repeats it')
})

t.test('two legs without a party hear each other, and a voice ends their call', async (t) => {
  const { rig, caller } = await VirtualSession.open({ party: { kind: 'none', maxCallSeconds: 60 } })
  t.teardown(() => rig.close())
  await rig.ask({ type: 'hold', leg: CALLER_LEG, sound: 'ringback' })
  await rig.ask({ type: 'route', mode: 'bridge', persons: [] })
  await rig.run(1000)
  t.ok(caller.loud().length > 10, 'the caller hears ringback')
  const person = await rig.addPhone(PERSON, 'PCMU')
  await rig.ask({ type: 'route', mode: 'bridge', persons: [PERSON] })
  await rig.run(200)
  const both = [
    [caller, CALLER_HZ],
    [person, PERSON_HZ],
  ] as const
  t.strictSame(await heardBy(rig, caller, both), [PERSON_HZ])
  await rig.run(500)
  t.strictSame(await heardBy(rig, person, both), [CALLER_HZ])
  await rig.ask({ type: 'finish', line: 'The time is over.' })
  await rig.run(3000)
  t.equal(rig.vendors.spoken.at(-1), 'The time is over.')
  for (const phone of [caller, person]) {
    const line = phone.holding(VOICE_HZ).length
    t.ok(line > 40, `${line} packets of the last line`)
  }
  t.equal(rig.events.filter(({ type }) => type === 'finished').length, 1)
})

t.test('keys pass between two legs that are connected, and nowhere else', async (t) => {
  const { rig, caller } = await VirtualSession.open()
  t.teardown(() => rig.close())
  const person = await rig.addPhone(PERSON, 'PCMU', 96)
  caller.press('1')
  await rig.run(1000)
  t.same(person.keys(), [], 'a key for the agent')
  const options = { maxDigits: 2, terminator: null, timeoutMs: 60_000 } as const
  const undecided = rig.begin({ type: 'collect', leg: PERSON, options })
  await rig.ask({ type: 'route', mode: 'bridge', persons: [PERSON] })
  t.match(await rig.settled(undecided), { ending: 'left' }, 'a bridge needs no decision any more')
  const told = () => rig.events.filter(({ type }) => type === 'dtmf').length
  const before = told()
  caller.press('5', 200)
  caller.press('#')
  await rig.run(1500)
  t.same(person.keys(), ['5 200', '# 100'], 'held as long as the caller held them')
  t.ok(person.received.some(({ payloadType, marker }) => payloadType === 96 && marker))
  t.equal(told(), before, 'the agent is told nothing')
  person.press('97', 20)
  await rig.run(1500)
  t.same(caller.keys(), ['9 40', '7 40'], 'none is shorter than a receiver must detect')
  await rig.info(PERSON, '4', 100)
  await rig.run(1500)
  t.same(caller.keys().slice(2), [], 'RTP events count, so an INFO repeats one')
  await rig.info(CALLER_LEG, '6', 100)
  await rig.run(1500)
  t.same(person.keys().slice(2), [])

  const command = rig.begin({ type: 'collect', leg: PERSON, options })
  person.press('12')
  t.match(await rig.settled(command), { digits: '12' })
  await rig.run(1500)
  t.same(caller.keys().slice(2), [], 'a key that is a command stays with it')
  person.press('3')
  await rig.run(1000)
  t.same(caller.keys().slice(2), ['3 100'])
  await rig.ask({ type: 'route', mode: 'hold', persons: [] })
  caller.press('8')
  person.press('8')
  await rig.run(1000)
  t.equal(caller.keys().length + person.keys().length, 5, 'the bridge is over')

  await rig.ask({ type: 'dropLeg', leg: PERSON, why: 'hangup' })
  await rig.addPhone('second', 'PCMA')
  await rig.run(500)
  const { stats, legs } = await rig.close()
  t.same(
    legs.map(({ leg }) => leg),
    [PERSON, 'second'],
    'the statistics of every leg, whether it was dropped or there at the end',
  )
  t.ok((stats.rtp?.packetsReceived ?? 0) > (legs[0]?.rtp.packetsReceived ?? 0))
  for (const { leg, rtp } of legs) t.ok(rtp.packetsReceived > 20 && rtp.packetsSent > 20, leg)
})

t.test('the latest route counts, whichever sounds were loaded first', async (t) => {
  const { rig, caller } = await VirtualSession.open()
  t.teardown(() => rig.close())
  const person = await rig.addPhone(PERSON, 'PCMU')
  // The hold music is read from the disk when it is first needed.
  const waiting = rig.begin({ type: 'route', mode: 'hold', persons: [] })
  const answered = rig.begin({ type: 'route', mode: 'bridge', persons: [PERSON] })
  await rig.settled(Promise.all([waiting, answered]))
  await rig.run(500)
  const both = [
    [caller, CALLER_HZ],
    [person, PERSON_HZ],
  ] as const
  t.strictSame(await heardBy(rig, caller, both), [PERSON_HZ])
})

t.test('a key by INFO is passed on as event, and a tone with the audio only', async (t) => {
  const { rig, caller } = await VirtualSession.open({ party: { kind: 'none', maxCallSeconds: 60 } })
  t.teardown(() => rig.close())
  const person = await rig.addPhone(PERSON, 'PCMU', null)
  await rig.ask({ type: 'route', mode: 'bridge', persons: [PERSON] })
  await rig.run(500)
  person.say(keyTone('8', { ms: 150 }))
  await rig.run(1500)
  t.same(caller.keys(), [], 'the caller heard it')
  await rig.info(PERSON, '4', 120)
  await rig.run(1500)
  t.same(caller.keys(), ['4 120'])
  const from = person.received.length
  caller.press('2')
  await rig.run(1500)
  t.ok(
    person.received.slice(from).every(({ payloadType }) => payloadType === 0),
    'a telephone without telephone-event gets none',
  )
})

t.test('requests about unknown legs, and legs beyond the bound, are refused', async (t) => {
  const { rig } = await VirtualSession.open({ party: { kind: 'none', maxCallSeconds: 60 } })
  t.teardown(() => rig.close())
  const gone = { code: 'closed' }
  await t.rejects(rig.ask({ type: 'dropLeg', leg: 'nobody', why: 'hangup' }), gone)
  await t.rejects(rig.ask({ type: 'route', mode: 'bridge', persons: ['nobody'] }), gone)
  await t.rejects(rig.ask({ type: 'dropLeg', leg: CALLER_LEG, why: 'hangup' }), { code: 'config_invalid' })
  await t.rejects(rig.ask({ type: 'route', mode: 'bridge', persons: [CALLER_LEG] }), {
    code: 'config_invalid',
  })
  await t.rejects(rig.ask({ type: 'listen', leg: CALLER_LEG, languages: ['en-IN'] }), {
    code: 'config_invalid',
  })
  await t.rejects(rig.ask({ type: 'say', leg: null, text: ' ' }), { code: 'config_invalid' })
  await rig.addPhone('a', 'PCMA')
  await t.rejects(rig.ask({ type: 'addLeg', leg: 'a' }), { code: 'internal' })
  await t.rejects(rig.ask({ type: 'attend', leg: CALLER_LEG }), { code: 'config_invalid' })
  await t.rejects(rig.ask({ type: 'attend', leg: 'nobody' }), gone)
  for (const leg of ['b', 'c', 'd']) await rig.addPhone(leg, 'PCMA')
  await t.rejects(rig.ask({ type: 'addLeg', leg: 'e' }), { code: 'overloaded' })
  const keys = rig.begin({
    type: 'collect',
    leg: 'b',
    options: { maxDigits: 1, terminator: null, timeoutMs: 60_000 },
  })
  await rig.ask({ type: 'dropLeg', leg: 'b', why: 'hangup' })
  t.strictSame(await keys, { digits: '', ending: 'left' })
  await rig.addPhone('e', 'PCMA')
})
